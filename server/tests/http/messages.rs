//! What is a message, and what is not: the body of a POST and how it is declared.

use serde_json::{Value, json};

use crate::support::{MODERN, Modern, Request, STREAMABLE, TestServer};

const PARSE: i64 = -32700;
const INVALID: i64 = -32600;

#[test]
fn body_is_not_json() {
    let server = TestServer::demo();
    let session = server.initialize("2025-11-25");
    for body in
        ["", " ", "{", "{\"jsonrpc\":\"2.0\"", "nonsense", "{} {}", "[1", "\u{feff}{}", "NaN", "{\"a\":1,}"]
    {
        let response = server.send(&session.sign(Request::post_text(body)));
        assert_eq!(response.refusal(), (400, PARSE), "{body:?}: {}", response.text());
        assert_eq!(response.json()["id"], Value::Null, "{body:?}");
    }
    let not_utf8 = Request::post_text("").body(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}");
    assert_eq!(server.send(&session.sign(not_utf8)).refusal(), (400, PARSE));
}

#[test]
fn not_a_json_rpc_message() {
    let server = TestServer::demo();
    let session = server.initialize("2025-11-25");
    for message in [
        json!(null),
        json!(1),
        json!("ping"),
        json!({}),
        json!({"id": 1, "method": "ping"}),
        json!({"jsonrpc": "1.0", "id": 1, "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": null, "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": {}, "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": 5}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": "x"}),
        json!({"jsonrpc": "2.0", "id": 1}),
        json!({"jsonrpc": "2.0", "result": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": "x"}}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "result": {}}),
    ] {
        let response = session.send(&message);
        assert_eq!(response.refusal(), (400, INVALID), "{message}: {}", response.text());
    }
    // Two readers of one body must not see two messages.
    let twice = r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#;
    assert_eq!(server.send(&session.sign(Request::post_text(twice))).refusal(), (400, INVALID));
}

#[test]
fn the_id_of_a_bad_message_is_answered_where_it_can_be_read() {
    let server = TestServer::demo();
    let session = server.initialize("2025-11-25");
    for id in [json!(7), json!("seven")] {
        let response = session.send(&json!({"jsonrpc": "2.0", "id": id, "method": 5}));
        assert_eq!(response.json()["id"], id);
    }
}

#[test]
fn a_batch_where_the_revision_has_none() {
    let server = TestServer::demo();
    let ping = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]);
    for revision in ["2025-06-18", "2025-11-25"] {
        let session = server.initialize(revision);
        assert_eq!(session.send(&ping).refusal(), (400, INVALID), "{revision}");
        // The session's revision counts, not the lack of a header.
        let unstated = session.post(&ping).without("MCP-Protocol-Version");
        assert_eq!(server.send(&unstated).refusal(), (400, INVALID), "{revision}");
    }
    let mut modern = Modern::new("tools/list", &json!({})).message();
    modern = json!([modern]);
    let request = Request::post(&modern).version(MODERN).header("Mcp-Method", "tools/list");
    assert_eq!(server.send(&request).refusal(), (400, INVALID));
}

#[test]
fn an_empty_batch() {
    let server = TestServer::demo();
    for revision in STREAMABLE {
        let session = server.initialize(revision);
        assert_eq!(session.send(&json!([])).refusal(), (400, INVALID), "{revision}");
    }
}

#[test]
fn content_type_is_not_json() {
    let server = TestServer::demo();
    let session = server.initialize("2025-11-25");
    let ping = session.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    for wrong in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "text/json",
        "application/json; charset=utf-16",
        "json",
        "",
    ] {
        let response = server.send(&ping.clone().header("Content-Type", wrong));
        assert_eq!(response.refusal(), (415, INVALID), "{wrong:?}");
    }
    assert_eq!(server.send(&ping.clone().without("Content-Type")).status(), 415);
    for right in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=\"UTF-8\"",
    ] {
        assert_eq!(server.send(&ping.clone().header("Content-Type", right)).status(), 200, "{right}");
    }
}

/// A coded body is nothing that we read: unpacked, a small one may be larger than any limit.
#[test]
fn a_coded_body_is_415() {
    let server = TestServer::demo();
    let session = server.initialize("2025-11-25");
    let ping = session.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    for coding in
        ["gzip", "GZIP", "deflate", "br", "zstd", "x-gzip", "identity, gzip", "gzip, identity", "none"]
    {
        let response = server.send(&ping.clone().header("Content-Encoding", coding));
        assert_eq!(response.refusal(), (415, INVALID), "{coding}");
        assert!(response.text().contains("Content-Encoding"), "{}", response.text());
        let old = Request::post_text("{}").path("/messages?sessionId=x").header("Content-Encoding", coding);
        assert_eq!(server.send(&old).status(), 415, "{coding}");
    }
    for (first, second) in [("identity", "gzip"), ("gzip", "identity")] {
        let twice = ping.clone().also("Content-Encoding", first).also("Content-Encoding", second);
        assert_eq!(server.send(&twice).status(), 415, "{first} and {second}");
    }
    for plain in ["identity", "Identity"] {
        assert_eq!(server.send(&ping.clone().header("Content-Encoding", plain)).status(), 200, "{plain}");
    }
    // It is refused by its head: what would come of it is not waited for.
    let bomb = ping.header("Content-Encoding", "gzip").header("Content-Length", "1000000");
    let mut connection = server.connect();
    connection.send(&bomb.head());
    assert_eq!(connection.head().status, 415);
}

#[test]
fn a_content_type_that_comes_twice_is_none() {
    let server = TestServer::demo();
    let session = server.initialize("2025-11-25");
    let ping = session.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    for second in ["text/plain", "application/json"] {
        let response = server.send(&ping.clone().also("Content-Type", second));
        assert_eq!(response.refusal(), (415, INVALID), "{second}");
    }
}

/// Whoever stands before us and reads the other one has let something else pass.
#[test]
fn a_member_that_comes_twice_is_refused_and_nothing_is_done() {
    let server = TestServer::demo();
    let session = server.initialize("2025-11-25");
    let touch = r#"{"name":"touch","arguments":{"uri":"demo://counter"}}"#;
    let add = r#"{"name":"add","arguments":{"a":1,"b":2}}"#;
    for members in [
        format!(r#""jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"tools/call","params":{touch}"#),
        format!(r#""jsonrpc":"1.0","jsonrpc":"2.0","id":1,"method":"tools/call","params":{touch}"#),
        format!(r#""jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{touch}"#),
        format!(r#""jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{touch}"#),
        format!(r#""jsonrpc":"2.0","id":1,"method":"tools/call","params":{add},"params":{touch}"#),
        format!(r#""jsonrpc":"2.0","id":1,"params":{add},"method":"tools/call","params":{touch}"#),
        r#""jsonrpc":"2.0","id":1,"result":{},"result":{}"#.to_owned(),
    ] {
        let response = server.send(&session.sign(Request::post_text(&format!("{{{members}}}"))));
        assert_eq!(response.refusal(), (400, INVALID), "{members}: {}", response.text());
    }
    // Within the parameters it is the method's to complain of.
    for params in [
        r#"{"name":"add","name":"touch","arguments":{"uri":"demo://counter"}}"#,
        r#"{"name":"touch","arguments":{"uri":"demo://logo"},"arguments":{"uri":"demo://counter"}}"#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let response = server.send(&session.sign(Request::post_text(&body)));
        assert_eq!(response.refusal(), (200, -32602), "{params}: {}", response.text());
    }
    let counter = session.call("resources/read", &json!({"uri": "demo://counter"}));
    assert_eq!(counter["contents"][0]["text"], "0");
}

#[test]
fn notifications_and_answers_get_a_bare_202() {
    let server = TestServer::demo();
    for revision in STREAMABLE {
        let session = server.initialize(revision);
        for message in [
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}),
            json!({"jsonrpc": "2.0", "method": "notifications/unheard/of", "params": {"a": 1}}),
            json!({"jsonrpc": "2.0", "id": 99, "result": {}}),
            json!({"jsonrpc": "2.0", "id": "unasked", "error": {"code": -1, "message": "no"}}),
            // As if another replica had asked, which is gone.
            json!({"jsonrpc": "2.0", "id": "q.AAAAAAAA.AAAAAAAAAAAAAAAA", "result": {}}),
        ] {
            let response = session.send(&message);
            assert_eq!(response.status(), 202, "{revision} {message}: {}", response.text());
            assert_eq!(response.body, b"", "{revision} {message}");
            assert_eq!(response.header("content-type"), None, "{revision} {message}");
        }
        // Late and unknown answers are no reason to end anything.
        assert_eq!(session.call("ping", &json!({})), json!({}), "{revision}");
    }
    assert_eq!(server.metric("late_answers_total"), 6);
}

#[test]
fn a_client_of_the_revision_without_sessions_sends_no_answers() {
    let server = TestServer::demo();
    let answer = Request::post(&json!({"jsonrpc": "2.0", "id": 1, "result": {}})).version(MODERN);
    assert_eq!(server.send(&answer).refusal(), (400, INVALID));
}

#[test]
fn an_id_is_returned_as_it_came() {
    let server = TestServer::demo();
    let session = server.initialize("2025-06-18");
    for id in [json!(0), json!(-1), json!(9_007_199_254_740_991_i64), json!(""), json!("a\"b\u{e9}\u{1f600}")]
    {
        let response = session.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
        assert_eq!(response.json()["id"], id);
        let stateless = server.modern(&Modern::tool("add", &json!({"a": 1, "b": 1})).id(id.clone()));
        assert_eq!(stateless.json()["id"], id);
    }
}
