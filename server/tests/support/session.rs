//! Clients: of a session, and of the revision that has none.

use std::cell::Cell;

use serde_json::{Value, json};

use super::{Events, MODERN, Request, Response, TestServer};

/// A client with a session.
pub(crate) struct Session<'a> {
    server: &'a TestServer,
    pub(crate) id: String,
    pub(crate) revision: String,
    next: Cell<i64>,
}

/// A request of the revision without sessions, with everything that it has to carry.
#[derive(Clone, Debug)]
pub(crate) struct Modern {
    method: String,
    params: Value,
    id: Value,
}

// === impl Session ===

impl<'a> Session<'a> {
    /// Says hello in a revision, with the client's capabilities.
    #[track_caller]
    pub(crate) fn open(server: &'a TestServer, revision: &str, capabilities: &Value) -> Self {
        let response = server.send(&Request::post(&Self::hello(revision, capabilities)));
        assert_eq!(response.status(), 200, "{}", response.text());
        assert_eq!(response.answer()["result"]["protocolVersion"], revision);
        let id = response.header("mcp-session-id").expect("a session has an id").to_owned();
        let session = Self { server, id, revision: revision.to_owned(), next: Cell::new(1) };
        assert_eq!(session.notify("notifications/initialized", &json!({})).status(), 202);
        session
    }

    /// The message that opens a session.
    pub(crate) fn hello(revision: &str, capabilities: &Value) -> Value {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client});
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    }

    /// A message in this session, with its headers.
    pub(crate) fn post(&self, message: &Value) -> Request {
        self.sign(Request::post(message))
    }

    /// Adds the headers of this session to a request.
    pub(crate) fn sign(&self, request: Request) -> Request {
        let request = request.session(&self.id);
        // 2025-03-26 knows no such header.
        if self.revision.as_str() < "2025-06-18" { request } else { request.version(&self.revision) }
    }

    /// An id that was not used yet.
    pub(crate) fn next_id(&self) -> i64 {
        self.next.replace(self.next.get() + 1)
    }

    /// Sends a request and reads the whole response.
    #[track_caller]
    pub(crate) fn request(&self, method: &str, params: &Value) -> Response {
        let id = self.next_id();
        let response = self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        if response.status() == 200 {
            assert_eq!(response.answer()["id"], id, "{}", response.text());
        }
        response
    }

    /// The result of a request.
    #[track_caller]
    pub(crate) fn call(&self, method: &str, params: &Value) -> Value {
        self.request(method, params).result()
    }

    /// The result of a tool.
    #[track_caller]
    pub(crate) fn tool(&self, name: &str, arguments: &Value) -> Value {
        self.call("tools/call", &json!({"name": name, "arguments": arguments}))
    }

    /// Sends a request and opens the stream that answers it.
    #[track_caller]
    pub(crate) fn stream(&self, method: &str, params: &Value) -> Events {
        let id = self.next_id();
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.server.stream(&self.post(&message))
    }

    /// Sends a notification.
    #[track_caller]
    pub(crate) fn notify(&self, method: &str, params: &Value) -> Response {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    /// Sends any message and reads the whole response.
    #[track_caller]
    pub(crate) fn send(&self, message: &Value) -> Response {
        self.server.send(&self.post(message))
    }

    /// Opens the stream that listens.
    #[track_caller]
    pub(crate) fn listen(&self) -> Events {
        self.server.stream(&self.sign(Request::get()))
    }

    /// Asks for the rest of a stream.
    #[track_caller]
    pub(crate) fn resume(&self, last_event_id: &str) -> Events {
        self.server.stream(&self.sign(Request::get()).header("Last-Event-ID", last_event_id))
    }

    /// Ends the session.
    #[track_caller]
    pub(crate) fn delete(&self) -> Response {
        self.server.send(&self.sign(Request::new("DELETE", "/mcp")))
    }
}

// === impl Modern ===

impl Modern {
    pub(crate) fn new(method: &str, params: &Value) -> Self {
        let mut modern = Self { method: method.to_owned(), params: params.clone(), id: json!(1) };
        modern.params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        modern
    }

    /// The call of a tool.
    pub(crate) fn tool(name: &str, arguments: &Value) -> Self {
        Self::new("tools/call", &json!({"name": name, "arguments": arguments}))
    }

    pub(crate) fn id(mut self, id: Value) -> Self {
        self.id = id;
        self
    }

    /// Sets a field of the parameters.
    pub(crate) fn param(mut self, name: &str, value: Value) -> Self {
        self.params[name] = value;
        self
    }

    /// Declares capabilities.
    pub(crate) fn capabilities(self, capabilities: Value) -> Self {
        self.meta("io.modelcontextprotocol/clientCapabilities", capabilities)
    }

    /// Sets a field of `_meta`.
    pub(crate) fn meta(mut self, name: &str, value: Value) -> Self {
        self.params["_meta"][name] = value;
        self
    }

    /// Leaves a field of `_meta` out.
    pub(crate) fn without_meta(mut self, name: &str) -> Self {
        if let Some(meta) = self.params["_meta"].as_object_mut() {
            meta.remove(name);
        }
        self
    }

    /// The message.
    pub(crate) fn message(&self) -> Value {
        json!({"jsonrpc": "2.0", "id": self.id, "method": self.method, "params": self.params})
    }

    /// The request, with the headers that mirror it.
    pub(crate) fn request(&self) -> Request {
        let request = Request::post(&self.message()).version(MODERN).header("Mcp-Method", &self.method);
        let target = ["name", "uri", "taskId"].iter().find_map(|field| self.params[*field].as_str());
        let named = matches!(
            self.method.as_str(),
            "tools/call" | "prompts/get" | "resources/read" | "tasks/get" | "tasks/update" | "tasks/cancel"
        );
        match target {
            Some(target) if named => request.header("Mcp-Name", target),
            _ => request,
        }
    }
}
