//! As much of a client as these tests need: one session of an older revision, each of whose requests goes to whichever
//! replica the test names, on a connection of its own.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

use crate::support::{self, Answer};

/// The revisions that have sessions.
pub(crate) const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A session, known by its id.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    revision: &'static str,
    /// The id of the last request. Shared by clones: no two requests of a session have the same.
    requests: Arc<AtomicU64>,
}

/// A stream of server-sent events.
pub(crate) struct Stream {
    reader: BufReader<TcpStream>,
    pub(crate) head: String,
}

// === impl Session ===

impl Session {
    /// Opens a session at one replica.
    pub(crate) async fn open(replica: SocketAddr, revision: &'static str) -> Self {
        let mut session = Self { id: String::new(), revision, requests: Arc::default() };
        let answer = session.post(replica, &initialize(revision)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(message(&answer)["result"]["protocolVersion"], revision, "{answer:?}");
        answer.header("mcp-session-id").expect("a session").clone_into(&mut session.id);
        session
    }

    /// Calls a tool at one replica, whatever it answers.
    pub(crate) async fn call(&self, replica: SocketAddr, tool: &str, arguments: &Value) -> Answer {
        self.call_as(replica, self.next_id(), tool, arguments).await
    }

    /// Calls a tool that has to succeed, and returns what it says.
    pub(crate) async fn result(&self, replica: SocketAddr, tool: &str, arguments: &Value) -> Value {
        let id = self.next_id();
        let answer = self.call_as(replica, id, tool, arguments).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let message = message(&answer);
        assert_eq!(message["id"], id, "{answer:?}");
        output(&message)
    }

    /// Says that the client is ready, at one replica.
    pub(crate) async fn initialized(&self, replica: SocketAddr) {
        let answer =
            self.post(replica, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        assert_eq!(answer.status, 202, "{answer:?}");
    }

    /// Ends the session at one replica.
    pub(crate) async fn delete(&self, replica: SocketAddr) -> Answer {
        self.send(replica, "DELETE", "").await
    }

    /// Opens its GET stream at one replica.
    pub(crate) async fn listen(&self, replica: SocketAddr) -> Stream {
        let head = format!("Accept: text/event-stream\r\n{}", self.headers());
        Stream::open(replica, "/mcp", &head).await
    }

    async fn call_as(&self, replica: SocketAddr, id: u64, tool: &str, arguments: &Value) -> Answer {
        let params = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        self.post(replica, &call).await
    }

    fn next_id(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    async fn post(&self, replica: SocketAddr, message: &Value) -> Answer {
        self.send(replica, "POST", &message.to_string()).await
    }

    async fn send(&self, replica: SocketAddr, method: &str, body: &str) -> Answer {
        let request = format!(
            "{method} /mcp HTTP/1.1\r\nHost: {replica}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{}Content-Length: {}\r\n\r\n{body}",
            self.headers(),
            body.len()
        );
        support::exchange(replica, &request).await.expect("the replica answers")
    }

    fn headers(&self) -> String {
        let session =
            if self.id.is_empty() { String::new() } else { format!("Mcp-Session-Id: {}\r\n", self.id) };
        // The header is as old as 2025-06-18.
        let revision = match self.revision {
            "2024-11-05" | "2025-03-26" => String::new(),
            revision => format!("MCP-Protocol-Version: {revision}\r\n"),
        };
        session + &revision
    }
}

// === impl Stream ===

impl Stream {
    /// Opens a stream that has to be granted. HTTP/1.0, so that its body has no chunks.
    pub(crate) async fn open(replica: SocketAddr, path: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(replica).await.unwrap();
        let request = format!("GET {path} HTTP/1.0\r\nHost: {replica}\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut stream = Self { reader: BufReader::new(stream), head: String::new() };
        loop {
            let line = stream.line().await.expect("a head");
            if line.is_empty() {
                break;
            }
            stream.head.push_str(&line);
            stream.head.push('\n');
        }
        assert_eq!(stream.head.split(' ').nth(1), Some("200"), "{}", stream.head);
        stream
    }

    /// The data of the next event that has any; `None` when the stream ends.
    pub(crate) async fn data(&mut self) -> Option<String> {
        loop {
            let line = self.line().await?;
            if let Some(data) = line.strip_prefix("data:").map(str::trim)
                && !data.is_empty()
            {
                return Some(data.to_owned());
            }
        }
    }

    /// Waits for its end, whatever comes before.
    pub(crate) async fn ends(mut self) {
        let mut rest = Vec::new();
        let end = timeout(support::DEADLINE, self.reader.read_to_end(&mut rest)).await;
        assert!(end.is_ok(), "the stream goes on after {:?}", String::from_utf8_lossy(&rest));
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read =
            timeout(support::DEADLINE, self.reader.read_line(&mut line)).await.expect("a line in time");
        (read.unwrap() > 0).then(|| line.trim_end().to_owned())
    }
}

pub(crate) fn initialize(revision: &str) -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

/// The one message of an answer, as JSON or as the last event of a stream.
pub(crate) fn message(answer: &Answer) -> Value {
    let body = answer.body.as_str();
    let last = body.lines().filter_map(|line| line.strip_prefix("data:")).next_back();
    serde_json::from_str(last.unwrap_or(body)).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

/// What a tool said, out of the text that every revision has.
pub(crate) fn output(message: &Value) -> Value {
    assert_ne!(message["result"]["isError"], true, "{message}");
    let text = message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{message}"));
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}
