//! What the tests of stdio and of HTTP+SSE share: the demo's tools over any pipe, and a person who says yes.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;
use trunkline_client::{Call, Client, Error, Questions, StreamEvent};
use trunkline_protocol::{
    Method, Revision, RpcError,
    model::{ClientCapabilities, ElicitAction, ElicitParams, ElicitResult, ListenFilter},
};

/// How long anything may take that takes milliseconds on an idle machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// Says yes to everything.
pub(crate) struct Yes;

impl Questions for Yes {
    fn capabilities(&self) -> ClientCapabilities {
        serde_json::from_value(json!({ "elicitation": { "form": {} } })).unwrap()
    }

    async fn elicit(&self, _params: ElicitParams) -> Result<ElicitResult, RpcError> {
        let content = Map::from_iter([("confirmed".to_owned(), Value::Bool(true))]);
        Ok(ElicitResult { action: ElicitAction::Accept, content: Some(content), meta: None })
    }
}

/// Waits for something that should not take long.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(SOON, future).await.unwrap_or_else(|_| panic!("{what} takes too long"))
}

/// The result of a call of a tool.
pub(crate) async fn call(client: &Client, tool: &str, arguments: &Value) -> Result<Value, Error> {
    request(client, &Call::tool(tool, &arguments.to_string())).await
}

/// The result of any request.
pub(crate) async fn request(client: &Client, call: &Call) -> Result<Value, Error> {
    let answer = soon(&call.method, client.raw(call)).await.map_err(|failure| failure.error)?;
    answer.read()
}

/// What every pipe to the demo must carry: answers, progress, questions, cancellations, in any order.
pub(crate) async fn carries_everything(client: &Client) {
    let tools = soon("tools/list", client.list_tools()).await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "add"), "{tools:?}");
    let echoes = futures_util::future::join_all((0..50).map(async |n| {
        let text = format!("call {n}");
        let echo = call(client, "echo", &json!({ "text": text })).await.unwrap();
        assert_eq!(echo["content"][0]["text"], text);
    }));
    soon("fifty calls at once", echoes).await;
    let text = "two\nlines, ✓ and \u{2028}";
    let echo = call(client, "echo", &json!({ "text": text })).await.unwrap();
    assert_eq!(echo["content"][0]["text"], text);
    if client.revision() >= Revision::V2025_06_18 {
        is_asked(client).await;
    }
    makes_progress(client).await;
    is_cancelled(client).await;
    hears_of_changes(client).await;
    let wrong = request(client, &Call::new(Method::ToolsCall.name(), "{}")).await.unwrap_err();
    // Where a request repeats the tool's name in its head, the client has nothing to send.
    assert!(wrong.rpc().is_some() || matches!(wrong, Error::Refused(_)), "{wrong}");
}

async fn is_asked(client: &Client) {
    let sum = call(client, "add", &json!({ "a": 1, "b": 2 })).await.unwrap();
    assert_eq!(sum["structuredContent"]["sum"], 3);
    let confirmed = call(client, "confirm", &json!({ "question": "Ship it?" })).await.unwrap();
    assert!(confirmed["content"][0]["text"].as_str().unwrap().contains("yes"), "{confirmed}");
}

async fn makes_progress(client: &Client) {
    let (sender, mut progress) = mpsc::channel(10);
    let slow = Call::tool("slow", r#"{"ms":30,"steps":3}"#).progress(sender);
    request(client, &slow).await.unwrap();
    drop(slow);
    let mut steps = 0;
    while progress.recv().await.is_some() {
        steps += 1;
    }
    assert_eq!(steps, 3);
}

/// A call that would take a minute ends when it is cancelled, and the next one is served as ever.
async fn is_cancelled(client: &Client) {
    let (sender, mut progress) = mpsc::channel(1);
    let token = CancellationToken::new();
    let slow = Call::tool("slow", r#"{"ms":60000,"steps":600}"#).progress(sender).cancel(token.clone());
    let cancel = async {
        progress.recv().await.unwrap();
        token.cancel();
    };
    let (outcome, ()) = soon("a cancelled call", async { tokio::join!(client.raw(&slow), cancel) }).await;
    let error = outcome.unwrap_err().error;
    assert!(matches!(error, Error::Cancelled), "{error}");
    call(client, "add", &json!({ "a": 1, "b": 1 })).await.unwrap();
}

/// Changes are heard of as soon as the subscription is there.
async fn hears_of_changes(client: &Client) {
    let uri = "demo://counter";
    let filter = ListenFilter { resource_subscriptions: vec![uri.to_owned()], ..ListenFilter::default() };
    let mut heard = client.listen(filter);
    let opened = soon("the subscription", heard.event()).await;
    assert!(matches!(opened, Some(StreamEvent::Opened(_))), "{opened:?}");
    call(client, "touch", &json!({ "uri": uri })).await.unwrap();
    let told = soon("the update", heard.next()).await.unwrap();
    assert_eq!(&*told.method, "notifications/resources/updated");
    let params: Value = serde_json::from_slice(&told.params).unwrap();
    assert_eq!(params["uri"], uri);
}
