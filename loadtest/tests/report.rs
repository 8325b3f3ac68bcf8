//! The verb `report`, as the program that people run.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "page/fixture.rs"]
mod fixture;

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use fixture::{LEAST, ROUND_ROBIN, STICKY};

fn report(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline-loadtest"));
    command.current_dir(folder).arg("report").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// `before/report.json`, `after.json` and `broken.json`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    fs::create_dir(folder.path().join("before")).unwrap();
    write("before/report.json", fixture::report(vec![fixture::run(ROUND_ROBIN)]).to_json());
    let after = fixture::report(vec![fixture::run(LEAST), fixture::run(STICKY)]).to_json();
    write("broken.json", after[..after.len() / 3].to_owned());
    write("after.json", after);
    folder
}

#[test]
fn reports_are_compared_as_text_and_as_a_page() {
    let folder = folder();
    let output = report(folder.path(), &["--compare", "before", "after.json", "--html", "page.html"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let shown = text(&output.stdout);
    assert!(shown.starts_with("3 runs side by side"), "{shown}");
    for title in ["=== before ===", "=== after least-conn ===", "=== after sticky ==="] {
        assert!(shown.contains(title), "{title}");
    }
    assert!(!shown.contains('\u{1b}'), "colours are for terminals");
    assert!(fs::read_to_string(folder.path().join("page.html")).unwrap().contains("after sticky"));
}

#[test]
fn what_was_missed_then_is_no_error_now_and_quiet_is_quiet() {
    let folder = folder();
    let output = report(folder.path(), &["before", "--quiet"]);
    assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(0), 0, 0));
}

#[test]
fn bad_input_gets_one_line_and_2() {
    let folder = folder();
    for (arguments, words) in [
        (&["broken.json"][..], "broken.json: it is no report of trunkline-loadtest: EOF"),
        (&["absent.json"], "absent.json cannot be read: No such file"),
        (&["."], "there is no report.json in this folder"),
        (&["before", "after.json"], "add --compare to put them side by side"),
        (&["before", "--html", "absent/page.html"], "cannot write absent/page.html"),
    ] {
        let output = report(folder.path(), arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && error.contains(words), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert_eq!(report(folder.path(), &[]).status.code(), Some(2));
}
