//! A server that says what a test wants it to say, and otherwise what a small server of both eras would.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
    time::sleep,
};

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) verb: String,
    pub(crate) path: String,
    headers: HashMap<String, String>,
    /// The JSON body; null without one.
    pub(crate) body: Value,
}

/// What is sent back, byte for byte. A stream's connection is closed after it.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    parts: Vec<String>,
    close: bool,
}

/// How often there was such a request before: by its JSON-RPC method, or by its verb where it has none.
type Nth<'a> = &'a dyn Fn(&str) -> usize;

type Respond = dyn Fn(&Request, Nth<'_>) -> Option<Reply> + Send + Sync;

/// The server.
pub(crate) struct Fake {
    port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
    counts: Arc<Counts>,
    task: AbortHandle,
}

/// What happened so far.
#[derive(Default)]
struct Counts {
    connections: AtomicUsize,
    /// Replies that were written to their end.
    replies: AtomicUsize,
}

impl Fake {
    pub(crate) async fn start(
        respond: impl Fn(&Request, Nth<'_>) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, respond): (Arc<Mutex<Vec<Request>>>, Arc<Respond>) = (Arc::default(), Arc::new(respond));
        let counts = Arc::new(Counts::default());
        let (log, counted) = (seen.clone(), counts.clone());
        let task = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                counted.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(connection, log.clone(), respond.clone(), counted.clone()));
            }
        });
        Self { port, seen, counts, task: task.abort_handle() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// How many connections there were so far.
    pub(crate) fn connections(&self) -> usize {
        self.counts.connections.load(Ordering::SeqCst)
    }

    /// Returns when so many replies were written to their end.
    pub(crate) async fn replied(&self, replies: usize) {
        while self.counts.replies.load(Ordering::SeqCst) < replies {
            tokio::task::yield_now().await;
        }
    }

    /// All requests so far.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    connection: TcpStream,
    seen: Arc<Mutex<Vec<Request>>>,
    respond: Arc<Respond>,
    counts: Arc<Counts>,
) {
    let mut connection = BufReader::new(connection);
    while let Some(request) = read(&mut connection).await {
        let reply = {
            let mut seen = seen.lock().unwrap();
            let nth = |name: &str| seen.iter().filter(|earlier| earlier.is_called(name)).count();
            let reply = respond(&request, &nth).unwrap_or_else(|| usual(&request));
            seen.push(request);
            reply
        };
        for (at, part) in reply.parts.iter().enumerate() {
            if at > 0 {
                // Long enough for two writes to be two reads.
                sleep(Duration::from_millis(20)).await;
            }
            if connection.get_mut().write_all(part.as_bytes()).await.is_err() {
                return;
            }
        }
        counts.replies.fetch_add(1, Ordering::SeqCst);
        if reply.close {
            return;
        }
    }
}

async fn read(connection: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    if connection.read_line(&mut line).await.ok()? == 0 {
        return None;
    }
    let mut first = line.split(' ');
    let (verb, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        connection.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    connection.read_exact(&mut body).await.ok()?;
    Some(Request { verb, path, headers, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}

fn usual(request: &Request) -> Reply {
    match request.method() {
        "initialize" => {
            let answer = json!({
                "protocolVersion": request.body["params"]["protocolVersion"],
                "capabilities": {},
                "serverInfo": { "name": "fake", "version": "1" },
            });
            let body = json!({ "jsonrpc": "2.0", "id": request.body["id"], "result": answer }).to_string();
            whole(200, &[("content-type", "application/json"), ("mcp-session-id", "s")], &body)
        }
        "server/discover" => {
            let described = json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": {},
                "ttlMs": 0,
                "cacheScope": "private",
            });
            result(request, &described)
        }
        _ if request.body["id"].is_null() || request.method().is_empty() => whole(202, &[], ""),
        _ => result(request, &json!({ "resultType": "complete", "content": [], "tools": [] })),
    }
}

fn whole(code: u16, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut head = format!("HTTP/1.1 {code} Reason\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    Reply { parts: vec![format!("{head}\r\n{body}")], close: false }
}

/// A status with headers and a text.
pub(crate) fn status(code: u16, headers: &[(&str, &str)], text: &str) -> Reply {
    whole(code, headers, text)
}

/// A page for a browser.
pub(crate) fn page(html: &str) -> Reply {
    whole(200, &[("content-type", "text/html")], html)
}

/// A response, as text.
pub(crate) fn answer(id: i64, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

/// A result for this request.
pub(crate) fn result(request: &Request, result: &Value) -> Reply {
    Reply::json(&json!({ "jsonrpc": "2.0", "id": request.body["id"], "result": result }).to_string())
}

/// A stream of events that ends with its connection.
pub(crate) fn stream(events: &str) -> Reply {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    Reply { parts: vec![format!("{head}{events}")], close: true }
}

impl Reply {
    pub(crate) fn json(body: &str) -> Self {
        whole(200, &[("content-type", "application/json")], body)
    }

    /// These bytes, with a pause between the parts.
    pub(crate) fn bytes(parts: &[&str], close: bool) -> Self {
        Self { parts: parts.iter().map(|part| (*part).to_owned()).collect(), close }
    }

    /// A stream with a pause in it.
    pub(crate) fn paused(first: &str, rest: &str) -> Self {
        let mut reply = stream(first);
        reply.parts.push(rest.to_owned());
        reply
    }
}

impl Request {
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    /// The tool.
    pub(crate) fn name(&self) -> Option<&str> {
        self.body["params"]["name"].as_str()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    fn is_called(&self, name: &str) -> bool {
        self.method() == name || (self.method().is_empty() && self.verb == name)
    }
}
