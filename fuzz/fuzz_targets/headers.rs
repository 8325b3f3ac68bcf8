#![no_main]

#[path = "../checks/headers.rs"]
mod headers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| headers::check(data));
