//! What works without a session: the revision that has none, and the older ones where sessions are off.

use serde_json::{Value, json};

use crate::support::{LEGACY, MODERN, Modern, Request, Session, TestServer};

fn off() -> TestServer {
    TestServer::builder().config("[server]\nsessions = \"off\"").start()
}

#[test]
fn the_revision_without_sessions_mints_no_id_and_ignores_one() {
    let server = TestServer::demo();
    let add = Modern::tool("add", &json!({"a": 1, "b": 2})).request();
    for request in [
        add.clone(),
        add.clone().session("00000000-dead"),
        add.clone().session(""),
        add.header("Last-Event-ID", "c.made.up.1-0"),
    ] {
        let response = server.send(&request);
        assert_eq!(response.result()["structuredContent"]["sum"], 3);
        assert_eq!(response.header("mcp-session-id"), None);
    }
    // A live one is no more than an unknown one.
    let session = server.initialize("2025-06-18");
    let listing = Modern::new("tools/list", &json!({})).request().session(&session.id);
    assert_eq!(server.send(&listing).result()["resultType"], "complete");
    assert_eq!(server.metric("sessions_active"), 1);
}

#[test]
fn its_streams_carry_no_event_ids() {
    let server = TestServer::builder().config("[server]\nupgrade_after = \"10ms\"").start();
    let slow = Modern::tool("slow", &json!({"ms": 60, "steps": 3})).meta("progressToken", json!("p"));
    let events = server.modern(&slow).events();
    assert!(events.len() >= 3, "{events:?}");
    assert!(events.iter().all(|event| event.id.is_none() && event.retry.is_none()), "{events:?}");
}

#[test]
fn a_request_of_it_starts_no_session() {
    let server = TestServer::demo();
    for _ in 0..50 {
        server.modern(&Modern::new("tools/list", &json!({})));
        server.modern(&Modern::tool("counter", &json!({"key": "k"})));
    }
    assert_eq!(server.metric("sessions_active"), 0);
    assert_eq!(server.metric("sessions_restored_total"), 0);
}

#[test]
fn values_without_a_session_belong_to_a_handle() {
    let server = TestServer::demo();
    let count = |arguments: Value| server.modern(&Modern::tool("counter", &arguments)).result();
    let first = count(json!({"key": "k", "by": 2}));
    let handle = first["structuredContent"]["handle"].clone();
    assert!(handle.is_string(), "{first}");
    let second = count(json!({"key": "k", "by": 3, "handle": handle}));
    assert_eq!(second["structuredContent"]["value"], 5);
    // Without it everything begins anew; with a made-up one there is nothing.
    assert_eq!(count(json!({"key": "k"}))["structuredContent"]["value"], 1);
    for forged in ["h", "", &format!("{}x", handle.as_str().unwrap())] {
        assert_eq!(count(json!({"key": "k", "handle": forged}))["isError"], true, "{forged}");
    }
}

#[test]
fn sessions_off_serves_older_clients_without_an_id() {
    let server = off();
    for revision in LEGACY {
        let response = server.send(&Request::post(&Session::hello(revision, &json!({}))));
        assert_eq!(response.status(), 200, "{revision}");
        assert_eq!(response.header("mcp-session-id"), None, "{revision}");
        assert_eq!(response.result()["protocolVersion"], revision);
    }
    // From here on nothing says which client it is.
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(server.send(&Request::post(&initialized)).status(), 202);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}});
    for revision in ["2025-06-18", "2025-11-25"] {
        let response = server.send(&Request::post(&call).version(revision));
        assert_eq!(response.result()["structuredContent"]["sum"], 3, "{revision}");
    }
    // An id from elsewhere does no harm.
    assert_eq!(server.send(&Request::post(&call).session("00000000-dead")).status(), 200);
    assert_eq!(server.metric("sessions_active"), 0);
}

#[test]
fn sessions_off_takes_a_request_without_a_version_for_2025_03_26() {
    let server = off();
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]);
    assert_eq!(server.send(&Request::post(&batch)).status(), 200);
    assert_eq!(server.send(&Request::post(&batch).version("2025-06-18")).status(), 400);
    let add = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}});
    let result = server.send(&Request::post(&add)).result();
    assert_eq!(result.get("structuredContent"), None, "{result}");
}

#[test]
fn sessions_off_has_neither_get_nor_delete() {
    let server = off();
    for request in [Request::get(), Request::new("DELETE", "/mcp")] {
        for request in [request.clone(), request.session("00000000-dead")] {
            let response = server.send(&request);
            assert_eq!((response.status(), response.header("allow")), (405, Some("POST")));
        }
    }
    assert_eq!(server.send(&Request::get().path("/sse")).status(), 405);
}

#[test]
fn sessions_off_refuses_what_needs_one_and_hangs_on_nothing() {
    let server = off();
    let post = |method: &str, params: Value| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        server.send(&Request::post(&message).version("2025-06-18"))
    };
    let subscribed = post("resources/subscribe", json!({"uri": "demo://counter"}));
    assert_ne!(subscribed.code(), 0, "{}", subscribed.text());
    // Nobody could be asked: the tool says so at once.
    let asked = post("tools/call", json!({"name": "confirm", "arguments": {"question": "Really?"}}));
    assert_eq!(asked.result()["isError"], true);
    assert_eq!(post("logging/setLevel", json!({"level": "debug"})).status(), 200);
}

#[test]
fn sessions_off_changes_nothing_for_the_revision_without_them() {
    let server = off();
    let answer = server.modern(&Modern::tool("add", &json!({"a": 1, "b": 2})));
    assert_eq!(answer.result()["structuredContent"]["sum"], 3);
    assert_eq!(server.send(&Modern::new("server/discover", &json!({})).request()).status(), 200);
    assert_eq!(answer.result()["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "trunkline");
    assert_eq!(MODERN, "2026-07-28");
}
