//! What cannot be run is refused in a line that says what to change, with exit code 2, and leaves nothing behind.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod fake;

use std::{
    io::{Read, Write},
    net::TcpListener,
    process::{Command, Output},
    thread,
};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trunkline-loadtest")).args(arguments).output().unwrap()
}

/// The lines of a refusal, without the program's name.
fn refused(arguments: &[&str]) -> Vec<String> {
    let output = run(arguments);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(output.stdout.is_empty());
    told.lines().map(|line| line.strip_prefix("trunkline-loadtest: ").unwrap_or(line).to_owned()).collect()
}

#[test]
fn an_unknown_key_of_a_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, "thinc = \"1s\"\n[[step]]\ndo = \"add\"\n").unwrap();
    let file = file.to_str().unwrap();
    let told = refused(&["run", "--url", "http://127.0.0.1:1/mcp", "--scenario", file]);
    assert_eq!(told, [format!("{file}:1: thinc: there is no such key; did you mean think?")]);
}

#[test]
fn every_mistake_of_the_command_line() {
    let told = refused(&[
        "run",
        "--url",
        "http://127.0.0.1:1/mcp",
        "--clients",
        "0",
        "--duration",
        "soon",
        "--slo",
        "p99",
    ]);
    assert_eq!(told.len(), 3, "{told:?}");
}

#[test]
fn nobody_there() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let told = refused(&["run", "--url", &format!("http://127.0.0.1:{port}/mcp")]);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("cannot be reached") && told[0].contains("--url"), "{told:?}");
}

#[test]
fn a_url_that_is_none() {
    let told = refused(&["run", "--url", "localhost"]);
    assert!(told.len() == 1 && told[0].contains("is no URL of an MCP endpoint"), "{told:?}");
}

#[test]
fn a_server_of_something_else() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
            let _request = socket.read(&mut [0; 4096]);
            let _sent = socket.write_all(page.as_bytes());
        }
    });
    let told = refused(&["run", "--url", &url, "--timeout", "2s"]);
    assert!(told.len() == 1 && told[0].contains("does not speak MCP"), "{told:?}");
}

#[test]
fn a_run_ends_by_its_thresholds() {
    let fake = fake::Fake::start(fake::Fault::Nothing, None);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("add.toml");
    std::fs::write(&file, "think = \"5ms\"\n[[step]]\ndo = \"add\"\n").unwrap();
    let url = fake.url();
    let with = |slo| {
        let arguments =
            ["run", "--url", &url, "--scenario", file.to_str().unwrap(), "--revision", "2025-11-25"];
        let more = ["--clients", "2", "--duration", "500ms", "--warmup", "0", "--slo", slo];
        let output = run(&[&arguments[..], &more[..]].concat());
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(told.contains("tools/call add"), "{told}");
        output.status.code()
    };
    assert_eq!((with("errors<1%"), with("rate>1M/s")), (Some(0), Some(1)));
}

#[test]
fn a_scenario_to_begin_with_is_printed() {
    let output = run(&["scenario", "mixed"]);
    assert!(
        output.status.success() && String::from_utf8(output.stdout).unwrap().starts_with("name = \"mixed\"")
    );
    assert!(refused(&["scenario", "weather"])[0].contains("steady"));
}
