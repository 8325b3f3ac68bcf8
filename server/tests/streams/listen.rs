//! The stream that listens, in the revisions that have sessions: who hears what, and on which stream.

use serde_json::{Value, json};

use super::stage::{Stage, call, refused, text};
use crate::support::{LEGACY, Request, STREAMABLE};

const URI: &str = "demo://greeting";
const OTHER: &str = "demo://logo";

fn about(uri: &str) -> Value {
    json!({"uri": uri})
}

#[test]
fn the_newest_of_two_listeners_carries_the_messages_and_the_older_one_ends() {
    let stage = Stage::new();
    for revision in STREAMABLE {
        let session = stage.server.initialize(revision);
        session.call("resources/subscribe", &about(URI));
        let mut older = session.listen();
        session.tool("touch", &about(URI));
        assert_eq!(older.message()["params"]["uri"], URI);
        let mut newer = session.listen();
        let last = older.everything();
        assert!(last.iter().all(|event| event.data.is_empty()), "{revision}: {last:?}");
        session.tool("touch", &about(URI));
        assert_eq!(newer.message()["method"], "notifications/resources/updated");
        // The end of the older one took nothing from the newer.
        session.tool("touch", &about(URI));
        assert_eq!(newer.message()["params"]["uri"], URI);
    }
}

/// A client that lost its connections without noticing is not locked out by its own ghosts, however often.
#[test]
fn a_listener_is_let_in_however_many_it_has_lost() {
    let stage = Stage::with("limits.streams_per_session = 4");
    let session = stage.server.initialize("2025-06-18");
    session.call("resources/subscribe", &about(URI));
    let mut ghosts = Vec::new();
    for _ in 0..20 {
        ghosts.push(session.listen());
    }
    let mut newest = session.listen();
    session.tool("touch", &about(URI));
    assert_eq!(newest.message()["params"]["uri"], URI);
    for mut ghost in ghosts {
        assert_eq!(ghost.rest(), []);
    }
    stage.server.await_metric("streams_open", 1);
}

#[test]
fn each_message_travels_on_one_stream_only() {
    let stage = Stage::with("server.upgrade_after = \"20ms\"");
    let session = stage.server.initialize("2025-06-18");
    session.call("resources/subscribe", &about(URI));
    let mut calling = stage.server.stream(&session.post(&call(50, "steps", &json!({"count": 1}), Some("t"))));
    let mut listening = session.listen();
    session.tool("touch", &about(URI));
    session.tool("changed", &json!({"what": "tools"}));
    assert_eq!(listening.message()["method"], "notifications/resources/updated");
    assert_eq!(listening.message()["method"], "notifications/tools/list_changed");
    stage.step(2);
    let of_the_call: Vec<_> = calling.rest().iter().map(|event| event.json()).collect();
    assert_eq!(of_the_call.len(), 2, "{of_the_call:?}");
    assert_eq!(of_the_call[0]["method"], "notifications/progress");
    assert_eq!(text(&of_the_call[1]), "1 steps");
    // What the call said is not on the stream that listens: this comes next.
    session.tool("changed", &json!({"what": "prompts"}));
    assert_eq!(listening.message()["method"], "notifications/prompts/list_changed");
}

#[test]
fn updates_of_a_resource_go_to_its_subscribers_only() {
    let stage = Stage::new();
    for revision in LEGACY {
        let (one, two) = (stage.server.initialize(revision), stage.server.initialize(revision));
        one.call("resources/subscribe", &about(URI));
        one.call("resources/subscribe", &about(OTHER));
        two.call("resources/subscribe", &about(OTHER));
        let (mut one_hears, mut two_hears) = (one.listen(), two.listen());
        two.tool("touch", &about(URI));
        two.tool("touch", &about(OTHER));
        assert_eq!(one_hears.message()["params"], about(URI), "{revision}");
        assert_eq!(one_hears.message()["params"], about(OTHER), "{revision}");
        assert_eq!(two_hears.message()["params"], about(OTHER), "{revision}");
        // Unsubscribed while the stream is open.
        one.call("resources/unsubscribe", &about(URI));
        two.tool("touch", &about(URI));
        two.tool("touch", &about(OTHER));
        assert_eq!(one_hears.message()["params"], about(OTHER), "{revision}");
        assert_eq!(two_hears.message()["params"], about(OTHER), "{revision}");
    }
}

#[test]
fn every_session_hears_once_that_a_list_has_changed() {
    let stage = Stage::new();
    let sessions: Vec<_> = LEGACY.iter().map(|revision| stage.server.initialize(revision)).collect();
    let mut streams: Vec<_> = sessions.iter().map(|session| session.listen()).collect();
    for (what, method) in [
        ("tools", "notifications/tools/list_changed"),
        ("prompts", "notifications/prompts/list_changed"),
        ("resources", "notifications/resources/list_changed"),
    ] {
        sessions[0].tool("changed", &json!({"what": what}));
        for stream in &mut streams {
            assert_eq!(stream.message()["method"], method);
        }
    }
}

#[test]
fn a_subscription_made_before_listening_and_one_made_while_listening_both_count() {
    let stage = Stage::new();
    let session = stage.server.initialize("2025-11-25");
    let mut listening = session.listen();
    session.call("resources/subscribe", &about(URI));
    session.tool("touch", &about(URI));
    assert_eq!(listening.message()["params"]["uri"], URI);
    listening.close();
    // The session keeps it, and not the stream.
    let mut listening = session.listen();
    session.tool("touch", &about(URI));
    assert_eq!(listening.message()["params"]["uri"], URI);
}

#[test]
fn log_messages_are_of_the_level_that_the_session_or_the_request_asks_for() {
    let stage = Stage::new();
    let levels = |events: Vec<crate::support::Event>| -> Vec<Value> {
        let messages = events.into_iter().map(|event| event.json());
        messages
            .filter(|message| message["method"] == "notifications/message")
            .map(|m| m["params"]["level"].clone())
            .collect()
    };
    for revision in STREAMABLE {
        let (quiet, other) = (stage.server.initialize(revision), stage.server.initialize(revision));
        quiet.call("logging/setLevel", &json!({"level": "error"}));
        let of = |session: &crate::support::Session<'_>| {
            levels(stage.server.stream(&session.post(&call(70, "log", &json!({}), None))).rest())
        };
        assert_eq!(of(&quiet), ["error", "emergency"], "{revision}");
        assert_eq!(of(&other), ["info", "warning", "error", "emergency"], "{revision}");
        quiet.call("logging/setLevel", &json!({"level": "debug"}));
        assert_eq!(of(&quiet).len(), 5, "{revision}");
    }
    // Without a session each request says it, and one that does not gets none.
    let modern = crate::support::Modern::tool("log", &json!({}));
    let response = stage.server.modern(&modern);
    assert_eq!(response.header("content-type"), Some("application/json"), "{}", response.text());
    let asked = modern.meta("io.modelcontextprotocol/logLevel", json!("warning"));
    assert_eq!(levels(stage.server.stream(&asked.request()).rest()), ["warning", "error", "emergency"]);
}

#[test]
fn a_session_has_no_more_streams_and_no_more_subscriptions_than_it_may() {
    let stage = Stage::with(
        "limits.streams_per_session = 2\nlimits.subscriptions_per_session = 2\n\
                             server.upgrade_after = \"20ms\"",
    );
    let session = stage.server.initialize("2025-06-18");
    session.call("resources/subscribe", &about("demo://notes/1"));
    session.call("resources/subscribe", &about("demo://notes/2"));
    // Again the same, and a further one.
    session.call("resources/subscribe", &about("demo://notes/2"));
    let third = session.request("resources/subscribe", &about("demo://notes/3"));
    assert_eq!(third.code(), -32602, "{}", third.text());
    session.call("resources/unsubscribe", &about("demo://notes/1"));
    session.call("resources/subscribe", &about("demo://notes/3"));

    // A call that is resumed by several readers, each with a stream of its own.
    let mut connection = stage.server.connect();
    connection.send(&session.post(&call(50, "steps", &json!({"count": 1}), Some("t"))).bytes());
    stage.step(1);
    connection.head();
    let mut events = connection.into_events();
    let id = events.next_event().unwrap().id.unwrap();
    let readers = [session.resume(&id), session.resume(&id)];
    let one_more = refused(&stage.server, &session.sign(Request::get()).header("Last-Event-ID", &id));
    assert_eq!(one_more.status(), 503, "{}", one_more.text());
    assert!(one_more.header("retry-after").is_some());
    drop(readers);
    stage.step(1);
    events.rest();
    stage.server.await_metric("streams_open", 0);
    let _again = session.listen();
}
