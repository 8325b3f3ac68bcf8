//! What the README promises: its program is the one in `examples/hello`, and its links lead somewhere.

#![expect(clippy::panic, reason = "a test fails by panicking")]

use std::{fs, path::PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn its_program_is_the_example_and_short() {
    let readme = read("README.md");
    let block =
        readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a program");
    assert_eq!(block, read("examples/hello/src/main.rs"));
    assert!(block.lines().count() <= 25, "{} lines", block.lines().count());
    let promised = format!("A server in {} lines", block.lines().count());
    assert!(readme.contains(&promised), "the heading does not say {promised:?}");
}

#[test]
fn its_links_and_those_of_the_other_pages_lead_somewhere() {
    for page in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/request-life.md", "docs/revisions.md"]
    {
        let folder = root().join(page);
        let folder = folder.parent().expect("a folder");
        for link in read(page).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if !link.starts_with("http") {
                assert!(folder.join(link).exists(), "{page} links to {link}, which is not there");
            }
        }
    }
}
