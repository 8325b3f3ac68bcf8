//! The life of a session: who finds it, when it is gone, and what is left of it then.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use tokio::sync::Notify;
use trunkline::{Exchange, NoArguments, Server, Tool};

use crate::support::{LEGACY, Request, STREAMABLE, Session, TestServer, eventually};

fn ping() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})
}

/// One of each kind of request that needs a session.
fn kinds() -> [(&'static str, Request); 5] {
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let answer = json!({"jsonrpc": "2.0", "id": "q.a.b", "result": {}});
    [
        ("request", Request::post(&ping())),
        ("notification", Request::post(&notification)),
        ("answer", Request::post(&answer)),
        ("GET", Request::get()),
        ("DELETE", Request::new("DELETE", "/mcp")),
    ]
}

#[test]
fn session_needed_and_missing() {
    let server = TestServer::demo();
    // One that is there is not taken for the one that is meant.
    let only = server.initialize("2025-06-18");
    for (kind, request) in kinds() {
        let response = server.send(&request);
        assert_eq!(response.refusal(), (400, -32600), "{kind}: {}", response.text());
        assert!(response.json()["error"]["message"].as_str().unwrap().contains("Mcp-Session-Id"), "{kind}");
    }
    assert_eq!(only.call("ping", &json!({})), json!({}));
}

#[test]
fn session_unknown_or_deleted() {
    let server = TestServer::demo();
    let deleted = server.initialize("2025-06-18");
    assert_eq!(deleted.delete().status(), 204);
    let alive = server.initialize("2025-06-18");
    let mut forged = alive.id.clone();
    let last = if forged.pop() == Some('A') { 'B' } else { 'A' };
    forged.push(last);
    for id in [deleted.id.as_str(), "00000000-dead", "", "a b", "\u{e9}", &forged, &"x".repeat(4000)] {
        for (kind, request) in kinds() {
            let response = server.send(&request.session(id));
            assert_eq!(response.refusal(), (404, -32600), "{kind} with {id:?}: {}", response.text());
            // At once and whole, before any stream has begun; and no reason to ask for credentials.
            assert_eq!(response.header("content-type"), Some("application/json"), "{kind} with {id:?}");
            assert_eq!(response.header("www-authenticate"), None, "{kind} with {id:?}");
        }
    }
    assert_eq!(alive.call("ping", &json!({})), json!({}));
    assert_eq!(server.metric("sessions_active"), 1);
}

#[test]
fn a_repeated_session_header_names_no_session() {
    let server = TestServer::demo();
    let (one, other) = (server.initialize("2025-06-18"), server.initialize("2025-06-18"));
    let request = Request::post(&ping()).also("Mcp-Session-Id", &one.id).also("Mcp-Session-Id", &other.id);
    assert_eq!(server.send(&request).status(), 404);
}

#[test]
fn session_expired() {
    let config = "[store]\nsession_ttl = \"1s\"\ninit_ttl = \"1s\"\n[limits]\nsessions = 1";
    let server = TestServer::builder().config(config).start();
    let session = server.initialize("2025-06-18");
    assert_eq!(session.call("ping", &json!({})), json!({}));
    // Looking with its id would be a use, so it is seen by the room that it leaves.
    let hello = Request::post(&Session::hello("2025-06-18", &json!({})));
    eventually("a session after the unused one", &200, || server.send(&hello).status());
    for (kind, request) in kinds() {
        assert_eq!(server.send(&request.session(&session.id)).status(), 404, "{kind}");
    }
}

#[test]
fn a_session_that_never_got_past_initialize_expires_sooner() {
    let server = TestServer::builder().config("[store]\ninit_ttl = \"1s\"\n[limits]\nsessions = 1").start();
    let hello = Request::post(&Session::hello("2025-06-18", &json!({})));
    assert_eq!(server.send(&hello).status(), 200);
    assert_eq!(server.send(&hello).status(), 503, "there is room for one");
    eventually("a session after the abandoned one", &200, || server.send(&hello).status());
    // One that is used lives on for the ordinary time.
    let server = TestServer::builder().config("[store]\ninit_ttl = \"1s\"\n[limits]\nsessions = 2").start();
    let used = server.initialize("2025-06-18");
    assert_eq!(server.send(&hello).status(), 200);
    assert_eq!(server.send(&hello).status(), 503);
    eventually("a session after the abandoned one", &200, || server.send(&hello).status());
    assert_eq!(used.send(&ping()).status(), 200);
}

#[test]
fn many_sessions_of_one_caller_live_side_by_side() {
    let server = TestServer::demo();
    let sessions: Vec<_> =
        STREAMABLE.iter().cycle().take(12).map(|revision| server.initialize(revision)).collect();
    for (number, session) in sessions.iter().enumerate() {
        session.tool("counter", &json!({"key": "k", "by": number}));
    }
    for (number, session) in sessions.iter().enumerate() {
        // Each has its own values, and its own revision.
        let counted = session.tool("counter", &json!({"key": "k", "by": 0}));
        let text = counted["content"][0]["text"].as_str().unwrap();
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(value["value"], number, "{counted}");
        let structured = counted.get("structuredContent").is_some();
        assert_eq!(structured, session.revision.as_str() > "2025-03-26");
    }
}

/// How many threads serve is nobody's concern: a connection comes to any of them.
#[test]
fn a_session_is_known_to_every_worker() {
    let server = TestServer::builder().config("server.workers = 4\nserver.upgrade_after = \"20ms\"").start();
    let session = server.initialize_with("2025-11-25", &json!({"elicitation": {}}));
    let mut listening = session.listen();
    session.call("resources/subscribe", &json!({"uri": "demo://counter"}));
    // Connections go round the workers; none is given back before all are open.
    let mut connections: Vec<_> = (0..12).map(|_| server.connect()).collect();
    for connection in &mut connections {
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        assert_eq!(connection.exchange(&session.post(&ping)).status(), 200);
        let touch = json!({"name": "touch", "arguments": {"uri": "demo://counter"}});
        let touch = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": touch});
        assert_eq!(connection.exchange(&session.post(&touch)).status(), 200);
        assert_eq!(listening.message()["method"], "notifications/resources/updated");
        let mut asking =
            session.stream("tools/call", &json!({"name": "confirm", "arguments": {"question": "?"}}));
        let question = asking.message();
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
        assert_eq!(connection.exchange(&session.post(&answer)).status(), 202);
        assert_eq!(asking.message()["result"]["content"][0]["text"], "declined");
    }
    assert_eq!(server.metric("sessions_restored_total"), 1);
}

#[test]
fn one_request_id_is_used_in_many_sessions_at_once() {
    let server = TestServer::demo();
    let sessions: Vec<_> = (0..4).map(|_| server.initialize("2025-06-18")).collect();
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "slow", "arguments": {"ms": 300}}});
    let mut connections: Vec<_> = sessions
        .iter()
        .map(|session| {
            let mut connection = server.connect();
            connection.send(&session.post(&call).bytes());
            connection
        })
        .collect();
    server.await_metric("requests_in_flight", 4);
    // Cancelling one stops no other.
    sessions[0].notify("notifications/cancelled", &json!({"requestId": 5}));
    server.await_metric("requests_in_flight", 3);
    for connection in &mut connections[1..] {
        assert_eq!(connection.receive().result()["content"][0]["text"], "1 steps in 300 ms");
    }
}

#[test]
fn a_request_id_in_flight_is_refused_and_the_call_goes_on() {
    let server = TestServer::demo();
    let session = server.initialize("2025-06-18");
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "slow", "arguments": {"ms": 300}}});
    let mut connection = server.connect();
    connection.send(&session.post(&call).bytes());
    server.await_metric("requests_in_flight", 1);
    let again = session.send(&call);
    assert_eq!(again.refusal(), (400, -32600), "{}", again.text());
    assert_eq!(again.json()["id"], 5);
    assert_eq!(connection.receive().result()["content"][0]["text"], "1 steps in 300 ms");
    // Afterwards it is free: what a client may use again is its own affair.
    let quick = json!({"jsonrpc": "2.0", "id": 5, "method": "ping"});
    assert_eq!(session.send(&quick).status(), 200);
}

#[test]
fn a_call_that_is_sent_again_while_it_runs_is_not_run_twice() {
    let (runs, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let tool = {
        let (runs, go) = (runs.clone(), go.clone());
        Tool::new("charge", move |_: Exchange, _: NoArguments| {
            let go = go.clone();
            let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
            async move {
                go.notified().await;
                Ok(format!("run {run}"))
            }
        })
    };
    let server = TestServer::with(Server::new("charging", "1").tool(tool));
    let session = server.initialize("2025-11-25");
    let charge = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "charge"}});
    // The client loses its connection, or a proxy its patience, and what was sent is sent again.
    let mut connection = server.connect();
    connection.send(&session.post(&charge).bytes());
    server.await_metric("requests_in_flight", 1);
    drop(connection);
    for _ in 0..3 {
        assert_eq!(server.refused(&session.post(&charge)).refusal(), (400, -32600));
    }
    assert_eq!(server.metric("requests_in_flight"), 1, "a broken connection cancels nothing");
    go.notify_one();
    server.await_metric("requests_in_flight", 0);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[test]
fn after_delete_nothing_is_left() {
    let server = TestServer::demo();
    for round in 0..200 {
        let session = server.initialize(LEGACY[round % LEGACY.len()]);
        session.tool("remember", &json!({"key": "k", "value": "v"}));
        assert_eq!(session.delete().status(), 204);
    }
    assert_eq!(server.metric("sessions_active"), 0);
    assert_eq!(server.metric("requests_in_flight"), 0);
    assert_eq!(server.metric("streams_open"), 0);
}

#[test]
fn deleted_sessions_make_room_in_the_store() {
    let server = TestServer::builder().config("[limits]\nsessions = 3").start();
    for _ in 0..50 {
        let session = server.initialize("2025-06-18");
        assert_eq!(session.delete().status(), 204);
    }
}

#[test]
fn delete_ends_the_streams_and_calls_of_the_session() {
    let server = TestServer::demo();
    let session = server.initialize("2025-11-25");
    let mut listening = session.listen();
    let params =
        json!({"name": "slow", "arguments": {"ms": 60_000, "steps": 6000}, "_meta": {"progressToken": 1}});
    let mut calling = session.stream("tools/call", &params);
    assert_eq!(calling.message()["method"], "notifications/progress");
    assert_eq!(session.delete().status(), 204);
    assert_eq!(listening.rest(), []);
    // Ends, whatever was said before.
    let said = calling.rest();
    assert!(said.iter().all(|event| event.json().get("result").is_none()), "{said:?}");
    for gauge in ["sessions_active", "streams_open", "requests_in_flight"] {
        server.await_metric(gauge, 0);
    }
    assert_eq!(session.send(&ping()).status(), 404);
    assert_eq!(session.delete().status(), 404);
}

#[test]
fn an_abandoned_connection_costs_no_session() {
    let server = TestServer::demo();
    let session = server.initialize("2025-06-18");
    for _ in 0..20 {
        session.listen().close();
    }
    server.await_metric("streams_open", 0);
    assert_eq!(session.call("ping", &json!({})), json!({}));
    assert_eq!(server.metric("sessions_active"), 1);
}
