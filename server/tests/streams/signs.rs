//! The first bytes of a stream, and its signs of life.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::stage::{Stage, call, text};
use crate::support::{DEADLINE, Event, Events, LEGACY, Modern, Request, STREAMABLE};

/// Signs of life come often.
const OFTEN: &str = "server.stream_keep_alive = \"100ms\"\nserver.upgrade_after = \"20ms\"";

/// No sign of life comes in time: what is read was sent for another reason.
const SELDOM: &str = "server.stream_keep_alive = \"9m\"\nserver.upgrade_after = \"20ms\"";

/// Every kind of stream there is, open and with nothing to say: the calls wait. With its name.
fn quiet(stage: &Stage) -> Vec<(String, Events)> {
    let mut streams = Vec::new();
    for revision in STREAMABLE {
        let session = stage.server.initialize(revision);
        streams.push((format!("GET in {revision}"), session.listen()));
        let request = session.post(&call(1, "wait", &json!({}), None));
        streams.push((format!("POST in {revision}"), stage.server.stream(&request)));
    }
    streams.push((
        "POST in 2026-07-28".into(),
        stage.server.stream(&Modern::tool("wait", &json!({})).request()),
    ));
    let listen = Modern::new("subscriptions/listen", &json!({"notifications": {"toolsListChanged": true}}));
    streams.push(("subscriptions/listen".into(), stage.server.stream(&listen.request())));
    streams.push(("GET /sse".into(), stage.server.stream(&Request::get().path("/sse"))));
    streams
}

fn is_priming(event: &Event) -> bool {
    event.has_data && event.data.is_empty()
}

#[test]
fn the_first_bytes_of_a_stream_come_at_once() {
    let stage = Stage::with(SELDOM);
    let begin = Instant::now();
    for (name, mut events) in quiet(&stage) {
        assert!(events.next_any().is_some(), "{name}");
    }
    // Nothing but the beginning itself could come within an hour of this.
    assert!(begin.elapsed() < DEADLINE);
}

#[test]
fn a_quiet_stream_says_with_comments_that_it_lives_and_with_nothing_else() {
    let stage = Stage::with(OFTEN);
    for (name, mut events) in quiet(&stage) {
        let mut comments = 0;
        while comments < 3 {
            let event = events.next_any().unwrap_or_else(|| panic!("{name} ended"));
            // No revision has its server ping a client that listens: a comment is enough, and no answer is due.
            let first =
                event.event.as_deref() == Some("endpoint") || acknowledges(&event) || is_priming(&event);
            assert!(first || event.comment.is_some(), "{name}: {event:?}");
            assert!(event.comment.is_none() || event.id.is_none(), "{name}: {event:?}");
            comments += usize::from(event.comment.as_deref() == Some("keep-alive"));
        }
    }

    fn acknowledges(event: &Event) -> bool {
        event.data.contains("notifications/subscriptions/acknowledged")
    }
}

#[test]
fn only_2025_11_25_begins_its_streams_with_an_id_and_no_data() {
    let stage = Stage::with(OFTEN);
    for (name, mut events) in quiet(&stage) {
        // Long enough for everything that a stream begins with.
        let mut seen = Vec::new();
        while seen.iter().filter(|event: &&Event| event.comment.as_deref() == Some("keep-alive")).count() < 2
        {
            seen.push(events.next_any().unwrap_or_else(|| panic!("{name} ended")));
        }
        let priming: Vec<_> = seen.iter().filter(|event| is_priming(event)).collect();
        if name.ends_with("2025-11-25") {
            let [event] = priming[..] else { panic!("{name}: {seen:?}") };
            assert!(event.id.is_some() && event.retry.is_some(), "{name}: {event:?}");
        } else {
            assert!(priming.is_empty(), "{name}: {priming:?}");
            assert!(seen.iter().all(|event| event.id.is_none()), "{name}: {seen:?}");
        }
    }
}

/// Clients that lose their streams together do not come back together.
#[test]
fn the_hint_when_to_come_back_is_not_the_same_for_everybody() {
    let stage = Stage::with(SELDOM);
    let session = stage.server.initialize("2025-11-25");
    let mut hints: Vec<u64> = (0..20)
        .map(|_| {
            let mut listening = session.listen();
            loop {
                if let Some(retry) = listening.next_any().expect("it begins").retry {
                    return retry;
                }
            }
        })
        .collect();
    assert!(hints.iter().all(|hint| (100..60_000).contains(hint)), "{hints:?}");
    hints.sort_unstable();
    hints.dedup();
    assert!(hints.len() > 5, "{hints:?}");
}

#[test]
fn every_message_of_a_stream_that_can_be_resumed_has_an_id_of_its_own() {
    let stage = Stage::new();
    for revision in STREAMABLE {
        let session = stage.server.initialize(revision);
        let subscribe = json!({"uri": "demo://greeting"});
        session.call("resources/subscribe", &subscribe);
        let mut listening = session.listen();
        let request = session.post(&call(1, "steps", &json!({"count": 3}), Some("t")));
        stage.step(4);
        let mut events = stage.server.stream(&request).everything();
        for _ in 0..2 {
            session.tool("touch", &subscribe);
            events.push(listening.next_event().unwrap());
        }
        let messages: Vec<_> = events.iter().filter(|event| !event.data.is_empty()).collect();
        assert_eq!(messages.len(), 6);
        let ids = events.iter().filter(|event| event.has_data).map(|event| event.id.as_deref().unwrap());
        let mut ids: Vec<_> = ids.collect();
        ids.sort_unstable();
        let all = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), all, "{revision}: {events:?}");
    }
}

#[test]
fn no_event_of_2026_07_28_and_of_2024_11_05_has_an_id() {
    let stage = Stage::new();
    let request = Modern::tool("steps", &json!({"count": 3})).meta("progressToken", json!(7)).request();
    stage.step(4);
    let events = stage.server.stream(&request).everything();
    assert_eq!(events.iter().filter(|event| event.has_data).count(), 4);
    assert!(events.iter().all(|event| event.id.is_none()), "{events:?}");
    // A client may ask for it all the same: the endpoint's revision without resumption gives none.
    let session = stage.server.initialize(LEGACY[0]);
    session.call("resources/subscribe", &json!({"uri": "demo://greeting"}));
    let mut listening = session.listen();
    session.tool("touch", &json!({"uri": "demo://greeting"}));
    assert_eq!(listening.next_event().unwrap().id, None);
}

#[test]
fn a_silent_call_reports_progress_to_a_caller_that_asked_for_it() {
    let stage = Stage::with(OFTEN);
    let legacy = STREAMABLE.map(|revision| {
        let session = stage.server.initialize(revision);
        session.post(&call(1, "steps", &json!({"count": 1}), Some("t")))
    });
    let modern = Modern::tool("steps", &json!({"count": 1})).meta("progressToken", json!("t")).request();
    for request in legacy.into_iter().chain([modern]) {
        let mut events = stage.server.stream(&request);
        let mut last = 0.0;
        for _ in 0..3 {
            last = advanced(&events.message(), last);
        }
        // The handler's own progress comes after it, and is more.
        stage.step(1);
        while last < 1.0 {
            last = advanced(&events.message(), last);
        }
        stage.step(1);
        let answer = events.rest().last().unwrap().json();
        assert_eq!(text(&answer), "1 steps");
    }

    fn advanced(message: &Value, last: f64) -> f64 {
        assert_eq!(message["method"], "notifications/progress");
        assert_eq!(message["params"]["progressToken"], "t");
        let progress = message["params"]["progress"].as_f64().unwrap();
        assert!(progress > last, "{progress} after {last}");
        progress
    }
}

#[test]
fn a_silent_call_says_nothing_to_a_caller_that_did_not_ask() {
    let stage = Stage::with(OFTEN);
    let session = stage.server.initialize("2025-06-18");
    let mut events = stage.server.stream(&session.post(&call(1, "wait", &json!({}), None)));
    let mut comments = 0;
    while comments < 5 {
        let event = events.next_any().unwrap();
        assert!(event.comment.is_some(), "{event:?}");
        comments += 1;
    }
    stage.step(1);
    assert_eq!(text(&events.message()), "waited");
}

/// A stream is not older than it may be, and says when to come back. One that nobody can come back to ends with its call.
#[test]
fn a_stream_ends_when_it_is_old_enough() {
    let stage = Stage::with(&format!("server.stream_max_age = \"1s\"\n{OFTEN}"));
    let begin = Instant::now();
    let mut streams = quiet(&stage);
    let last_post = streams.iter().position(|(name, _)| name == "POST in 2026-07-28").unwrap();
    let (_, mut goes_on) = streams.remove(last_post);
    for (name, mut events) in streams {
        let last = events.everything().into_iter().next_back().unwrap();
        if name == "subscriptions/listen" {
            assert_eq!(last.json()["result"]["resultType"], "complete");
        } else {
            let retry = last.retry.unwrap_or_else(|| panic!("{name}: {last:?}"));
            assert!((100..60_000).contains(&retry) && !last.has_data, "{name}: {last:?}");
        }
    }
    assert!(begin.elapsed() > Duration::from_millis(900), "they ended too early");
    // The calls go on, in sessions and without.
    stage.server.await_metric("requests_in_flight", 4);
    stage.step(4);
    assert_eq!(text(&goes_on.message()), "waited");
    stage.await_ended(4);
}
