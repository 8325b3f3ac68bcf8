//! The least that a program can do over HTTP: a connection of hyper, a head that is cloned, an answer whose id is compared.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Uri,
    client::conn::http1::{SendRequest, handshake},
    header::{HeaderMap, HeaderValue},
};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::TcpStream;
use trunkline_protocol::{Revision, revision::Era};

use crate::{Added, Problem};

pub(crate) const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"hand","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

pub(crate) struct ByHand {
    connection: SendRequest<Full<Bytes>>,
    head: Request<()>,
    meta: &'static str,
    next: u64,
}

#[derive(Deserialize)]
pub(crate) struct Answer {
    pub(crate) id: u64,
    pub(crate) result: Added,
}

/// What `initialize` says.
pub(crate) fn hello(revision: Revision) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"hand","version":"1"}}}}}}"#
    )
}

/// A call of `add`.
pub(crate) fn call(id: u64, a: u64, b: u64, meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"add","arguments":{{"a":{a},"b":{b}}}{meta}}}}}"#
    )
}

// === impl ByHand ===

impl ByHand {
    pub(crate) async fn open(url: &str, revision: Revision) -> Result<Self, Problem> {
        let url: Uri = url.parse()?;
        let authority = url.authority().ok_or("the URL has no host")?.as_str();
        let stream = TcpStream::connect(authority).await?;
        stream.set_nodelay(true)?;
        let (connection, driver) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(driver);
        let modern = revision.era() == Era::Modern;
        let mut head = Request::post(url.path()).body(())?;
        *head.headers_mut() = headers(authority, modern)?;
        let mut hand = Self { connection, head, meta: if modern { META } else { "" }, next: 1 };
        if !modern {
            hand.initialize(revision).await?;
        }
        Ok(hand)
    }

    async fn initialize(&mut self, revision: Revision) -> Result<(), Problem> {
        let request = self.head.clone().map(|()| Full::new(Bytes::from(hello(revision))));
        let answer = self.connection.send_request(request).await?;
        let session = answer.headers().get("mcp-session-id").cloned();
        answer.into_body().collect().await?;
        if let Some(session) = session {
            self.head.headers_mut().insert("mcp-session-id", session);
        }
        let version = HeaderValue::from_static(revision.as_str());
        self.head.headers_mut().insert("mcp-protocol-version", version);
        Ok(())
    }

    pub(crate) async fn add(&mut self, a: u64, b: u64) -> Result<Added, Problem> {
        let id = self.next;
        self.next += 1;
        let body = Full::new(Bytes::from(call(id, a, b, self.meta)));
        let answer = self.connection.send_request(self.head.clone().map(|()| body)).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        let answer: Answer = serde_json::from_slice(&body)
            .map_err(|error| format!("{status}: {error}: {}", String::from_utf8_lossy(&body)))?;
        if answer.id == id { Ok(answer.result) } else { Err("another call's answer".into()) }
    }
}

fn headers(authority: &str, modern: bool) -> Result<HeaderMap, Problem> {
    let mut headers = HeaderMap::new();
    headers.insert("host", HeaderValue::from_str(authority)?);
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
    if modern {
        headers.insert("mcp-protocol-version", HeaderValue::from_static("2026-07-28"));
        headers.insert("mcp-method", HeaderValue::from_static("tools/call"));
        headers.insert("mcp-name", HeaderValue::from_static("add"));
    }
    Ok(headers)
}
