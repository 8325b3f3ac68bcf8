//! The server, what it is asked, and what a right answer has in it.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trunkline::{Dispatch, Exchange, HandlerError, Server, Structured, Tool, protocol::Revision};

const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

async fn add(_: Exchange, Numbers { a, b }: Numbers) -> Result<Structured<Sum>, HandlerError> {
    Ok(Structured(Sum { sum: a.wrapping_add(b) }))
}

/// What is asked, and what a right answer has in it.
pub(crate) struct Asked {
    pub(crate) body: Bytes,
    pub(crate) answered: &'static str,
}

// === impl Asked ===

impl Asked {
    /// `call`, `list` or `initialize`; `None` for another word, or where the revision has no such request.
    pub(crate) fn of(what: &str, revision: Revision) -> Option<Self> {
        let modern = revision == Revision::V2026_07_28;
        let meta = if modern { META } else { "" };
        let (body, answered) = match what {
            "call" => {
                let params = format!(r#"{{"name":"add","arguments":{{"a":123,"b":1004}}{meta}}}"#);
                (request("tools/call", &params), "1127")
            }
            "list" => {
                (request("tools/list", &format!("{{{}}}", meta.trim_start_matches(','))), r#""tools":["#)
            }
            "initialize" if !modern => (initialize(revision), r#""serverInfo""#),
            _ => return None,
        };
        Some(Self { body: body.into(), answered })
    }
}

/// A server, and a session of it where the revision has sessions.
pub(crate) async fn open(revision: Revision) -> Result<Dispatch, String> {
    let tool = Tool::new("add", add).description("Adds two numbers.").read_only();
    let server = Server::new("bench", "1.0.0").tool(tool);
    let mut dispatch = Dispatch::open(server, revision).await.map_err(|error| error.to_string())?;
    if revision != Revision::V2026_07_28 {
        let opened = dispatch.ask(&Bytes::from(initialize(revision))).await;
        check(&opened, r#""serverInfo""#)?;
    }
    Ok(dispatch)
}

/// Looks whether an answer is whole, and has that in it.
pub(crate) fn check(answer: &Bytes, answered: &str) -> Result<(), String> {
    let found = answer.windows(answered.len()).any(|part| part == answered.as_bytes());
    if found && answer.ends_with(b"}") {
        return Ok(());
    }
    Err(format!("a wrong answer: {}", String::from_utf8_lossy(answer)))
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":10000001,"method":"{method}","params":{params}}}"#)
}

fn initialize(revision: Revision) -> String {
    let client = r#""capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}"#;
    request("initialize", &format!(r#"{{"protocolVersion":"{revision}",{client}}}"#))
}
