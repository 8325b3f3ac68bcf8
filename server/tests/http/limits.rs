//! The bounds on what a client can make grow, each with an answer of its own.

use serde_json::{Value, json};

use crate::support::{Connection, Modern, Request, Response, Session, TestServer};

fn limited(limits: &str) -> TestServer {
    TestServer::builder().config(&format!("[limits]\n{limits}")).start()
}

fn slow(ms: u64) -> Value {
    json!({"name": "slow", "arguments": {"ms": ms}})
}

/// Refused for now: 503, and when to come back.
#[track_caller]
fn assert_overloaded(response: &Response, limit: &str) {
    assert_eq!(response.refusal(), (503, -32603), "{}", response.text());
    let after: u64 = response.header("retry-after").expect("when to come back").parse().unwrap();
    assert!((1..=10).contains(&after), "{after}");
    assert!(response.text().contains(limit), "{}", response.text());
}

/// Sends a call and leaves it running.
fn begin(server: &TestServer, request: &Request) -> Connection {
    let mut connection = server.connect();
    connection.send(&request.bytes());
    connection
}

fn call_of(session: &Session<'_>, ms: u64) -> Request {
    let id = session.next_id();
    session.post(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": slow(ms)}))
}

#[test]
fn body_over_the_limit() {
    let server = limited("body = \"10KiB\"");
    let session = server.initialize("2025-06-18");
    let refused = |response: &Response| {
        assert_eq!(response.refusal(), (413, -32600), "{}", response.text());
        assert!(response.text().contains("limits.body"), "{}", response.text());
    };
    // One that says so is not waited for.
    let post = session.sign(Request::post_text(""));
    let mut connection = server.connect();
    connection.send(&post.clone().header("Content-Length", "10241").head());
    refused(&connection.receive());
    // One that does not say so is read up to the limit, and no further.
    let chunk = [&b"400\r\n"[..], &[b' '; 0x400], b"\r\n"].concat();
    let mut connection = server.connect();
    connection.send(&post.header("Transfer-Encoding", "chunked").head());
    for _ in 0..11 {
        connection.send(&chunk);
    }
    refused(&connection.receive());
    // The limit itself is allowed, either way.
    let mut ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    ping.push_str(&" ".repeat(10 * 1024 - ping.len()));
    assert_eq!(server.send(&session.sign(Request::post_text(&ping))).status(), 200);
    let chunked = format!("2800\r\n{ping}\r\n0\r\n\r\n");
    let chunked = session.sign(Request::post_text(&chunked)).header("Transfer-Encoding", "chunked");
    assert_eq!(server.send(&chunked).status(), 200);
}

#[test]
fn body_over_the_limit_on_the_older_message_path() {
    let server = limited("body = \"10KiB\"");
    let mut stream = server.stream(&Request::get().path("/sse"));
    let path = stream.next_any().unwrap().data;
    let post = Request::post_text("").path(&path).header("Content-Length", "10241");
    let mut connection = server.connect();
    connection.send(&post.head());
    assert_eq!(connection.receive().status(), 413);
}

#[test]
fn a_body_is_bounded_before_anything_else_of_it_is_looked_at() {
    let server = limited("body = \"10KiB\"");
    // No session, no revision, no JSON: whoever floods is told no more than that.
    let mut connection = server.connect();
    connection.send(&Request::post_text("").header("Content-Length", "999999999999").head());
    assert_eq!(connection.receive().status(), 413);
}

#[test]
fn json_nested_too_deep() {
    let server = limited("json_depth = 10");
    let session = server.initialize("2025-06-18");
    let nested = |depth: usize| {
        let inner = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{inner}}}}}"#)
    };
    // Two levels are the message's own.
    assert_eq!(server.send(&session.sign(Request::post_text(&nested(8)))).status(), 200);
    let response = server.send(&session.sign(Request::post_text(&nested(9))));
    assert_eq!(response.status(), 400, "{}", response.text());
    assert!(response.text().contains("nested deeper than 10"), "{}", response.text());
    // Brackets in a text are no nesting.
    let text = nested(1).replace('1', &format!("\"{}\"", "[".repeat(100)));
    let text = text.replacen("\"id\":\"", "\"id\":1,\"ignored\":\"", 1);
    assert_ne!(server.send(&session.sign(Request::post_text(&text))).status(), 500);
    for bomb in ["[".repeat(1_000_000), "{\"a\":".repeat(500_000), nested(1_000_000)] {
        assert_eq!(server.send(&session.sign(Request::post_text(&bomb))).status(), 400);
    }
    assert_eq!(session.call("ping", &json!({})), json!({}));
}

#[test]
fn a_head_over_the_limit() {
    let server = limited("header_bytes = \"4KiB\"");
    let modern = Modern::tool("add", &json!({"a": 1, "b": 2})).request();
    assert_eq!(server.send(&modern.clone().header("X-Filler", &"x".repeat(3000))).status(), 200);
    let many = (0..60).fold(modern.clone(), |request, _| request.also("X-Filler", &"x".repeat(100)));
    for request in [modern.header("X-Filler", &"x".repeat(5000)), many] {
        let response = server.send(&request);
        assert_eq!(response.status(), 431, "{}", response.text());
        assert!(response.text().contains("limits.header_bytes"), "{}", response.text());
    }
    // What no configuration allows is not even read to its end.
    let mut connection = server.connect();
    connection.send_unless_closed(&Request::get().header("X-Filler", &"x".repeat(1 << 20)).head());
    if let Some(head) = connection.head_or_end() {
        assert!(matches!(head.status, 400 | 431), "{}", head.status);
    }
}

#[test]
fn calls_in_flight_of_one_session() {
    let server = limited("in_flight_per_session = 2");
    let (busy, other) = (server.initialize("2025-06-18"), server.initialize("2025-06-18"));
    let mut calls = [begin(&server, &call_of(&busy, 400)), begin(&server, &call_of(&busy, 400))];
    server.await_metric("requests_in_flight", 2);
    assert_overloaded(&busy.request("tools/call", &slow(1)), "limits.in_flight_per_session");
    // Others are not concerned, and what needs no handler is answered.
    assert_eq!(other.request("tools/call", &slow(1)).status(), 200);
    assert_eq!(busy.call("ping", &json!({})), json!({}));
    for call in &mut calls {
        assert_eq!(call.receive().status(), 200);
    }
    assert_eq!(busy.request("tools/call", &slow(1)).status(), 200);
}

#[test]
fn calls_in_flight_of_a_replica() {
    let server = limited("in_flight_per_session = 2\nin_flight = 2");
    let session = server.initialize("2025-06-18");
    let mut calls = [
        begin(&server, &call_of(&session, 400)),
        begin(&server, &Modern::tool("slow", &json!({"ms": 400})).request()),
    ];
    server.await_metric("requests_in_flight", 2);
    assert_overloaded(&server.modern(&Modern::tool("slow", &json!({"ms": 1}))), "limits.in_flight");
    let other = server.initialize("2025-06-18");
    assert_overloaded(&other.request("tools/call", &slow(1)), "limits.in_flight");
    for call in &mut calls {
        assert_eq!(call.receive().status(), 200);
    }
    assert_eq!(server.modern(&Modern::tool("slow", &json!({"ms": 1}))).status(), 200);
}

#[test]
fn sessions_of_a_replica() {
    let server = limited("sessions = 3");
    let mut sessions: Vec<_> = (0..3).map(|_| server.initialize("2025-06-18")).collect();
    let hello = Request::post(&Session::hello("2025-06-18", &json!({})));
    let refused = server.send(&hello);
    assert_overloaded(&refused, "sessions");
    assert_eq!(refused.header("mcp-session-id"), None);
    assert_eq!(server.send(&Request::get().path("/sse")).status(), 503);
    // Live ones go on, and none is ended to make room.
    for session in &sessions {
        assert_eq!(session.call("ping", &json!({})), json!({}));
    }
    // The revision without sessions needs no room.
    assert_eq!(server.modern(&Modern::tool("add", &json!({"a": 1, "b": 2}))).status(), 200);
    assert_eq!(sessions.remove(0).delete().status(), 204);
    assert_eq!(server.send(&hello).status(), 200);
}

/// Those who are sent away together do not come back together.
#[test]
fn when_to_come_back_is_not_the_same_for_everybody() {
    let server = limited("sessions = 1");
    let hello = Request::post(&Session::hello("2025-06-18", &json!({})));
    assert_eq!(server.send(&hello).status(), 200);
    let mut told: Vec<String> =
        (0..40).map(|_| server.send(&hello).header("retry-after").unwrap().to_owned()).collect();
    told.sort_unstable();
    told.dedup();
    assert!(told.len() > 1, "all forty: {told:?}");
}

#[test]
fn streams_of_one_session() {
    let server = limited("streams_per_session = 2");
    let (session, other) = (server.initialize("2025-11-25"), server.initialize("2025-11-25"));
    // A newer listener ends the older one; what fills the session up are the rests of calls.
    let params =
        json!({"name": "slow", "arguments": {"ms": 60_000, "steps": 10_000}, "_meta": {"progressToken": 1}});
    let mut call = session.stream("tools/call", &params);
    let id = call.next_event().unwrap().id.unwrap();
    let _resumed = [session.resume(&id), session.resume(&id)];
    let refused = server.send(&session.sign(Request::get()).header("Last-Event-ID", &id));
    assert_overloaded(&refused, "limits.streams_per_session");
    drop(other.listen());
}

#[test]
fn streams_of_a_replica() {
    let server = limited("streams_per_session = 2\nstreams = 2");
    let sessions: Vec<_> = (0..3).map(|_| server.initialize("2025-11-25")).collect();
    let open: Vec<_> = sessions[..2].iter().map(Session::listen).collect();
    server.await_metric("streams_open", 2);
    assert_overloaded(&server.send(&sessions[2].sign(Request::get())), "limits.streams");
    let listen = Modern::new("subscriptions/listen", &json!({"notifications": {"toolsListChanged": true}}));
    assert_overloaded(&server.modern(&listen), "limits.streams");
    assert_overloaded(&server.send(&Request::get().path("/sse")), "limits.streams");
    // The refused one has left nothing behind, and has not even made a session for a while.
    assert_eq!(server.metric("streams_open"), 2);
    assert_eq!(server.metric("sessions_active"), 3);
    assert_eq!(server.metric("sessions_restored_total"), 3);
    drop(open);
    server.await_metric("streams_open", 0);
    drop(sessions[2].listen());
}

#[test]
fn subscriptions_of_one_session() {
    let server = limited("subscriptions_per_session = 2");
    let session = server.initialize("2025-06-18");
    let subscribe = |uri: &str| session.request("resources/subscribe", &json!({"uri": uri}));
    for uri in ["demo://counter", "demo://greeting", "demo://counter"] {
        assert_eq!(subscribe(uri).result(), json!({}), "{uri}");
    }
    let refused = subscribe("demo://logo");
    assert_eq!(refused.code(), -32602, "{}", refused.text());
    assert!(refused.text().contains("limits.subscriptions_per_session"), "{}", refused.text());
    session.call("resources/unsubscribe", &json!({"uri": "demo://greeting"}));
    assert_eq!(subscribe("demo://logo").result(), json!({}));
    // A very long name is not kept.
    assert_eq!(subscribe(&"x".repeat(100_000)).code(), -32602);
}

#[test]
fn resources_of_one_listener() {
    let server = limited("listen_subscriptions = 2");
    let listen = |uris: Value| {
        let params = json!({"notifications": {"resourceSubscriptions": uris}});
        Modern::new("subscriptions/listen", &params).request()
    };
    let refused = server.send(&listen(json!(["demo://counter", "demo://greeting", "demo://logo"])));
    assert_eq!(refused.code(), -32602, "{}", refused.text());
    assert!(refused.text().contains("limits.listen_subscriptions"), "{}", refused.text());
    let mut stream = server.stream(&listen(json!(["demo://counter", "demo://greeting"])));
    assert_eq!(stream.message()["method"], "notifications/subscriptions/acknowledged");
}

#[test]
fn values_of_one_session() {
    let server = limited(
        "session_values = 1\nsubscriptions_per_session = 1\nvalue_bytes = \"1KiB\"\nresult_bytes = \"1KiB\"\ntasks_per_principal = 1",
    );
    let session = server.initialize("2025-06-18");
    let remember = |key: &str, value: &str| session.tool("remember", &json!({"key": key, "value": value}));
    assert_eq!(remember("k", &"x".repeat(200)).get("isError"), None);
    let large = remember("k", &"x".repeat(2000));
    assert_eq!(large["isError"], true, "{large}");
    assert!(large["content"][0]["text"].as_str().unwrap().contains("over the limit of 1024"), "{large}");
    let many: Vec<Value> = (0..200).map(|number| remember(&format!("k{number}"), "v")).collect();
    assert!(many.iter().any(|result| result["isError"] == true), "one key too many is refused at last");
    assert_eq!(session.tool("recall", &json!({"key": "k"}))["structuredContent"]["value"], "x".repeat(200));
}

#[test]
fn questions_of_one_session() {
    let server = limited("questions_per_session = 2");
    let session = server.initialize_with("2025-06-18", &json!({"elicitation": {}}));
    let ask = json!({"name": "confirm", "arguments": {"question": "Really?"}});
    let mut open: Vec<_> = (0..2).map(|_| session.stream("tools/call", &ask)).collect();
    for stream in &mut open {
        assert_eq!(stream.message()["method"], "elicitation/create");
    }
    server.await_metric("questions_open", 2);
    let refused = session.request("tools/call", &ask).result();
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(session.delete().status(), 204);
    server.await_metric("questions_open", 0);
}

#[test]
fn tasks_of_one_principal() {
    let server = limited("tasks_per_principal = 2");
    let session = server.initialize("2025-11-25");
    let begin = || {
        let params = json!({"name": "slow", "arguments": {"ms": 60_000}, "task": {"ttl": 60_000}});
        session.request("tools/call", &params)
    };
    for _ in 0..2 {
        assert!(begin().result()["task"]["taskId"].is_string());
    }
    let refused = begin();
    assert_ne!(refused.code(), 0, "{}", refused.text());
    assert!(refused.text().contains("tasks"), "{}", refused.text());
}

#[test]
fn a_request_id_has_a_length() {
    let server = TestServer::demo();
    let session = server.initialize("2025-06-18");
    // The longest body there may be, and nearly all of it is an id: it is answered or refused, and nothing of it is kept.
    let ping = json!({"jsonrpc": "2.0", "id": "x".repeat(1 << 20), "method": "ping"});
    assert!(matches!(session.send(&ping).status(), 200 | 400));
    assert_eq!(session.call("ping", &json!({})), json!({}));
}
