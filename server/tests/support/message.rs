//! Requests as exact bytes, and responses as they came.

use serde_json::Value;

use super::events::{Event, parse_events};

/// A request under construction. Begins as a well-formed one; every header can be changed, repeated or left out.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    verb: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

/// The beginning of a response.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
}

/// A whole response.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

// === impl Request ===

impl Request {
    /// A request without a body, as clients write it.
    pub(crate) fn new(verb: &str, path: &str) -> Self {
        let request = Self { verb: verb.into(), path: path.into(), headers: Vec::new(), body: None };
        request.header("Host", "localhost")
    }

    /// A JSON message to the endpoint, as a client of the older revisions sends it.
    pub(crate) fn post(message: &Value) -> Self {
        Self::post_text(&message.to_string())
    }

    /// Any text to the endpoint, declared to be JSON.
    pub(crate) fn post_text(body: &str) -> Self {
        Self::new("POST", "/mcp")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .body(body.as_bytes())
    }

    /// The request for a stream of the endpoint.
    pub(crate) fn get() -> Self {
        Self::new("GET", "/mcp").header("Accept", "text/event-stream")
    }

    pub(crate) fn path(mut self, path: &str) -> Self {
        self.path = path.into();
        self
    }

    /// Sets a header; one that is there is replaced.
    pub(crate) fn header(self, name: &str, value: &str) -> Self {
        self.without(name).also(name, value)
    }

    /// Adds a header, even if there is one of its name.
    pub(crate) fn also(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Leaves a header out.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Names the session.
    pub(crate) fn session(self, id: &str) -> Self {
        self.header("Mcp-Session-Id", id)
    }

    /// Names the revision.
    pub(crate) fn version(self, revision: &str) -> Self {
        self.header("MCP-Protocol-Version", revision)
    }

    /// Sets the body. Its length is declared unless the header `Content-Length` or `Transfer-Encoding` is set.
    pub(crate) fn body(mut self, body: &[u8]) -> Self {
        self.body = Some(body.to_vec());
        self
    }

    /// The head alone, with the empty line that ends it.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut out = format!("{} {} HTTP/1.1\r\n", self.verb, self.path);
        for (name, value) in &self.headers {
            out.push_str(&format!("{name}: {value}\r\n"));
        }
        let framed = ["content-length", "transfer-encoding"]
            .iter()
            .any(|framing| self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(framing)));
        if let (Some(body), false) = (&self.body, framed) {
            out.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        out.push_str("\r\n");
        out.into_bytes()
    }

    /// Head and body.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = self.head();
        out.extend_from_slice(self.body.as_deref().unwrap_or_default());
        out
    }

    /// Whether the response has no body whatever its head says.
    pub(super) fn is_head(&self) -> bool {
        self.verb == "HEAD"
    }
}

// === impl Head ===

impl Head {
    /// The value of a header; `None` if it is missing. A repeated one is a failure.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let values = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let values: Vec<&str> = values.map(|(_, value)| value.as_str()).collect();
        assert!(values.len() < 2, "the header {name} is repeated: {values:?}");
        values.first().copied()
    }
}

// === impl Response ===

impl Response {
    pub(crate) fn status(&self) -> u16 {
        self.head.status
    }

    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{} with no JSON: {error}: {}", self.status(), self.text()))
    }

    /// The body as server-sent events.
    pub(crate) fn events(&self) -> Vec<Event> {
        parse_events(&self.body)
    }

    /// The message that answers a request, as JSON or as the last event of a stream.
    #[track_caller]
    pub(crate) fn answer(&self) -> Value {
        if self.header("content-type") != Some("text/event-stream") {
            return self.json();
        }
        let events = self.events();
        let answer = events.iter().rev().find_map(|event| {
            let message: Value = serde_json::from_str(&event.data).ok()?;
            message.get("method").is_none().then_some(message)
        });
        answer.unwrap_or_else(|| panic!("no event is an answer: {events:?}"))
    }

    /// The result in the answer.
    #[track_caller]
    pub(crate) fn result(&self) -> Value {
        let mut answer = self.answer();
        assert!(answer.get("result").is_some(), "{}: no result in {answer}", self.status());
        answer["result"].take()
    }

    /// The JSON-RPC error's code; 0 if there is no error.
    #[track_caller]
    pub(crate) fn code(&self) -> i64 {
        self.answer()["error"]["code"].as_i64().unwrap_or_default()
    }

    /// The status, and the code of the JSON-RPC error.
    #[track_caller]
    pub(crate) fn refusal(&self) -> (u16, i64) {
        (self.status(), self.code())
    }
}
