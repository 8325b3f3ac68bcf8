//! `subscriptions/listen` (2026-07-28): a request whose answer is a stream of changes.

use serde_json::{Value, json};

use super::stage::{Stage, refused, text};
use crate::support::{Events, Modern, Request};

const URI: &str = "demo://greeting";
const OTHER: &str = "demo://logo";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn listen(id: Value, notifications: &Value) -> Modern {
    Modern::new("subscriptions/listen", &json!({"notifications": notifications})).id(id)
}

/// Opens a stream, and returns it with what was granted.
#[track_caller]
fn opened(stage: &Stage, id: &Value, notifications: &Value) -> (Events, Value) {
    let mut events = stage.server.stream(&listen(id.clone(), notifications).request());
    let acknowledged = events.message();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(&acknowledged["params"]["_meta"][SUBSCRIPTION], id);
    (events, acknowledged["params"]["notifications"].clone())
}

fn change(stage: &Stage, what: &str) {
    let response = stage.server.modern(&Modern::tool("changed", &json!({"what": what})));
    assert_eq!(text(&response.json()), "said");
}

#[test]
fn what_is_granted_is_said_first_and_nothing_else_is_delivered() {
    let stage = Stage::new();
    let everything = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": [URI],
    });
    let (mut all, granted) = opened(&stage, &json!("all"), &everything);
    assert_eq!(granted, everything);
    let (mut tools, granted) =
        opened(&stage, &json!(7), &json!({"toolsListChanged": true, "promptsListChanged": false}));
    assert_eq!(granted, json!({"toolsListChanged": true}));
    let (mut resource, _) = opened(&stage, &json!(8), &json!({"resourceSubscriptions": [OTHER, URI]}));
    for what in ["prompts", "resources", "demo://notes/1", OTHER, URI, "tools"] {
        change(&stage, what);
    }
    let heard = |events: &mut Events, id: Value, count: usize| -> Vec<Value> {
        let messages = (0..count).map(|_| events.message());
        messages
            .map(|message| {
                assert_eq!(message["params"]["_meta"][SUBSCRIPTION], id, "{message}");
                match &message["params"]["uri"] {
                    Value::Null => message["method"].clone(),
                    uri => uri.clone(),
                }
            })
            .collect()
    };
    let lists = ["prompts", "resources"].map(|list| format!("notifications/{list}/list_changed"));
    let expected = [lists[0].as_str(), &lists[1], URI, "notifications/tools/list_changed"];
    assert_eq!(heard(&mut all, json!("all"), 4), expected);
    assert_eq!(heard(&mut tools, json!(7), 1), ["notifications/tools/list_changed"]);
    assert_eq!(heard(&mut resource, json!(8), 2), [OTHER, URI]);
}

#[test]
fn nothing_is_lost_between_the_acknowledgement_and_the_first_change() {
    let stage = Stage::new();
    for round in 0..20 {
        let (mut events, _) = opened(&stage, &json!(round), &json!({"toolsListChanged": true}));
        change(&stage, "tools");
        assert_eq!(events.message()["method"], "notifications/tools/list_changed");
    }
}

#[test]
fn a_server_without_something_does_not_grant_it() {
    let tool =
        trunkline::Tool::new("only", |_: trunkline::Exchange, _: trunkline::NoArguments| async { Ok("x") });
    let server = crate::support::TestServer::with(trunkline::Server::new("tools", "1").tool(tool));
    let asked = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": [URI],
    });
    let mut events = server.stream(&listen(json!(1), &asked).request());
    assert_eq!(events.message()["params"]["notifications"], json!({"toolsListChanged": true}));
    // And it does not say that it has it.
    let discovered = server.modern(&Modern::new("server/discover", &json!({}))).result();
    assert_eq!(discovered["capabilities"]["tools"]["listChanged"], true, "{discovered}");
    assert!(
        discovered["capabilities"]["prompts"].is_null() && discovered["capabilities"]["resources"].is_null()
    );
}

#[test]
fn a_stream_is_let_go_when_its_client_closes_it() {
    let stage = Stage::with("server.stream_keep_alive = \"9m\"");
    let streams: Vec<_> =
        (0..10).map(|id| opened(&stage, &json!(id), &json!({"toolsListChanged": true})).0).collect();
    stage.server.await_metric("streams_open", 10);
    drop(streams);
    stage.server.await_metric("streams_open", 0);
}

#[test]
fn there_are_no_more_streams_and_no_longer_filters_than_there_may_be() {
    let stage =
        Stage::with("limits.streams = 2\nlimits.streams_per_session = 2\nlimits.listen_subscriptions = 2");
    let tools = json!({"toolsListChanged": true});
    let many = json!({"resourceSubscriptions": ["demo://a", "demo://b", "demo://c"]});
    assert_eq!(refused(&stage.server, &listen(json!(4), &many).request()).refusal(), (400, -32602));
    let _held = [opened(&stage, &json!(1), &tools), opened(&stage, &json!(2), &tools)];
    let third = refused(&stage.server, &listen(json!(3), &tools).request());
    assert_eq!(third.status(), 503, "{}", third.text());
    assert!(third.header("retry-after").is_some());
    let session = stage.server.initialize("2025-11-25");
    assert_eq!(refused(&stage.server, &session.sign(Request::get())).status(), 503);
}

#[test]
fn a_filter_that_is_none_is_refused() {
    let stage = Stage::new();
    for wrong in [
        json!(null),
        json!("tools"),
        json!({"toolsListChanged": "yes"}),
        json!({"resourceSubscriptions": URI}),
    ] {
        let response = refused(&stage.server, &listen(json!(1), &wrong).request());
        assert_eq!(response.refusal(), (400, -32602), "{wrong}: {}", response.text());
    }
    let unread = listen(json!(1), &json!({})).request().header("Accept", "application/json");
    assert_eq!(refused(&stage.server, &unread).status(), 406);
    assert_eq!(stage.server.metric("streams_open"), 0);
}

/// There is nothing to come back to: what an older client would send with it is not looked at.
#[test]
fn neither_a_session_nor_an_event_id_means_anything_here() {
    let stage = Stage::new();
    let request = listen(json!(1), &json!({"toolsListChanged": true}))
        .request()
        .session("made-up")
        .header("Last-Event-ID", "c.made.up.1-1");
    let mut events = stage.server.stream(&request);
    assert_eq!(events.message()["method"], "notifications/subscriptions/acknowledged");
    let get = Request::get().version("2026-07-28");
    assert_eq!(refused(&stage.server, &get).status(), 405);
    let delete = Request::new("DELETE", "/mcp").version("2026-07-28");
    assert_eq!(stage.server.send(&delete).status(), 405);
}
