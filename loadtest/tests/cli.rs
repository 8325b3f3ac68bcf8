//! What the program says of its command line, and that nothing is left of it when it has ended.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod fake;

use std::{
    io::Read,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use trunkline_loadtest::{report::Report, scenario};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline-loadtest"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Its exit code, and what it said on standard output and standard error.
fn ended(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = program(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn an_option_that_is_none_is_told_in_a_line() {
    for (arguments, expected) in [
        (
            &["run", "--url", "http://x/mcp", "--clents", "5"][..],
            "'--clents' found; a similar argument exists: '--clients'",
        ),
        (&["run"], "the following required arguments were not provided: --url <URL>"),
        (&["run", "--url"], "a value is required for '--url <URL>' but none was supplied"),
        (&["reprot"], "unrecognized subcommand 'reprot'; a similar subcommand exists: 'report'"),
        (&["run", "--url", "http://x/mcp", "more"], "unexpected argument 'more' found"),
    ] {
        let (code, shown, told) = ended(arguments);
        assert_eq!((code, told.lines().count()), (Some(2), 1), "{arguments:?}: {told}");
        assert!(told.starts_with("trunkline-loadtest: ") && told.contains(expected), "{arguments:?}: {told}");
        assert_eq!(shown, "");
    }
}

#[test]
fn help_is_no_mistake() {
    for arguments in [&["--help"][..], &["run", "--help"], &["--version"]] {
        let (code, shown, told) = ended(arguments);
        assert_eq!((code, told.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(!shown.is_empty(), "{arguments:?}");
    }
}

#[test]
fn mistakes_of_options_and_of_the_scenario_are_told_together() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, "[[step]]\ndo = \"slow\"\n\n[[step]]\ndo = \"ehco\"\n").unwrap();
    let file = file.to_str().unwrap();
    let (code, _, told) = ended(&[
        "run",
        "--url",
        "localhost",
        "--rate",
        "fast",
        "--header",
        "x-key=hunter2",
        "--scenario",
        file,
    ]);
    let told: Vec<&str> =
        told.lines().map(|line| line.strip_prefix("trunkline-loadtest: ").unwrap()).collect();
    let places = ["--url: ", "--rate: ", "--header: ", &format!("{file}:1: "), &format!("{file}:5: ")];
    assert_eq!((code, told.len()), (Some(2), places.len()), "{told:#?}");
    for (line, place) in told.iter().zip(places) {
        assert!(line.starts_with(place) && !line.contains("hunter2"), "{told:#?}");
    }
}

#[test]
fn scenarios_are_listed_printed_and_looked_through() {
    let (code, listed, _) = ended(&["scenario"]);
    assert_eq!(code, Some(0));
    for ((name, text), line) in scenario::BUILT_IN.iter().zip(listed.lines()) {
        let described = scenario::parse(name, text).unwrap().description;
        assert!(line.starts_with(name) && line.ends_with(&described), "{line}");
        assert_eq!(ended(&["scenario", name]), (Some(0), (*text).to_owned(), String::new()));
    }
    let (code, _, told) = ended(&["scenario", "lisners"]);
    let expected = "trunkline-loadtest: there is no \"lisners\"; did you mean listeners? (a file is written as ./lisners.toml)\n";
    assert_eq!((code, told.as_str()), (Some(2), expected));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, "[[step]]\ndo = \"dance\"\n").unwrap();
    let (code, shown, told) = ended(&["scenario", file.to_str().unwrap()]);
    assert_eq!((code, shown.as_str()), (Some(2), ""));
    assert!(told.contains("mine.toml:2: step[0].do: there is no \"dance\""), "{told}");
}

#[test]
fn an_output_that_cannot_be_written_is_told_before_the_run() {
    let (code, _, told) =
        ended(&["run", "--url", "http://127.0.0.1:1/mcp", "--json", "/nowhere/at/all.json"]);
    assert_eq!((code, told.lines().count()), (Some(2), 1), "{told}");
    assert!(told.contains("/nowhere/at/all.json"), "{told}");
}

#[test]
fn an_interrupt_ends_a_run_in_order_and_what_was_counted_is_reported() {
    let fake = fake::Fake::start(fake::Fault::Nothing, None);
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("report.json");
    let (url, scenario) = (fake.url(), folder.path().join("add.toml"));
    std::fs::write(&scenario, "think = \"5ms\"\n[[step]]\ndo = \"add\"\n").unwrap();
    let words =
        ["run", "--url", &url, "--scenario", scenario.to_str().unwrap(), "--json", json.to_str().unwrap()];
    let more = ["--revision", "2025-11-25", "--clients", "3", "--warmup", "0", "--duration", "10m"];
    let mut command = program(&[&words[..], &more[..]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while fake.took().is_empty() {
        assert!(Instant::now() < deadline, "no call came");
        thread::park_timeout(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut shown = String::new();
    child.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{shown}");
    assert!(shown.contains("tools/call add"), "{shown}");
    let tally = &Report::read(&json).unwrap().runs[0].tally;
    assert!(tally.overall().succeeded > 0 && tally.wrong() == 0, "{:?}", tally.examples);
    assert_eq!(fake.sessions(), 0, "every session was ended");
}
