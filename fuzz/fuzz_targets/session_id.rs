#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trunkline::fuzzing::session_id(data));
