//! Answers that HTTP/1.1 allows and few servers send, and some that it does not.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

#[allow(dead_code, reason = "each test binary uses a part of it")]
#[path = "misbehaving/server.rs"]
mod server;

use std::time::Duration;

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    time::timeout,
};
use trunkline_client::{Answer, Call, Client, Error, Failure, Retry};
use trunkline_protocol::Revision;

use crate::server::{Fake, Reply, Request, answer};

const ONCE: Retry =
    Retry { attempts: 0, resumes: 0, base: Duration::from_millis(5), cap: Duration::from_millis(20) };

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";

async fn soon<T>(work: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), work).await.expect("it takes too long")
}

/// A server whose answers to tool calls are made of the answer's JSON, and a client of it.
async fn with(
    reply: impl Fn(&Request, usize, &str) -> Option<Reply> + Send + Sync + 'static,
) -> (Fake, Client) {
    let fake = Fake::start(move |request, nth| {
        let id = request.body["id"].as_i64()?;
        let text = answer(id, &json!({ "content": [], "nth": nth("tools/call") }));
        if request.method() == "tools/call" { reply(request, nth("tools/call"), &text) } else { None }
    })
    .await;
    let connecting = Client::http(&fake.url()).revision(Revision::V2026_07_28).retry(ONCE).connect();
    let client = soon(connecting).await.unwrap();
    (fake, client)
}

async fn call(client: &Client) -> Result<Answer, Failure> {
    soon(client.raw(&Call::tool("add", "{}"))).await
}

fn nth(answer: &Answer) -> u64 {
    serde_json::from_slice::<serde_json::Value>(&answer.result).unwrap()["nth"].as_u64().unwrap()
}

fn whole(body: &str) -> String {
    format!("{HEAD}Content-Length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn interim_answers_are_passed_over() {
    let (fake, client) = with(|_, _, body| {
        let answer = format!("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n{}", whole(body));
        Some(Reply::bytes(&["HTTP/1.1 100 Continue\r\n\r\n", &answer], false))
    })
    .await;
    for expected in 0..3 {
        assert_eq!(nth(&call(&client).await.unwrap()), expected);
    }
    assert_eq!(fake.connections(), 1);
}

#[tokio::test]
async fn chunks_with_extensions_and_trailers_are_read_and_the_connection_is_used_again() {
    let (fake, client) = with(|_, _, body| {
        let (a, b) = body.split_at(20);
        let first = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n{:x};x=\"y\"\r\n{a}\r\n", a.len());
        let rest = format!("{:X}\r\n{b}\r\n0\r\nTrailer: z\r\n\r\n", b.len());
        Some(Reply::bytes(&[&first, &rest[..3], &rest[3..]], false))
    })
    .await;
    for expected in 0..3 {
        assert_eq!(nth(&call(&client).await.unwrap()), expected);
    }
    assert_eq!(fake.connections(), 1);
}

#[tokio::test]
async fn an_answer_may_end_with_its_connection() {
    let (fake, client) =
        with(|_, _, body| Some(Reply::bytes(&[&format!("{HEAD}\r\n{}", &body[..9]), &body[9..]], true)))
            .await;
    for expected in 0..3 {
        assert_eq!(nth(&call(&client).await.unwrap()), expected);
    }
    assert_eq!(fake.connections(), 3);
}

#[tokio::test]
async fn a_connection_on_which_something_came_unasked_is_not_used_again() {
    let (fake, client) = with(|_, nth, body| {
        let forged = whole(&answer(2, &json!({ "content": [], "nth": 666 })));
        // In one write, and in a later one: before the connection is given back, and after.
        let answer = whole(body);
        match nth {
            0 => Some(Reply::bytes(&[&format!("{answer}{forged}")], false)),
            1 => Some(Reply::bytes(&[&answer, &forged], false)),
            _ => Some(Reply::bytes(&[&answer], false)),
        }
    })
    .await;
    assert_eq!(nth(&call(&client).await.unwrap()), 0);
    assert_eq!(nth(&call(&client).await.unwrap()), 1);
    // One reply of the handshake, and two of calls.
    soon(fake.replied(3)).await;
    assert_eq!(nth(&call(&client).await.unwrap()), 2);
    assert_eq!(fake.connections(), 3);
}

#[tokio::test]
async fn an_answer_that_breaks_off_may_have_run() {
    for lie in ["Content-Length: 5000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1000\r\n{", ""] {
        let (_fake, client) = with(move |_, _, _| Some(Reply::bytes(&[&format!("{HEAD}{lie}")], true))).await;
        let failure = call(&client).await.unwrap_err();
        assert!(matches!(failure.error, Error::InFlight { .. }), "{lie:?}: {failure}");
        assert!(failure.error.may_have_run());
    }
}

#[tokio::test]
async fn what_can_be_read_in_two_ways_is_not_read() {
    for framing in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: zero\r\n",
    ] {
        let (_fake, client) =
            with(move |_, _, body| Some(Reply::bytes(&[&format!("{HEAD}{framing}\r\n{body}")], true))).await;
        let failure = call(&client).await.unwrap_err();
        assert!(matches!(failure.error, Error::Malformed { .. }), "{framing:?}: {failure}");
        assert!(failure.error.may_have_run());
    }
}

#[tokio::test]
async fn megabytes_arrive_whole_and_the_connection_is_used_again() {
    let (fake, client) = with(|request, _, _| {
        let id = request.body["id"].as_i64().unwrap();
        let text: String = (0..5_000_000).map(|at| char::from(b'a' + (at % 23) as u8)).collect();
        Some(Reply::bytes(&[&whole(&answer(id, &json!({ "text": text })))], false))
    })
    .await;
    for _ in 0..2 {
        let answer = call(&client).await.unwrap();
        let result: serde_json::Value = serde_json::from_slice(&answer.result).unwrap();
        let text = result["text"].as_str().unwrap();
        assert_eq!(text.len(), 5_000_000);
        assert!(text.bytes().enumerate().all(|(at, byte)| byte == b'a' + (at % 23) as u8));
    }
    assert_eq!(fake.connections(), 1);
}

#[tokio::test]
async fn a_server_that_says_that_it_closes_is_not_asked_again_on_that_connection() {
    let (fake, client) = with(|_, _, body| {
        let answer = format!("{HEAD}Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        Some(Reply::bytes(&[&answer], false))
    })
    .await;
    for expected in 0..3 {
        assert_eq!(nth(&call(&client).await.unwrap()), expected);
    }
    assert_eq!(fake.connections(), 3);
}

/// A server that refuses a long request from its head must be understood, though the request cannot be sent to its end;
/// the rest of it must not be taken for the beginning of the next one.
#[tokio::test]
async fn a_refusal_before_the_end_of_the_request_is_heard() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut cut_short, _) = listener.accept().await.unwrap();
        let mut head = [0; 64];
        cut_short.read_exact(&mut head).await.unwrap();
        let refusal = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 8\r\n\r\ntoo long";
        cut_short.write_all(refusal).await.unwrap();
        let (mut next, _) = listener.accept().await.unwrap();
        next.read_exact(&mut head).await.unwrap();
        next.write_all(b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await.unwrap();
        (cut_short, next)
    });
    let connecting = Client::http(&url).revision(Revision::V2026_07_28).retry(ONCE).discover(false).connect();
    let client = soon(connecting).await.unwrap();
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(64 << 20));
    let failure = soon(client.raw(&Call::tool("echo", &long))).await.unwrap_err();
    assert_eq!(failure.error.status(), Some(413), "{failure}");
    let failure = call(&client).await.unwrap_err();
    assert_eq!(failure.error.status(), Some(410), "{failure}");
    drop(server.await.unwrap());
}
