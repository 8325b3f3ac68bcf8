//! The floor answers with the sum, at the length it is told.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    time::{Duration, Instant},
};

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has told by then.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[test]
fn a_call_is_answered_at_length() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let bind = format!("127.0.0.1:{port}");
    let mut floor = Command::new(env!("CARGO_BIN_EXE_floor"));
    let mut floor = Killed(floor.args(["--bind", &bind, "--length", "200"]).spawn().unwrap());
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut socket = loop {
        assert!(
            floor.0.try_wait().unwrap().is_none() && Instant::now() < deadline,
            "the floor does not listen"
        );
        match TcpStream::connect(&bind) {
            Ok(socket) => break socket,
            Err(_) => std::thread::yield_now(),
        }
    };
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":40,"b":2}}}"#;
    let length = body.len();
    write!(
        socket,
        "POST /mcp HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert_eq!(body.len(), 200);
    assert!(body.contains(r#""sum":42"#), "{body}");
}
