//! Bad input changes nothing: no session, no stream, no call, and no memory.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Connection, MODERN, Modern, Request, Session, TestServer, eventually};

/// How often each kind of bad request is sent.
const TIMES: usize = 10_000;

/// How often variants of them are.
const FEWER: usize = 2_000;

/// An id like ours.
const UNKNOWN: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// How many are on their way at once.
const WINDOW: usize = 50;

/// What may be left of a hundred thousand refusals: what an allocator keeps, not what anybody holds. A leak of 100 bytes for
/// each of one kind alone would not hide in it for long; a session has some KiB.
const GROWTH_KIB: u64 = 6 * 1024;

const GAUGES: [&str; 5] =
    ["sessions_active", "streams_open", "requests_in_flight", "tasks_running", "questions_open"];

/// A kind of bad request, and the status it gets; `None` where what matters is that it is refused.
type Kind = (&'static str, Request, Option<u16>);

fn ping() -> Request {
    Request::post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
}

fn hello() -> Request {
    Request::post(&Session::hello("2025-06-18", &json!({})))
}

/// The kinds that are sent [`TIMES`] times. `session` is alive.
fn kinds(session: &Session<'_>) -> Vec<Kind> {
    let add = Modern::tool("add", &json!({"a": 1, "b": 2}));
    let confirm = Modern::tool("confirm", &json!({"question": "?"})).capabilities(json!({"elicitation": {}}));
    let foreign_event = session.sign(Request::get()).header("Last-Event-ID", "c.AAAA.AAAAAAAAAAAAAAAA.1-0");
    vec![
        ("bad JSON", Request::post_text("{\"jsonrpc\":"), Some(400)),
        ("bad content type", hello().header("Content-Type", "text/plain"), Some(415)),
        ("bad accept", hello().header("Accept", "text/html"), Some(406)),
        ("bad origin", hello().header("Origin", "https://evil.example"), Some(403)),
        ("unknown session", ping().session(UNKNOWN), Some(404)),
        ("missing session", ping(), Some(400)),
        ("unknown method", Modern::new("nothing", &json!({})).request(), Some(404)),
        ("bad version header", ping().session(&session.id).version("1999-01-01"), Some(400)),
        ("header mismatch", add.request().header("Mcp-Name", "echo"), Some(400)),
        (
            "forged cursor",
            Modern::new("tools/list", &json!({"cursor": "1.AAAAAAAAAAAAAAAA"})).request(),
            Some(200),
        ),
        ("forged state", confirm.param("requestState", json!("AAAA")).request(), None),
        ("forged event id", foreign_event, Some(400)),
    ]
}

/// Kinds that take the ways of the ones above, or nearly.
fn variants(session: &Session<'_>) -> Vec<Kind> {
    let of_session = |message: Value| session.post(&message);
    let add = Modern::tool("add", &json!({"a": 1, "b": 2}));
    vec![
        ("no message", Request::post(&json!({"jsonrpc": "1.0"})), Some(400)),
        ("bad accept of a stream", session.sign(Request::get()).header("Accept", "text/html"), Some(406)),
        ("bad host", hello().header("Host", "evil.example"), Some(403)),
        (
            "bad initialize",
            Request::post(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})),
            None,
        ),
        ("initialize in a live session", hello().session(&session.id), Some(400)),
        ("unknown session, GET", Request::get().session(UNKNOWN), Some(404)),
        ("unknown session, DELETE", Request::new("DELETE", "/mcp").session(UNKNOWN), Some(404)),
        (
            "unknown method in a session",
            of_session(json!({"jsonrpc": "2.0", "id": 1, "method": "nothing"})),
            Some(200),
        ),
        (
            "missing metadata",
            add.without_meta("io.modelcontextprotocol/clientCapabilities").request(),
            Some(400),
        ),
        ("bad arguments", Modern::tool("add", &json!({"a": "x"})).request(), Some(200)),
        ("batch in the wrong revision", Request::post(&json!([{}])).version(MODERN), Some(400)),
        ("wrong verb", Request::new("PUT", "/mcp"), Some(405)),
        ("foreign message path", ping().path("/messages?sessionId=nobody"), Some(404)),
        ("message path without a session", ping().path("/messages"), Some(400)),
    ]
}

/// Sends a request many times over one connection.
fn flood(server: &TestServer, request: &Request, times: usize) -> BTreeMap<u16, usize> {
    let mut statuses = BTreeMap::new();
    let window = request.bytes().repeat(WINDOW);
    let mut connection = server.connect();
    for _ in 0..times / WINDOW {
        connection.send(&window);
        for status in connection.statuses(WINDOW) {
            *statuses.entry(status).or_default() += 1;
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
    let kinds = kinds(&session).into_iter().map(|kind| (kind, TIMES));
    let variants = variants(&session).into_iter().map(|kind| (kind, FEWER));
    let all: Vec<(Kind, usize)> = kinds.chain(variants).collect();
    // The first of each kind make what is made once.
    for ((what, request, expected), _) in &all {
        let statuses = flood(&server, request, 4 * WINDOW);
        if let Some(expected) = expected {
            assert_eq!(statuses, BTreeMap::from([(*expected, 4 * WINDOW)]), "{what}");
        }
    }
    flood_oversized(&server, WINDOW);
    let before = server.resident_kib();
    let (files, restored) = (server.settled_files(), server.metric("sessions_restored_total"));
    for ((what, request, _), times) in &all {
        flood(&server, request, *times);
        assert_nothing_is_left(&server, what);
    }
    flood_oversized(&server, TIMES / 10);
    assert_nothing_is_left(&server, "oversized");
    let after = server.resident_kib();
    assert!(after <= before + GROWTH_KIB, "memory grew from {before} KiB to {after} KiB");
    eventually("open files", &true, || server.open_files() <= files);
    assert_eq!(server.metric("sessions_restored_total"), restored, "nothing was read from the store for it");
    // And the one session among them is as it was.
    assert_eq!(session.tool("recall", &json!({"key": "k"}))["structuredContent"]["value"], "kept");
}
