//! Questions in rounds (2026-07-28): a call ends with its questions and is sent again with the answers.

use serde_json::{Value, json};

use trunkline::{
    Exchange, NoArguments, Server, Tool,
    model::{ElicitParams, ElicitSchema},
};

use super::stage::{Stage, text};
use crate::support::{Modern, Response, TestServer};

const MISSING_CAPABILITY: i64 = -32021;

/// The call of a client that can be asked.
fn confirm(question: &str) -> Modern {
    Modern::tool("confirm", &json!({"question": question})).capabilities(able())
}

fn able() -> Value {
    json!({"elicitation": {}, "sampling": {}, "roots": {}})
}

/// Sends a call, and returns what has to be answered.
#[track_caller]
fn required(server: &TestServer, call: &Modern) -> Value {
    let response = server.modern(call);
    let result = response.result();
    assert_eq!(result["resultType"], "input_required", "{}", response.text());
    assert!(result["requestState"].is_string(), "{result}");
    result
}

/// The same call with an answer, under an id of its own.
fn again(call: &Modern, state: &str, answer: &Value) -> Modern {
    call.clone()
        .id(json!("again"))
        .param("requestState", json!(state))
        .param("inputResponses", json!({"confirm": answer}))
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"confirmed": true}})
}

#[track_caller]
fn state(required: &Value) -> String {
    required["requestState"].as_str().unwrap().to_owned()
}

#[test]
fn a_question_ends_the_call_and_the_answer_goes_with_a_new_one() {
    let stage = Stage::new();
    for (answer, expected) in [
        (yes(), "yes"),
        (json!({"action": "decline"}), "declined"),
        (json!({"action": "cancel"}), "cancelled"),
    ] {
        let call = confirm("sure?");
        let result = required(&stage.server, &call);
        let questions = result["inputRequests"].as_object().unwrap();
        assert_eq!(questions.len(), 1);
        assert_eq!(questions["confirm"]["method"], "elicitation/create");
        assert_eq!(questions["confirm"]["params"]["message"], "sure?");
        // Nothing is held between the rounds.
        stage.server.await_metric("requests_in_flight", 0);
        assert_eq!(stage.server.metric("questions_open"), 0);
        let response = stage.server.modern(&again(&call, &state(&result), &answer));
        assert_eq!(response.json()["id"], "again");
        assert_eq!(response.json()["result"]["resultType"], "complete");
        assert_eq!(text(&response.json()), expected);
    }
}

#[test]
fn the_model_and_the_roots_are_asked_for_in_rounds_too() {
    let stage = Stage::new();
    let said = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "do it"}});
    let roots = json!({"roots": [{"uri": "file:///home"}]});
    for (tool, method, answer, expected) in
        [("sample", "sampling/createMessage", said, "do it"), ("roots", "roots/list", roots, "file:///home")]
    {
        let call = Modern::tool(tool, &json!({})).capabilities(able());
        let result = required(&stage.server, &call);
        assert_eq!(result["inputRequests"][tool]["method"], method);
        let answered = call
            .id(json!(2))
            .param("requestState", result["requestState"].clone())
            .param("inputResponses", json!({tool: answer}));
        assert!(text(&stage.server.modern(&answered).json()).contains(expected));
    }
}

#[test]
fn a_state_opens_for_the_call_it_was_made_for_and_no_other() {
    let stage = Stage::new();
    let call = confirm("sure?");
    let state = state(&required(&stage.server, &call));
    let other_arguments = again(&confirm("really?"), &state, &yes());
    let more_arguments =
        again(&call, &state, &yes()).param("arguments", json!({"question": "sure?", "and": 1}));
    let other_tool =
        again(&Modern::tool("sample", &json!({"question": "sure?"})).capabilities(able()), &state, &yes());
    let other_method =
        Modern::new("prompts/get", &json!({"name": "confirm", "arguments": {"question": "sure?"}}))
            .capabilities(able());
    let other_method = again(&other_method, &state, &yes());
    let no_arguments = again(&call, &state, &yes()).param("arguments", json!({}));
    for wrong in [other_arguments, more_arguments, other_tool, other_method, no_arguments] {
        let response = stage.server.modern(&wrong);
        assert!(refuses(&response), "{}", response.text());
    }
    // In other words it is still the same call, and the state is none the worse.
    let respelled = again(&call, &state, &yes()).param("arguments", json!({"question": "\u{73}ure?"}));
    assert_eq!(text(&stage.server.modern(&respelled).json()), "yes");
}

#[test]
fn a_state_that_was_changed_in_any_way_is_refused() {
    let stage = Stage::new();
    let call = confirm("sure?");
    let state = state(&required(&stage.server, &call));
    let mut changed: Vec<String> = (0..state.len())
        .step_by(7)
        .map(|at| {
            let other = if state.as_bytes()[at] == b'A' { "B" } else { "A" };
            format!("{}{other}{}", &state[..at], &state[at + 1..])
        })
        .collect();
    changed.extend((0..state.len()).step_by(11).map(|end| state[..end].to_owned()));
    changed.extend([
        format!("{state}A"),
        format!("{state}="),
        format!(" {state}"),
        format!("{state}\n"),
        state.to_ascii_lowercase(),
        state.replace('-', "+").replace('_', "/") + "+",
        "null".to_owned(),
        "\u{1F980}".to_owned(),
    ]);
    for changed in changed {
        let response = stage.server.modern(&again(&call, &changed, &yes()));
        assert!(refuses(&response), "{changed}: {}", response.text());
        // It tells the client what to do, and nothing of how it was found out.
        assert!(
            response.json()["error"]["message"].as_str().unwrap().contains("requestState"),
            "{}",
            response.text()
        );
    }
    for wrong in [json!(7), json!({}), json!([state])] {
        let response = stage.server.modern(&call.clone().param("requestState", wrong.clone()));
        assert!(refuses(&response), "{wrong}: {}", response.text());
    }
    assert_eq!(text(&stage.server.modern(&again(&call, &state, &yes())).json()), "yes");
}

#[test]
fn an_answer_that_is_missing_or_does_not_fit_is_asked_for_again() {
    let stage = Stage::new();
    let call = confirm("sure?");
    let mut state = state(&required(&stage.server, &call));
    for unfit in [
        json!({"confirm": {"action": "accept", "content": {"confirmed": "perhaps"}}}),
        json!({"confirm": {"action": "maybe"}}),
        json!({"confirm": "yes"}),
        json!({"confirm": null}),
        json!({"confirm": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "yes"}}}),
        json!({"something else": yes()}),
        json!({}),
    ] {
        let retried = call.clone().param("requestState", json!(state)).param("inputResponses", unfit.clone());
        let result = required(&stage.server, &retried);
        assert_eq!(result["inputRequests"]["confirm"]["method"], "elicitation/create", "{unfit}");
        state = result["requestState"].as_str().unwrap().to_owned();
    }
    // What is no object at all cannot be an answer to anything.
    for wrong in [json!("yes"), json!([yes()]), json!(1)] {
        let retried = call.clone().param("requestState", json!(state)).param("inputResponses", wrong.clone());
        assert!(refuses(&stage.server.modern(&retried)), "{wrong}");
    }
    let with_more = call
        .param("requestState", json!(state))
        .param("inputResponses", json!({"confirm": yes(), "something else": 1}));
    assert_eq!(text(&stage.server.modern(&with_more).json()), "yes");
}

#[test]
fn a_client_that_did_not_say_it_can_be_asked_is_told_what_it_lacks() {
    let stage = Stage::new();
    for (tool, lacks, has) in [
        ("confirm", "elicitation", json!({"sampling": {}, "roots": {}})),
        ("sample", "sampling", json!({"elicitation": {}, "roots": {}})),
        ("roots", "roots", json!({"elicitation": {}, "sampling": {}})),
    ] {
        let arguments = if tool == "confirm" { json!({"question": "?"}) } else { json!({}) };
        let response = stage.server.modern(&Modern::tool(tool, &arguments).capabilities(has));
        assert_eq!(response.refusal(), (400, MISSING_CAPABILITY), "{tool}: {}", response.text());
        let data = &response.json()["error"]["data"]["requiredCapabilities"];
        assert!(data[lacks].is_object(), "{tool}: {}", response.text());
    }
}

/// Replicas that share their keys go on with each other's calls, also while a key is replaced.
#[test]
fn a_state_opens_on_every_replica_that_has_its_key() {
    const OLD: &str = "k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    const NEW: &str = "k2:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    let replica = |ring: &[&str]| Stage::with(&format!("keys.ring = {ring:?}"));
    let (first, second, third) = (replica(&[OLD]), replica(&[NEW, OLD]), replica(&[NEW]));
    let call = confirm("sure?");
    let of_first = state(&required(&first.server, &call));
    let of_second = state(&required(&second.server, &call));
    let answered = |stage: &Stage, state: &str| stage.server.modern(&again(&call, state, &yes()));
    for (replica, state) in
        [(&first, &of_first), (&second, &of_first), (&second, &of_second), (&third, &of_second)]
    {
        assert_eq!(text(&answered(replica, state).json()), "yes");
    }
    for (replica, state) in [(&first, &of_second), (&third, &of_first)] {
        assert!(refuses(&answered(replica, state)));
    }
    // And a replica with a key of its own alone.
    assert!(refuses(&answered(&Stage::new(), &of_first)));
}

/// Whether the request was refused as one whose parameters do not fit.
fn refuses(response: &Response) -> bool {
    response.code() == -32602
}

#[test]
fn answers_that_may_be_used_once_are_used_once() {
    let charge = Tool::new("charge", |exchange: Exchange, _: NoArguments| async move {
        let form = ElicitParams::form("sure?", ElicitSchema::new());
        exchange.elicit("confirm", form).await?;
        exchange.use_answers_once().await?;
        Ok("charged")
    });
    let server = TestServer::with(Server::new("charging", "1").tool(charge));
    let call = Modern::tool("charge", &json!({})).capabilities(able());
    let first = state(&required(&server, &call));
    let accepted = json!({"action": "accept", "content": {}});
    assert_eq!(text(&server.modern(&again(&call, &first, &accepted)).json()), "charged");
    let twice = server.modern(&again(&call, &first, &accepted)).result();
    assert_eq!(twice["isError"], true, "{twice}");
    assert!(twice.to_string().contains("used already"), "{twice}");
    // Asked anew, it goes on.
    let second = state(&required(&server, &call));
    assert_eq!(text(&server.modern(&again(&call, &second, &accepted)).json()), "charged");
}
