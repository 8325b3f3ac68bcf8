//! What a client is told when a handler fails, panics, or takes too long, and when arguments do not fit.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use trunkline::{Exchange, HandlerError, NoArguments, Prompt, Resource, Server, Tool, Typed};

use crate::support::{LEGACY, MODERN, Modern, STREAMABLE, TestServer, eventually};

/// What no client may read.
const SECRET: &str = "password hunter2 at /etc/shadow";

#[derive(Deserialize, JsonSchema)]
struct Order {
    address: Address,
    tags: Vec<String>,
    size: Size,
}

#[derive(Deserialize, JsonSchema)]
struct Address {
    #[schemars(range(max = 99_999))]
    zip: u32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

/// The answers to a request in every revision.
fn everywhere(server: &TestServer, method: &str, params: &Value) -> Vec<(&'static str, Value)> {
    let legacy = LEGACY.map(|revision| {
        let response = server.initialize(revision).request(method, params);
        assert_eq!(response.status(), 200, "{revision}");
        (revision, response.answer())
    });
    let response = server.modern(&Modern::new(method, params));
    assert_eq!(response.status(), 200, "{}", response.text());
    legacy.into_iter().chain([(MODERN, response.answer())]).collect()
}

#[test]
fn arguments_that_do_not_fit_are_named_by_their_path_and_the_rule() {
    let tool = Tool::new("order", |_: Exchange, order: Order| async move {
        let size = if matches!(order.size, Size::Small) { "small" } else { "large" };
        Ok(format!("{size} to {}, {}", order.address.zip, order.tags.join(" ")))
    });
    let server = TestServer::with(Server::new("orders", "1").tool(tool));
    let good = json!({"address": {"zip": 7}, "tags": ["a", "b"], "size": "small"});
    let with = |pointer: &str, value: Value| {
        let mut arguments = good.clone();
        *arguments.pointer_mut(pointer).unwrap() = value;
        arguments
    };
    for (arguments, path, rule) in [
        (with("/address/zip", json!("seven")), "/address/zip: ", "/type)"),
        (with("/address/zip", json!(100_000)), "/address/zip: ", "/maximum)"),
        (with("/address/zip", json!(-1)), "/address/zip: ", "/minimum)"),
        (with("/address", json!({})), "/address: ", "/required)"),
        (with("/tags/1", json!(5)), "/tags/1: ", "/type)"),
        (with("/size", json!("huge")), "/size: ", "/enum)"),
        (json!({"tags": [], "size": "small"}), "the arguments: ", "/required)"),
    ] {
        for (revision, answer) in
            everywhere(&server, "tools/call", &json!({"name": "order", "arguments": arguments}))
        {
            let result = &answer["result"];
            let said = result["content"][0]["text"].as_str().unwrap_or_default();
            assert_eq!(result["isError"], true, "{revision} {arguments}: {answer}");
            assert!(said.contains(path) && said.contains(rule), "{revision} {arguments}: {said}");
        }
    }
    for (revision, answer) in everywhere(&server, "tools/call", &json!({"name": "order", "arguments": good}))
    {
        assert_eq!(answer["result"]["content"][0]["text"], "small to 7, a b", "{revision}");
    }
}

/// Fails in one of three ways.
async fn fail(how: &str) -> Result<String, HandlerError> {
    match how {
        "told" => Err(HandlerError::new("come back on Monday")),
        "internal" => Err(std::io::Error::other(SECRET).into()),
        _ => panic!("{SECRET}"),
    }
}

#[test]
fn a_resource_a_prompt_and_a_completion_fail_with_an_error_that_tells_nothing_of_the_inside() {
    let mut server = Server::new("failing", "1");
    for how in ["told", "internal", "panic"] {
        server = server.resource(Resource::new(&format!("x://{how}"), how, move |_| fail(how))).prompt(
            Prompt::new(how, move |_, _| fail(how))
                .optional("a", "an argument")
                .complete("a", move |_: Exchange, _: Typed| async move {
                    fail(how).await.map(|value| vec![value])
                }),
        );
    }
    let server = TestServer::with(server);
    let mut panics = 0;
    for how in ["told", "internal", "panic"] {
        let complete =
            json!({"ref": {"type": "ref/prompt", "name": how}, "argument": {"name": "a", "value": ""}});
        for (method, params) in [
            ("resources/read", json!({"uri": format!("x://{how}")})),
            ("prompts/get", json!({"name": how})),
            ("completion/complete", complete),
        ] {
            for (revision, answer) in everywhere(&server, method, &params) {
                let error = &answer["error"];
                if method == "completion/complete" && revision == "2024-11-05" && error["code"] == -32601 {
                    continue;
                }
                assert_eq!(error["code"], -32603, "{revision} {method} {how}: {answer}");
                let said = error["message"].as_str().unwrap();
                assert_eq!(said == "come back on Monday", how == "told", "{revision} {method}: {said}");
                let text = answer.to_string();
                for inside in ["hunter2", "shadow", "panic", ".rs"] {
                    // A name that the client itself has sent may be said.
                    assert!(
                        !text.replace("x://panic", "").contains(inside) || inside == how,
                        "{method}: {text}"
                    );
                }
                panics += i64::from(how == "panic");
            }
        }
    }
    assert_eq!(server.metric("handler_panics_total"), panics);
    server.await_metric("requests_in_flight", 0);
}

/// Counts the handlers that are at work.
struct AtWork(Arc<AtomicI64>);

impl AtWork {
    fn begin(count: &Arc<AtomicI64>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What it has started elsewhere goes on until it is told to stop.
async fn hang(at_work: Arc<AtomicI64>, cancelled: CancellationToken) -> Result<String, HandlerError> {
    let _here = AtWork::begin(&at_work);
    let elsewhere = AtWork::begin(&at_work);
    tokio::spawn(async move {
        cancelled.cancelled().await;
        drop(elsewhere);
    });
    pending().await
}

#[test]
fn a_handler_that_runs_past_its_time_is_stopped_and_its_client_told_as_plain_json_or_on_a_stream() {
    let at_work = Arc::new(AtomicI64::new(0));
    let (of_tool, of_prompt) = (at_work.clone(), at_work.clone());
    let tool = Tool::new("hang", move |exchange: Exchange, _: NoArguments| {
        hang(of_tool.clone(), exchange.cancellation().clone())
    });
    let prompt = Prompt::new("hang", move |exchange: Exchange, _| {
        hang(of_prompt.clone(), exchange.cancellation().clone())
    });
    // The tool's own limit goes before the server's; a prompt has the server's.
    let config = "server.upgrade_after = \"20ms\"\nlimits.tool_time = \"150ms\"";
    let server = Server::new("slow", "1").tool(tool.time_limit(Duration::from_millis(200))).prompt(prompt);
    let server = TestServer::builder().config(config).start_here(server);
    for accept in ["application/json", "application/json, text/event-stream"] {
        let modern = |method: &str| Modern::new(method, &json!({"name": "hang"})).request();
        let session = server.initialize("2025-11-25");
        let legacy = |method: &str| {
            session.post(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": "hang"}}))
        };
        for request in [modern("tools/call"), legacy("tools/call")] {
            let response = server.send(&request.header("Accept", accept));
            let streamed = response.header("content-type") == Some("text/event-stream");
            assert_eq!(streamed, accept.contains("event-stream"), "{accept}");
            let result = response.result();
            assert_eq!(result["isError"], true, "{result}");
            assert!(result["content"][0]["text"].as_str().unwrap().contains("limit of 0.2 s"), "{result}");
        }
        for request in [modern("prompts/get"), legacy("prompts/get")] {
            let response = server.send(&request.header("Accept", accept));
            assert_eq!(response.code(), -32603, "{}", response.text());
            assert!(response.text().contains("limit of 0.15 s"), "{}", response.text());
        }
    }
    eventually("handlers at work", &0, || at_work.load(Ordering::SeqCst));
    server.await_metric("requests_in_flight", 0);
    server.await_metric("streams_open", 0);
}

#[test]
fn a_failing_call_is_no_reason_to_call_again_elsewhere() {
    // 5xx and 429 are what proxies and clients send again: what came of a tool is 200 whatever it was.
    let server = TestServer::demo();
    for kind in ["error", "rpc", "internal", "panic"] {
        for revision in STREAMABLE {
            let session = server.initialize(revision);
            let response =
                session.request("tools/call", &json!({"name": "fail", "arguments": {"kind": kind}}));
            assert_eq!((response.status(), response.header("retry-after")), (200, None), "{revision} {kind}");
        }
        let response = server.modern(&Modern::tool("fail", &json!({"kind": kind})));
        assert_eq!((response.status(), response.header("retry-after")), (200, None), "{kind}");
    }
}
