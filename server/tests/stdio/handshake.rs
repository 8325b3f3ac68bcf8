//! Both eras, side by side on one pipe.

use serde_json::{Value, json};

use super::child::{Stdio, modern, modern_call, text};
use crate::support::{LEGACY, Session};

#[test]
fn every_revision_with_a_handshake_is_spoken() {
    for revision in LEGACY {
        let mut stdio = Stdio::hello(revision, &json!({}));
        let id = stdio.request("tools/list", &json!({}));
        assert!(stdio.answer(id)["result"]["tools"].as_array().unwrap().len() >= 10);
        let id = stdio.request("ping", &json!({}));
        assert_eq!(stdio.answer(id)["result"], json!({}));
        let id = stdio.call("add", &json!({"a": 1, "b": 2}));
        assert!(text(&stdio.answer(id)).contains('3'), "{revision}");
        // Once is enough, and a second time changes nothing.
        stdio.send(&Session::hello("2025-03-26", &json!({})));
        assert_eq!(stdio.message()["error"]["code"], -32600);
        let id = stdio.call("counter", &json!({"key": "k"}));
        assert!(text(&stdio.answer(id)).contains('1'));
        let id = stdio.call("counter", &json!({"key": "k"}));
        assert!(text(&stdio.answer(id)).contains('2'), "the process is one session");
    }
}

#[test]
fn nothing_is_served_before_the_handshake_and_the_process_lives_on() {
    let mut stdio = Stdio::start();
    let id = stdio.call("echo", &json!({"text": "?"}));
    assert_eq!(stdio.answer(id)["error"]["code"], -32600);
    let id = stdio.request("no/such", &json!({}));
    assert!(stdio.answer(id)["error"]["code"].is_i64());
    stdio.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    stdio.send(&json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
    stdio.send(&json!({"jsonrpc": "2.0", "id": 8, "method": "initialize", "params": {"protocolVersion": 1}}));
    assert_eq!(stdio.message()["error"]["code"], -32602);
    stdio.say_hello("2025-11-25", &json!({}));
    let id = stdio.call("echo", &json!({"text": "now"}));
    assert_eq!(text(&stdio.answer(id)), "now");
}

/// What a client gets that speaks a version we have never heard of.
#[test]
fn an_unknown_version_is_met_with_one_that_is_known() {
    let mut stdio = Stdio::start();
    stdio.send(&Session::hello("2099-01-01", &json!({})));
    assert_eq!(stdio.message()["result"]["protocolVersion"], "2025-11-25");

    let mut stdio = Stdio::start();
    let mut probe = modern(&json!("probe"), "server/discover", &json!({}));
    probe["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    stdio.send(&probe);
    let refused = stdio.message();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("probe"), &json!(-32022)));
    let supported = refused["error"]["data"]["supported"].as_array().unwrap();
    assert!(supported.contains(&json!("2026-07-28")), "{refused}");
}

#[test]
fn requests_that_describe_themselves_need_no_handshake() {
    let mut stdio = Stdio::start();
    stdio.send(&modern(&json!(1), "server/discover", &json!({})));
    let discovered = stdio.message();
    assert!(discovered["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
    stdio.send(&modern_call(&json!("a"), "add", &json!({"a": 1, "b": 2})).message());
    let answer = stdio.message();
    assert_eq!((&answer["id"], &answer["result"]["structuredContent"]["sum"]), (&json!("a"), &json!(3)));
    assert_eq!(answer["result"]["resultType"], "complete");
    stdio.send(&modern(&json!(2), "no/such", &json!({})));
    assert_eq!(stdio.message()["error"]["code"], -32601);
    stdio.send(&modern_call(&json!(3), "no such tool", &json!({})).message());
    assert_eq!(stdio.message()["error"]["code"], -32602);
}

#[test]
fn one_client_may_speak_both_eras() {
    let mut stdio = Stdio::hello("2025-06-18", &json!({}));
    stdio.send(&modern_call(&json!(100), "echo", &json!({"text": "modern"})).message());
    let answer = stdio.message();
    assert_eq!((text(&answer), &answer["result"]["resultType"]), ("modern", &json!("complete")));
    let id = stdio.call("echo", &json!({"text": "legacy"}));
    let answer = stdio.answer(id);
    assert_eq!((text(&answer), &answer["result"]["resultType"]), ("legacy", &Value::Null));
}
