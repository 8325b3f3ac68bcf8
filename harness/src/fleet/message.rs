//! Messages as clients of each revision write them, and answers reduced to what the checker compares.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Method, Request,
    header::{ACCEPT, CONTENT_TYPE, HOST},
};
use serde_json::{Value, json};
use trunkline_protocol::{Revision, revision::Era};

use super::{
    history::{Answer, Kind},
    session::Session,
};

/// What a client of the newest revision says of itself in each request.
const META: [&str; 3] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
];

/// What the user may say: a word's place is the number that stands for it.
const WORDS: [&str; 4] = ["yes", "no", "declined", "cancelled"];

/// A message to send, without what depends on the revision.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// What it is to the checker.
    pub(super) kind: Kind,
    /// The message.
    pub(super) message: Message,
}

/// A message of the client.
#[derive(Clone, Debug)]
pub(super) enum Message {
    Request { method: &'static str, params: Value },
    Notification { method: &'static str },
    Response { id: Value, result: Value },
    Delete,
}

/// What the rounds of a call have come to, on the revision that asks in rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    /// What the server gave to be handed back.
    pub(super) state: Option<Value>,
    /// What the user replied.
    pub(super) responses: Option<Value>,
}

/// Where requests go.
pub(super) struct Target<'a> {
    pub(super) path: &'a str,
    pub(super) host: &'a str,
    pub(super) revision: Revision,
}

// === impl Ask ===

impl Ask {
    /// A request that keeps the client going.
    pub(super) fn plumbing(method: &'static str, params: Value) -> Self {
        Self { kind: Kind::Plumbing { status: 200 }, message: Message::Request { method, params } }
    }

    /// A notification.
    pub(super) fn notification(method: &'static str) -> Self {
        Self { kind: Kind::Plumbing { status: 202 }, message: Message::Notification { method } }
    }

    /// The answer to a question.
    pub(super) fn reply(id: Value, result: Value) -> Self {
        Self { kind: Kind::Plumbing { status: 202 }, message: Message::Response { id, result } }
    }

    /// The end of a session.
    pub(super) fn delete() -> Self {
        Self { kind: Kind::Plumbing { status: 204 }, message: Message::Delete }
    }

    /// The call of a tool.
    pub(super) fn tool(kind: Kind, name: &str, arguments: &Value) -> Self {
        let params = json!({"name": name, "arguments": arguments});
        Self { kind, message: Message::Request { method: "tools/call", params } }
    }
}

// === impl Target ===

impl Target<'_> {
    /// The POST of a message. A request has `id`, which is its progress token too.
    pub(super) fn post(&self, session: &Session, ask: &Ask, id: i64, round: &Round) -> Request<Full<Bytes>> {
        let body = match &ask.message {
            Message::Request { method, params } => self.body(ask.kind, method, params, id, round),
            Message::Notification { method } => json!({"jsonrpc": "2.0", "method": method}),
            Message::Response { id, result } => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Message::Delete => return self.bare(Method::DELETE, session),
        };
        let mut builder = self
            .builder(Method::POST, session)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        if let (Era::Modern, Message::Request { method, params }) = (self.revision.era(), &ask.message) {
            builder = builder.header("mcp-method", *method);
            if let Some(name) = params["name"].as_str() {
                builder = builder.header("mcp-name", name);
            }
        }
        let body = Full::new(Bytes::from(body.to_string()));
        builder.body(body).expect("invariant: names and values are of visible ASCII")
    }

    /// The GET that listens, or resumes a stream.
    pub(super) fn get(&self, session: &Session, after: Option<&str>) -> Request<Full<Bytes>> {
        let mut builder = self.builder(Method::GET, session).header(ACCEPT, "text/event-stream");
        if let Some(after) = after {
            builder = builder.header("last-event-id", after);
        }
        builder.body(Full::default()).expect("invariant: event ids were read from a stream's lines")
    }

    fn bare(&self, method: Method, session: &Session) -> Request<Full<Bytes>> {
        self.builder(method, session).body(Full::default()).expect("invariant: nothing of it is foreign")
    }

    fn builder(&self, method: Method, session: &Session) -> hyper::http::request::Builder {
        let mut builder = Request::builder().method(method).uri(self.path).header(HOST, self.host);
        if let Some(id) = &session.id {
            builder = builder.header("mcp-session-id", id);
        }
        // Before 2025-06-18 there is no such header; in `initialize` nothing is negotiated yet.
        let named = self.revision >= Revision::V2025_06_18 && session.id.is_some();
        if named || self.revision.era() == Era::Modern {
            builder = builder.header("mcp-protocol-version", self.revision.as_str());
        }
        builder
    }

    fn body(&self, kind: Kind, method: &str, params: &Value, id: i64, round: &Round) -> Value {
        let mut params = params.clone();
        if matches!(kind, Kind::Slow { .. }) {
            params["_meta"]["progressToken"] = json!(id);
        }
        if self.revision.era() == Era::Modern {
            params["_meta"][META[0]] = json!(self.revision.as_str());
            params["_meta"][META[1]] = client_info();
            params["_meta"][META[2]] = capabilities();
        }
        if let Some(state) = &round.state {
            params["requestState"] = state.clone();
        }
        if let Some(responses) = &round.responses {
            params["inputResponses"] = responses.clone();
        }
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    }
}

/// The parameters of `initialize`.
pub(super) fn hello(revision: Revision) -> Value {
    let capabilities = if revision >= Revision::V2025_06_18 { capabilities() } else { json!({}) };
    json!({
        "protocolVersion": revision.as_str(), "capabilities": capabilities, "clientInfo": client_info(),
    })
}

/// What the user does when asked; `value` is the place of the word that the tool makes of it.
pub(super) fn user_says(value: i64) -> Value {
    match value {
        0 => json!({"action": "accept", "content": {"confirmed": true}}),
        1 => json!({"action": "accept", "content": {"confirmed": false}}),
        2 => json!({"action": "decline"}),
        _ => json!({"action": "cancel"}),
    }
}

/// How many different things the user may say.
pub(super) fn words() -> i64 {
    i64::try_from(WORDS.len()).unwrap_or(0)
}

/// Reads an answer to a call, and the text of one that tells of a failure.
pub(super) fn read(kind: Kind, message: &Value) -> (Answer, Option<String>) {
    if let Some(error) = message.get("error") {
        let code = error["code"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(0);
        return (Answer::Error(code), error["message"].as_str().map(str::to_owned));
    }
    let result = &message["result"];
    if !result.is_object() {
        return (Answer::Unreadable, None);
    }
    if !kind.is_tool() {
        return (Answer::Value(0), None);
    }
    let text = result["content"][0]["text"].as_str();
    if result["isError"] == true {
        return (Answer::Failed, text.map(str::to_owned));
    }
    (value(kind, result, text).map_or(Answer::Unreadable, Answer::Value), None)
}

/// The number in a tool's result.
fn value(kind: Kind, result: &Value, text: Option<&str>) -> Option<i64> {
    let text = text?;
    let structured = || match result.get("structuredContent") {
        Some(structured) => Some(structured.clone()),
        // Revisions without structured results carry the same as text.
        None => serde_json::from_str(text).ok(),
    };
    match kind {
        Kind::Count { .. } => structured()?["value"].as_i64(),
        Kind::Remember { value, .. } => structured()?["key"].is_string().then_some(value),
        Kind::Recall { .. } => structured()?["value"].as_str()?.parse().ok(),
        Kind::Slow { ms, steps } => (text == format!("{steps} steps in {ms} ms")).then_some(steps.into()),
        Kind::Confirm { .. } => i64::try_from(WORDS.iter().position(|word| *word == text)?).ok(),
        Kind::Touch { .. } | Kind::Prime => text.starts_with("touched ").then_some(0),
        Kind::Pure { .. } => pure(text, structured),
        Kind::Plumbing { .. } | Kind::Listen => Some(0),
    }
}

/// A sum, a number that came back, or the length of a payload.
fn pure(text: &str, structured: impl Fn() -> Option<Value>) -> Option<i64> {
    if let Some(sum) = structured().and_then(|structured| structured["sum"].as_i64()) {
        return Some(sum);
    }
    if let Some(number) = text.strip_prefix('#') {
        return number.parse().ok();
    }
    text.bytes().all(|byte| byte == b'x').then(|| i64::try_from(text.len()).ok()).flatten()
}

fn client_info() -> Value {
    json!({"name": "fleet", "version": "1"})
}

fn capabilities() -> Value {
    json!({"elicitation": {}})
}
