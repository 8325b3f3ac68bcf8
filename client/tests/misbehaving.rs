//! Servers and proxies that misbehave over streamable HTTP, or are within their rights and awkward.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

#[allow(dead_code, reason = "each test binary uses a part of it")]
#[path = "misbehaving/server.rs"]
mod server;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::{sync::mpsc, time::timeout};
use trunkline_client::{Call, Client, Error, Limits, Retry, TokenSource};
use trunkline_protocol::Revision;

use crate::server::{Fake, Reply, Request, answer, page, result, status, stream};

/// Comes back at once.
const EAGER: Retry =
    Retry { attempts: 3, resumes: 3, base: Duration::from_millis(5), cap: Duration::from_millis(20) };

async fn connect(fake: &Fake, revision: Revision) -> Client {
    let connecting = Client::http(&fake.url()).revision(revision).retry(EAGER).connect();
    soon(connecting).await.unwrap()
}

async fn soon<T>(work: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), work).await.expect("it takes too long")
}

fn add() -> Call {
    Call::tool("add", r#"{"a":1,"b":1}"#)
}

#[tokio::test]
async fn a_refusal_that_says_when_is_heeded() {
    let fake = Fake::start(|request, nth| match (request.method(), nth("tools/call")) {
        ("tools/call", 0) => Some(status(503, &[("retry-after", "0")], "draining")),
        ("tools/call", 1) => Some(status(429, &[("retry-after", "0")], "")),
        _ => None,
    })
    .await;
    let client = connect(&fake, Revision::V2025_11_25).await;
    let answer = soon(client.raw(&add())).await.unwrap();
    assert_eq!((answer.trace.retried, answer.trace.sent), (2, 3));
}

#[tokio::test]
async fn what_may_have_run_is_sent_again_only_if_it_may_be() {
    let fake = Fake::start(|request, nth| match (request.method(), nth(request.method())) {
        ("tools/call" | "tools/list", 0) => Some(status(502, &[], "<h1>Bad Gateway</h1>")),
        _ => None,
    })
    .await;
    let client = connect(&fake, Revision::V2025_11_25).await;
    let failure = soon(client.raw(&add())).await.unwrap_err();
    assert_eq!(failure.error.status(), Some(502));
    assert!(failure.error.may_have_run() && failure.trace.sent == 1, "{:?}", failure.trace);
    let list = soon(client.raw(&Call::new("tools/list", ""))).await.unwrap();
    assert_eq!(list.trace.retried, 1);
}

#[tokio::test]
async fn a_web_page_is_no_endpoint() {
    let fake = Fake::start(|_, _| Some(page("<html>Sign in</html>"))).await;
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let error = soon(Client::http(&fake.url()).revision(revision).connect()).await.map(drop).unwrap_err();
        assert!(matches!(&error, Error::NotMcp { seen } if seen.contains("Sign in")), "{error}");
    }
}

#[tokio::test]
async fn redirects_are_followed_within_the_origin_and_not_for_ever() {
    let fake = Fake::start(|request, _| match request.path.as_str() {
        "/mcp" => Some(status(308, &[("location", "/mcp/")], "")),
        _ => None,
    })
    .await;
    let client = connect(&fake, Revision::V2025_11_25).await;
    soon(client.raw(&add())).await.unwrap();
    let paths: Vec<String> = fake.seen().iter().map(|request| request.path.clone()).collect();
    assert_eq!(paths.iter().filter(|path| *path == "/mcp").count(), 1, "it is remembered: {paths:?}");
    for (location, kind) in [("http://example.com/mcp", "another origin"), ("/mcp", "redirects")] {
        let fake = Fake::start(move |_, _| Some(status(307, &[("location", location)], ""))).await;
        let connecting = Client::http(&fake.url()).revision(Revision::V2025_11_25).connect();
        let error = soon(connecting).await.map(drop).unwrap_err();
        assert!(error.to_string().contains(kind), "{location}: {error}");
    }
}

#[tokio::test]
async fn a_refused_token_is_asked_for_again_once() {
    struct Tokens(AtomicUsize);
    impl TokenSource for Tokens {
        fn token<'a>(
            &'a self,
            _refused: Option<&'a str>,
        ) -> BoxFuture<'a, Result<String, Box<dyn std::error::Error + Send + Sync>>> {
            let number = self.0.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move { Ok(format!("token-{number}")) })
        }
    }
    let fake = Fake::start(|request, _| match request.header("authorization") {
        Some("Bearer token-0") if request.method() == "tools/call" => {
            Some(status(401, &[("www-authenticate", "Bearer error=\"invalid_token\"")], ""))
        }
        Some("Bearer token-2") => Some(status(401, &[], "")),
        Some(_) => None,
        None => Some(status(401, &[], "")),
    })
    .await;
    let tokens = Arc::new(Tokens(AtomicUsize::new(0)));
    let connecting =
        Client::http(&fake.url()).revision(Revision::V2025_11_25).bearer(tokens.clone()).connect();
    let client = soon(connecting).await.unwrap();
    soon(client.raw(&add())).await.unwrap();
    assert_eq!(tokens.0.load(Ordering::SeqCst), 2);
    let wrong = soon(Client::http(&fake.url()).bearer("token-2").connect()).await.map(drop).unwrap_err();
    assert!(matches!(wrong, Error::Token(_)), "{wrong}");
}

#[tokio::test]
async fn a_broken_stream_is_taken_up_again_a_few_times_and_no_more() {
    let fake = Fake::start(|request, nth| match (request.verb.as_str(), nth("GET")) {
        ("POST", _) if request.method() == "tools/call" => Some(stream("id: 1\ndata:\n\n")),
        ("GET", 0) => Some(status(409, &[], "a stream is open")),
        ("GET", _) => Some(stream("")),
        _ => None,
    })
    .await;
    let client = connect(&fake, Revision::V2025_11_25).await;
    let failure = soon(client.raw(&add())).await.unwrap_err();
    assert!(matches!(failure.error, Error::InFlight { .. }), "{failure}");
    let gets: Vec<Request> = fake.seen().into_iter().filter(|request| request.verb == "GET").collect();
    assert_eq!(gets.len(), 3, "as often as the client was told to");
    assert!(gets.iter().all(|request| request.header("last-event-id") == Some("1")));
}

#[tokio::test]
async fn an_answer_on_a_resumed_stream_is_the_answer() {
    let fake = Fake::start(|request, _| match request.verb.as_str() {
        "POST" if request.method() == "tools/call" => Some(stream("retry: 1\nid: a\ndata:\n\n")),
        "GET" => Some(stream(&format!("id: b\ndata: {}\n\n", answer(2, &json!({ "content": [] }))))),
        _ => None,
    })
    .await;
    let client = connect(&fake, Revision::V2025_11_25).await;
    let answer = soon(client.raw(&add())).await.unwrap();
    assert_eq!((answer.trace.resumed, answer.trace.sent), (1, 1));
}

#[tokio::test]
async fn more_than_the_client_will_hold_ends_the_call() {
    let long = "x".repeat(5000);
    let body = answer(2, &json!({ "text": long }));
    let streamed = body.clone();
    let fake = Fake::start(move |request, _| match request.name() {
        Some("stream") => Some(stream(&format!("data: {streamed}\n\n"))),
        Some("body") => Some(Reply::json(&body)),
        _ => None,
    })
    .await;
    let limits = Limits { body: 1000, event: 1000, ..Limits::default() };
    let connecting = Client::http(&fake.url()).revision(Revision::V2025_11_25).limits(limits).connect();
    let client = soon(connecting).await.unwrap();
    for tool in ["stream", "body"] {
        let failure = soon(client.raw(&Call::tool(tool, "{}"))).await.unwrap_err();
        assert!(matches!(failure.error, Error::TooLarge { limit: 1000, .. }), "{tool}: {failure}");
    }
}

#[tokio::test]
async fn a_question_that_nobody_answers_is_answered_with_an_error() {
    let (sender, mut answers) = mpsc::channel(4);
    let fake = Fake::start(move |request, _| {
        if request.body["error"].is_object() {
            sender.try_send(request.body.clone()).unwrap();
        }
        (request.method() == "tools/call").then(|| {
            let form = json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
            let question =
                json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": form });
            let answer = answer(2, &json!({ "content": [] }));
            Reply::paused(&format!("data: {question}\n\n"), &format!("data: {answer}\n\n"))
        })
    })
    .await;
    let client = connect(&fake, Revision::V2025_11_25).await;
    soon(client.raw(&add())).await.unwrap();
    let refused = soon(answers.recv()).await.unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("q"), &json!(-32601)));
}

#[tokio::test]
async fn the_answer_to_another_request_is_not_taken() {
    let fake = Fake::start(|request, _| {
        (request.method() == "tools/call").then(|| Reply::json(&answer(777, &json!({ "content": [] }))))
    })
    .await;
    let client = connect(&fake, Revision::V2025_11_25).await;
    let failure = soon(client.raw(&add())).await.unwrap_err();
    assert!(matches!(failure.error, Error::WrongAnswer { asked: 2, .. }), "{failure}");
    assert_eq!(client.counters().stray_answers, 1);
}

#[tokio::test]
async fn what_may_be_kept_is_asked_for_once() {
    let fake = Fake::start(|request, _| {
        let list = json!({ "resultType": "complete", "tools": [], "ttlMs": 60_000, "cacheScope": "private" });
        (request.method() == "tools/list").then(|| result(request, &list))
    })
    .await;
    let client = connect(&fake, Revision::V2026_07_28).await;
    let list = Call::new("tools/list", "");
    let traces = [soon(client.raw(&list)).await.unwrap().trace, soon(client.raw(&list)).await.unwrap().trace];
    assert_eq!(traces.map(|trace| (trace.cached, trace.sent)), [(false, 1), (true, 0)]);
    let asked = fake.seen().iter().filter(|request| request.method() == "tools/list").count();
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn parameters_that_a_tool_wants_repeated_are_in_the_head() {
    let fake = Fake::start(|request, _| {
        let schema = json!({
            "type": "object",
            "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
        });
        let list = json!({ "resultType": "complete", "tools": [{ "name": "add", "inputSchema": schema }] });
        (request.method() == "tools/list").then(|| result(request, &list))
    })
    .await;
    let client = connect(&fake, Revision::V2026_07_28).await;
    assert_eq!(soon(client.list_tools()).await.unwrap().len(), 1);
    soon(client.raw(&Call::tool("add", r#"{"region":"eu"}"#))).await.unwrap();
    let seen = fake.seen();
    let call = seen.iter().find(|request| request.method() == "tools/call").unwrap();
    let head = ["mcp-method", "mcp-name", "mcp-param-region"].map(|name| call.header(name));
    assert_eq!(head, [Some("tools/call"), Some("add"), Some("eu")]);
}
