//! Connections: kept alive, closed, too slow, malformed, and those of HTTP/2.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Connection, Modern, Request, Session, TestServer, eventually};

fn add() -> Request {
    Modern::tool("add", &json!({"a": 1, "b": 2})).request()
}

#[test]
fn one_connection_carries_many_requests() {
    let server = TestServer::demo();
    let mut connection = server.connect();
    let hello = connection.exchange(&Request::post(&Session::hello("2025-11-25", &json!({}))));
    let id = hello.header("mcp-session-id").unwrap().to_owned();
    let ping = Request::post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).session(&id);
    for _ in 0..50 {
        assert_eq!(connection.exchange(&ping).status(), 200);
        // Refusals end no connection.
        assert_eq!(connection.exchange(&Request::post_text("{")).status(), 400);
        assert_eq!(connection.exchange(&ping.clone().session("dead")).status(), 404);
        assert_eq!(connection.exchange(&add().header("Mcp-Name", "echo")).status(), 400);
        assert_eq!(connection.exchange(&Request::new("PUT", "/mcp")).status(), 405);
        assert_eq!(connection.exchange(&Request::get().session("dead")).status(), 404);
        assert_eq!(connection.exchange(&Request::get().header("Origin", "null")).status(), 403);
        assert_eq!(connection.exchange(&add()).header("connection"), None);
    }
    assert_eq!(connection.exchange(&Request::new("DELETE", "/mcp").session(&id)).status(), 204);
    assert_eq!(connection.exchange(&add()).status(), 200);
}

#[test]
fn a_request_refused_by_its_head_may_close_its_connection_and_says_so() {
    let server = TestServer::demo();
    for refused in [
        add().header("Content-Type", "text/plain"),
        add().header("Accept", "text/html"),
        add().header("Origin", "https://evil.example"),
    ] {
        // Its body was not read. Either it is skipped, or nothing more is taken from this connection.
        let mut connection = server.connect();
        let response = connection.exchange(&refused);
        assert!(response.status() >= 400);
        if response.header("connection") == Some("close") {
            assert!(connection.is_closed());
        } else {
            assert_eq!(connection.exchange(&add()).status(), 200);
        }
    }
}

#[test]
fn a_finished_stream_leaves_its_connection_to_the_next_request() {
    let server = TestServer::demo();
    let slow = Modern::tool("slow", &json!({"ms": 10, "steps": 2})).meta("progressToken", json!(1));
    let mut stream = server.stream(&slow.request());
    assert_eq!(stream.rest().len(), 3);
    assert_eq!(stream.into_connection().exchange(&add()).status(), 200);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = TestServer::demo();
    let session = server.initialize("2025-06-18");
    let call = |id: i64, ms: u64| {
        let params = json!({"name": "slow", "arguments": {"ms": ms}});
        session.post(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).bytes()
    };
    let mut connection = server.connect();
    connection.send(&[call(1, 60), call(2, 1), call(3, 1)].concat());
    for id in 1..=3 {
        assert_eq!(connection.receive().json()["id"], id);
    }
}

#[test]
fn connection_close_is_heeded() {
    let server = TestServer::demo();
    let mut connection = server.connect();
    let response = connection.exchange(&add().header("Connection", "close"));
    assert_eq!((response.status(), response.header("connection")), (200, Some("close")));
    assert!(connection.is_closed());
    let mut connection = server.connect();
    let old = String::from_utf8(add().bytes()).unwrap().replacen("HTTP/1.1", "HTTP/1.0", 1);
    connection.send(old.as_bytes());
    assert_eq!(connection.receive().status(), 200);
    assert!(connection.is_closed());
}

#[test]
fn an_idle_connection_is_closed_after_its_time() {
    let server = TestServer::builder().config("[server]\nkeep_alive = \"1s\"").start();
    let mut connection = server.connect();
    assert_eq!(connection.exchange(&add()).status(), 200);
    let begun = Instant::now();
    assert!(connection.is_closed());
    assert!(begun.elapsed() >= Duration::from_millis(800), "{:?}", begun.elapsed());
}

#[test]
fn a_head_that_comes_too_slowly_is_given_up() {
    let server = TestServer::builder().config("[server]\nrequest_timeout = \"1s\"").start();
    let head = add().head();
    for sent in [1, 20, head.len() - 2] {
        let mut connection = server.connect();
        connection.send(&head[..sent]);
        let said = String::from_utf8(connection.until_closed()).unwrap();
        assert!(said.starts_with("HTTP/1.1 408"), "{said}");
    }
    // Neither does a byte now and then keep it open.
    assert!(!drip(&mut server.connect(), &head), "all of it was taken");
}

#[test]
fn a_connection_that_says_nothing_is_closed() {
    let server = TestServer::builder().config("[server]\nrequest_timeout = \"300ms\"").start();
    assert!(server.connect().is_closed());
    // So is one that says no more than that it speaks HTTP/2.
    let server = impatient();
    let mut connection = server.connect();
    connection.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    connection.until_closed();
}

/// Connections at rest end soon: after the longer of the two times and the head's, and before twice that.
fn impatient() -> TestServer {
    let times = "keep_alive = \"1s\"\nstream_keep_alive = \"1s\"\nrequest_timeout = \"200ms\"";
    TestServer::builder().config(&format!("[server]\n{times}\n[limits]\nbody = \"64KiB\"")).start()
}

/// Sends a byte now and then until the server has had enough, or all is sent.
fn drip(connection: &mut Connection, bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| {
        std::thread::park_timeout(Duration::from_millis(20));
        connection.send_unless_closed(&[*byte])
    })
}

#[test]
fn a_head_after_the_first_request_cannot_take_for_ever_either() {
    let server = impatient();
    for sent in [1, 20] {
        let mut connection = server.connect();
        assert_eq!(connection.exchange(&add()).status(), 200);
        connection.send(&add().head()[..sent]);
        assert!(connection.is_closed(), "after {sent} bytes");
    }
    let mut connection = server.connect();
    assert_eq!(connection.exchange(&add()).status(), 200);
    assert!(
        !drip(&mut connection, &add().header("X-Filler", &"x".repeat(1000)).head()),
        "all of it was taken"
    );
}

#[test]
fn the_rest_of_a_body_that_is_not_wanted_cannot_take_for_ever() {
    let server = impatient();
    for refused in [add(), add().header("Content-Type", "text/plain"), add().header("Origin", "null")] {
        let mut connection = server.connect();
        connection.send(&refused.header("Transfer-Encoding", "chunked").head());
        assert!(connection.receive().status() >= 400);
        assert!(!drip(&mut connection, &b"1\r\n \r\n".repeat(100)), "all of it was taken");
    }
}

#[test]
fn a_long_call_and_a_quiet_stream_are_not_at_rest() {
    let server = impatient();
    // Three times as long as a connection at rest is kept, and nothing is said meanwhile.
    let slow = Modern::tool("slow", &json!({"ms": 4000})).request().header("Accept", "application/json");
    let mut calling = server.connect();
    calling.send(&slow.bytes());
    let session = server.initialize("2025-11-25");
    let mut listening = session.listen();
    let answered = calling.receive();
    assert_eq!(answered.result()["content"][0]["text"], "1 steps in 4000 ms");
    session.call("resources/subscribe", &json!({"uri": "demo://counter"}));
    session.tool("touch", &json!({"uri": "demo://counter"}));
    assert_eq!(listening.message()["method"], "notifications/resources/updated");
}

#[test]
fn a_reader_that_takes_nothing_is_given_up() {
    let server = impatient();
    // More than the system keeps for a connection, again and again, and none of it is read.
    let payload = Modern::tool("payload", &json!({"bytes": 4 << 20})).request().bytes();
    let files = server.settled_files();
    let connections: Vec<_> = (0..8)
        .map(|_| {
            let mut connection = server.connect();
            connection.send(&payload.repeat(4));
            connection
        })
        .collect();
    eventually("their connections", &true, || server.open_files() >= files + connections.len());
    eventually("the end of their connections", &true, || server.open_files() <= files);
    assert_eq!(server.send(&add()).status(), 200);
}

#[test]
fn a_body_that_comes_too_slowly_is_given_up() {
    let server = TestServer::builder()
        .config("[server]\nrequest_timeout = \"300ms\"\n[limits]\nbody = \"64KiB\"")
        .start();
    for (sent, framing) in [
        ("", "Content-Length: 10"),
        ("{", "Content-Length: 10"),
        ("1\r\n{\r\n", "Transfer-Encoding: chunked"),
    ] {
        let (name, value) = framing.split_once(": ").unwrap();
        let mut connection = server.connect();
        connection.send(&add().header(name, value).head());
        connection.send(sent.as_bytes());
        let response = connection.receive();
        assert_eq!(response.status(), 408, "{framing} {sent:?}: {}", response.text());
        assert_eq!(response.header("connection"), Some("close"), "{framing} {sent:?}");
    }
}

#[test]
fn a_client_that_leaves_within_a_request_leaves_nothing_behind() {
    let server = TestServer::demo();
    let files = server.settled_files();
    let whole = add().bytes();
    for sent in [10, whole.len() / 2, whole.len() - 1] {
        for _ in 0..20 {
            let mut connection = server.connect();
            connection.send(&whole[..sent]);
            connection.finish_sending();
        }
    }
    eventually("open files", &true, || server.open_files() <= files);
    assert_eq!(server.metric("requests_in_flight"), 0);
    assert_eq!(server.send(&add()).status(), 200);
}

#[test]
fn what_is_no_http_is_refused() {
    let server = TestServer::demo();
    for nonsense in [
        "nonsense\r\n\r\n",
        "GET\r\n\r\n",
        "GET /mcp HTTP/9.9\r\n\r\n",
        "\0\0\0\0\r\n\r\n",
        "GET /mcp HTTP/1.1\r\nHost localhost\r\n\r\n",
    ] {
        let mut connection = server.connect();
        connection.send(nonsense.as_bytes());
        let said = String::from_utf8_lossy(&connection.until_closed()).into_owned();
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 400"), "{nonsense:?}: {said}");
    }
    assert_eq!(server.send(&add()).status(), 200);
}

#[test]
fn a_body_in_chunks_is_a_body() {
    let server = TestServer::demo();
    let body = Modern::tool("add", &json!({"a": 1, "b": 2})).message().to_string();
    let chunks: String = body
        .as_bytes()
        .chunks(7)
        .map(|chunk| format!("{:x}\r\n{}\r\n", chunk.len(), String::from_utf8_lossy(chunk)))
        .collect();
    let request = add().body(format!("{chunks}0\r\n\r\n").as_bytes()).header("Transfer-Encoding", "chunked");
    assert_eq!(server.send(&request).result()["structuredContent"]["sum"], 3);
    let mut connection = server.connect();
    connection.send(&add().header("Transfer-Encoding", "chunked").head());
    connection.send(b"zz\r\n");
    let said = String::from_utf8_lossy(&connection.until_closed()).into_owned();
    assert!(said.starts_with("HTTP/1.1 400"), "{said}");
}

#[test]
fn a_request_with_two_lengths_is_no_request() {
    let server = TestServer::demo();
    let session = server.initialize("2025-06-18");
    let inner = session.sign(Request::new("DELETE", "/mcp")).bytes();
    let length = inner.len().to_string();
    let chunked = [&b"0\r\n\r\n"[..], &inner].concat();
    for request in [
        add().body(&inner).also("Content-Length", &length).also("Content-Length", "0"),
        add().body(&chunked).also("Content-Length", "5").also("Transfer-Encoding", "chunked"),
        add().body(&inner).also("Content-Length", "+0"),
        add().body(&chunked).also("Transfer-Encoding", "chunked, identity"),
    ] {
        let mut connection = server.connect();
        connection.send(&request.bytes());
        connection.finish_sending();
        let said = String::from_utf8_lossy(&connection.until_closed()).into_owned();
        assert!(!said.contains("HTTP/1.1 204"), "{request:?}: {said}");
    }
    // Nobody's session was ended by what was hidden in a body.
    assert_eq!(session.call("ping", &json!({})), json!({}));
}

#[test]
fn the_body_of_a_refused_request_is_not_taken_for_the_next_one() {
    let server = TestServer::builder().config("[limits]\nbody = \"16KiB\"").start();
    let session = server.initialize("2025-06-18");
    let mut hidden = session.sign(Request::new("DELETE", "/mcp")).bytes();
    let end = hidden.clone();
    for refused in [
        add().header("Origin", "https://evil.example"),
        add().header("Content-Type", "text/plain"),
        add().header("Accept", "text/html"),
        add().path("/nothing"),
        Request::new("PUT", "/mcp"),
        session.sign(Request::get()).header("Accept", "text/html"),
    ] {
        let request = refused.body(&end);
        let mut connection = server.connect();
        connection.send(&request.bytes());
        assert!(connection.receive().status() >= 400, "{request:?}");
        // The connection goes on with a new request, or not at all.
        if connection.send_unless_closed(&add().bytes())
            && let Some(head) = connection.head_or_end()
        {
            assert_eq!(head.status, 200, "{request:?}");
        }
    }
    // The same with one that is over the limit.
    hidden.resize(17 * 1024, b' ');
    hidden.extend_from_slice(&end);
    let mut connection = server.connect();
    connection.send(&add().body(&hidden).bytes());
    assert_eq!(connection.receive().status(), 413);
    if connection.send_unless_closed(&add().bytes())
        && let Some(head) = connection.head_or_end()
    {
        assert_eq!(head.status, 200);
    }
    assert_eq!(session.call("ping", &json!({})), json!({}));
}

#[test]
fn a_client_that_waits_for_leave_to_send_gets_it_or_a_refusal() {
    let server = TestServer::demo();
    let body = Modern::tool("add", &json!({"a": 1, "b": 2})).message().to_string();
    let waiting = add().header("Expect", "100-continue").header("Content-Length", &body.len().to_string());
    let mut connection = server.connect();
    connection.send(&waiting.head());
    assert_eq!(connection.head().status, 100);
    connection.send(body.as_bytes());
    assert_eq!(connection.receive().result()["structuredContent"]["sum"], 3);
}

#[test]
fn a_draining_server_says_so_and_sends_nobody_away_empty() {
    let server = TestServer::builder().config("[server]\ndrain_delay = \"60s\"").start();
    let session = server.initialize("2025-11-25");
    let mut kept = server.connect();
    assert_eq!(kept.exchange(&add()).header("connection"), None);
    server.sigterm();
    eventually("readiness", &503, || server.admin_page("/readyz").status());
    assert_eq!(server.admin_page("/livez").status(), 200);
    // No new sessions here.
    for refused in [Request::post(&Session::hello("2025-11-25", &json!({}))), Request::get().path("/sse")] {
        let response = server.send(&refused);
        assert_eq!(response.status(), 503, "{refused:?}");
        assert!(response.header("retry-after").is_some(), "{refused:?}");
        assert_eq!(response.header("connection"), Some("close"), "{refused:?}");
    }
    // What is here is served, on a connection that is not kept.
    assert_eq!(session.call("ping", &json!({})), json!({}));
    let last = kept.exchange(&add());
    assert_eq!((last.status(), last.header("connection")), (200, Some("close")));
    assert!(kept.is_closed());
}

#[test]
fn a_server_that_is_told_to_end_ends_well() {
    let server = TestServer::demo();
    let idle = server.connect();
    server.initialize("2025-11-25");
    server.sigterm();
    assert!(server.wait(Duration::from_secs(10)).success());
    drop(idle);
}
