#![no_main]

#[path = "../checks/envelope.rs"]
mod envelope;

libfuzzer_sys::fuzz_target!(|data: &[u8]| envelope::check(data));
