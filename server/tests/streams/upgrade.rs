//! When an answer is plain JSON, and when it becomes a stream.

use serde_json::{Value, json};

use super::stage::{Stage, call, text};
use crate::support::{Modern, Request, STREAMABLE, Session};

/// Nothing becomes a stream because it takes long.
const NEVER: &str = "server.upgrade_after = \"1h\"";

/// Everything that waits becomes a stream soon.
const SOON: &str = "server.upgrade_after = \"20ms\"";

/// The call of a tool in each revision with streamable HTTP, without the headers about what is accepted.
fn everywhere<'a>(stage: &'a Stage, tool: &str, arguments: &Value) -> Vec<(Option<Session<'a>>, Request)> {
    let legacy = STREAMABLE.iter().map(|revision| {
        let session = stage.server.initialize(revision);
        let request = session.post(&call(1, tool, arguments, Some("t")));
        (Some(session), request)
    });
    let modern = Modern::tool(tool, arguments).meta("progressToken", json!("t")).request();
    legacy.chain([(None, modern)]).collect()
}

#[test]
fn a_quick_call_is_answered_as_plain_json() {
    let stage = Stage::new();
    for (_session, request) in everywhere(&stage, "echo", &json!({"text": "hello"})) {
        let response = stage.server.send(&request);
        assert_eq!((response.status(), response.header("content-type")), (200, Some("application/json")));
        assert_eq!(text(&response.json()), "hello");
    }
}

#[test]
fn a_call_that_says_something_first_becomes_a_stream_at_once() {
    let stage = Stage::with(NEVER);
    for (_session, request) in everywhere(&stage, "steps", &json!({"count": 2})) {
        let mut connection = stage.server.connect();
        connection.send(&request.bytes());
        stage.step(1);
        let head = connection.head();
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
        assert_eq!(head.header("cache-control"), Some("no-cache, no-transform"));
        assert_eq!(head.header("x-accel-buffering"), Some("no"));
        let mut events = connection.into_events();
        assert_eq!(events.message()["params"]["progress"], 1);
        stage.step(2);
        assert_eq!(events.message()["params"], progress(2));
        assert_eq!(text(&events.message()), "2 steps");
        assert_eq!(events.everything(), [], "nothing follows the answer");
    }

    fn progress(step: i64) -> Value {
        json!({"progressToken": "t", "progress": step, "total": 2, "message": "another step"})
    }
}

#[test]
fn a_silent_call_becomes_a_stream_when_it_takes_long() {
    let stage = Stage::with(SOON);
    for (_session, request) in everywhere(&stage, "wait", &json!({})) {
        // The stream is there while the handler still waits for us.
        let mut events = stage.server.stream(&request);
        stage.step(1);
        assert_eq!(text(&events.message()), "waited");
        assert_eq!(events.everything(), []);
    }
}

#[test]
fn a_client_that_reads_json_only_waits_for_the_whole_answer() {
    let stage = Stage::with(SOON);
    for (_session, request) in everywhere(&stage, "steps", &json!({"count": 3})) {
        let before = stage.begun();
        let mut connection = stage.server.connect();
        connection.send(&request.header("Accept", "application/json").bytes());
        stage.await_begun(before + 1);
        stage.step(4);
        let response = connection.receive();
        assert_eq!((response.status(), response.header("content-type")), (200, Some("application/json")));
        // The one body is the answer, and not what was said before it.
        assert_eq!(text(&response.json()), "3 steps");
    }
}

#[test]
fn a_client_that_reads_events_only_gets_events() {
    let stage = Stage::with(NEVER);
    for (_session, request) in everywhere(&stage, "echo", &json!({"text": "hello"})) {
        let response = stage.server.send(&request.header("Accept", "text/event-stream"));
        assert_eq!((response.status(), response.header("content-type")), (200, Some("text/event-stream")));
        let [event] = &response.events()[..] else { panic!("{}", response.text()) };
        assert_eq!(text(&event.json()), "hello");
    }
}
