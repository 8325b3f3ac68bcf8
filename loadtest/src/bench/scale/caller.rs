//! One connection, and the requests and questions that go over it.

use std::net::SocketAddr;

use serde_json::{Value, json};
use trunkline_protocol::{Revision, revision::Era, sse::Decoder};

use super::Trouble;
use crate::bench::replay::{Connection, Reply};

/// A connection of a client.
pub(super) struct Caller {
    connection: Connection,
    host: String,
}

/// A stream that a connection carries, and nothing else with it.
pub(super) struct Stream {
    caller: Caller,
    decoder: Decoder,
    /// Of the last chunk, what was not looked at yet.
    rest: Vec<u8>,
}

/// How one is answered that opens a stream.
pub(super) enum Opened {
    Stream(Box<Stream>),
    /// It is answered at once.
    Answer(Reply),
}

// === impl Caller ===

impl Caller {
    pub(super) async fn open(address: SocketAddr) -> Result<Self, Trouble> {
        let connection = Connection::open(address).await?;
        Ok(Self { connection, host: address.to_string() })
    }

    /// Opens a session, and returns its id.
    pub(super) async fn initialize(&mut self, revision: Revision, id: u64) -> Result<String, Trouble> {
        let params = json!({
            "protocolVersion": revision.as_str(), "capabilities": capabilities(), "clientInfo": client(),
        });
        let head = head("POST", &self.host, None, None);
        let reply = self.send(&with_body(&head, &request(id, "initialize", &params))).await?;
        let answer: Value = serde_json::from_slice(reply.message()).unwrap_or_default();
        let agreed = answer["result"]["protocolVersion"].as_str();
        match reply.session.clone() {
            Some(session) if agreed == Some(revision.as_str()) => Ok(session),
            _ => Err(Trouble::Wrong(format!("initialize for {revision}: {}", reply.shown()))),
        }
    }

    /// Ends the handshake.
    pub(super) async fn initialized(&mut self, revision: Revision, session: &str) -> Result<(), Trouble> {
        let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.send(&self.post(revision, Some(session), &message)).await.map(drop)
    }

    /// Calls `add`, and looks at the sum.
    pub(super) async fn add(&mut self, revision: Revision, session: &str, id: u64) -> Result<(), Trouble> {
        let params = json!({"name": "add", "arguments": {"a": id, "b": 1000}});
        let message = request(id, "tools/call", &params);
        let reply = self.send(&self.post(revision, Some(session), &message)).await?;
        let answer: Value = serde_json::from_slice(reply.message()).unwrap_or_default();
        if answer["id"] == id && answer["result"]["structuredContent"]["sum"] == id + 1000 {
            return Ok(());
        }
        Err(Trouble::Wrong(format!("add: {}", reply.shown())))
    }

    /// Sends a request that has a whole answer.
    pub(super) async fn send(&mut self, request: &[u8]) -> Result<Reply, Trouble> {
        let reply = self.connection.ask(request).await?;
        if (200..300).contains(&reply.status) {
            return Ok(reply);
        }
        Err(unfit(&reply))
    }

    /// Sends a request that may be answered by a stream.
    pub(super) async fn begin(mut self, request: &[u8]) -> Result<Opened, Trouble> {
        let (mut reply, framing) = self.connection.begin(request).await?;
        if reply.is_stream() && reply.status == 200 {
            let stream = Stream { caller: self, decoder: Decoder::default(), rest: Vec::new() };
            return Ok(Opened::Stream(Box::new(stream)));
        }
        self.connection.finish(&mut reply, framing).await?;
        if reply.status == 200 {
            return Ok(Opened::Answer(reply));
        }
        Err(unfit(&reply))
    }

    /// The POST of a message.
    pub(super) fn post(&self, revision: Revision, session: Option<&str>, message: &Value) -> Vec<u8> {
        let mut head = head("POST", &self.host, Some(revision), session);
        if let (Era::Modern, Some(method)) = (revision.era(), message["method"].as_str()) {
            head += &format!("mcp-method: {method}\r\n");
            if let Some(name) = message["params"]["name"].as_str() {
                head += &format!("mcp-name: {name}\r\n");
            }
        }
        with_body(&head, message)
    }

    /// The GET that listens in a session.
    pub(super) fn get(&self, revision: Revision, session: &str) -> Vec<u8> {
        (head("GET", &self.host, Some(revision), Some(session)) + "\r\n").into_bytes()
    }
}

// === impl Stream ===

impl Stream {
    /// The next message.
    pub(super) async fn message(&mut self) -> Result<Value, Trouble> {
        loop {
            let mut rest = &self.rest[..];
            while let Some(event) =
                self.decoder.decode(&mut rest).map_err(|error| Trouble::Wrong(error.to_string()))?
            {
                if !event.data.is_empty() {
                    self.rest = rest.to_vec();
                    return serde_json::from_slice(&event.data)
                        .map_err(|error| Trouble::Wrong(format!("an event that is no JSON: {error}")));
                }
            }
            let next = self.caller.connection.chunk().await?;
            self.rest = next.ok_or_else(|| Trouble::Wrong("the stream ended without an answer".into()))?;
        }
    }

    /// The connection again, once the stream has ended.
    pub(super) async fn end(mut self) -> Result<Caller, Trouble> {
        while self.caller.connection.chunk().await?.is_some() {}
        Ok(self.caller)
    }
}

/// What an answer is whose status is not the one of success.
fn unfit(reply: &Reply) -> Trouble {
    let seen = format!("status {}: {}", reply.status, reply.shown());
    if reply.status == 503 { Trouble::Away(seen) } else { Trouble::Wrong(seen) }
}

/// A request as JSON.
pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// What a client of the newest revision says of itself in each request.
pub(super) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": Revision::NEWEST.as_str(),
        "io.modelcontextprotocol/clientInfo": client(),
        "io.modelcontextprotocol/clientCapabilities": capabilities(),
    })
}

fn client() -> Value {
    json!({"name": "bench", "version": "1.0.0"})
}

fn capabilities() -> Value {
    json!({"elicitation": {}})
}

/// The lines of a head but for the empty one that ends it.
fn head(method: &str, host: &str, revision: Option<Revision>, session: Option<&str>) -> String {
    let mut head = format!(
        "{method} /mcp HTTP/1.1\r\nhost: {host}\r\naccept: application/json, text/event-stream\r\n\
         content-type: application/json\r\n"
    );
    if let Some(revision) = revision {
        head += &format!("mcp-protocol-version: {revision}\r\n");
    }
    if let Some(session) = session {
        head += &format!("mcp-session-id: {session}\r\n");
    }
    head
}

fn with_body(head: &str, message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncWriteExt, net::TcpListener};

    use super::*;

    async fn stream(answer: &[u8]) -> Stream {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let caller = Caller::open(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        server.write_all(answer).await.unwrap();
        match caller.begin(b"GET / HTTP/1.1\r\n\r\n").await.unwrap() {
            Opened::Stream(stream) => *stream,
            Opened::Answer(reply) => panic!("{}", reply.shown()),
        }
    }

    #[tokio::test]
    async fn messages_are_read_however_they_are_cut() {
        let mut answer = String::from(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        );
        for chunk in ["id: 1\ndata: \n\ndata: {\"a\":", "1}\n\ndata: {\"a\":2}\n\n", ""] {
            answer += &format!("{:x}\r\n{chunk}\r\n", chunk.len());
        }
        let mut stream = stream(answer.as_bytes()).await;
        assert_eq!(stream.message().await.unwrap(), json!({"a": 1}));
        assert_eq!(stream.message().await.unwrap(), json!({"a": 2}));
        assert!(stream.message().await.is_err());
    }

    #[tokio::test]
    async fn a_request_names_what_its_revision_wants_named() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let caller = Caller::open(listener.local_addr().unwrap()).await.unwrap();
        let message = request(7, "tools/call", &json!({"name": "add"}));
        let modern = String::from_utf8(caller.post(Revision::NEWEST, None, &message)).unwrap();
        assert!(modern.contains("mcp-method: tools/call\r\nmcp-name: add\r\n"), "{modern}");
        assert!(!modern.contains("mcp-session-id"), "{modern}");
        let legacy = caller.post(Revision::V2025_11_25, Some("s"), &message);
        let legacy = String::from_utf8(legacy).unwrap();
        assert!(legacy.contains("mcp-protocol-version: 2025-11-25\r\nmcp-session-id: s\r\n"), "{legacy}");
        assert!(!legacy.contains("mcp-method"), "{legacy}");
    }
}
