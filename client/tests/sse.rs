//! HTTP+SSE of 2024-11-05: the real server, and servers that misbehave.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

#[path = "support/pipe.rs"]
mod pipe;

use std::net::SocketAddr;

use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};
use trunkline_client::{Call, Client, Error, TokenSource};
use trunkline_harness::{
    binary,
    replica::{Replica, Settings},
    scratch::Scratch,
};

use crate::pipe::{Yes, call, carries_everything, soon};

async fn demo(scratch: &Scratch) -> Replica {
    Replica::start(scratch, "demo", Settings::demo(binary::trunkline().unwrap())).await.unwrap()
}

/// A server that sends a head and one event, and hands over the stream.
struct Scripted {
    address: SocketAddr,
    listener: TcpListener,
}

impl Scripted {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { address: listener.local_addr().unwrap(), listener }
    }

    fn url(&self) -> String {
        format!("http://{}/sse", self.address)
    }

    /// The next request, and its connection.
    async fn request(&self) -> (String, String, TcpStream) {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        let mut reader = BufReader::new(&mut stream);
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).await.unwrap();
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).await.unwrap();
        (head, String::from_utf8(body).unwrap(), stream)
    }

    /// Opens the stream of the client with its first event.
    async fn open(&self, event: &str) -> TcpStream {
        let (head, _, mut stream) = self.request().await;
        assert!(head.starts_with("GET /sse "), "{head}");
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        stream.write_all(format!("{head}{event}").as_bytes()).await.unwrap();
        stream
    }

    /// Answers one POST.
    async fn post(&self, status: &str) -> String {
        let (_, body, mut stream) = self.request().await;
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        body
    }

    /// Plays the handshake; what comes back is the open stream.
    async fn handshake(&self) -> TcpStream {
        let mut stream = self.open("event: endpoint\ndata: /messages?s=1\n\n").await;
        let body: serde_json::Value = serde_json::from_str(&self.post("202 Accepted").await).unwrap();
        let result = json!({
            "protocolVersion": "2024-11-05",
            "capabilities": {},
            "serverInfo": { "name": "scripted", "version": "1" },
        });
        let answer = json!({ "jsonrpc": "2.0", "id": body["id"], "result": result });
        stream.write_all(format!("event: message\ndata: {answer}\n\n").as_bytes()).await.unwrap();
        self.post("202 Accepted").await;
        stream
    }
}

#[tokio::test]
async fn the_demo_is_served() {
    let scratch = Scratch::new().unwrap();
    let replica = demo(&scratch).await;
    let connecting = Client::sse(&format!("http://{}/sse", replica.address())).questions(Yes).connect();
    let client = soon("the connection", connecting).await.unwrap();
    carries_everything(&client).await;
    let counters = client.counters();
    assert_eq!((counters.stray_answers, counters.nonsense), (0, 0), "{counters:?}");
    soon("closing", client.close()).await.unwrap();
    let error = call(&client, "add", &json!({})).await.unwrap_err();
    assert!(matches!(error, Error::Closed), "{error}");
}

#[tokio::test]
async fn a_server_that_dies_leaves_the_outcome_open() {
    let scratch = Scratch::new().unwrap();
    let mut replica = demo(&scratch).await;
    let connecting = Client::sse(&format!("http://{}/sse", replica.address())).connect();
    let client = soon("the connection", connecting).await.unwrap();
    let (sender, mut progress) = tokio::sync::mpsc::channel(1);
    let slow = Call::tool("slow", r#"{"ms":60000,"steps":600}"#).progress(sender);
    let kill = async {
        progress.recv().await.unwrap();
        replica.kill();
    };
    let (outcome, ()) = soon("the failure", async { tokio::join!(client.raw(&slow), kill) }).await;
    let error = outcome.unwrap_err().error;
    assert!(matches!(error, Error::InFlight { .. }) && error.may_have_run(), "{error}");
    let error = call(&client, "add", &json!({})).await.unwrap_err();
    assert!(matches!(error, Error::Unsent { .. }), "{error}");
}

#[tokio::test]
async fn messages_go_to_no_other_origin() {
    let server = Scripted::new().await;
    let url = server.url();
    let connecting = Client::sse(&url).connect();
    let open = server.open("event: endpoint\ndata: http://127.0.0.1:1/messages\n\n");
    let (outcome, _stream) = soon("the refusal", async { tokio::join!(connecting, open) }).await;
    let error = outcome.err().unwrap();
    assert!(matches!(error, Error::Malformed { .. }) && error.to_string().contains("origin"), "{error}");
}

#[tokio::test]
async fn what_is_no_such_stream_is_told_so() {
    let server = Scripted::new().await;
    let url = server.url();
    let connecting = Client::sse(&url).connect();
    let open = server.open("data: {}\n\n");
    let (outcome, _stream) = soon("the refusal", async { tokio::join!(connecting, open) }).await;
    let error = outcome.err().unwrap();
    assert!(matches!(error, Error::NotMcp { .. }), "{error}");
}

#[tokio::test]
async fn a_session_that_is_not_known_any_more_is_lost_and_nothing_ran() {
    let server = Scripted::new().await;
    let url = server.url();
    let connecting = Client::sse(&url).connect();
    let (outcome, _stream) =
        soon("the handshake", async { tokio::join!(connecting, server.handshake()) }).await;
    let client = outcome.unwrap();
    let arguments = json!({});
    let calling = call(&client, "add", &arguments);
    let (outcome, _body) = tokio::join!(calling, server.post("404 Not Found"));
    let error = outcome.unwrap_err();
    assert!(matches!(error, Error::SessionLost { may_have_run: false }), "{error}");
}

/// Gives out `old` until it is refused.
struct Tokens;

impl TokenSource for Tokens {
    fn token<'a>(
        &'a self,
        refused: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, Box<dyn std::error::Error + Send + Sync>>> {
        let token = if refused.is_some() { "new" } else { "old" };
        Box::pin(std::future::ready(Ok(token.to_owned())))
    }
}

#[tokio::test]
async fn a_refused_token_is_replaced_on_the_stream_and_on_what_is_sent() {
    let server = Scripted::new().await;
    let url = server.url();
    let connecting = Client::sse(&url).bearer(Tokens).connect();
    let serving = async {
        let (head, _, mut stream) = server.request().await;
        assert!(head.contains("Bearer old"), "{head}");
        stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        let (head, _, mut stream) = server.request().await;
        assert!(head.contains("Bearer new"), "{head}");
        let events =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: endpoint\ndata: /m\n\n";
        stream.write_all(events.as_bytes()).await.unwrap();
        server.post("401 Unauthorized").await;
        let (head, _, _post) = server.request().await;
        assert!(head.starts_with("POST /m ") && head.contains("Bearer new"), "{head}");
    };
    soon("the tokens", async {
        tokio::select! { outcome = connecting => panic!("{outcome:?}"), () = serving => {} }
    })
    .await;
}

#[tokio::test]
async fn an_answer_may_come_before_its_message_is_accepted() {
    let server = Scripted::new().await;
    let url = server.url();
    let connecting = Client::sse(&url).connect();
    let (outcome, mut stream) =
        soon("the handshake", async { tokio::join!(connecting, server.handshake()) }).await;
    let client = outcome.unwrap();
    let arguments = json!({});
    let calling = call(&client, "add", &arguments);
    let answering = async {
        let (_, body, unanswered) = server.request().await;
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        let answer = json!({ "jsonrpc": "2.0", "id": body["id"], "result": { "content": [] } });
        stream.write_all(format!("data: {answer}\n\n").as_bytes()).await.unwrap();
        unanswered
    };
    let (outcome, _unanswered) =
        soon("the answer", Box::pin(async { tokio::join!(calling, answering) })).await;
    outcome.unwrap();
}
