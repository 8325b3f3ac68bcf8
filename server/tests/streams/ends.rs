//! The end of a session, and what it takes with it.

use serde_json::json;

use super::stage::{Stage, call, refused, text};
use crate::support::{Events, Request, STREAMABLE, Session, TestServer};

const SOON: &str = "server.upgrade_after = \"20ms\"";

/// Everything that names the session is answered as if there had never been one.
#[track_caller]
fn is_gone(server: &TestServer, session: &Session<'_>) {
    let requests = [
        session.post(&call(90, "echo", &json!({"text": "?"}), None)),
        session.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})),
        session.post(&json!({"jsonrpc": "2.0", "id": "q.x.y", "result": {}})),
        session.sign(Request::get()),
        session.sign(Request::new("DELETE", "/mcp")),
    ];
    for request in requests {
        let response = refused(server, &request);
        assert_eq!(response.status(), 404, "{request:?} {}", response.text());
        assert!(response.json()["error"]["code"].is_i64(), "{}", response.text());
        assert_eq!(response.header("www-authenticate"), None);
    }
}

#[test]
fn a_deleted_session_takes_its_streams_and_calls_with_it() {
    let stage = Stage::with(SOON);
    for (round, revision) in STREAMABLE.into_iter().enumerate() {
        let session = stage.server.initialize_with(revision, &json!({"elicitation": {}, "roots": {}}));
        let mut listening = session.listen();
        let mut waiting = stage.server.stream(&session.post(&call(51, "wait", &json!({}), None)));
        let mut stepping =
            stage.server.stream(&session.post(&call(52, "steps", &json!({"count": 9}), Some("t"))));
        let mut asking = stage.server.stream(&session.post(&call(53, "roots", &json!({}), None)));
        assert_eq!(asking.message()["method"], "roots/list");
        let mut plain = stage.server.connect();
        let begun = stage.begun();
        plain.send(
            &session.post(&call(54, "wait", &json!({}), None)).header("Accept", "application/json").bytes(),
        );
        stage.await_begun(begun + 1);
        // Another session, which is none of its business.
        let bystander = stage.server.initialize(revision);
        let mut untouched = bystander.listen();

        assert_eq!(session.delete().status(), 204, "{revision}");
        for events in [&mut listening, &mut waiting, &mut stepping, &mut asking] {
            let rest = events.everything();
            let late = rest.iter().filter(|event| !event.data.is_empty()).map(|event| event.json());
            assert!(
                late.clone().all(|message| message["id"].is_null()),
                "no answer: {:?}",
                late.collect::<Vec<_>>()
            );
            assert!(
                rest.iter().all(|event| event.retry.is_none() || event.has_data),
                "nothing to come back to: {rest:?}"
            );
        }
        assert_ne!(plain.receive().status(), 200);
        is_gone(&stage.server, &session);
        stage.await_stopped((i64::try_from(round).unwrap() + 1) * 3);
        stage.server.await_metric("requests_in_flight", 0);
        stage.server.await_metric("questions_open", 0);
        stage.server.await_metric("streams_open", 1);
        stage.server.await_metric("sessions_active", 1);
        bystander.tool("changed", &json!({"what": "tools"}));
        assert_eq!(untouched.message()["method"], "notifications/tools/list_changed");
        assert_eq!(bystander.delete().status(), 204);
        stage.await_idle();
        stage.server.await_metric("sessions_active", 0);
    }
}

/// Nor can what it said be had any more.
#[test]
fn the_streams_of_a_deleted_session_cannot_be_resumed() {
    let stage = Stage::new();
    let session = stage.server.initialize("2025-11-25");
    stage.step(3);
    let request = session.post(&call(1, "steps", &json!({"count": 2}), Some("t")));
    let events = stage.server.stream(&request).everything();
    session.delete();
    for id in events.iter().filter_map(|event| event.id.as_deref()) {
        let request = session.sign(Request::get()).header("Last-Event-ID", id);
        assert_eq!(refused(&stage.server, &request).status(), 404);
    }
}

#[test]
fn sessions_that_come_and_go_leave_nothing_behind() {
    let stage = Stage::new();
    for _ in 0..30 {
        for revision in STREAMABLE {
            let session = stage.server.initialize(revision);
            let listening = session.listen();
            session.tool("echo", &json!({"text": "hello"}));
            assert_eq!(session.delete().status(), 204);
            drop(listening);
        }
    }
    stage.await_idle();
    stage.server.await_metric("sessions_active", 0);
}

#[test]
fn an_open_stream_keeps_its_session_alive_and_an_unused_session_expires() {
    let stage = Stage::with(
        "store.session_ttl = \"1s\"\nstore.init_ttl = \"1s\"\nserver.stream_keep_alive = \"100ms\"\n\
         server.upgrade_after = \"20ms\"",
    );
    let unused = stage.server.initialize("2025-11-25");
    let calling = stage.server.initialize("2025-06-18");
    let mut call_stream = stage.server.stream(&calling.post(&call(51, "wait", &json!({}), None)));
    let listener = stage.server.initialize("2025-06-18");
    let mut listening = listener.listen();
    // The signs of life are the clock: two lifetimes of a session.
    let pass = |events: &mut Events| {
        let mut signs = 0;
        while signs < 20 {
            signs += usize::from(
                events.next_any().expect("it stays open").comment.as_deref() == Some("keep-alive"),
            );
        }
    };
    pass(&mut listening);
    is_gone(&stage.server, &unused);
    listener.tool("changed", &json!({"what": "tools"}));
    assert_eq!(listening.message()["method"], "notifications/tools/list_changed");
    stage.step(1);
    assert_eq!(text(&call_stream.message()), "waited");
    calling.tool("echo", &json!({"text": "still here"}));

    // Without a stream it goes the way of the others.
    listening.close();
    let clock = stage.server.initialize("2025-06-18");
    pass(&mut clock.listen());
    is_gone(&stage.server, &listener);
    stage.await_idle();
}

/// A session that is used by requests alone lives on for as long as they come.
#[test]
fn each_use_prolongs_a_session() {
    let stage = Stage::with(
        "store.session_ttl = \"2s\"\nstore.init_ttl = \"2s\"\nserver.stream_keep_alive = \"100ms\"",
    );
    let (used, unused) = (stage.server.initialize("2025-06-18"), stage.server.initialize("2025-06-18"));
    let clock = stage.server.initialize("2025-06-18");
    let mut ticks = clock.listen();
    // The signs of life are the clock: two lifetimes of a session.
    let mut signs = 0;
    while signs < 40 {
        if ticks.next_any().expect("it stays open").comment.as_deref() == Some("keep-alive") {
            signs += 1;
            assert_eq!(used.call("ping", &json!({})), json!({}));
        }
    }
    is_gone(&stage.server, &unused);
    assert_eq!(used.tool("echo", &json!({"text": "still here"}))["content"][0]["text"], "still here");
}

/// A session that never got past `initialize` is not kept as long.
#[test]
fn a_session_that_is_never_used_expires_sooner() {
    let stage = Stage::with("store.init_ttl = \"1s\"\nserver.stream_keep_alive = \"100ms\"");
    let used = stage.server.initialize("2025-11-25");
    let hello = Request::post(&Session::hello("2025-11-25", &json!({})));
    let unused = stage.server.send(&hello).header("mcp-session-id").unwrap().to_owned();
    let mut clock = used.listen();
    let mut signs = 0;
    while signs < 20 {
        signs += usize::from(clock.next_any().unwrap().comment.as_deref() == Some("keep-alive"));
    }
    let request = Request::get().session(&unused).version("2025-11-25");
    assert_eq!(refused(&stage.server, &request).status(), 404);
    used.tool("echo", &json!({"text": "still here"}));
}

/// Streams of every kind, opened and dropped: no descriptor of theirs is left.
#[test]
fn every_descriptor_comes_back() {
    let server = TestServer::builder()
        .config("server.upgrade_after = \"20ms\"\nserver.stream_keep_alive = \"9m\"")
        .start();
    let session = server.initialize_with("2025-06-18", &json!({"elicitation": {}}));
    // What the first request of each kind opens for good.
    server.metric("streams_open");
    let before = server.open_files();
    for _ in 0..3 {
        let mut streams = Vec::new();
        for id in 0..10 {
            streams.push(session.listen());
            streams.push(server.stream(&session.post(&call(
                200 + id,
                "confirm",
                &json!({"question": "?"}),
                None,
            ))));
            streams.push(server.stream(&Request::get().path("/sse")));
            let listen = crate::support::Modern::new("subscriptions/listen", &json!({"notifications": {}}));
            streams.push(server.stream(&listen.request()));
            let slow = crate::support::Modern::tool("slow", &json!({"ms": 600_000}));
            streams.push(server.stream(&slow.request()));
        }
        assert!(server.open_files() >= before + 40, "they are open");
        drop(streams);
        server.await_metric("streams_open", 0);
        for id in 0..10 {
            session.send(&super::stage::cancel(200 + id));
        }
        server.await_metric("requests_in_flight", 0);
    }
    assert!(
        crate::support::within(crate::support::DEADLINE, || server.open_files() <= before + 2),
        "{before} before, {} now",
        server.open_files()
    );
}

/// Neither a stream nor a call that waits holds a thread.
#[test]
fn what_is_open_and_quiet_holds_no_thread() {
    let server = TestServer::builder().config("server.upgrade_after = \"20ms\"").start();
    let session = server.initialize("2025-06-18");
    drop(session.listen());
    let before = server.threads();
    let mut open = Vec::new();
    for id in 0..40 {
        open.push(server.stream(&Request::get().path("/sse")));
        open.push(server.stream(&session.post(&call(id, "slow", &json!({"ms": 600_000}), None))));
    }
    server.await_metric("requests_in_flight", 40);
    let now = server.threads();
    assert!(now <= before + 2, "{before} before, {now} with {} streams", open.len());
    assert_eq!(session.delete().status(), 204);
}
