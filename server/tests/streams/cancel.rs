//! What cancels a call, and what does not: it differs by revision.

use serde_json::{Value, json};

use super::stage::{Stage, call, cancel, text};
use crate::support::{Connection, Events, Modern, Request, STREAMABLE, Session};

const SOON: &str = "server.upgrade_after = \"20ms\"";
const NEVER: &str = "server.upgrade_after = \"1h\"";

/// A call that waits, as a stream.
fn waiting(stage: &Stage, session: &Session<'_>, id: i64) -> Events {
    stage.server.stream(&session.post(&call(id, "wait", &json!({}), None)))
}

/// Sends a call that waits, and reads nothing of the answer.
fn sent(stage: &Stage, request: &Request) -> Connection {
    let before = stage.begun();
    let mut connection = stage.server.connect();
    connection.send(&request.bytes());
    stage.await_begun(before + 1);
    connection
}

#[test]
fn a_notification_cancels_a_call_and_no_answer_follows() {
    let stage = Stage::with(SOON);
    for (done, revision) in STREAMABLE.into_iter().enumerate() {
        let session = stage.server.initialize(revision);
        let mut events = waiting(&stage, &session, 1);
        let response = session.send(&cancel(1));
        assert_eq!((response.status(), response.text().as_str()), (202, ""));
        assert_eq!(events.rest(), [], "{revision}");
        stage.await_stopped(i64::try_from(done).unwrap() + 1);
        stage.server.await_metric("requests_in_flight", 0);
        // The id is free again, and so is the session.
        let mut events = waiting(&stage, &session, 1);
        stage.step(1);
        assert_eq!(text(&events.message()), "waited");
    }
}

#[test]
fn a_call_that_has_no_stream_yet_can_be_cancelled_too() {
    let stage = Stage::with(NEVER);
    for accept in ["application/json", "application/json, text/event-stream"] {
        let session = stage.server.initialize("2025-06-18");
        let request = session.post(&call(1, "wait", &json!({}), None)).header("Accept", accept);
        let mut connection = sent(&stage, &request);
        assert_eq!(session.send(&cancel(1)).status(), 202);
        let response = connection.receive();
        assert_eq!((response.status(), response.text().as_str()), (202, ""), "no answer follows");
        stage.server.await_metric("requests_in_flight", 0);
    }
    stage.await_stopped(2);
}

#[test]
fn a_question_goes_with_its_cancelled_call() {
    let stage = Stage::new();
    let session = stage.server.initialize_with("2025-11-25", &json!({"elicitation": {}}));
    let mut events = stage.server.stream(&session.post(&call(1, "confirm", &json!({"question": "?"}), None)));
    let question = events.message();
    session.send(&cancel(1));
    let rest: Vec<Value> = events.rest().iter().map(|event| event.json()).collect();
    assert!(rest.iter().all(|message| message["id"].is_null()), "no answer follows: {rest:?}");
    stage.await_idle();
    let late = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    assert_eq!(session.send(&late).status(), 202);
    stage.server.await_metric("late_answers_total", 1);
}

#[test]
fn cancelling_what_is_unknown_or_done_does_nothing() {
    let stage = Stage::with(SOON);
    let session = stage.server.initialize("2025-11-25");
    let mut done = waiting(&stage, &session, 1);
    stage.step(1);
    assert_eq!(text(&done.message()), "waited");
    let mut running = waiting(&stage, &session, 2);
    for nonsense in [
        cancel(1),
        cancel(99),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "2"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}),
    ] {
        let response = session.send(&nonsense);
        assert_eq!((response.status(), response.text().as_str()), (202, ""), "{nonsense}");
    }
    stage.step(1);
    assert_eq!(text(&running.message()), "waited");
    assert_eq!(stage.stopped(), 0);
}

#[test]
fn a_request_of_another_session_with_the_same_id_is_not_touched() {
    let stage = Stage::with(SOON);
    let (one, two) = (stage.server.initialize("2025-06-18"), stage.server.initialize("2025-06-18"));
    let (mut cancelled, mut other) = (waiting(&stage, &one, 5), waiting(&stage, &two, 5));
    one.send(&cancel(5));
    assert_eq!(cancelled.rest(), []);
    // A second time there is nothing left to cancel, here or elsewhere.
    one.send(&cancel(5));
    stage.server.await_metric("requests_in_flight", 1);
    stage.step(1);
    assert_eq!(text(&other.message()), "waited");
    assert_eq!(stage.stopped(), 1);
}

#[test]
fn a_broken_connection_cancels_nothing_in_a_session() {
    for (config, accept) in [
        (SOON, "application/json, text/event-stream"),
        (NEVER, "application/json, text/event-stream"),
        (NEVER, "application/json"),
    ] {
        let stage = Stage::with(config);
        for revision in STREAMABLE {
            let session = stage.server.initialize(revision);
            let request = session.post(&call(1, "wait", &json!({}), None)).header("Accept", accept);
            let mut connection = sent(&stage, &request);
            if config == SOON {
                assert_eq!(connection.head().status, 200);
            }
            drop(connection);
        }
        stage.server.await_metric("requests_in_flight", 3);
        stage.step(3);
        stage.await_ended(3);
        assert_eq!(stage.stopped(), 0);
        stage.server.await_metric("requests_in_flight", 0);
    }
}

#[test]
fn closing_the_stream_cancels_a_call_of_2026_07_28() {
    let stage = Stage::with("server.upgrade_after = \"20ms\"\nserver.stream_keep_alive = \"9m\"");
    let modern = Modern::tool("wait", &json!({})).request();
    let events = stage.server.stream(&modern);
    // It is seen that the client has gone, and not only when the next sign of life cannot be written.
    events.close();
    stage.await_stopped(1);
    stage.await_idle();
    // With something said before.
    let stepping = Modern::tool("steps", &json!({"count": 9})).meta("progressToken", json!(1)).request();
    let mut connection = stage.server.connect();
    connection.send(&stepping.bytes());
    stage.step(1);
    connection.head();
    drop(connection);
    stage.await_stopped(2);
    stage.await_idle();
}

#[test]
fn a_client_of_2026_07_28_that_goes_before_the_stream_begins_cancels_too() {
    let stage = Stage::with(NEVER);
    for accept in ["application/json", "application/json, text/event-stream"] {
        let request = Modern::tool("wait", &json!({})).request().header("Accept", accept);
        let before = stage.stopped();
        drop(sent(&stage, &request));
        stage.await_stopped(before + 1);
        stage.await_idle();
    }
}

/// A balancer whose client has gone may close its own side only.
#[test]
fn a_connection_that_is_half_closed_counts_as_closed() {
    let stage = Stage::with("server.upgrade_after = \"20ms\"\nserver.stream_keep_alive = \"9m\"");
    let session = stage.server.initialize("2025-06-18");
    let modern = Modern::tool("wait", &json!({})).request();
    let connections = [session.post(&call(1, "wait", &json!({}), None)), modern].map(|request| {
        let mut connection = sent(&stage, &request);
        assert_eq!(connection.head().status, 200);
        connection.finish_sending();
        connection
    });
    stage.await_stopped(1);
    stage.server.await_metric("requests_in_flight", 1);
    stage.step(1);
    stage.await_ended(1);
    drop(connections);
}

/// Before there is a head to the answer, too, and however the answer would come.
#[test]
fn a_connection_that_is_half_closed_before_the_answer_begins_counts_as_closed() {
    let stage = Stage::with("server.upgrade_after = \"1h\"\nserver.stream_keep_alive = \"9m\"");
    let session = stage.server.initialize("2025-06-18");
    for (done, accept) in ["application/json", "application/json, text/event-stream"].into_iter().enumerate()
    {
        let done = i64::try_from(done).unwrap();
        let modern = Modern::tool("wait", &json!({})).request().header("Accept", accept);
        let legacy = session.post(&call(done, "wait", &json!({}), None)).header("Accept", accept);
        let connections = [modern, legacy].map(|request| {
            let connection = sent(&stage, &request);
            connection.finish_sending();
            connection
        });
        stage.await_stopped(done + 1);
        // The call of a session goes on.
        stage.server.await_metric("requests_in_flight", 1);
        stage.step(1);
        stage.await_ended(done + 1);
        drop(connections);
        stage.await_idle();
    }
}

/// Over HTTP this revision has no such notification, and a request id is nobody's in particular.
#[test]
fn a_notification_cancels_nothing_in_2026_07_28() {
    let stage = Stage::with(SOON);
    let session = stage.server.initialize("2025-11-25");
    let mut events = waiting(&stage, &session, 1);
    let mut modern = stage.server.stream(&Modern::tool("wait", &json!({})).request());
    let mut note = cancel(1);
    note["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = Request::post(&note).version("2026-07-28").header("Mcp-Method", "notifications/cancelled");
    assert_eq!(stage.server.send(&request).status(), 202);
    stage.step(2);
    assert_eq!((text(&events.message()), text(&modern.message())), ("waited", "waited"));
}

/// A client that has given up, then a late result: the process and everybody else's calls are none the worse.
#[test]
fn a_result_that_comes_too_late_harms_nobody() {
    let stage = Stage::with(SOON);
    let sessions: Vec<_> = STREAMABLE.iter().map(|revision| stage.server.initialize(revision)).collect();
    for session in &sessions {
        for id in 1..=5 {
            waiting(&stage, session, id).close();
        }
    }
    stage.server.await_metric("streams_open", 0);
    let mut bystander = waiting(&stage, &sessions[0], 50);
    stage.step(16);
    assert_eq!(text(&bystander.message()), "waited");
    stage.await_ended(16);
    stage.await_idle();
    for session in &sessions {
        assert_eq!(session.tool("echo", &json!({"text": "well"}))["content"][0]["text"], "well");
    }
}

#[test]
fn one_sessions_panic_is_its_own() {
    let stage = Stage::with(SOON);
    let (one, two) = (stage.server.initialize("2025-06-18"), stage.server.initialize("2024-11-05"));
    let mut bystanders = [waiting(&stage, &one, 50), waiting(&stage, &two, 50)];
    for session in [&one, &two] {
        let failed = session.tool("fail", &json!({"kind": "panic"}));
        assert_eq!(failed["isError"], true);
        assert!(!failed.to_string().contains("panics when asked to"), "internals are not shown: {failed}");
    }
    assert_eq!(stage.server.metric("handler_panics_total"), 2);
    stage.step(2);
    for bystander in &mut bystanders {
        assert_eq!(text(&bystander.message()), "waited");
    }
    stage.await_idle();
}
