//! Bad input changes nothing: no session, no stream, no call, and no memory.

use std::collections::BTreeMap;

use serde_json::json;

use crate::support::{Connection, MODERN, Modern, Request, Session, TestServer, eventually};

/// How often each kind of bad request is sent.
const TIMES: usize = 10_000;

/// How many are on their way at once.
const WINDOW: usize = 50;

/// What may be left of a hundred thousand refusals: what an allocator keeps, not what anybody holds. A leak of 100 bytes for
/// each of one kind alone would not hide in it for long; a session has some KiB.
const GROWTH_KIB: u64 = 6 * 1024;

const GAUGES: [&str; 5] =
    ["sessions_active", "streams_open", "requests_in_flight", "tasks_running", "questions_open"];

/// Every kind of bad request with the status it gets. `session` is alive, and none of them is a use of it that counts.
fn kinds(session: &Session<'_>) -> Vec<(&'static str, Request, u16)> {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let hello = Request::post(&Session::hello("2025-06-18", &json!({})));
    let add = Modern::tool("add", &json!({"a": 1, "b": 2}));
    let confirm = Modern::tool("confirm", &json!({"question": "?"})).capabilities(json!({"elicitation": {}}));
    let unknown = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    vec![
        ("bad JSON", Request::post_text("{\"jsonrpc\":"), 400),
        ("no message", Request::post(&json!({"jsonrpc": "1.0"})), 400),
        ("bad content type", hello.clone().header("Content-Type", "text/plain"), 415),
        ("bad accept", hello.clone().header("Accept", "text/html"), 406),
        ("bad accept of a stream", session.sign(Request::get()).header("Accept", "text/html"), 406),
        ("bad origin", hello.clone().header("Origin", "https://evil.example"), 403),
        ("bad host", hello.clone().header("Host", "evil.example"), 403),
        ("bad initialize", Request::post(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})), 0),
        ("initialize in a live session", hello.clone().session(&session.id), 400),
        ("unknown session", Request::post(&ping).session(unknown), 404),
        ("unknown session, GET", Request::get().session(unknown), 404),
        ("unknown session, DELETE", Request::new("DELETE", "/mcp").session(unknown), 404),
        ("missing session", Request::post(&ping), 400),
        ("unknown method", session.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "nothing"})), 200),
        ("unknown method, stateless", Modern::new("nothing", &json!({})).request(), 404),
        ("bad version header", Request::post(&ping).session(&session.id).version("1999-01-01"), 400),
        ("header mismatch", add.request().header("Mcp-Name", "echo"), 400),
        ("missing metadata", add.clone().without_meta("io.modelcontextprotocol/clientCapabilities").request(), 400),
        ("forged cursor", Modern::new("tools/list", &json!({"cursor": "1.AAAAAAAAAAAAAAAA"})).request(), 200),
        ("forged state", confirm.param("requestState", json!("AAAA")).request(), 0),
        ("forged event id", session.sign(Request::get()).header("Last-Event-ID", "c.AAAA.AAAAAAAAAAAAAAAA.1-0"), 400),
        ("bad arguments", Modern::tool("add", &json!({"a": "x"})).request(), 200),
        ("batch in the wrong revision", Request::post(&json!([ping])).version(MODERN), 400),
        ("wrong verb", Request::new("PUT", "/mcp"), 405),
        ("foreign message path", Request::post(&ping).path("/messages?sessionId=nobody"), 404),
        ("message path without a session", Request::post(&ping).path("/messages"), 400),
    ]
}

/// Sends a request many times over one connection.
fn flood(server: &TestServer, request: &Request, times: usize) -> BTreeMap<u16, usize> {
    let mut statuses = BTreeMap::new();
    let window = request.bytes().repeat(WINDOW);
    let mut connection = server.connect();
    for _ in 0..times / WINDOW {
        connection.send(&window);
        for _ in 0..WINDOW {
            *statuses.entry(connection.receive().status()).or_default() += 1;
        }
    }
    statuses
}

/// An oversized body is refused before it is sent. Its connection does not go on, so there are as many of them as requests.
fn flood_oversized(server: &TestServer, times: usize) {
    let head = Request::post_text("").header("Content-Length", "1000000000").head();
    for _ in 0..times {
        let mut connection: Connection = server.connect();
        connection.send(&head);
        assert_eq!(connection.receive().status(), 413);
    }
}

fn assert_nothing_is_left(server: &TestServer, what: &str) {
    for gauge in GAUGES {
        let expected = i64::from(gauge == "sessions_active");
        eventually(&format!("{gauge} after {what}"), &expected, || server.metric(gauge));
    }
}

#[test]
fn ten_thousand_bad_requests_of_each_kind_change_nothing() {
    let server = TestServer::demo();
    let session = server.initialize("2025-11-25");
    session.tool("remember", &json!({"key": "k", "value": "kept"}));
    let kinds = kinds(&session);
    // The first of each kind make what is made once.
    for (what, request, expected) in &kinds {
        let statuses = flood(&server, request, 4 * WINDOW);
        if *expected != 0 {
            assert_eq!(statuses, BTreeMap::from([(*expected, 4 * WINDOW)]), "{what}");
        }
    }
    flood_oversized(&server, WINDOW);
    let before = server.resident_kib();
    let (files, restored) = (server.open_files(), server.metric("sessions_restored_total"));
    for (what, request, _) in &kinds {
        flood(&server, request, TIMES);
        assert_nothing_is_left(&server, what);
    }
    flood_oversized(&server, TIMES / 10);
    assert_nothing_is_left(&server, "oversized");
    let after = server.resident_kib();
    assert!(after <= before + GROWTH_KIB, "memory grew from {before} KiB to {after} KiB");
    eventually("open files", &true, || server.open_files() <= files + 2);
    assert_eq!(server.metric("sessions_restored_total"), restored, "nothing was read from the store for it");
    // And the one session among them is as it was.
    assert_eq!(session.tool("recall", &json!({"key": "k"}))["structuredContent"]["value"], "kept");
}
