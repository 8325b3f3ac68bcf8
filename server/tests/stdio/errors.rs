//! What is refused, and with which error: the same as over HTTP, without its statuses.

use serde_json::{Value, json};

use super::child::{Stdio, modern, modern_call, text};
use crate::support::{LEGACY, Modern};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The code of the error that answers a message.
#[track_caller]
fn code(stdio: &mut Stdio, message: &Value) -> i64 {
    stdio.send(message);
    let answer = stdio.message();
    assert_eq!(answer["id"], message["id"], "{answer}");
    answer["error"]["code"].as_i64().unwrap_or_default()
}

#[test]
fn errors_of_the_older_revisions() {
    for revision in LEGACY {
        let mut stdio = Stdio::hello(revision, &json!({}));
        for (method, params, expected) in [
            ("no/such", json!({}), -32601),
            ("tools/call", json!({"name": "no such tool"}), -32602),
            ("tools/call", json!({"name": 5}), -32602),
            ("prompts/get", json!({"name": "no such prompt"}), -32602),
            ("tools/list", json!({"cursor": "made up"}), -32602),
            ("resources/read", json!({"uri": "demo://nothing"}), -32002),
        ] {
            let message = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
            assert_eq!(code(&mut stdio, &message), expected, "{revision} {method} {params}");
        }
        let id = stdio.call("add", &json!({"a": 1, "b": "two"}));
        let answer = stdio.answer(id);
        assert_eq!(answer["result"]["isError"], true, "{revision}");
        assert!(text(&answer).contains("/b: "), "{answer}");
        // A client that cannot be asked is not asked.
        let id = stdio.call("confirm", &json!({"question": "?"}));
        assert_eq!(stdio.answer(id)["result"]["isError"], true, "{revision}");
    }
}

#[test]
fn errors_of_2026_07_28() {
    let mut stdio = Stdio::start();
    let call = |tool: &str, arguments: &Value| modern_call(&json!("x"), tool, arguments);
    let of = |method: &str, params: &Value| modern(&json!("x"), method, params);
    for (message, expected) in [
        (of("no/such", &json!({})), -32601),
        (of("initialize", &json!({})), -32601),
        (of("ping", &json!({})), -32601),
        (of("resources/subscribe", &json!({"uri": "demo://logo"})), -32601),
        (call("no such tool", &json!({})).message(), -32602),
        (of("prompts/get", &json!({"name": "no such prompt"})), -32602),
        (of("tools/list", &json!({"cursor": "made up"})), -32602),
        (of("resources/read", &json!({"uri": "demo://nothing"})), -32602),
        (call("add", &json!({})).without_meta(CAPABILITIES).message(), -32602),
        (json!({"jsonrpc": "2.0", "id": "x", "method": "server/discover"}), -32602),
        (call("add", &json!({})).meta(VERSION, json!("2025-11-25")).message(), -32022),
        (call("confirm", &json!({"question": "?"})).message(), -32021),
        (of("tasks/get", &json!({"taskId": "t"})), -32021),
        (of("subscriptions/listen", &json!({"notifications": {"taskIds": ["t"]}})), -32021),
        (of("subscriptions/listen", &json!({"notifications": 5})), -32602),
        (of("subscriptions/listen", &json!({})), -32602),
    ] {
        assert_eq!(code(&mut stdio, &message), expected, "{message}");
    }
    stdio.send(&call("add", &json!({"a": 1, "b": 2})).message());
    assert_eq!(stdio.message()["result"]["structuredContent"]["sum"], 3);
}

#[test]
fn a_member_that_comes_twice_is_refused() {
    let mut stdio = Stdio::hello("2025-06-18", &json!({}));
    for members in [
        r#""jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping""#,
        r#""jsonrpc":"1.0","jsonrpc":"2.0","id":1,"method":"ping""#,
        r#""jsonrpc":"2.0","id":1,"method":"tools/list","method":"ping""#,
        r#""jsonrpc":"2.0","id":1,"method":"tools/list","params":{},"params":{}"#,
    ] {
        stdio.write(format!("{{{members}}}\n").as_bytes());
        let refused = stdio.message();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(1), &json!(-32600)), "{members}");
    }
}

/// Each is a stream of its own, if on one channel with the others.
#[test]
fn there_are_no_more_subscriptions_than_streams_may_be() {
    let mut stdio = Stdio::with("limits.streams_per_session = 2");
    let listen = |id: i64| {
        let listen =
            Modern::new("subscriptions/listen", &json!({"notifications": {"toolsListChanged": true}}));
        listen.id(json!(id)).message()
    };
    for id in 1..=2 {
        stdio.send(&listen(id));
        stdio.notification("notifications/subscriptions/acknowledged");
    }
    stdio.send(&listen(3));
    let refused = stdio.message();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(3), &json!(-32603)), "{refused}");
    assert!(
        refused["error"]["message"].as_str().unwrap().contains("limits.streams_per_session"),
        "{refused}"
    );
    // One that is cancelled makes room: it is let go of soon.
    stdio.send(&super::child::cancel(&json!(1)));
    let opened = crate::support::within(crate::support::DEADLINE, || {
        stdio.send(&listen(4));
        stdio.message()["method"] == "notifications/subscriptions/acknowledged"
    });
    assert!(opened);
}

#[test]
fn a_batch_over_the_limit_is_refused_whole() {
    let mut stdio = Stdio::with("limits.batch = 2");
    stdio.say_hello("2025-03-26", &json!({}));
    let count = |id: i64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "counter", "arguments": {"key": "k"}}});
    stdio.send(&json!([count(1), count(2), count(3)]));
    let refused = stdio.message();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)), "{refused}");
    stdio.send(&json!([count(1), count(2)]));
    assert_eq!(stdio.message().as_array().unwrap().len(), 2);
    let id = stdio.call("counter", &json!({"key": "k", "by": 0}));
    assert!(text(&stdio.answer(id)).contains('2'), "the first batch has done nothing");
}
