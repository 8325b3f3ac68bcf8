//! The shutdown of a server under a client's eyes: what ends at once, what goes on, and how the rest is given up.

use std::time::Duration;

use serde_json::{Value, json};

use super::stage::{call, refused, text};
use crate::support::{DEADLINE, Events, Modern, Request, STREAMABLE, Session, TestServer, eventually};

/// Far longer than any of this takes: what ends before does not end because of it.
const PATIENT: &str =
    "server.drain_grace = \"10m\"\nserver.upgrade_after = \"20ms\"\nserver.stream_keep_alive = \"9m\"";

fn start(config: &str) -> TestServer {
    TestServer::builder().config(config).start()
}

/// A call that waits for an answer: it goes on until the test says so.
fn asked(server: &TestServer, session: &Session<'_>, id: i64) -> (Events, Value) {
    let mut events = server.stream(&session.post(&call(id, "confirm", &json!({"question": "?"}), None)));
    let question = events.message();
    assert_eq!(question["method"], "elicitation/create");
    (events, question)
}

fn able() -> Value {
    json!({"elicitation": {}})
}

#[track_caller]
fn ended_well(server: &TestServer) {
    assert!(server.wait(DEADLINE).success(), "{:#?}", server.log());
}

#[test]
fn an_idle_server_ends_at_once() {
    let server = start(PATIENT);
    server.initialize("2025-11-25");
    server.sigterm();
    ended_well(&server);
}

#[test]
fn idle_streams_do_not_hold_up_the_end() {
    let server = start(PATIENT);
    let sessions = STREAMABLE.map(|revision| server.initialize(revision));
    let mut listening = sessions.each_ref().map(|session| session.listen());
    let mut subscribed = server.stream(
        &Modern::new("subscriptions/listen", &json!({"notifications": {"toolsListChanged": true}})).request(),
    );
    assert_eq!(subscribed.message()["method"], "notifications/subscriptions/acknowledged");
    let mut old = server.stream(&Request::get().path("/sse"));
    assert_eq!(old.next_any().unwrap().event.as_deref(), Some("endpoint"));
    server.sigterm();
    for events in &mut listening {
        let last = events.everything().into_iter().next_back().unwrap();
        assert!(last.retry.is_some_and(|retry| (100..60_000).contains(&retry)) && !last.has_data, "{last:?}");
    }
    let farewell = subscribed.message();
    assert_eq!((&farewell["id"], &farewell["result"]["resultType"]), (&json!(1), &json!("complete")));
    assert_eq!(farewell["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    assert_eq!(subscribed.everything(), []);
    old.everything();
    ended_well(&server);
}

#[test]
fn a_running_call_is_finished_and_delivered_while_nothing_new_is_begun() {
    let server = start(PATIENT);
    let session = server.initialize_with("2025-06-18", &able());
    let (mut events, question) = asked(&server, &session, 50);
    server.sigterm();
    eventually("readiness", &503, || server.admin_page("/readyz").status());
    assert_eq!(server.admin_page("/livez").status(), 200);

    let hello = Request::post(&Session::hello("2025-11-25", &json!({})));
    for request in [hello, Request::get().path("/sse")] {
        let response = refused(&server, &request);
        assert_eq!(response.status(), 503, "{request:?}");
        let after: u64 = response.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&after));
        assert_eq!(response.header("connection"), Some("close"));
    }
    // Who would listen is told at once to do so elsewhere, and is refused nothing.
    let listen = Modern::new("subscriptions/listen", &json!({"notifications": {}}));
    let mut listening = server.stream(&listen.request());
    assert_eq!(listening.message()["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(listening.message()["result"]["resultType"], "complete");
    assert_eq!(listening.everything(), []);
    // What belongs to calls that run is taken as before, and whoever is still sent here is served.
    session.tool("echo", &json!({"text": "still here"}));
    assert_eq!(server.modern(&Modern::tool("echo", &json!({"text": "x"}))).status(), 200);
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    assert_eq!(session.send(&answer).status(), 202);
    assert_eq!(text(&events.message()), "declined");
    assert_eq!(events.everything(), []);
    ended_well(&server);
}

/// A call whose client has lost its stream, and a client that comes back for it: both are served to the end.
#[test]
fn a_stream_that_is_resumed_in_a_shutdown_is_told_to_come_back() {
    let server = start(PATIENT);
    let session = server.initialize_with("2025-11-25", &able());
    let mut events = server.stream(&session.post(&call(50, "confirm", &json!({"question": "?"}), None)));
    let begin = events.next_any().unwrap().id.unwrap();
    let question = events.message();
    events.close();
    server.sigterm();
    eventually("readiness", &503, || server.admin_page("/readyz").status());
    // It may have all there is, and is not held: the rest comes from wherever it asks next.
    let resumed = session.resume(&begin).everything();
    assert!(resumed.iter().any(|event| event.data.contains("elicitation/create")), "{resumed:?}");
    assert!(resumed.last().unwrap().retry.is_some(), "{resumed:?}");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    assert_eq!(session.send(&answer).status(), 202);
    ended_well(&server);
}

#[test]
fn what_still_runs_after_the_grace_is_given_up_and_nobody_is_left_waiting() {
    let server = start(
        "server.drain_grace = \"300ms\"\nserver.upgrade_after = \"20ms\"\nserver.stream_keep_alive = \"9m\"",
    );
    let session = server.initialize_with("2025-06-18", &able());
    let (mut events, _) = asked(&server, &session, 50);
    let slow = json!({"ms": 600_000});
    let mut modern = server.stream(&Modern::tool("slow", &slow).id(json!("m")).request());
    let old = server.initialize("2024-11-05");
    let mut direct = server.stream(&old.post(&call(51, "slow", &slow, None)));
    let json_only = [
        session.post(&call(52, "slow", &slow, None)).header("Accept", "application/json"),
        Modern::tool("slow", &slow).request().header("Accept", "application/json"),
    ];
    let mut plain = json_only.map(|request| {
        let mut connection = server.connect();
        connection.send(&request.bytes());
        connection
    });
    server.await_metric("requests_in_flight", 5);
    server.sigterm();
    // A stream that can be resumed says when to come back.
    let last = events.everything().into_iter().next_back().unwrap();
    assert!(last.retry.is_some() && !last.has_data, "{last:?}");
    // One that cannot be gets its answer: the call was given up.
    for (events, id) in [(&mut modern, json!("m")), (&mut direct, json!(51))] {
        let answer = events.message();
        assert_eq!((&answer["id"], answer["error"]["code"].is_i64()), (&id, true), "{answer}");
        assert_eq!(events.everything(), []);
    }
    for connection in &mut plain {
        let response = connection.receive();
        assert_eq!(response.status(), 503, "{}", response.text());
        assert!(response.json()["error"]["code"].is_i64());
        assert!(response.header("retry-after").is_some());
    }
    assert!(server.wait(Duration::from_secs(10)).success(), "{:#?}", server.log());
}
