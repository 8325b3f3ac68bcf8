#![no_main]

#[path = "../checks/sse_decoder.rs"]
mod sse_decoder;

libfuzzer_sys::fuzz_target!(|data: &[u8]| sse_decoder::check(data));
