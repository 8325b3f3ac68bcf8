//! HTTP+SSE (2024-11-05): one stream carries everything the server says, and POSTs carry what the client says.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::stage::{Stage, call, cancel, refused, text};
use crate::support::{Events, Request, Response, Session, TestServer};

/// A client: its stream, and where it posts.
struct Client<'a> {
    server: &'a TestServer,
    endpoint: String,
    events: RefCell<Events>,
}

impl<'a> Client<'a> {
    /// Opens the stream.
    #[track_caller]
    fn open(server: &'a TestServer) -> Self {
        let mut events = server.stream(&Request::get().path("/sse"));
        let endpoint = loop {
            let event = events.next_any().expect("the stream begins");
            if event.comment.is_none() {
                break event;
            }
        };
        assert_eq!((endpoint.event.as_deref(), endpoint.id), (Some("endpoint"), None));
        assert!(endpoint.data.starts_with("/messages?sessionId="), "{}", endpoint.data);
        Self { server, endpoint: endpoint.data, events: RefCell::new(events) }
    }

    /// Opens the stream and says hello.
    #[track_caller]
    fn hello(server: &'a TestServer, revision: &str, capabilities: &Value) -> Self {
        let client = Self::open(server);
        client.post(&Session::hello(revision, capabilities));
        let answer = client.message();
        assert_eq!((&answer["id"], &answer["result"]["protocolVersion"]), (&json!(0), &json!(revision)));
        client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Posts a message, which is taken and answered elsewhere.
    #[track_caller]
    fn post(&self, message: &Value) {
        let response = self.send(&message.to_string());
        assert_eq!((response.status(), response.text().as_str()), (202, ""), "{message}");
    }

    fn send(&self, body: &str) -> Response {
        refused(self.server, &Request::post_text(body).path(&self.endpoint))
    }

    #[track_caller]
    fn message(&self) -> Value {
        let event = self.events.borrow_mut().next_event().expect("the stream goes on");
        assert_eq!((event.event.as_deref().unwrap_or("message"), &event.id), ("message", &None));
        event.json()
    }

    fn close(self) -> String {
        drop(self.events);
        self.endpoint
    }
}

fn able() -> Value {
    json!({"sampling": {}, "roots": {}})
}

#[test]
fn the_stream_says_where_to_post_and_carries_every_answer() {
    let stage = Stage::new();
    let client = Client::hello(&stage.server, "2024-11-05", &able());
    client.post(&call(1, "add", &json!({"a": 1, "b": 2}), None));
    let answer = client.message();
    assert_eq!(answer["id"], 1);
    assert!(text(&answer).contains('3'));
    // Slow ones do not hold up the others.
    client.post(&call(2, "wait", &json!({}), None));
    client.post(&call(3, "echo", &json!({"text": "first"}), None));
    client.post(&json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}));
    assert_eq!((client.message()["id"].clone(), client.message()["id"].clone()), (json!(3), json!("p")));
    stage.step(1);
    assert_eq!(client.message()["id"], 2);
    // Errors of any kind are answers like others.
    client.post(&json!({"jsonrpc": "2.0", "id": 4, "method": "no/such"}));
    assert_eq!(client.message()["error"]["code"], -32601);
    client.post(&call(5, "no such tool", &json!({}), None));
    assert_eq!(client.message()["error"]["code"], -32602);
    client.post(&Session::hello("2024-11-05", &able()));
    let again = client.message();
    assert!(again["error"]["code"].is_i64(), "once is enough: {again}");
    client.post(&call(6, "echo", &json!({"text": "still here"}), None));
    assert_eq!(text(&client.message()), "still here");
}

#[test]
fn a_later_revision_can_be_spoken_here_too() {
    let stage = Stage::new();
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = Client::hello(&stage.server, revision, &json!({"elicitation": {}}));
        client.post(&call(1, "add", &json!({"a": 1, "b": 2}), None));
        assert!(text(&client.message()).contains('3'), "{revision}");
    }
}

#[test]
fn a_call_before_initialize_gets_an_error_and_not_a_crash() {
    let stage = Stage::new();
    let client = Client::open(&stage.server);
    client.post(&call(1, "echo", &json!({"text": "?"}), None));
    let refused = client.message();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(1), &json!(-32600)), "{refused}");
    client.post(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    assert_eq!(client.message()["error"]["code"], -32600);
    client.post(&cancel(1));
    client.post(&json!({"jsonrpc": "2.0", "id": "q", "result": {}}));
    // It can still be opened.
    client.post(&Session::hello("2024-11-05", &able()));
    assert_eq!(client.message()["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(stage.begun(), 0);
}

#[test]
fn every_stream_is_a_session_of_its_own() {
    let stage = Stage::new();
    let (one, two) = (
        Client::hello(&stage.server, "2024-11-05", &able()),
        Client::hello(&stage.server, "2024-11-05", &able()),
    );
    assert_ne!(one.endpoint, two.endpoint);
    one.post(&call(1, "wait", &json!({}), None));
    two.post(&call(1, "wait", &json!({}), None));
    stage.await_begun(2);
    two.post(&cancel(1));
    stage.await_stopped(1);
    two.post(&call(2, "echo", &json!({"text": "two"}), None));
    assert_eq!(text(&two.message()), "two");
    stage.step(1);
    assert_eq!(text(&one.message()), "waited");
}

#[test]
fn progress_logs_and_updates_come_on_the_stream() {
    let stage = Stage::new();
    let client = Client::hello(&stage.server, "2024-11-05", &able());
    stage.step(3);
    client.post(&call(1, "steps", &json!({"count": 2}), Some("t")));
    for progress in 1..=2 {
        let message = client.message();
        // This revision has no message beside the number.
        assert_eq!(
            message["params"],
            json!({"progressToken": "t", "progress": progress, "total": 2}),
            "{message}"
        );
    }
    assert_eq!(text(&client.message()), "2 steps");
    client.post(
        &json!({"jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": {"level": "error"}}),
    );
    assert_eq!(client.message()["result"], json!({}));
    client.post(&call(3, "log", &json!({}), None));
    assert_eq!(client.message()["params"]["level"], "error");
    assert_eq!(client.message()["params"]["level"], "emergency");
    assert_eq!(text(&client.message()), "logged");
    client.post(&json!({"jsonrpc": "2.0", "id": 4, "method": "resources/subscribe", "params": {"uri": "demo://logo"}}));
    assert_eq!(client.message()["id"], 4);
    let other = Client::hello(&stage.server, "2024-11-05", &able());
    for what in ["demo://greeting", "demo://logo", "tools"] {
        other.post(&call(1, "changed", &json!({"what": what}), None));
    }
    assert_eq!(client.message()["params"], json!({"uri": "demo://logo"}));
    assert_eq!(client.message()["method"], "notifications/tools/list_changed");
}

#[test]
fn a_question_comes_on_the_stream_and_its_answer_by_post() {
    let stage = Stage::new();
    let client = Client::hello(&stage.server, "2024-11-05", &able());
    client.post(&call(1, "roots", &json!({}), None));
    let question = client.message();
    assert_eq!(question["method"], "roots/list");
    // Somebody else's answer is taken, and nothing comes of it.
    let stranger = Client::hello(&stage.server, "2024-11-05", &able());
    stranger.post(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}));
    stage.server.await_metric("late_answers_total", 1);
    client.post(
        &json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": [{"uri": "file:///mine"}]}}),
    );
    assert_eq!(text(&client.message()), "file:///mine");
    // The user of this revision cannot be asked.
    client.post(&call(2, "confirm", &json!({"question": "?"}), None));
    assert_eq!(client.message()["result"]["isError"], true);
}

#[test]
fn a_cancelled_call_is_not_answered() {
    let stage = Stage::new();
    let client = Client::hello(&stage.server, "2024-11-05", &able());
    client.post(&call(1, "wait", &json!({}), None));
    stage.await_begun(1);
    client.post(&cancel(1));
    stage.await_stopped(1);
    stage.server.await_metric("requests_in_flight", 0);
    client.post(&call(2, "echo", &json!({"text": "next"}), None));
    assert_eq!(client.message()["id"], 2);
}

#[test]
fn closing_the_stream_ends_the_session_and_its_calls() {
    let stage = Stage::with("server.stream_keep_alive = \"9m\"");
    let client = Client::hello(&stage.server, "2024-11-05", &able());
    client.post(&call(1, "wait", &json!({}), None));
    stage.await_begun(1);
    let endpoint = client.close();
    stage.await_stopped(1);
    stage.await_idle();
    stage.server.await_metric("sessions_active", 0);
    let post = |body: &Value| refused(&stage.server, &Request::post(body).path(&endpoint)).status();
    assert_eq!(post(&call(2, "echo", &json!({"text": "?"}), None)), 404);
    assert_eq!(post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})), 404);
    // Coming back is beginning anew.
    let again = Client::hello(&stage.server, "2024-11-05", &able());
    assert_ne!(again.endpoint, endpoint);
}

#[test]
fn a_post_that_leads_nowhere_is_refused() {
    let stage = Stage::new();
    let client = Client::hello(&stage.server, "2024-11-05", &able());
    let echo = call(1, "echo", &json!({"text": "?"}), None);
    let post = |path: &str| refused(&stage.server, &Request::post(&echo).path(path)).status();
    assert_eq!(post("/messages"), 400);
    assert_eq!(post("/messages?session=x"), 400);
    assert_eq!(post("/messages?sessionId=made-up"), 404);
    assert_eq!(post(&format!("{}x", client.endpoint)), 404);
    assert_eq!(client.send("{").status(), 400);
    assert_eq!(client.send("[]").status(), 400);
    assert_eq!(client.send(&format!("[{echo}]")).status(), 400);
    let not_json = Request::post(&echo).path(&client.endpoint).header("Content-Type", "text/plain");
    assert_eq!(stage.server.send(&not_json).status(), 415);
    // The stream said nothing of all that.
    client.post(&call(2, "echo", &json!({"text": "next"}), None));
    assert_eq!(client.message()["id"], 2);
}
