//! Broken streams, and what a client gets that comes back.

use serde_json::json;

use super::stage::{Stage, call, refused, text};
use crate::support::{DEADLINE, Event, Events, Request, STREAMABLE, Session, within};

const URI: &str = "demo://greeting";

/// The events of a call with an id, priming included: what a client can come back to.
fn with_ids(events: Vec<Event>) -> Vec<Event> {
    events.into_iter().filter(|event| event.id.is_some()).collect()
}

fn messages(events: &[Event]) -> Vec<Event> {
    events.iter().filter(|event| !event.data.is_empty()).cloned().collect()
}

/// A call with three steps that has reported the first of them, and that event.
fn broken(stage: &Stage, session: &Session<'_>, id: i64) -> (Events, Event) {
    let request = session.post(&call(id, "steps", &json!({"count": 3}), Some("t")));
    let mut connection = stage.server.connect();
    connection.send(&request.bytes());
    stage.step(1);
    assert_eq!(connection.head().status, 200);
    let mut events = connection.into_events();
    let first = events.next_event().unwrap();
    (events, first)
}

#[test]
fn a_finished_call_is_replayed_after_each_of_its_events_once_and_in_order() {
    let stage = Stage::new();
    for revision in STREAMABLE {
        let session = stage.server.initialize(revision);
        stage.step(5);
        let request = session.post(&call(1, "steps", &json!({"count": 4}), Some("t")));
        let all = with_ids(stage.server.stream(&request).everything());
        assert_eq!(messages(&all).len(), 5);
        for (at, event) in all.iter().enumerate() {
            // Twice: what was replayed can be replayed again.
            for _ in 0..2 {
                let rest = session.resume(event.id.as_deref().unwrap()).rest();
                assert_eq!(rest, messages(&all[at + 1..]), "{revision} after event {at}");
            }
        }
    }
}

#[test]
fn a_call_goes_on_without_its_client_and_the_result_can_be_fetched() {
    let stage = Stage::new();
    for (done, revision) in STREAMABLE.into_iter().enumerate() {
        let session = stage.server.initialize(revision);
        let (events, first) = broken(&stage, &session, 1);
        events.close();
        stage.server.await_metric("streams_open", 0);
        stage.step(3);
        stage.await_ended(i64::try_from(done).unwrap() + 1);
        let rest = session.resume(first.id.as_deref().unwrap()).rest();
        assert_eq!(rest.len(), 3, "{rest:?}");
        assert_eq!(text(&rest[2].json()), "3 steps");
    }
    assert_eq!(stage.stopped(), 0);
}

#[test]
fn a_call_that_still_runs_is_resumed_and_followed_to_its_end() {
    let stage = Stage::new();
    for revision in STREAMABLE {
        let session = stage.server.initialize(revision);
        let (events, first) = broken(&stage, &session, 1);
        events.close();
        stage.step(1);
        let mut resumed = session.resume(first.id.as_deref().unwrap());
        let second = resumed.next_event().unwrap();
        assert_eq!(second.json()["params"]["progress"], 2);
        // And once more, from the middle of what came after.
        resumed.close();
        let mut resumed = session.resume(second.id.as_deref().unwrap());
        stage.step(1);
        assert_eq!(resumed.message()["params"]["progress"], 3);
        stage.step(1);
        assert_eq!(text(&resumed.message()), "3 steps");
        assert_eq!(resumed.everything(), []);
    }
}

/// The client's side is closed late or never: what it asks for again it gets all the same.
#[test]
fn a_stream_can_be_resumed_while_the_server_still_thinks_it_open() {
    let stage = Stage::new();
    let session = stage.server.initialize("2025-11-25");
    let (mut ghost, first) = broken(&stage, &session, 1);
    let mut resumed = session.resume(first.id.as_deref().unwrap());
    stage.step(3);
    let rest = resumed.rest();
    assert_eq!(rest.len(), 3);
    // A reader of the old connection sees the same log, so that nobody is told another story.
    assert_eq!(ghost.rest(), rest);
}

#[test]
fn resuming_one_stream_touches_no_other() {
    let stage = Stage::new();
    let session = stage.server.initialize_with("2025-06-18", &json!({"elicitation": {}}));
    session.call("resources/subscribe", &json!({"uri": URI}));
    let mut listening = session.listen();
    let (events, first) = broken(&stage, &session, 51);
    events.close();
    let mut other = stage.server.stream(&session.post(&call(50, "confirm", &json!({"question": "?"}), None)));
    let mut resumed = session.resume(first.id.as_deref().unwrap());
    session.tool("touch", &json!({"uri": URI}));
    stage.step(3);
    let rest = resumed.rest();
    let ids: Vec<_> = rest.iter().map(|event| event.json()).collect();
    assert!(
        ids.iter().all(|message| message["id"] == 51 || message["params"]["progressToken"] == "t"),
        "{ids:?}"
    );
    // The one that listens was not replaced, and the other call's stream carries its own.
    assert_eq!(listening.message()["params"]["uri"], URI);
    assert_eq!(other.message()["method"], "elicitation/create");
}

#[test]
fn events_of_another_session_are_refused() {
    let stage = Stage::new();
    let owner = stage.server.initialize("2025-11-25");
    let (events, first) = broken(&stage, &owner, 1);
    events.close();
    let listening = owner.listen().next_any().unwrap();
    let stranger = stage.server.initialize("2025-11-25");
    for event in [first, listening] {
        let id = event.id.unwrap();
        let request = stranger.sign(Request::get()).header("Last-Event-ID", &id);
        let response = refused(&stage.server, &request);
        assert_eq!(response.refusal(), (400, -32600), "{}", response.text());
        assert!(!response.text().contains(&owner.id));
    }
    // Nothing was taken from its owner.
    stage.step(3);
}

#[test]
fn ids_that_were_never_issued_are_refused() {
    let stage = Stage::new();
    let session = stage.server.initialize("2025-11-25");
    let (_events, first) = broken(&stage, &session, 50);
    let id = first.id.unwrap();
    let cut = &id[..id.len() - 1];
    // Kind, stream, tag, place.
    let parts: Vec<&str> = id.split('.').collect();
    let other = |part: usize| {
        let mut parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        let first = if parts[part].starts_with('A') { "B" } else { "A" };
        parts[part].replace_range(..1, first);
        parts.join(".")
    };
    let forged = [
        "7".to_owned(),
        "null".to_owned(),
        other(1),
        other(2),
        format!("{id}0.1"),
        format!("{cut}x"),
        format!("x{id}"),
        id.replacen('c', "g", 1),
        id.replace('.', "/"),
        format!("{id}{}", "0".repeat(30)),
        "a".repeat(10_000),
    ];
    for forged in forged {
        let request = session.sign(Request::get()).header("Last-Event-ID", &forged);
        assert_eq!(refused(&stage.server, &request).refusal(), (400, -32600), "{forged}");
    }
    let twice = session.sign(Request::get()).header("Last-Event-ID", &id).also("Last-Event-ID", &id);
    assert_eq!(refused(&stage.server, &twice).refusal(), (400, -32600));
    // The session is none the worse for it.
    assert_eq!(session.tool("echo", &json!({"text": "still here"}))["content"][0]["text"], "still here");
}

/// The place is not vouched for, and need not be: it leads nowhere but into the stream that is the client's own.
#[test]
fn a_made_up_place_in_ones_own_stream_shows_no_more_than_the_stream() {
    let stage = Stage::new();
    let session = stage.server.initialize("2025-11-25");
    stage.step(4);
    let request = session.post(&call(1, "steps", &json!({"count": 3}), Some("t")));
    let all = messages(&with_ids(stage.server.stream(&request).everything()));
    let (stream, last) = all[3].id.as_deref().unwrap().rsplit_once('.').unwrap();
    let (log, _) = last.split_once('-').unwrap();
    let most = u64::MAX;
    for (place, rest) in [
        ("0-0".to_owned(), 0),
        ("1-1".to_owned(), 0),
        (format!("{log}-0"), 0),
        (format!("{log}-999"), 4),
        (format!("{log}-{most}"), 4),
        (format!("{most}-{most}"), 4),
    ] {
        // It ends, whatever the place: nobody waits for what cannot come.
        assert_eq!(session.resume(&format!("{stream}.{place}")).rest(), all[rest..], "{place}");
    }

    // The stream that listens has nothing in it but what this session has asked for, from wherever it is read.
    let other = stage.server.initialize("2025-11-25");
    other.call("resources/subscribe", &json!({"uri": "demo://logo"}));
    session.call("resources/subscribe", &json!({"uri": URI}));
    let mut listening = session.listen();
    for uri in [URI, "demo://logo", URI] {
        other.tool("touch", &json!({"uri": uri}));
    }
    let first = listening.next_event().unwrap();
    let (stream, _) = first.id.as_deref().unwrap().rsplit_once('.').unwrap();
    for place in ["0-0", "1-1"] {
        let mut resumed = session.resume(&format!("{stream}.{place}"));
        for _ in 0..2 {
            assert_eq!(resumed.message()["params"]["uri"], URI, "{place}");
        }
        session.tool("changed", &json!({"what": "tools"}));
        assert_eq!(resumed.message()["method"], "notifications/tools/list_changed", "{place}");
        resumed.close();
        // Those that were published meanwhile are a part of the past from now on.
        session.call("resources/unsubscribe", &json!({"uri": URI}));
        let mut resumed = session.resume(&format!("{stream}.{place}"));
        assert_eq!(resumed.message()["method"], "notifications/tools/list_changed", "{place}");
        session.call("resources/subscribe", &json!({"uri": URI}));
        if place == "0-0" {
            break;
        }
    }
    assert_eq!(session.tool("echo", &json!({"text": "well"}))["content"][0]["text"], "well");
}

/// An empty answer would be asked for again and again.
#[test]
fn what_is_no_longer_kept_is_answered_with_a_stream_that_stays_open() {
    let stage = Stage::with("limits.log_age = \"1s\"");
    let session = stage.server.initialize("2025-06-18");
    session.call("resources/subscribe", &json!({"uri": URI}));
    let (mut events, first) = broken(&stage, &session, 1);
    stage.step(3);
    assert_eq!(events.rest().len(), 3);
    let id = first.id.unwrap();
    let mut stream = None;
    let gone = within(DEADLINE, || {
        let resumed = session.resume(&id);
        // Replayed as long as it is kept.
        let kept = stage.server.metric("stream_gaps_total") == 0;
        stream = (!kept).then_some(resumed);
        !kept
    });
    assert!(gone, "the log outlives its age");
    let mut stream = stream.unwrap();
    session.tool("touch", &json!({"uri": URI}));
    assert_eq!(stream.message()["params"]["uri"], URI);
    assert_eq!(stage.server.metric("stream_gaps_total"), 1);
}

/// A stream keeps so many events; a client that was away for longer is told that some are missing, and gets the rest.
#[test]
fn a_stream_keeps_no_more_events_than_it_may_and_says_so() {
    let stage = Stage::with("limits.log_entries = 4");
    let session = stage.server.initialize("2025-06-18");
    let request = session.post(&call(1, "steps", &json!({"count": 20}), Some("t")));
    let mut connection = stage.server.connect();
    connection.send(&request.bytes());
    stage.step(1);
    connection.head();
    let mut events = connection.into_events();
    let first = events.next_event().unwrap();
    events.close();
    stage.server.await_metric("streams_open", 0);
    stage.step(20);
    stage.await_ended(1);
    stage.server.await_metric("requests_in_flight", 0);
    let resumed = session.resume(first.id.as_deref().unwrap()).everything();
    let gap =
        resumed.iter().position(|event| event.comment.as_deref() == Some("some events are no longer kept"));
    let rest = messages(&resumed);
    assert_eq!(rest.len(), 4, "{resumed:?}");
    assert!(gap.is_some_and(|gap| resumed[..gap].iter().all(|event| event.data.is_empty())), "{resumed:?}");
    let progress: Vec<_> = rest[..3].iter().map(|event| event.json()["params"]["progress"].clone()).collect();
    assert_eq!(progress, [18, 19, 20]);
    assert_eq!(text(&rest[3].json()), "20 steps");
    assert_eq!(stage.server.metric("stream_gaps_total"), 1);
}

/// A stream keeps so many bytes, too: few large events are as bad as many small ones.
#[test]
fn a_stream_keeps_no_more_bytes_than_it_may_and_says_so() {
    let stage = Stage::with("limits.log_bytes = \"64KiB\"\nlimits.result_bytes = \"1KiB\"");
    let session = stage.server.initialize("2025-06-18");
    let request = session.post(&call(1, "flood", &json!({"count": 32, "bytes": 8192}), None));
    let mut events = stage.server.stream(&request);
    // The handler may be far ahead of what is read, even before the first of it is.
    let mut seen = Vec::new();
    while messages(&seen).is_empty() {
        seen.push(events.next_any().unwrap());
    }
    events.close();
    stage.await_ended(1);
    stage.server.await_metric("requests_in_flight", 0);
    let rest = session.resume(seen.last().unwrap().id.as_deref().unwrap()).everything();
    let is_gap = |event: &Event| event.comment.as_deref() == Some("some events are no longer kept");
    assert!(seen.iter().chain(&rest).any(is_gap));
    let kept = messages(&rest);
    let bytes: usize = kept.iter().map(|event| event.data.len()).sum();
    assert!(kept.len() > 2 && bytes <= 64 * 1024, "{} events of {bytes} bytes", kept.len());
    assert_eq!(text(&kept.last().unwrap().json()), "32 messages");
}

#[test]
fn a_listener_that_was_away_gets_what_it_missed_once_and_in_order() {
    let stage = Stage::new();
    for revision in STREAMABLE {
        let session = stage.server.initialize(revision);
        for note in 0..5 {
            session.call("resources/subscribe", &json!({"uri": format!("demo://notes/{note}")}));
        }
        let touch = |note: i32| session.tool("touch", &json!({"uri": format!("demo://notes/{note}")}));
        let mut listening = session.listen();
        touch(0);
        let first = listening.next_event().unwrap();
        listening.close();
        touch(1);
        touch(9);
        touch(2);
        let mut listening = session.resume(first.id.as_deref().unwrap());
        touch(3);
        let mut heard = Vec::new();
        for _ in 0..3 {
            heard.push(listening.next_event().unwrap());
        }
        let uris: Vec<_> = heard.iter().map(|event| event.json()["params"]["uri"].clone()).collect();
        assert_eq!(uris, ["demo://notes/1", "demo://notes/2", "demo://notes/3"], "{revision}");
        // From the middle of what it got after coming back, too.
        let mut again = session.resume(heard[1].id.as_deref().unwrap());
        touch(4);
        assert_eq!(again.message()["params"]["uri"], "demo://notes/3");
        assert_eq!(again.message()["params"]["uri"], "demo://notes/4");
    }
}

/// A client of 2025-11-25 that has seen no more than the beginning of a stream comes back to it, and missed nothing.
#[test]
fn the_beginning_of_a_stream_can_be_come_back_to() {
    let stage = Stage::with("server.upgrade_after = \"20ms\"");
    let session = stage.server.initialize("2025-11-25");
    session.call("resources/subscribe", &json!({"uri": URI}));
    let beginning = |events: &mut Events| loop {
        if let Some(id) = events.next_any().expect("a stream begins").id {
            return id;
        }
    };
    let mut listening = session.listen();
    let begin = beginning(&mut listening);
    listening.close();
    session.tool("touch", &json!({"uri": URI}));
    assert_eq!(session.resume(&begin).message()["params"]["uri"], URI);

    let mut events = stage.server.stream(&session.post(&call(1, "wait", &json!({}), None)));
    let begin = beginning(&mut events);
    events.close();
    stage.step(1);
    let rest = session.resume(&begin).rest();
    assert_eq!(rest.len(), 1);
    assert_eq!(text(&rest[0].json()), "waited");
}
