#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trunkline::fuzzing::request_state(data));
