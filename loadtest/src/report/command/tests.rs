use std::fs;

use clap::Parser;

use super::*;
use crate::report::testing;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn arguments(words: &[&str]) -> Arguments {
    Line::parse_from(std::iter::once(&"report").chain(words)).arguments
}

fn shown(words: &[&str]) -> Result<String, CommandError> {
    let mut out = Vec::new();
    show(&arguments(words), Style::PLAIN, &mut out).map(|()| String::from_utf8(out).unwrap())
}

/// Two reports: one in a folder, one in a file.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("before")).unwrap();
    fs::write(folder.path().join("before/report.json"), testing::report(vec![testing::run()]).to_json())
        .unwrap();
    fs::write(folder.path().join("after.json"), testing::report(vec![testing::troubled()]).to_json())
        .unwrap();
    folder
}

#[test]
fn reports_are_called_by_their_files_or_folders() {
    let names = |paths: [&str; 3]| names(&paths.map(PathBuf::from));
    assert_eq!(names(["a/report.json", "b/report.json", "c/other.json"]), ["a", "b", "other"]);
    assert_eq!(names(["a/x.json", "b/x.json", "report.json"]), ["a/x", "b/x", "report"]);
    assert_eq!(names(["a/before", "after.json", "."]), ["before", "after", "."]);
}

#[test]
fn a_report_is_shown_again_and_its_page_written() {
    let folder = folder();
    let (file, page) = (folder.path().join("after.json"), folder.path().join("page.html"));
    let text = shown(&[file.to_str().unwrap(), "--html", page.to_str().unwrap()]).unwrap();
    assert!(text.starts_with("It did not hold: steady"), "{text}");
    assert!(fs::read_to_string(page).unwrap().starts_with("<!DOCTYPE html>"));
}

#[test]
fn reports_are_put_side_by_side() {
    let folder = folder();
    let (before, after) = (folder.path().join("before"), folder.path().join("after.json"));
    let (before, after) = (before.to_str().unwrap(), after.to_str().unwrap());
    let text = shown(&["--compare", before, after]).unwrap();
    assert!(text.starts_with("2 runs side by side") && text.contains("=== before ==="), "{text}");
    let error = shown(&[before, after]).unwrap_err();
    assert_eq!(error.to_string(), "these are 2 reports: add --compare to put them side by side, or name one");
}

#[test]
fn what_is_no_report_is_named_and_nothing_is_written() {
    let folder = folder();
    let (page, other) = (folder.path().join("page.html"), folder.path().join("other.json"));
    fs::write(&other, "{\"schema\": \"yes\"}").unwrap();
    for (file, words) in [
        ("absent.json", "cannot be read"),
        ("other.json", "it is no report of trunkline-loadtest"),
        ("", "there is no report.json in this folder"),
    ] {
        let path = folder.path().join(file);
        let error =
            shown(&[path.to_str().unwrap(), "--html", page.to_str().unwrap()]).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains(path.to_str().unwrap()), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
    assert!(!page.exists());
}
