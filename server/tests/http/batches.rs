//! Batches, which 2025-03-26 alone has.

use serde_json::{Value, json};

use crate::support::{Request, Session, TestServer};

fn request(id: i64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn add(id: i64, a: i64) -> Value {
    request(id, "tools/call", &json!({"name": "add", "arguments": {"a": a, "b": 0}}))
}

fn note(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": method})
}

/// The answers of a batch by their ids.
#[track_caller]
fn answers(session: &Session<'_>, batch: &Value) -> Vec<Value> {
    let response = session.send(batch);
    assert_eq!(response.status(), 200, "{}", response.text());
    response.json().as_array().unwrap().clone()
}

fn by_id(answers: &[Value], id: i64) -> &Value {
    let mut found = answers.iter().filter(|answer| answer["id"] == id);
    let answer = found.next().unwrap_or_else(|| panic!("no answer to {id} in {answers:?}"));
    assert!(found.next().is_none(), "two answers to {id}: {answers:?}");
    answer
}

#[test]
fn requests_are_answered_together_once_each() {
    let server = TestServer::demo();
    let session = server.initialize("2025-03-26");
    let answers = answers(&session, &json!([add(1, 10), request(2, "ping", &json!({})), add(3, 30)]));
    assert_eq!(answers.len(), 3);
    assert!(by_id(&answers, 1)["result"]["content"][0]["text"].as_str().unwrap().contains("10"));
    assert_eq!(by_id(&answers, 2)["result"], json!({}));
    assert!(by_id(&answers, 3)["result"]["content"][0]["text"].as_str().unwrap().contains("30"));
}

#[test]
fn requests_notifications_and_answers_may_be_mixed() {
    let server = TestServer::demo();
    let session = server.initialize("2025-03-26");
    let unasked = json!({"jsonrpc": "2.0", "id": "unasked", "result": {}});
    let batch =
        json!([note("notifications/initialized"), add(1, 1), unasked, note("notifications/unheard/of")]);
    assert_eq!(answers(&session, &batch).len(), 1);
    assert_eq!(server.metric("late_answers_total"), 1);
}

#[test]
fn a_batch_without_requests_gets_a_bare_202() {
    let server = TestServer::demo();
    let session = server.initialize("2025-03-26");
    let unasked = json!({"jsonrpc": "2.0", "id": 9, "result": {}});
    for batch in [json!([note("notifications/initialized")]), json!([unasked]), json!([unasked, note("x")])] {
        let response = session.send(&batch);
        assert_eq!((response.status(), response.body), (202, Vec::new()), "{batch}");
    }
}

#[test]
fn a_bad_message_is_answered_in_its_place_and_the_others_go_on() {
    let server = TestServer::demo();
    let session = server.initialize("2025-03-26");
    let batch = json!([
        add(1, 1),
        {"jsonrpc": "1.0", "id": 2, "method": "ping"},
        17,
        request(3, "nothing/like/it", &json!({})),
        request(4, "initialize", &json!({})),
        request(5, "tools/call", &json!({"name": 5})),
        [],
    ]);
    let answers = answers(&session, &batch);
    assert_eq!(answers.len(), 7, "{answers:?}");
    assert!(by_id(&answers, 1)["result"].is_object());
    for (id, code) in [(2, -32600), (3, -32601), (4, -32602), (5, -32602)] {
        assert_eq!(by_id(&answers, id)["error"]["code"], code, "{id}");
    }
    let nameless = answers.iter().filter(|answer| answer["id"].is_null());
    assert_eq!(nameless.filter(|answer| answer["error"]["code"] == -32600).count(), 2);
}

#[test]
fn two_requests_of_one_id_are_never_answered_twice_with_a_result() {
    let server = TestServer::demo();
    let session = server.initialize("2025-03-26");
    let slow = request(1, "tools/call", &json!({"name": "slow", "arguments": {"ms": 50}}));
    let answers = answers(&session, &json!([slow, slow]));
    assert_eq!(answers.iter().filter(|answer| answer["result"].is_object()).count(), 1, "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer["error"]["code"] == -32600).count(), 1);
}

#[test]
fn a_batch_may_be_answered_on_a_stream() {
    let server = TestServer::demo();
    let session = server.initialize("2025-03-26");
    let slow = json!({"name": "slow", "arguments": {"ms": 60, "steps": 3}, "_meta": {"progressToken": "p"}});
    let batch = json!([add(1, 1), request(2, "tools/call", &slow), add(3, 3)]);
    let response = session.send(&batch);
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    let messages: Vec<Value> = response.events().iter().map(|event| event.json()).collect();
    for id in 1..=3 {
        assert!(by_id(&messages, id)["result"].is_object(), "{id}");
    }
    let progress = messages.iter().filter(|message| message["method"] == "notifications/progress");
    assert_eq!(progress.count(), 3, "{messages:?}");
    let only_json = server.send(&session.post(&batch).header("Accept", "application/json"));
    assert_eq!(only_json.json().as_array().unwrap().len(), 3);
}

#[test]
fn a_batch_over_the_limit_is_refused_whole() {
    let server = TestServer::builder().config("[limits]\nbatch = 3").start();
    let session = server.initialize("2025-03-26");
    let count = request(1, "tools/call", &json!({"name": "counter", "arguments": {"key": "k"}}));
    let mut batch: Vec<Value> = (0..4).map(|_| count.clone()).collect();
    for (at, request) in batch.iter_mut().enumerate() {
        request["id"] = json!(at);
    }
    let refused = session.send(&json!(batch));
    assert_eq!(refused.refusal(), (400, -32600), "{}", refused.text());
    batch.pop();
    assert_eq!(answers(&session, &json!(batch)).len(), 3);
    let now = session.tool("counter", &json!({"key": "k", "by": 0}));
    assert!(now["content"][0]["text"].as_str().unwrap().contains('3'), "{now}");
}

#[test]
fn a_batch_needs_its_session() {
    let server = TestServer::demo();
    let batch = json!([add(1, 1)]);
    assert_eq!(server.send(&Request::post(&batch)).refusal(), (400, -32600));
    assert_eq!(server.send(&Request::post(&batch).session("00000000-dead")).refusal(), (404, -32600));
}

#[test]
fn a_cancelled_request_of_a_batch_has_no_answer_and_the_others_have_theirs() {
    let server = TestServer::demo();
    let session = server.initialize("2025-03-26");
    let slow =
        |id: i64, ms: u64| request(id, "tools/call", &json!({"name": "slow", "arguments": {"ms": ms}}));
    let mut connection = server.connect();
    connection.send(&session.post(&json!([slow(1, 60_000), slow(2, 200)])).bytes());
    server.await_metric("requests_in_flight", 2);
    session.notify("notifications/cancelled", &json!({"requestId": 1}));
    let answers = connection.receive().json();
    assert_eq!(answers.as_array().unwrap().len(), 1, "{answers}");
    assert_eq!(answers[0]["id"], 2);
}
