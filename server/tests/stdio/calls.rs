//! Calls side by side: progress, questions, cancellation.

use serde_json::{Value, json};

use super::child::{Stdio, cancel, modern_call, text};
use crate::support::LEGACY;

fn able() -> Value {
    json!({"elicitation": {}, "sampling": {}, "roots": {}})
}

/// Calls `confirm`, which waits for the user: the request's id, and the question.
#[track_caller]
fn asked(stdio: &mut Stdio) -> (i64, Value) {
    let id = stdio.call("confirm", &json!({"question": "sure?"}));
    let question = stdio.message();
    assert_eq!(
        (&question["method"], &question["params"]["message"]),
        (&json!("elicitation/create"), &json!("sure?"))
    );
    (id, question)
}

fn reply(question: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": question["id"], "result": result})
}

#[test]
fn a_call_that_waits_holds_up_no_other() {
    let mut stdio = Stdio::hello("2025-06-18", &able());
    let (first, question) = asked(&mut stdio);
    let (second, other) = asked(&mut stdio);
    for n in 0..20 {
        let id = stdio.call("echo", &json!({"text": n.to_string()}));
        assert_eq!(text(&stdio.answer(id)), n.to_string());
    }
    stdio.send(&reply(&other, &json!({"action": "decline"})));
    assert_eq!(text(&stdio.answer(second)), "declined");
    stdio.send(&reply(&question, &json!({"action": "accept", "content": {"confirmed": true}})));
    assert_eq!(text(&stdio.answer(first)), "yes");
}

/// Written together, as fast as the pipe takes them, and each answered once.
#[test]
fn many_calls_at_once_are_each_answered_once() {
    const CALLS: i64 = 500;
    let mut stdio = Stdio::hello("2025-11-25", &able());
    let lines: String = (1..=CALLS)
        .map(|id| {
            format!(
                "{}\n",
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "add", "arguments": {"a": id, "b": 0}}})
            )
        })
        .collect();
    stdio.write(lines.as_bytes());
    let mut ids: Vec<i64> = (0..CALLS)
        .map(|_| {
            let answer = stdio.message();
            let id = answer["id"].as_i64().unwrap();
            assert_eq!(answer["result"]["structuredContent"]["sum"], id, "{answer}");
            id
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=CALLS).collect::<Vec<_>>());
}

#[test]
fn progress_comes_before_the_answer() {
    let arguments = json!({"ms": 3, "steps": 3});
    for revision in LEGACY {
        let mut stdio = Stdio::hello(revision, &able());
        let params = json!({"name": "slow", "arguments": arguments, "_meta": {"progressToken": "t"}});
        let id = stdio.request("tools/call", &params);
        for step in 1..=3 {
            let progress = stdio.notification("notifications/progress");
            assert_eq!((&progress["progressToken"], &progress["progress"]), (&json!("t"), &json!(step)));
        }
        assert!(text(&stdio.answer(id)).starts_with("3 steps"));
    }
    let mut stdio = Stdio::start();
    stdio.send(&modern_call(&json!("m"), "slow", &arguments).meta("progressToken", json!(7)).message());
    for step in 1..=3 {
        let progress = stdio.notification("notifications/progress");
        assert_eq!((&progress["progressToken"], &progress["progress"]), (&json!(7), &json!(step)));
    }
    assert_eq!(stdio.message()["id"], "m");
}

#[test]
fn answers_that_nobody_waits_for_do_nothing() {
    let mut stdio = Stdio::hello("2025-11-25", &able());
    let (id, question) = asked(&mut stdio);
    for unknown in [json!(1), json!("q"), json!("q.elsewhere.x"), json!(null)] {
        stdio.send(&json!({"jsonrpc": "2.0", "id": unknown, "error": {"code": 1, "message": "no"}}));
    }
    stdio.send(&reply(&json!({"id": "q.x.y"}), &json!({"action": "cancel"})));
    stdio.send(&json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": 1, "message": "the user is asleep"}}));
    let answer = stdio.answer(id);
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("the user is asleep"));
    stdio.send(&reply(&question, &json!({"action": "cancel"})));
    let id = stdio.call("echo", &json!({"text": "next"}));
    assert_eq!(text(&stdio.answer(id)), "next");
}

#[test]
fn a_client_of_2026_07_28_is_asked_in_rounds_and_never_by_a_request() {
    let mut stdio = Stdio::start();
    let call = modern_call(&json!(1), "confirm", &json!({"question": "sure?"})).capabilities(able());
    stdio.send(&call.message());
    let required = stdio.message();
    assert_eq!((&required["id"], &required["result"]["resultType"]), (&json!(1), &json!("input_required")));
    let again = call
        .id(json!(2))
        .param("requestState", required["result"]["requestState"].clone())
        .param("inputResponses", json!({"confirm": {"action": "accept", "content": {"confirmed": false}}}));
    stdio.send(&again.message());
    assert_eq!(text(&stdio.message()), "no");
}

#[test]
fn a_cancelled_call_is_not_answered() {
    let mut stdio = Stdio::hello("2025-06-18", &able());
    let (cancelled, question) = asked(&mut stdio);
    let slow = stdio.call("slow", &json!({"ms": 600_000}));
    for id in [cancelled, slow, 99] {
        stdio.send(&cancel(&json!(id)));
    }
    stdio.send(&reply(&question, &json!({"action": "decline"})));
    let id = stdio.call("echo", &json!({"text": "next"}));
    assert_eq!(text(&stdio.answer(id)), "next");
    // The ids are free again: the calls are over.
    stdio.send(&json!({"jsonrpc": "2.0", "id": slow, "method": "ping"}));
    assert_eq!(stdio.answer(slow)["result"], json!({}));
    stdio.close_input();
    assert_eq!(stdio.rest(), Vec::<Value>::new());
    assert!(stdio.wait().success());
}

#[test]
fn a_cancelled_call_of_2026_07_28_is_not_answered() {
    let mut stdio = Stdio::start();
    for id in [json!(5), json!("five")] {
        stdio.send(&modern_call(&id, "slow", &json!({"ms": 600_000})).message());
        // Not the other one: a number is not its text.
        stdio.send(&cancel(&json!("5")));
        stdio.send(&modern_call(&id, "echo", &json!({"text": "twice"})).message());
        let twice = stdio.message();
        assert_eq!((&twice["id"], &twice["error"]["code"]), (&id, &json!(-32600)), "it still runs");
        stdio.send(&cancel(&id));
        stdio.send(&modern_call(&id, "echo", &json!({"text": "free"})).message());
        assert_eq!(text(&stdio.message()), "free");
    }
    stdio.close_input();
    assert_eq!(stdio.rest(), Vec::<Value>::new());
}

#[test]
fn a_failing_tool_fails_alone() {
    let mut stdio = Stdio::hello("2025-11-25", &able());
    for kind in ["panic", "error", "internal"] {
        let id = stdio.call("fail", &json!({"kind": kind}));
        assert_eq!(stdio.answer(id)["result"]["isError"], true, "{kind}");
    }
    let id = stdio.call("fail", &json!({"kind": "rpc"}));
    assert!(stdio.answer(id)["error"]["code"].is_i64());
    let id = stdio.call("echo", &json!({"text": "well"}));
    assert_eq!(text(&stdio.answer(id)), "well");
}
