//! What comes of a request that was taken up: the errors of handlers and of what they are asked for.

use serde_json::{Value, json};

use crate::support::{LEGACY, MODERN, Modern, Response, Session, TestServer};

/// Every revision's way of sending one request.
struct Everyone<'a> {
    server: &'a TestServer,
    sessions: Vec<Session<'a>>,
}

// === impl Everyone ===

impl<'a> Everyone<'a> {
    fn of(server: &'a TestServer) -> Self {
        Self { server, sessions: LEGACY.iter().map(|revision| server.initialize(revision)).collect() }
    }

    /// The response each revision gets.
    fn request(&self, method: &str, params: &Value) -> Vec<(&str, Response)> {
        let legacy =
            self.sessions.iter().map(|session| (session.revision.as_str(), session.request(method, params)));
        let modern = self.server.modern(&Modern::new(method, params));
        legacy.chain([(MODERN, modern)]).collect()
    }

    fn tool(&self, name: &str, arguments: &Value) -> Vec<(&str, Response)> {
        self.request("tools/call", &json!({"name": name, "arguments": arguments}))
    }
}

/// The text of a tool's result that says it failed.
#[track_caller]
fn failure(revision: &str, response: &Response) -> String {
    let result = response.result();
    assert_eq!(response.status(), 200, "{revision}");
    assert_eq!(result["isError"], true, "{revision}: {result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn unknown_tool_or_prompt() {
    let server = TestServer::demo();
    let everyone = Everyone::of(&server);
    for (method, params) in [
        ("tools/call", json!({"name": "nothing", "arguments": {}})),
        ("tools/call", json!({"name": "", "arguments": {}})),
        ("prompts/get", json!({"name": "nothing"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "nothing"}, "argument": {"name": "x", "value": ""}}),
        ),
    ] {
        for (revision, response) in everyone.request(method, &params) {
            assert_eq!(response.code(), -32602, "{revision} {method}: {}", response.text());
            // No revision but the last may see another status than 200 for this, and it need not.
            assert_eq!(response.status(), 200, "{revision} {method}");
        }
    }
}

#[test]
fn unknown_resource() {
    let server = TestServer::demo();
    for (revision, response) in
        Everyone::of(&server).request("resources/read", &json!({"uri": "demo://nothing"}))
    {
        let expected = if revision == MODERN { -32602 } else { -32002 };
        assert_eq!(response.code(), expected, "{revision}: {}", response.text());
        assert_eq!(response.json()["error"]["data"]["uri"], "demo://nothing", "{revision}");
    }
}

#[test]
fn parameters_of_the_wrong_shape_are_32602() {
    let server = TestServer::demo();
    let everyone = Everyone::of(&server);
    for (method, params) in [
        ("tools/call", json!({"name": "add", "arguments": [1]})),
        ("prompts/get", json!({"name": "summarize", "arguments": {"text": 5}})),
        ("prompts/get", json!({"name": "summarize", "arguments": {}})),
        ("prompts/get", json!({"name": "summarize", "arguments": {"text": "x", "style": "epic"}})),
        ("completion/complete", json!({"ref": {"type": "ref/prompt", "name": "summarize"}})),
    ] {
        for (revision, response) in everyone.request(method, &params) {
            let answer = response.answer();
            // A tool's arguments are the model's to mend; all else is the client program's.
            let mendable = method == "tools/call" && answer["result"]["isError"] == true;
            assert!(
                mendable || response.code() == -32602,
                "{revision} {method} {params}: {}",
                response.text()
            );
        }
    }
}

#[test]
fn a_refusal_of_parameters_in_a_session_is_answered_as_json_rpc_not_as_a_broken_transport() {
    let server = TestServer::demo();
    for revision in LEGACY {
        let session = server.initialize(revision);
        for (method, params) in [
            ("logging/setLevel", json!({"level": "shouting"})),
            ("logging/setLevel", json!({})),
            ("resources/subscribe", json!({})),
            ("tools/call", json!({"name": 5})),
        ] {
            // Clients of these revisions take a status of 400 for a transport that does not work.
            assert_eq!(
                session.request(method, &params).refusal(),
                (200, -32602),
                "{revision} {method} {params}"
            );
        }
    }
}

#[test]
fn arguments_do_not_fit_the_tools_schema() {
    let server = TestServer::demo();
    let everyone = Everyone::of(&server);
    for (arguments, path, rule) in [
        (json!({"a": 1}), "", "\"b\""),
        (json!({"a": 1, "b": "two"}), "b", "integer"),
        (json!({"a": 1.5, "b": 2}), "a", "integer"),
    ] {
        for (revision, response) in everyone.tool("add", &arguments) {
            let said = failure(revision, &response);
            assert!(said.contains(path) && said.contains(rule), "{revision} {arguments}: {said}");
        }
    }
    for (revision, response) in everyone.tool("payload", &json!({"bytes": 4_194_305})) {
        let said = failure(revision, &response);
        assert!(said.contains("bytes") && said.contains("4194304"), "{revision}: {said}");
    }
    // Left out altogether they are empty.
    for (revision, response) in everyone.request("tools/call", &json!({"name": "add"})) {
        assert!(failure(revision, &response).contains("\"a\""), "{revision}");
    }
}

#[test]
fn handler_failed() {
    let server = TestServer::demo();
    let everyone = Everyone::of(&server);
    for (revision, response) in everyone.tool("fail", &json!({"kind": "error"})) {
        assert_eq!(failure(revision, &response), "this tool fails when asked to", "{revision}");
    }
    for (revision, response) in everyone.tool("fail", &json!({"kind": "rpc"})) {
        assert_eq!(response.refusal(), (200, 1001), "{revision}");
    }
    for (revision, response) in everyone.tool("fail", &json!({"kind": "internal"})) {
        let said = failure(revision, &response);
        assert!(!said.contains("fire") && !said.contains("disk"), "{revision}: {said}");
        assert_logged(&server, &said, "the disk of the demo is on fire");
    }
}

#[test]
fn handler_panicked() {
    let server = TestServer::demo();
    let everyone = Everyone::of(&server);
    let responses = everyone.tool("fail", &json!({"kind": "panic"}));
    let count = i64::try_from(responses.len()).unwrap();
    for (revision, response) in responses {
        let said = failure(revision, &response);
        assert!(!said.contains("panic"), "{revision}: {said}");
        assert_logged(&server, &said, "this tool panics when asked to");
    }
    assert_eq!(server.metric("handler_panics_total"), count);
    // The worker and its other calls go on.
    for (revision, response) in everyone.tool("add", &json!({"a": 1, "b": 2})) {
        assert_eq!(response.status(), 200, "{revision}");
    }
    assert_eq!(server.metric("requests_in_flight"), 0);
}

/// The client's text ends with a reference, under which the log has what really happened.
#[track_caller]
fn assert_logged(server: &TestServer, told: &str, cause: &str) {
    let reference = told.rsplit(' ').next().unwrap().to_owned();
    assert_eq!(reference.len(), 8, "{told}");
    let found = crate::support::within(crate::support::DEADLINE, || {
        server.log().iter().any(|line| line.contains(&reference) && line.contains(cause))
    });
    assert!(found, "{told}: {:#?}", server.log());
}

#[test]
fn handler_ran_past_its_time_limit() {
    let server = TestServer::builder().config("[limits]\ntool_time = \"200ms\"").start();
    let everyone = Everyone::of(&server);
    for (revision, response) in everyone.tool("slow", &json!({"ms": 60_000})) {
        let said = failure(revision, &response);
        assert!(said.contains("limit of 0.2 s"), "{revision}: {said}");
    }
    server.await_metric("requests_in_flight", 0);
}

#[test]
fn a_result_over_the_limit_is_an_error_the_model_can_read() {
    let server = TestServer::builder().config("[limits]\nresult_bytes = \"64KiB\"").start();
    for (revision, response) in Everyone::of(&server).tool("payload", &json!({"bytes": 100_000})) {
        let said = failure(revision, &response);
        assert!(said.contains("limits.result_bytes"), "{revision}: {said}");
    }
}

#[test]
fn a_cancelled_call_gets_no_answer() {
    let server = TestServer::demo();
    let session = server.initialize("2025-06-18");
    let params = json!({"name": "slow", "arguments": {"ms": 60_000}});
    let mut connection = server.connect();
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params});
    connection.send(&session.post(&call).bytes());
    server.await_metric("requests_in_flight", 1);
    // Ids are of a type, too: the text "5" is no call.
    assert_eq!(session.notify("notifications/cancelled", &json!({"requestId": "5"})).status(), 202);
    assert_eq!(server.metric("requests_in_flight"), 1);
    assert_eq!(session.notify("notifications/cancelled", &json!({"requestId": 5})).status(), 202);
    let response = connection.receive();
    assert_eq!(response.events().iter().filter(|event| event.data.contains("\"id\":5")).count(), 0);
    assert!(!response.text().contains("result"), "{}", response.text());
    server.await_metric("requests_in_flight", 0);
}
