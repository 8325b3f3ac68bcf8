//! HTTP/2 with prior knowledge: the same endpoint, many requests on one connection.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Connection, MODERN, Modern, TestServer};

/// Kinds of frames (RFC 9113, *Frame Definitions*).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;

/// Flags of frames.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The reason of a reset by a client that wants no more.
const CANCEL: u32 = 8;

/// No sign of life, no upgrade that takes long: what is seen has another reason.
const QUIET: &str = "[server]\nupgrade_after = \"20ms\"\nstream_keep_alive = \"9m\"";

/// A connection, past the settings.
struct Client(Connection);

struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

// === impl Client ===

impl Client {
    fn connect(server: &TestServer) -> Self {
        let mut client = Self(server.connect());
        client.0.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        client.send(SETTINGS, 0, 0, &[]);
        client
    }

    fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        self.0.send(&[&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat());
    }

    /// Sends a request of the revision without sessions.
    fn post(&mut self, stream: u32, modern: &Modern) {
        let message = modern.message();
        self.head(stream, &head(&message));
        self.send(DATA, END_STREAM, stream, message.to_string().as_bytes());
    }

    /// Sends a head whose body is to follow.
    fn head(&mut self, stream: u32, head: &[(String, String)]) {
        self.send(HEADERS, END_HEADERS, stream, &fields(head));
    }

    fn reset(&mut self, stream: u32) {
        self.send(RST_STREAM, 0, stream, &CANCEL.to_be_bytes());
    }

    #[track_caller]
    fn frame(&mut self) -> Frame {
        let head = self.0.exactly(9);
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
        Frame { kind: head[3], flags: head[4], stream, payload: self.0.exactly(length) }
    }

    /// The next frame of a stream; those of others are passed over.
    #[track_caller]
    fn frame_of(&mut self, stream: u32) -> Frame {
        loop {
            let frame = self.frame();
            if frame.stream == stream {
                return frame;
            }
        }
    }

    /// Whether the head of the answer says 200, and what follows until the stream ends, as it has to.
    #[track_caller]
    fn answer(&mut self, stream: u32) -> (bool, String) {
        let head = self.frame_of(stream);
        assert_eq!(head.kind, HEADERS);
        let (mut flags, mut body) = (head.flags, Vec::new());
        while flags & END_STREAM == 0 {
            let frame = self.frame_of(stream);
            assert_eq!(frame.kind, DATA, "a stream ends and is not reset");
            body.extend_from_slice(&frame.payload);
            flags = frame.flags;
        }
        // Entry 8 of the static table.
        (head.payload[0] == 0x88, String::from_utf8(body).unwrap())
    }

    /// Reads a stream under way until a text has come.
    #[track_caller]
    fn read_until(&mut self, stream: u32, text: &str) {
        let mut seen = String::new();
        while !seen.contains(text) {
            let frame = self.frame_of(stream);
            assert!(
                frame.kind != RST_STREAM && frame.flags & END_STREAM == 0 || frame.kind == HEADERS,
                "{seen}"
            );
            if frame.kind == DATA {
                seen.push_str(&String::from_utf8_lossy(&frame.payload));
            }
        }
    }
}

fn add() -> Modern {
    Modern::tool("add", &json!({"a": 1, "b": 2}))
}

/// The head of a request, with the headers that mirror its body.
fn head(message: &Value) -> Vec<(String, String)> {
    let mut head: Vec<(String, String)> = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/mcp"),
        (":authority", "localhost"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", MODERN),
        ("mcp-method", message["method"].as_str().unwrap()),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    if let Some(name) = message["params"]["name"].as_str() {
        head.push(("mcp-name".into(), name.into()));
    }
    head
}

fn with(mut head: Vec<(String, String)>, name: &str, value: &str) -> Vec<(String, String)> {
    head.retain(|(known, _)| known != name);
    // Pseudo-headers come first.
    let at = if name.starts_with(':') { 0 } else { head.len() };
    head.insert(at, (name.into(), value.into()));
    head
}

/// Header fields, each a literal without indexing (RFC 7541, *Literal Header Field without Indexing*).
fn fields(fields: &[(String, String)]) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    fields.iter().flat_map(|(name, value)| [vec![0], text(name), text(value)].concat()).collect()
}

#[test]
fn it_serves_the_same() {
    let server = TestServer::demo();
    let mut client = Client::connect(&server);
    client.head(1, &with(head(&add().message()), "origin", "http://localhost"));
    client.send(DATA, END_STREAM, 1, add().message().to_string().as_bytes());
    let (served, answer) = client.answer(1);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert!(served);
    assert_eq!(answer["result"]["structuredContent"]["sum"], 3);
}

#[test]
fn the_guard_reads_what_it_has_in_the_place_of_host() {
    let server = TestServer::demo();
    let mut client = Client::connect(&server);
    let good = head(&add().message());
    for (number, (name, value, key)) in [
        ("origin", "https://evil.example", "allowed_origins"),
        (":authority", "evil.example", "allowed_hosts"),
        ("host", "evil.example", "allowed_hosts"),
    ]
    .into_iter()
    .enumerate()
    {
        let stream = u32::try_from(number).unwrap() * 2 + 1;
        client.head(stream, &with(good.clone(), name, value));
        client.send(DATA, END_STREAM, stream, add().message().to_string().as_bytes());
        let (served, answer) = client.answer(stream);
        assert!(!served && answer.contains(key), "{name} {value}: {answer}");
    }
}

#[test]
fn a_body_over_the_limit_is_refused() {
    let server = TestServer::builder().config("[limits]\nbody = \"4KiB\"").start();
    let mut client = Client::connect(&server);
    let good = head(&add().message());
    // One that says so, and one that does not.
    client.head(1, &with(good.clone(), "content-length", "4097"));
    let (served, answer) = client.answer(1);
    assert!(!served && answer.contains("limits.body"), "{answer}");
    client.head(3, &good);
    client.send(DATA, 0, 3, &[b' '; 4097]);
    let (served, answer) = client.answer(3);
    assert!(!served && answer.contains("limits.body"), "{answer}");
    // The connection goes on.
    client.post(5, &add());
    assert!(client.answer(5).0);
}

#[test]
fn a_body_that_comes_in_pieces_is_read_whole() {
    let server = TestServer::demo();
    let mut client = Client::connect(&server);
    let message = add().message().to_string();
    client.head(1, &head(&add().message()));
    let pieces: Vec<&[u8]> = message.as_bytes().chunks(message.len().div_ceil(4)).collect();
    for piece in &pieces {
        // For longer than it takes until the stream is asked whether it is still there.
        std::thread::park_timeout(Duration::from_millis(250));
        client.send(DATA, 0, 1, piece);
    }
    client.send(DATA, END_STREAM, 1, b"");
    let (served, answer) = client.answer(1);
    assert!(served && answer.contains("\"sum\":3"), "{answer}");
}

#[test]
fn a_stream_ends_and_is_not_reset_and_holds_up_no_other_request() {
    let server = TestServer::builder().config(QUIET).start();
    let mut client = Client::connect(&server);
    let uri = "demo://greeting";
    client.post(
        1,
        &Modern::new("subscriptions/listen", &json!({"notifications": {"resourceSubscriptions": [uri]}})),
    );
    client.read_until(1, "notifications/subscriptions/acknowledged");
    client.post(3, &Modern::tool("slow", &json!({"ms": 30, "steps": 3})).meta("progressToken", json!("t")));
    let (served, events) = client.answer(3);
    assert!(served);
    assert_eq!(events.matches("notifications/progress").count(), 3, "{events}");
    assert!(events.contains("3 steps in 30 ms"), "{events}");
    client.post(5, &Modern::tool("touch", &json!({"uri": uri})));
    client.read_until(1, "notifications/resources/updated");
    // What the client wants no more is let go, and the connection with the others is kept.
    client.reset(1);
    server.await_metric("streams_open", 0);
    client.post(7, &add());
    assert!(client.answer(7).0);
}

#[test]
fn a_reset_cancels_a_call_of_2026_07_28() {
    let server = TestServer::builder().config(QUIET).start();
    let mut client = Client::connect(&server);
    let slow = Modern::tool("slow", &json!({"ms": 600_000, "steps": 10_000}));
    // With a head and something said, and before there is anything.
    client.post(1, &slow.clone().meta("progressToken", json!("t")));
    client.read_until(1, "notifications/progress");
    client.reset(1);
    server.await_metric("requests_in_flight", 0);
    let silent = with(head(&slow.message()), "accept", "application/json");
    client.head(3, &silent);
    client.send(DATA, END_STREAM, 3, slow.message().to_string().as_bytes());
    server.await_metric("requests_in_flight", 1);
    client.reset(3);
    server.await_metric("requests_in_flight", 0);
    client.post(5, &add());
    assert!(client.answer(5).0);
}

/// Neither a reset nor the end of the connection is a cancellation where there is a session.
#[test]
fn a_call_of_a_session_goes_on_when_its_stream_is_reset() {
    let server = TestServer::builder().config(QUIET).start();
    let session = server.initialize("2025-06-18");
    let mut client = Client::connect(&server);
    let call = |id: i64| {
        let params = json!({"name": "slow", "arguments": {"ms": 600_000}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    for (id, accept) in [(1, "application/json"), (2, "application/json, text/event-stream")] {
        let stream = u32::try_from(id).unwrap() * 2 - 1;
        let head = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/mcp"),
            (":authority", "localhost"),
            ("content-type", "application/json"),
            ("accept", accept),
            ("mcp-protocol-version", "2025-06-18"),
            ("mcp-session-id", &session.id),
        ];
        client.head(stream, &head.map(|(name, value)| (name.to_owned(), value.to_owned())));
        client.send(DATA, END_STREAM, stream, call(id).to_string().as_bytes());
    }
    server.await_metric("streams_open", 1);
    client.reset(3);
    server.await_metric("streams_open", 0);
    assert_eq!(server.metric("requests_in_flight"), 2);
    drop(client);
    // Both ids are in use still.
    for id in 1..=2 {
        assert_eq!(server.refused(&session.post(&call(id))).refusal(), (400, -32600), "{id}");
    }
    assert_eq!(session.delete().status(), 204);
    server.await_metric("requests_in_flight", 0);
}

#[test]
fn everything_of_a_connection_is_let_go_of_when_it_closes() {
    let server = TestServer::builder().config(QUIET).start();
    let mut client = Client::connect(&server);
    client
        .post(1, &Modern::new("subscriptions/listen", &json!({"notifications": {"toolsListChanged": true}})));
    client.read_until(1, "notifications/subscriptions/acknowledged");
    for stream in [3, 5, 7] {
        client.post(stream, &Modern::tool("slow", &json!({"ms": 600_000})));
    }
    server.await_metric("requests_in_flight", 3);
    server.await_metric("streams_open", 4);
    drop(client);
    server.await_metric("requests_in_flight", 0);
    server.await_metric("streams_open", 0);
}
