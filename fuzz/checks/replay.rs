//! The inputs that fuzzing keeps, through the check that fuzzing runs: a finding stays found without a fuzzer.

#![expect(clippy::print_stdout, reason = "the last name printed is the input that failed")]

use std::{fs, path::Path};

/// Checks every input of a target. For tests of this repository's crates, each in a folder of its own.
pub(crate) fn replay(target: &str, check: fn(&[u8])) {
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
