//! The inputs that fuzzing keeps, through the checks that fuzzing runs: a finding stays found without a fuzzer.

#![expect(
    clippy::panic,
    clippy::print_stdout,
    reason = "a check panics on a finding, and the last name printed is its input"
)]

use std::{fs, path::Path};

#[path = "../../fuzz/checks/envelope.rs"]
mod envelope;
#[path = "../../fuzz/checks/headers.rs"]
mod headers;
#[path = "../../fuzz/checks/sse_decoder.rs"]
mod sse_decoder;

fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut inputs: Vec<_> = fs::read_dir(&folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .expect("a folder of inputs");
    inputs.sort();
    assert!(!inputs.is_empty(), "{} is empty", folder.display());
    for input in inputs {
        println!("{}", input.display());
        check(&fs::read(&input).expect("an input"));
    }
}

#[test]
fn envelope_inputs_pass() {
    replay("envelope", envelope::check);
}

#[test]
fn headers_inputs_pass() {
    replay("headers", headers::check);
}

#[test]
fn sse_decoder_inputs_pass() {
    replay("sse_decoder", sse_decoder::check);
}
