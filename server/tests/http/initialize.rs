//! How a session begins: which revision it gets, and what a stale or a live session id means.

use serde_json::{Value, json};

use crate::support::{LEGACY, Request, Session, TestServer};

fn hello(version: &Value) -> Request {
    let params =
        json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    Request::post(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
}

#[test]
fn each_revision_is_served_as_asked() {
    let server = TestServer::demo();
    for revision in LEGACY {
        let response = server.send(&hello(&json!(revision)));
        assert_eq!(response.result()["protocolVersion"], revision);
        assert!(response.header("mcp-session-id").is_some(), "{revision}");
    }
}

#[test]
fn an_unknown_version_in_the_body_gets_a_counter_offer() {
    let server = TestServer::demo();
    for version in ["1999-01-01", "2027-01-01", "DRAFT", "", "2026-07-28"] {
        let response = server.send(&hello(&json!(version)));
        assert_eq!(response.status(), 200, "{version}: {}", response.text());
        assert_eq!(response.result()["protocolVersion"], "2025-11-25", "{version}");
    }
}

#[test]
fn an_eager_version_header_does_not_stop_initialize() {
    let server = TestServer::demo();
    for header in ["1999-01-01", "DRAFT", "2025-06-18"] {
        let response = server.send(&hello(&json!("2025-06-18")).version(header));
        assert_eq!(response.status(), 200, "{header}: {}", response.text());
        assert_eq!(response.result()["protocolVersion"], "2025-06-18", "{header}");
    }
}

#[test]
fn initialize_under_the_revision_without_sessions_is_a_contradiction() {
    let server = TestServer::demo();
    for body in ["2025-11-25", "2026-07-28"] {
        let response = server.send(&hello(&json!(body)).version("2026-07-28"));
        assert_eq!(response.refusal(), (400, -32602), "{body}: {}", response.text());
        assert_eq!(response.header("mcp-session-id"), None, "{body}");
    }
}

#[test]
fn initialize_needs_none_of_the_headers_of_the_revision_without_sessions() {
    let server = TestServer::demo();
    // No Mcp-Method, no version: as every client before 2026-07-28 sends it.
    let request = hello(&json!("2025-11-25"));
    assert_eq!(server.send(&request).status(), 200);
}

#[test]
fn initialize_without_its_parameters_is_an_error_with_its_id() {
    let server = TestServer::demo();
    for params in [
        json!({}),
        json!({"protocolVersion": 5}),
        json!({"protocolVersion": "2025-06-18", "capabilities": 1}),
    ] {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": params});
        let response = server.send(&Request::post(&message));
        assert_eq!((response.code(), response.json()["id"].clone()), (-32602, json!(7)), "{params}");
        assert_eq!(response.header("mcp-session-id"), None, "{params}");
    }
    assert_eq!(server.metric("sessions_active"), 0);
}

#[test]
fn initialize_with_an_id_that_is_not_alive_makes_a_new_session() {
    let server = TestServer::demo();
    let ended = server.initialize("2025-06-18");
    assert_eq!(ended.delete().status(), 204);
    for stale in [ended.id.as_str(), "00000000-dead", "", "\u{e9}", "a b"] {
        let response = server.send(&hello(&json!("2025-06-18")).session(stale));
        assert_eq!(response.status(), 200, "{stale:?}: {}", response.text());
        let id = response.header("mcp-session-id").unwrap();
        assert_ne!(id, stale);
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        assert_eq!(server.send(&Request::post(&ping).session(id)).status(), 200, "{stale:?}");
    }
}

#[test]
fn initialize_within_a_live_session_is_refused_and_the_session_goes_on() {
    let server = TestServer::demo();
    let session = server.initialize("2025-06-18");
    session.tool("remember", &json!({"key": "k", "value": "kept"}));
    let response = server.send(&hello(&json!("2025-06-18")).session(&session.id));
    assert_eq!(response.refusal(), (400, -32600), "{}", response.text());
    assert_eq!(response.header("mcp-session-id"), None);
    let recalled = session.tool("recall", &json!({"key": "k"}));
    assert_eq!(recalled["structuredContent"]["value"], "kept");
}

#[test]
fn the_first_request_need_not_wait_for_the_initialized_notification() {
    let server = TestServer::demo();
    for revision in LEGACY {
        let response = server.send(&Request::post(&Session::hello(revision, &json!({}))));
        let id = response.header("mcp-session-id").unwrap();
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        let listed = server.send(&Request::post(&list).session(id));
        assert_eq!(listed.status(), 200, "{revision}: {}", listed.text());
        let late = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(server.send(&Request::post(&late).session(id)).status(), 202, "{revision}");
    }
}

#[test]
fn nothing_of_a_newer_revision_is_in_an_older_greeting() {
    let server = TestServer::demo();
    let greeting = |revision: &str| server.send(&hello(&json!(revision))).result();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let result = greeting(revision);
        assert_eq!(result["capabilities"].get("tasks"), None, "{revision}");
        assert_eq!(result["capabilities"].get("extensions"), None, "{revision}");
        assert_eq!(result["serverInfo"].get("icons"), None, "{revision}");
    }
    assert_eq!(greeting("2024-11-05")["capabilities"].get("completions"), None);
    for revision in ["2024-11-05", "2025-03-26"] {
        assert_eq!(greeting(revision)["serverInfo"].get("title"), None, "{revision}");
    }
    assert!(greeting("2025-03-26")["capabilities"].get("completions").is_some());
    assert!(greeting("2025-06-18")["serverInfo"].get("title").is_some());
    let latest = greeting("2025-11-25");
    assert!(latest["capabilities"].get("tasks").is_some());
    assert_eq!(latest["capabilities"].get("extensions"), None);
    assert_eq!(latest.get("resultType"), None);
}
