//! A small MCP server of 2025-11-25, written for these tests alone, that does what it is told to do wrong. Its own log of
//! when it read and answered is the truth that figures are held against.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, reason = "each test uses a part of it")]

use std::{
    collections::HashMap,
    convert::Infallible,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    Method, Request, Response,
    body::{Bytes, Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc};

/// What is done wrong, to one request or event in so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Nothing,
    WrongSum,
    Swapped,
    LostEvent,
    DuplicateEvent,
    ReorderedEvent,
    LeakedEvent,
    ErrorInside200,
    Hang,
    /// All sessions are forgotten once, as by a restart.
    Forgets,
    Status(u16),
    ToolError,
    CounterOff,
}

/// Does something wrong once in so many times. The first times are let be.
const ONE_IN: u64 = 5;

pub(crate) type Delays = Box<dyn Fn(u64, Duration) -> Duration + Send + Sync>;

pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
    runtime: tokio::runtime::Runtime,
}

pub(crate) struct State {
    fault: Fault,
    delays: Option<Delays>,
    begun: Instant,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    sessions: HashMap<String, Session>,
    made: u64,
    calls: u64,
    events: u64,
    last_sum: i64,
    forgot: bool,
    /// How long each call took by this server's clock.
    took: Vec<Duration>,
    held: Option<Bytes>,
    planted: u64,
}

#[derive(Default)]
struct Session {
    counters: HashMap<String, i64>,
    stream: Option<mpsc::Sender<Bytes>>,
}

type Body = BoxBody<Bytes, Infallible>;

impl Fake {
    pub(crate) fn start(fault: Fault, delays: Option<Delays>) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State { fault, delays, begun: Instant::now(), inner: Mutex::default() });
        runtime.spawn(serve(listener, state.clone()));
        Self { address, state, runtime }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// How long calls took, from the first byte read to the answer, sorted.
    pub(crate) fn took(&self) -> Vec<Duration> {
        let mut took = self.state.inner.lock().took.clone();
        took.sort_unstable();
        took
    }

    /// Sessions that nobody has ended.
    pub(crate) fn sessions(&self) -> usize {
        self.state.inner.lock().sessions.len()
    }

    /// How often something was done wrong.
    pub(crate) fn planted(&self) -> u64 {
        self.state.inner.lock().planted
    }

    /// Whether the run ended while an event was held back for a later one that never came: that event is lost.
    pub(crate) fn withholds(&self) -> bool {
        self.state.inner.lock().held.is_some()
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    while let Ok((socket, _)) = listener.accept().await {
        socket.set_nodelay(true).unwrap();
        let state = state.clone();
        let service = service_fn(move |request| handle(request, state.clone()));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
    }
}

fn full(status: u16, text: String) -> Response<Body> {
    let body = Full::new(Bytes::from(text)).boxed();
    Response::builder().status(status).header("content-type", "application/json").body(body).unwrap()
}

async fn handle(request: Request<Incoming>, state: Arc<State>) -> Result<Response<Body>, Infallible> {
    let session = request.headers().get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
    if let Some(session) = &session
        && !state.inner.lock().sessions.contains_key(session)
    {
        return Ok(full(404, String::new()));
    }
    match (request.method(), session) {
        (&Method::POST, session) => {
            let arrived = Instant::now();
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let message: Value = serde_json::from_slice(&body).unwrap();
            Ok(post(&message, session, &state, arrived).await)
        }
        (&Method::GET, Some(session)) => Ok(listen(&session, &state)),
        (&Method::DELETE, Some(session)) => {
            state.inner.lock().sessions.remove(&session);
            Ok(full(200, String::new()))
        }
        _ => Ok(full(405, String::new())),
    }
}

fn listen(session: &str, state: &State) -> Response<Body> {
    let (sender, mut receiver) = mpsc::channel(64);
    if let Some(session) = state.inner.lock().sessions.get_mut(session) {
        session.stream = Some(sender);
    }
    let frames = futures_util::stream::poll_fn(move |cx| {
        receiver.poll_recv(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    });
    Response::builder()
        .header("content-type", "text/event-stream")
        .body(StreamBody::new(frames).boxed())
        .unwrap()
}

async fn post(message: &Value, session: Option<String>, state: &State, arrived: Instant) -> Response<Body> {
    let id = message["id"].clone();
    if id.is_null() {
        return full(202, String::new());
    }
    let answer = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    match message["method"].as_str().unwrap() {
        "initialize" => {
            let name = {
                let mut inner = state.inner.lock();
                inner.made += 1;
                let name = format!("session-{}", inner.made);
                inner.sessions.insert(name.clone(), Session::default());
                name
            };
            let result = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": {}, "resources": { "subscribe": true } },
                "serverInfo": { "name": "fake", "version": "1" },
            });
            let mut response = full(200, answer(result));
            response.headers_mut().insert("mcp-session-id", name.parse().unwrap());
            response
        }
        "tools/call" => match state.call(&message["params"], session.as_deref().unwrap(), arrived).await {
            Ok(result) => full(200, answer(result)),
            Err(Fault::ErrorInside200) => {
                let error = json!({ "code": -32050, "message": "planted" });
                full(200, json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
            }
            Err(Fault::Status(status)) => full(status, String::new()),
            Err(_) => std::future::pending().await,
        },
        "resources/subscribe" | "ping" => full(200, answer(json!({}))),
        "tools/list" => full(200, answer(json!({ "tools": [] }))),
        method => {
            let error = json!({ "code": -32601, "message": method });
            full(200, json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
        }
    }
}

impl State {
    /// Whether it is the turn of a fault.
    fn turn(&self, fault: Fault, number: u64) -> bool {
        let turn = self.fault == fault && number % ONE_IN == ONE_IN - 1;
        if turn {
            self.inner.lock().planted += 1;
        }
        turn
    }

    async fn call(&self, params: &Value, session: &str, arrived: Instant) -> Result<Value, Fault> {
        let number = {
            let mut inner = self.inner.lock();
            inner.calls += 1;
            if self.fault == Fault::Forgets && inner.calls == 40 {
                inner.sessions.clear();
                inner.planted += 1;
                return Err(Fault::Status(404));
            }
            inner.calls
        };
        if let Some(delays) = &self.delays {
            tokio::time::sleep(delays(number, self.begun.elapsed())).await;
        }
        for fault in [Fault::Hang, Fault::ErrorInside200, Fault::Status(500)] {
            if self.turn(fault, number) {
                return Err(fault);
            }
        }
        if self.turn(Fault::ToolError, number) {
            return Ok(json!({ "content": [{ "type": "text", "text": "planted" }], "isError": true }));
        }
        let result = self.tool(params, session, number);
        self.inner.lock().took.push(arrived.elapsed());
        Ok(result)
    }

    fn tool(&self, params: &Value, session: &str, number: u64) -> Value {
        let arguments = &params["arguments"];
        match params["name"].as_str().unwrap() {
            "add" => {
                let mut sum = arguments["a"].as_i64().unwrap() + arguments["b"].as_i64().unwrap();
                let last = std::mem::replace(&mut self.inner.lock().last_sum, sum);
                if self.turn(Fault::WrongSum, number) {
                    sum += 1;
                } else if self.turn(Fault::Swapped, number) {
                    sum = last;
                }
                json!({ "content": [], "structuredContent": { "sum": sum } })
            }
            "counter" => {
                let off = i64::from(self.turn(Fault::CounterOff, number));
                let mut inner = self.inner.lock();
                let Some(session) = inner.sessions.get_mut(session) else { return json!({}) };
                let counter = session.counters.entry(arguments["key"].to_string()).or_default();
                *counter += arguments["by"].as_i64().unwrap() - off;
                json!({ "content": [], "structuredContent": { "value": *counter } })
            }
            "touch" => {
                self.touched(session, arguments["uri"].as_str().unwrap());
                json!({ "content": [{ "type": "text", "text": "touched" }] })
            }
            tool => json!({ "content": [{ "type": "text", "text": tool }], "isError": true }),
        }
    }

    fn touched(&self, session: &str, uri: &str) {
        let number = {
            let mut inner = self.inner.lock();
            inner.events += 1;
            inner.events
        };
        let event = |uri: &str| {
            let params = json!({ "uri": uri });
            let message =
                json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params });
            Bytes::from(format!("data: {message}\n\n"))
        };
        let mut events = vec![event(uri)];
        if self.turn(Fault::LostEvent, number) {
            events.clear();
        } else if self.turn(Fault::DuplicateEvent, number) {
            events.push(event(uri));
        } else if self.turn(Fault::LeakedEvent, number) {
            events.push(event("loadtest://somebody-else/0"));
        } else if self.turn(Fault::ReorderedEvent, number) {
            self.inner.lock().held = events.pop();
        } else {
            events.extend(self.inner.lock().held.take());
        }
        let stream = self.inner.lock().sessions.get(session).and_then(|session| session.stream.clone());
        for event in events {
            if let Some(stream) = &stream {
                stream.try_send(event).unwrap();
            }
        }
    }
}
