//! The end of the process: the client closes its side, or a signal comes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::child::{Stdio, modern_call, text};

#[test]
fn the_process_ends_with_its_input() {
    let mut stdio = Stdio::start();
    stdio.close_input();
    assert_eq!(stdio.rest(), Vec::<Value>::new());
    assert!(stdio.wait().success());
}

/// The last line needs no end, and its answer comes before the output is closed.
#[test]
fn what_was_asked_before_the_end_is_answered() {
    let mut stdio = Stdio::hello("2025-11-25", &json!({}));
    let quick: Vec<_> = (0..50).map(|n| stdio.call("echo", &json!({"text": n.to_string()}))).collect();
    let slow = stdio.call("slow", &json!({"ms": 100, "steps": 1}));
    let last = json!({"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}});
    stdio.write(last.to_string().as_bytes());
    stdio.close_input();
    let rest = stdio.rest();
    let answered =
        |id: Value| rest.iter().filter(|answer| answer["id"] == id && answer["result"].is_object()).count();
    for id in quick.into_iter().chain([slow]) {
        assert_eq!(answered(json!(id)), 1, "{id}");
    }
    assert_eq!(answered(json!("last")), 1);
    assert_eq!(rest.len(), 52);
    assert!(stdio.wait().success());
}

#[test]
fn a_call_that_takes_too_long_does_not_hold_up_the_end() {
    let mut stdio = Stdio::hello("2025-06-18", &json!({"elicitation": {}}));
    stdio.call("slow", &json!({"ms": 600_000}));
    stdio.call("confirm", &json!({"question": "?"}));
    assert_eq!(stdio.message()["method"], "elicitation/create");
    stdio.send(&modern_call(&json!("m"), "slow", &json!({"ms": 600_000})).message());
    let closed = Instant::now();
    stdio.close_input();
    stdio.rest();
    assert!(stdio.wait().success());
    // Clients wait a few seconds before they use force.
    assert!(closed.elapsed() < Duration::from_secs(10));
}

/// Nothing has to come from the client for that.
#[test]
fn a_signal_ends_the_process_while_its_input_is_open() {
    let mut stdio = Stdio::hello("2025-06-18", &json!({}));
    let id = stdio.call("echo", &json!({"text": "x"}));
    assert_eq!(text(&stdio.answer(id)), "x");
    stdio.sigterm();
    assert_eq!(stdio.rest(), Vec::<Value>::new());
    assert!(stdio.wait().success());
}
