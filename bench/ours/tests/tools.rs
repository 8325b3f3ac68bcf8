//! The three tools answer, over a pipe.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

#[test]
fn every_tool_answers() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bench-ours"))
        .arg("stdio")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut requests = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |method: &str, params: &str| {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        writeln!(requests, "{line}").unwrap();
        answers.next().unwrap().unwrap()
    };
    let hello =
        r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#;
    assert!(ask("initialize", hello).contains("bench-ours"));
    let sum = ask("tools/call", r#"{"name":"add","arguments":{"a":2,"b":3}}"#);
    assert!(sum.contains(r#""structuredContent":{"sum":5}"#), "{sum}");
    let text = ask("tools/call", r#"{"name":"text","arguments":{"size":4}}"#);
    assert!(text.contains(r#""text":"xxxx""#), "{text}");
    let order = r#"{"name":"order","arguments":{"customer":{"name":"a","email":"b"},
        "address":{"street":"a","city":"b","zip":"c","country":"d"},"items":[{"sku":"s","quantity":2,"price":5}],
        "priority":"low","gift":true,"currency":"c","channel":"w","locale":"l","newsletter":false,"reference":"r"}}"#;
    let total = ask("tools/call", &order.replace('\n', ""));
    assert!(total.contains(r#""structuredContent":{"total":10,"lines":1}"#), "{total}");
    drop(requests);
    assert!(child.wait().unwrap().success());
}
