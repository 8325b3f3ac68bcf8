//! Questions to the client as requests on the call's own stream, and their answers (up to 2025-11-25).

use serde_json::{Value, json};

use super::stage::{Stage, call, text};
use crate::support::{Events, STREAMABLE, Session};

/// The revisions in which a user can be asked.
const ELICITING: [&str; 2] = ["2025-06-18", "2025-11-25"];

fn able() -> Value {
    json!({"elicitation": {}, "sampling": {}, "roots": {}})
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"confirmed": true}})
}

/// Calls `confirm`, and returns its stream with the question.
fn asked(stage: &Stage, session: &Session<'_>, id: i64) -> (Events, Value) {
    let request = session.post(&call(id, "confirm", &json!({"question": format!("number {id}?")}), None));
    let mut events = stage.server.stream(&request);
    let question = events.message();
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], format!("number {id}?"));
    (events, question)
}

/// Answers a question as a client does, with a POST of its own.
#[track_caller]
fn answer(session: &Session<'_>, question: &Value, result: &Value) {
    let response = session.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
    assert_eq!((response.status(), response.text().as_str()), (202, ""));
    assert_eq!(response.header("content-type"), None);
}

#[test]
fn a_question_travels_on_the_stream_of_its_call_and_nowhere_else() {
    let stage = Stage::new();
    for revision in ELICITING {
        let session = stage.server.initialize_with(revision, &able());
        // With no stream that listens.
        let (mut events, question) = asked(&stage, &session, 10);
        answer(&session, &question, &yes());
        assert_eq!(text(&events.message()), "yes");
        assert_eq!(events.everything(), []);
        // And with one, which carries something else next.
        let mut listening = session.listen();
        let (mut events, question) = asked(&stage, &session, 11);
        answer(&session, &question, &json!({"action": "decline"}));
        assert_eq!(text(&events.message()), "declined");
        session.tool("changed", &json!({"what": "tools"}));
        assert_eq!(listening.message()["method"], "notifications/tools/list_changed");
    }
    stage.await_idle();
}

#[test]
fn the_clients_model_and_its_roots_can_be_asked_for_in_every_revision() {
    let stage = Stage::new();
    for revision in STREAMABLE {
        let session = stage.server.initialize_with(revision, &able());
        let mut events = stage.server.stream(&session.post(&call(1, "sample", &json!({}), None)));
        let question = events.message();
        assert_eq!(question["method"], "sampling/createMessage", "{revision}");
        let said = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "do it"}});
        answer(&session, &question, &said);
        assert!(text(&events.message()).contains("do it"), "{revision}");

        let mut events = stage.server.stream(&session.post(&call(2, "roots", &json!({}), None)));
        let question = events.message();
        assert_eq!(question["method"], "roots/list", "{revision}");
        answer(&session, &question, &json!({"roots": [{"uri": "file:///home", "name": "home"}]}));
        assert_eq!(text(&events.message()), "file:///home", "{revision}");
    }
}

#[test]
fn questions_of_many_calls_are_told_apart_in_whatever_order_they_are_answered() {
    let stage = Stage::new();
    let sessions = ELICITING.map(|revision| stage.server.initialize_with(revision, &able()));
    // The same request ids in both sessions.
    let mut calls = Vec::new();
    for session in &sessions {
        for id in 1..=3 {
            calls.push((session, id, asked(&stage, session, id)));
        }
    }
    let mut ids: Vec<_> = calls.iter().map(|(_, _, (_, question))| question["id"].to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6, "every question has an id of its own: {ids:?}");
    for (session, id, (events, question)) in calls.iter_mut().rev() {
        let action = ["decline", "cancel", "accept"][usize::try_from(*id - 1).unwrap()];
        answer(session, question, &json!({"action": action, "content": {"confirmed": true}}));
        let result = events.message();
        assert_eq!(
            (result["id"].as_i64(), text(&result)),
            (Some(*id), ["declined", "cancelled", "yes"][usize::try_from(*id - 1).unwrap()])
        );
    }
}

#[test]
fn an_error_for_an_answer_fails_the_call_and_nothing_else() {
    let stage = Stage::new();
    let session = stage.server.initialize_with("2025-11-25", &able());
    let (mut events, question) = asked(&stage, &session, 1);
    let error = json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "the user is asleep"}});
    assert_eq!(session.send(&error).status(), 202);
    let result = events.message();
    assert_eq!(result["result"]["isError"], true);
    assert!(text(&result).contains("the user is asleep"));
    assert_eq!(session.tool("add", &json!({"a": 1, "b": 1}))["structuredContent"]["sum"], 2);
}

#[test]
fn an_answer_that_does_not_fit_fails_the_call_with_the_reason() {
    let stage = Stage::new();
    let session = stage.server.initialize_with("2025-06-18", &able());
    for unfit in [
        json!({}),
        json!({"action": "maybe"}),
        json!({"action": "accept", "content": {"confirmed": "perhaps"}}),
    ] {
        let (mut events, question) = asked(&stage, &session, session.next_id());
        answer(&session, &question, &unfit);
        let result = events.message();
        assert_eq!(result["result"]["isError"], true, "{result}");
        assert!(text(&result).contains("does not fit"), "{result}");
    }
}

#[test]
fn late_and_unknown_answers_are_taken_and_counted_and_do_nothing() {
    let stage = Stage::new();
    let session = stage.server.initialize_with("2025-11-25", &able());
    let (mut events, question) = asked(&stage, &session, 1);
    let id = question["id"].as_str().unwrap().to_owned();
    let strangers =
        [json!(7), json!("q"), json!(1), json!(format!("{id}x")), json!(""), json!("q.elsewhere.abcdef")];
    for unknown in &strangers {
        answer(&session, &json!({"id": unknown}), &yes());
    }
    // An error for a message of ours that the client could not read has no id.
    let nameless = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what?"}});
    assert_eq!(session.send(&nameless).status(), 202);
    // One to a replica that is not there is lost without a trace; the others are counted here.
    let counted = i64::try_from(strangers.len()).unwrap();
    stage.server.await_metric("late_answers_total", counted);
    assert_eq!(stage.server.metric("questions_open"), 1, "the question still waits");
    answer(&session, &question, &yes());
    assert_eq!(text(&events.message()), "yes");
    for _ in 0..2 {
        answer(&session, &question, &yes());
    }
    stage.server.await_metric("late_answers_total", counted + 2);
}

#[test]
fn the_answer_of_another_session_does_nothing() {
    let stage = Stage::new();
    let owner = stage.server.initialize_with("2025-06-18", &able());
    let stranger = stage.server.initialize_with("2025-06-18", &able());
    let (mut events, question) = asked(&stage, &owner, 1);
    let (mut others, other_question) = asked(&stage, &stranger, 1);
    answer(&stranger, &question, &json!({"action": "decline"}));
    stage.server.await_metric("late_answers_total", 1);
    answer(&owner, &other_question, &json!({"action": "decline"}));
    stage.server.await_metric("late_answers_total", 2);
    answer(&owner, &question, &yes());
    answer(&stranger, &other_question, &yes());
    assert_eq!((text(&events.message()), text(&others.message())), ("yes", "yes"));
}

#[test]
fn a_client_that_cannot_be_asked_is_not_asked() {
    let stage = Stage::new();
    for (revision, capabilities, tool) in [
        ("2025-11-25", json!({}), "confirm"),
        ("2025-06-18", json!({"sampling": {}, "roots": {}}), "confirm"),
        // There is no such thing in this revision, whatever the client says.
        ("2025-03-26", json!({"elicitation": {}}), "confirm"),
        ("2025-03-26", json!({"roots": {}}), "sample"),
        ("2025-06-18", json!({"sampling": {}}), "roots"),
    ] {
        let session = stage.server.initialize_with(revision, &capabilities);
        let arguments = if tool == "confirm" { json!({"question": "?"}) } else { json!({}) };
        let response = session.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(response.header("content-type"), Some("application/json"), "{revision} {tool}");
        assert_eq!(response.result()["isError"], true, "{revision} {tool}: {}", response.text());
    }
    assert_eq!(stage.server.metric("questions_open"), 0);
}

#[test]
fn a_client_that_reads_no_stream_is_not_asked() {
    let stage = Stage::new();
    for revision in ELICITING {
        let session = stage.server.initialize_with(revision, &able());
        let message = call(1, "confirm", &json!({"question": "?"}), None);
        let response = stage.server.send(&session.post(&message).header("Accept", "application/json"));
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert_eq!(response.result()["isError"], true, "{}", response.text());
        assert!(text(&response.json()).contains("cannot be asked"), "{}", response.text());
    }
    stage.await_idle();
}

#[test]
fn a_question_that_nobody_answers_ends_and_is_taken_back() {
    let stage = Stage::with("limits.question_time = \"100ms\"");
    let session = stage.server.initialize_with("2025-11-25", &able());
    let (mut events, question) = asked(&stage, &session, 1);
    let taken_back = events.message();
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], question["id"]);
    let result = events.message();
    assert_eq!((result["id"].as_i64(), result["result"]["isError"].as_bool()), (Some(1), Some(true)));
    answer(&session, &question, &yes());
    stage.server.await_metric("late_answers_total", 1);
    stage.await_idle();
}

/// The user may take longer than the connection lives.
#[test]
fn a_question_survives_its_connection() {
    let stage = Stage::new();
    let session = stage.server.initialize_with("2025-11-25", &able());
    let mut events = stage.server.stream(&session.post(&call(1, "confirm", &json!({"question": "?"}), None)));
    let begin = events.next_any().unwrap().id.expect("the beginning has an id");
    events.close();
    let mut resumed = session.resume(&begin);
    let question = resumed.next_event().unwrap();
    assert_eq!(question.json()["method"], "elicitation/create");
    resumed.close();
    answer(&session, &question.json(), &yes());
    let rest = session.resume(question.id.as_deref().unwrap()).rest();
    assert_eq!(rest.len(), 1);
    assert_eq!(text(&rest[0].json()), "yes");
}

#[test]
fn a_session_has_no_more_open_questions_than_it_may() {
    let stage = Stage::with("limits.questions_per_session = 2");
    let session = stage.server.initialize_with("2025-06-18", &able());
    let mut open = [asked(&stage, &session, 101), asked(&stage, &session, 102)];
    let third = session.request("tools/call", &json!({"name": "confirm", "arguments": {"question": "?"}}));
    assert_eq!(third.result()["isError"], true);
    assert!(third.text().contains("too many questions"), "{}", third.text());
    for (events, question) in &mut open {
        answer(&session, question, &yes());
        assert_eq!(text(&events.message()), "yes");
    }
    stage.await_idle();
}
