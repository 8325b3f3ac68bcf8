//! A server whose tools do what the test lets them, one step at a time.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use trunkline::{
    Exchange, HandlerError, NoArguments, Server, Tool,
    model::{CreateMessageParams, LogLevel},
};

use crate::support::{Request, Response, TestServer, eventually};

/// A server, and what its tools wait for.
pub(crate) struct Stage {
    pub(crate) server: TestServer,
    steps: Arc<Semaphore>,
    seen: Arc<Seen>,
}

/// How many handlers have begun, have come to their end, and were stopped before.
#[derive(Default)]
pub(crate) struct Seen {
    begun: AtomicI64,
    ended: AtomicI64,
    stopped: AtomicI64,
}

/// One handler at work.
struct Running<'a> {
    seen: &'a Seen,
    ended: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    count: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Changed {
    what: String,
}

#[derive(Deserialize, JsonSchema)]
struct Flood {
    count: u32,
    bytes: usize,
}

// === impl Stage ===

impl Stage {
    /// With the defaults.
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// With lines of configuration, each with its key in full. Calls that still run when the test is over are given up at
    /// once.
    pub(crate) fn with(config: &str) -> Self {
        let (steps, seen) = (Arc::new(Semaphore::new(0)), Arc::new(Seen::default()));
        let server = declared(&steps, &seen);
        let builder = TestServer::builder().config("server.drain_grace = \"0s\"").config(config);
        Self { server: builder.start_here(server), steps, seen }
    }

    /// Lets the tools that wait do so many steps.
    pub(crate) fn step(&self, steps: usize) {
        self.steps.add_permits(steps);
    }

    /// Waits until so many handlers have begun.
    #[track_caller]
    pub(crate) fn await_begun(&self, handlers: i64) {
        eventually("handlers begun", &handlers, || self.seen.begun.load(Ordering::Relaxed));
    }

    /// Waits until so many handlers have come to their end.
    #[track_caller]
    pub(crate) fn await_ended(&self, handlers: i64) {
        eventually("handlers ended", &handlers, || self.seen.ended.load(Ordering::Relaxed));
    }

    /// Waits until so many handlers were stopped.
    #[track_caller]
    pub(crate) fn await_stopped(&self, handlers: i64) {
        eventually("handlers stopped", &handlers, || self.seen.stopped.load(Ordering::Relaxed));
    }

    /// How many handlers have begun so far.
    pub(crate) fn begun(&self) -> i64 {
        self.seen.begun.load(Ordering::Relaxed)
    }

    /// How many handlers were stopped so far.
    pub(crate) fn stopped(&self) -> i64 {
        self.seen.stopped.load(Ordering::Relaxed)
    }

    /// Waits until nothing runs and no stream is open.
    #[track_caller]
    pub(crate) fn await_idle(&self) {
        for gauge in ["requests_in_flight", "streams_open", "questions_open"] {
            self.server.await_metric(gauge, 0);
        }
    }
}

// === impl Seen ===

impl Seen {
    fn begin(&self) -> Running<'_> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Running { seen: self, ended: false }
    }
}

// === impl Running ===

impl Running<'_> {
    fn end(mut self) {
        self.ended = true;
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let count = if self.ended { &self.seen.ended } else { &self.seen.stopped };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// `wait`: says nothing, and ends after one step. `steps(count)`: reports progress with each step, and ends with one more.
/// `log`: a message of every level. `changed(what)`: says that a list, or the resource of that URI, has changed.
/// `sample`, `roots`: what the client answers. `flood(count, bytes)`: so many messages, as fast as they are taken.
fn declared(steps: &Arc<Semaphore>, seen: &Arc<Seen>) -> Server {
    let waiting = (steps.clone(), seen.clone());
    let wait = move |_: Exchange, _: NoArguments| wait(waiting.clone());
    let stepping = (steps.clone(), seen.clone());
    let steps = move |exchange: Exchange, count: Count| report(stepping.clone(), exchange, count);
    let flooding = seen.clone();
    let flood = move |exchange: Exchange, asked: Flood| pour(flooding.clone(), exchange, asked);
    Server::new("stage", "1")
        .demo()
        .tool(Tool::new("wait", wait).read_only())
        .tool(Tool::new("steps", steps).read_only())
        .tool(Tool::new("log", log).read_only())
        .tool(Tool::new("changed", changed))
        .tool(Tool::new("sample", sample))
        .tool(Tool::new("roots", roots))
        .tool(Tool::new("flood", flood))
}

async fn wait((steps, seen): (Arc<Semaphore>, Arc<Seen>)) -> Result<&'static str, HandlerError> {
    let running = seen.begin();
    take(&steps).await?;
    running.end();
    Ok("waited")
}

async fn report(
    (steps, seen): (Arc<Semaphore>, Arc<Seen>),
    exchange: Exchange,
    Count { count }: Count,
) -> Result<String, HandlerError> {
    let running = seen.begin();
    for step in 1..=count {
        take(&steps).await?;
        exchange.progress(step.into(), Some(count.into()), Some("another step")).await;
    }
    take(&steps).await?;
    running.end();
    Ok(format!("{count} steps"))
}

async fn take(steps: &Semaphore) -> Result<(), HandlerError> {
    steps.acquire().await.map_err(HandlerError::internal)?.forget();
    Ok(())
}

async fn log(exchange: Exchange, _: NoArguments) -> Result<&'static str, HandlerError> {
    for level in [LogLevel::Debug, LogLevel::Info, LogLevel::Warning, LogLevel::Error, LogLevel::Emergency] {
        exchange.log(level, Some("stage"), &level.as_str()).await;
    }
    Ok("logged")
}

async fn changed(exchange: Exchange, Changed { what }: Changed) -> Result<&'static str, HandlerError> {
    match what.as_str() {
        "tools" => exchange.tools_changed().await?,
        "prompts" => exchange.prompts_changed().await?,
        "resources" => exchange.resources_changed().await?,
        uri => exchange.resource_updated(uri).await?,
    }
    Ok("said")
}

async fn sample(exchange: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    let answer = exchange.sample("sample", CreateMessageParams::new("What now?", 100)).await?;
    Ok(serde_json::to_string(&answer)?)
}

async fn roots(exchange: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    let roots = exchange.roots("roots").await?;
    Ok(roots.iter().map(|root| root.uri.as_str()).collect::<Vec<_>>().join(" "))
}

async fn pour(seen: Arc<Seen>, exchange: Exchange, asked: Flood) -> Result<String, HandlerError> {
    let running = seen.begin();
    let drop_of_it = "x".repeat(asked.bytes);
    for _ in 0..asked.count {
        exchange.log(LogLevel::Error, None, &drop_of_it).await;
    }
    running.end();
    Ok(format!("{} messages", asked.count))
}

/// The call of a tool as a message of the older revisions. Asks for progress if a token is given.
pub(crate) fn call(id: i64, tool: &str, arguments: &Value, token: Option<&str>) -> Value {
    let mut params = json!({"name": tool, "arguments": arguments});
    if let Some(token) = token {
        params["_meta"] = json!({"progressToken": token});
    }
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// The cancellation of a request.
pub(crate) fn cancel(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "enough"}})
}

/// Sends a request that is to be refused: a stream in its place would be waited for in vain.
#[track_caller]
pub(crate) fn refused(server: &TestServer, request: &Request) -> Response {
    let mut connection = server.connect();
    connection.send(&request.bytes());
    let head = connection.head();
    assert_ne!(head.header("content-type"), Some("text/event-stream"), "a stream for {request:?}");
    let mut body = Vec::new();
    while let Some(chunk) = connection.chunk() {
        body.extend_from_slice(&chunk);
    }
    Response { head, body }
}

/// The text of a tool's result.
#[track_caller]
pub(crate) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"))
}
