//! Clients that do not read.

use serde_json::json;

use super::stage::{Stage, call, refused, text};
use crate::support::{Events, Modern, Request, Session, TestServer};

/// More than every buffer between a handler and a client that does not read takes: 32 MiB.
const FLOOD: (u32, usize) = (512, 64 * 1024);

fn flood() -> serde_json::Value {
    json!({"count": FLOOD.0, "bytes": FLOOD.1})
}

/// The numbers of messages and answers in what is left of a stream.
fn counted(events: &mut Events) -> (usize, Vec<serde_json::Value>) {
    let (mut messages, mut answers) = (0, Vec::new());
    while let Some(event) = events.next_event() {
        if event.data.contains("\"method\":\"notifications/message\"") {
            messages += 1;
        } else {
            answers.push(event.json());
        }
    }
    (messages, answers)
}

/// Its stream is kept for it as far as that goes: the handler need not wait.
#[test]
fn a_handler_does_not_wait_for_a_client_that_can_come_back() {
    let stage = Stage::with("limits.log_entries = 100");
    let session = stage.server.initialize("2025-06-18");
    let mut events = stage.server.stream(&session.post(&call(1, "flood", &flood(), None)));
    stage.await_ended(1);
    stage.server.await_metric("requests_in_flight", 0);
    // It is told that something is missing, and gets the rest once and in order.
    let mut gap = false;
    let mut rest = Vec::new();
    while let Some(event) = events.next_any() {
        gap |= event.comment.as_deref() == Some("some events are no longer kept");
        if event.has_data {
            rest.push(event);
        }
    }
    assert!(gap && rest.len() < FLOOD.0 as usize, "{} of {}", rest.len(), FLOOD.0);
    assert!(text(&rest.pop().unwrap().json()).starts_with("512"));
    assert!(stage.server.metric("stream_gaps_total") > 0);
}

/// A client that cannot come back gets everything, so the handler waits for it, with no more than a little kept between.
#[test]
fn a_handler_waits_for_a_client_that_cannot_come_back() {
    let stage = Stage::new();
    let request =
        Modern::tool("flood", &flood()).meta("io.modelcontextprotocol/logLevel", json!("debug")).request();
    let mut events = stage.server.stream(&request);
    // Others are served meanwhile, for longer than the handler would take by itself.
    let session = stage.server.initialize("2025-11-25");
    for _ in 0..100 {
        session.tool("echo", &json!({"text": "x"}));
    }
    stage.server.await_metric("requests_in_flight", 1);
    let (messages, answers) = counted(&mut events);
    assert_eq!((messages, answers.len()), (FLOOD.0 as usize, 1));
    assert!(text(&answers[0]).starts_with("512"));
    stage.await_ended(1);
}

/// A client of HTTP+SSE that asks and asks and never reads an answer.
#[test]
fn memory_does_not_grow_with_what_a_client_does_not_read() {
    const ANSWERS: usize = 100;
    const ANSWER_KIB: u64 = 1024;
    // What is kept of the stream, several copies of an answer in the making, and what an allocator keeps for the next.
    const ALLOWED_KIB: u64 = 40 * 1024;
    let config = "limits.log_bytes = \"4MiB\"\nlimits.result_bytes = \"4MiB\"";
    let server = TestServer::builder().config(config).start();
    let mut unread = server.stream(&Request::get().path("/sse"));
    let endpoint = std::iter::from_fn(|| unread.next_any()).find(|event| event.event.is_some()).unwrap().data;
    let post = |message: &serde_json::Value| {
        let response = refused(&server, &Request::post(message).path(&endpoint));
        assert_eq!(response.status(), 202, "{}", response.text());
    };
    post(&Session::hello("2024-11-05", &json!({})));
    let answer = |id: usize| {
        post(&call(i64::try_from(id).unwrap(), "payload", &json!({"bytes": ANSWER_KIB * 1024}), None));
    };
    // Once for what the first of them takes for good.
    (1..=4).for_each(answer);
    let before = server.resident_kib();
    let session = server.initialize("2025-11-25");
    let mut most = 0;
    for id in 5..ANSWERS {
        answer(id);
        session.tool("echo", &json!({"text": "x"}));
        most = most.max(server.resident_kib());
    }
    assert!(most < before + ALLOWED_KIB, "from {before} KiB to {most} KiB");
    // It is not told half of the truth: after what the connection held, it ends, and the session with it.
    let (_, answers) = counted(&mut unread);
    assert!(answers.len() < ANSWERS);
    server.await_metric("streams_open", 0);
    assert_eq!(refused(&server, &Request::post(&json!({})).path(&endpoint)).status(), 404);
}
