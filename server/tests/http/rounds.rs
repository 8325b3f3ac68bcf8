//! Questions in rounds (2026-07-28), and the state that a client carries between them, which it may have made up.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use trunkline::{
    Exchange, NoArguments, Server, Tool,
    model::{ElicitParams, ElicitSchema, PropertySchema},
};

use crate::support::{Modern, TestServer};

fn confirm(question: &str) -> Modern {
    Modern::tool("confirm", &json!({"question": question})).capabilities(json!({"elicitation": {}}))
}

fn yes() -> Value {
    json!({"confirm": {"action": "accept", "content": {"confirmed": true}}})
}

/// The state that the first round of a call hands out.
fn state(server: &TestServer, call: &Modern) -> String {
    let result = server.modern(call).result();
    assert_eq!(result["resultType"], "input_required", "{result}");
    assert_eq!(result["inputRequests"]["confirm"]["method"], "elicitation/create", "{result}");
    // A round may not be kept by anybody.
    assert_eq!(result.get("ttlMs"), None, "{result}");
    result["requestState"].as_str().unwrap().to_owned()
}

fn resumed(call: Modern, state: &str) -> Modern {
    call.id(json!(2)).param("inputResponses", yes()).param("requestState", json!(state))
}

#[test]
fn a_call_goes_on_with_its_answers() {
    let server = TestServer::demo();
    let state = state(&server, &confirm("Really?"));
    let result = server.modern(&resumed(confirm("Really?"), &state)).result();
    assert_eq!(result["content"][0]["text"], "yes");
    assert_eq!(result["resultType"], "complete");
    // Nothing was held between the rounds.
    for gauge in ["questions_open", "requests_in_flight", "sessions_active"] {
        assert_eq!(server.metric(gauge), 0, "{gauge}");
    }
}

#[test]
fn a_state_is_good_for_its_own_call_alone() {
    let server = TestServer::demo();
    let state = state(&server, &confirm("Delete one file?"));
    for (other, what) in [
        (resumed(confirm("Delete everything?"), &state), "other arguments"),
        (resumed(Modern::tool("add", &json!({"a": 1, "b": 2})), &state), "another tool"),
    ] {
        let response = server.modern(&other);
        assert_eq!(response.code(), -32602, "{what}: {}", response.text());
        let message = response.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("requestState") && message.contains("again"), "{what}: {message}");
    }
    // The same arguments in another spelling are the same call.
    let spelled = resumed(confirm("Delete one file?"), &state).message().to_string();
    let spelled = spelled.replace("{\"question\":", "{ \"question\" :");
    let request = confirm("Delete one file?").request().body(spelled.as_bytes());
    assert_eq!(server.send(&request).result()["content"][0]["text"], "yes");
}

#[test]
fn a_forged_state_is_refused_before_the_handler_runs() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let tool = Tool::new("ask", move |exchange: Exchange, _: NoArguments| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            let form = ElicitParams::form(
                "Go?".to_owned(),
                ElicitSchema::new().with("confirmed", PropertySchema::boolean()),
            );
            exchange.elicit("confirm", form).await?;
            Ok("gone")
        }
    });
    let server = TestServer::with(Server::new("asking", "1").tool(tool));
    let call = Modern::tool("ask", &json!({})).capabilities(json!({"elicitation": {}}));
    let state = state(&server, &call);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    let middle = state.len() / 2;
    let flipped = if state.as_bytes()[middle] == b'A' { "B" } else { "A" };
    let forged = [
        String::new(),
        "e30".to_owned(),
        "{}".to_owned(),
        state[..state.len() - 1].to_owned(),
        format!("{state}A"),
        format!("{state}="),
        format!(" {state}"),
        format!("{}{flipped}{}", &state[..middle], &state[middle + 1..]),
        state.to_lowercase(),
        "x".repeat(1_000_000),
    ];
    for forged in forged {
        let response = server.modern(&resumed(call.clone(), &forged));
        assert_eq!(response.code(), -32602, "{:.40}: {}", forged, response.text());
    }
    assert_eq!(runs.load(Ordering::Relaxed), 1, "no forgery ran anything");
    assert_eq!(server.modern(&resumed(call, &state)).result()["content"][0]["text"], "gone");
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}

#[test]
fn a_state_of_another_key_is_refused() {
    let (one, other) = (TestServer::demo(), TestServer::demo());
    let state = state(&one, &confirm("Really?"));
    assert_eq!(other.modern(&resumed(confirm("Really?"), &state)).code(), -32602);
}

#[test]
fn replicas_with_one_key_ring_resume_each_others_calls() {
    let old = "old:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    let new = "new:YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODk=";
    let start = |ring: &str| TestServer::builder().config(&format!("[keys]\nring = [{ring}]")).start();
    let before = start(&format!("\"{old}\", \"{new}\""));
    let after = start(&format!("\"{new}\", \"{old}\""));
    let sealed_before = state(&before, &confirm("Really?"));
    let sealed_after = state(&after, &confirm("Really?"));
    assert_eq!(
        after.modern(&resumed(confirm("Really?"), &sealed_before)).result()["content"][0]["text"],
        "yes"
    );
    assert_eq!(
        before.modern(&resumed(confirm("Really?"), &sealed_after)).result()["content"][0]["text"],
        "yes"
    );
    let rotated = start(&format!("\"{new}\""));
    assert_eq!(rotated.modern(&resumed(confirm("Really?"), &sealed_before)).code(), -32602);
    // Cursors and session ids are of the same ring, and of other purposes: a session id is no state.
    let session = before.initialize("2025-11-25");
    assert_eq!(before.modern(&resumed(confirm("Really?"), &session.id)).code(), -32602);
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again() {
    let server = TestServer::demo();
    let state = state(&server, &confirm("Really?"));
    for answer in
        [json!({}), json!({"confirm": {"action": "shrug"}}), json!({"confirm": 5}), json!({"other": {}})]
    {
        let call = resumed(confirm("Really?"), &state).param("inputResponses", answer.clone());
        let response = server.modern(&call);
        let asked_again = response.answer()["result"]["resultType"] == "input_required";
        assert!(asked_again || response.code() == -32602, "{answer}: {}", response.text());
    }
    let no_object = resumed(confirm("Really?"), &state).param("inputResponses", json!([1]));
    assert_eq!(server.modern(&no_object).code(), -32602);
}

#[test]
fn answers_without_a_state_begin_the_call_anew() {
    let server = TestServer::demo();
    let call = confirm("Really?").param("inputResponses", yes());
    let response = server.modern(&call);
    assert_eq!(response.status(), 200, "{}", response.text());
    assert_eq!(response.result()["content"][0]["text"], "yes");
}

#[test]
fn declining_is_an_answer() {
    let server = TestServer::demo();
    let state = state(&server, &confirm("Really?"));
    for (action, word) in [("decline", "declined"), ("cancel", "cancelled")] {
        let call = resumed(confirm("Really?"), &state)
            .param("inputResponses", json!({"confirm": {"action": action}}));
        assert_eq!(server.modern(&call).result()["content"][0]["text"], word);
    }
}
