//! The steps, each a claim about the demo server.

use std::{collections::HashSet, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use futures::future::try_join_all;
use rmcp::{
    RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest, ElicitationAction,
        GetPromptRequestParams, JsonObject, ReadResourceRequestParams, ResourceContents, ServerNotification,
        SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::{PeerRequestOptions, RunningService},
};
use serde_json::{Value, json};

use crate::{
    options::Era,
    run::STEP_LIMIT,
    user::{Answer, User},
};

/// Between two tries of a touch. The stream that carries the update may not be open at the first.
const TOUCH_EVERY: Duration = Duration::from_millis(250);
/// A cancelled call is quiet when it reports nothing for this long: six of its own steps.
const QUIET: Duration = Duration::from_millis(600);
/// Within this time a caller must be told that its call is cancelled.
const PROMPT: Duration = Duration::from_secs(2);
const COUNTER: &str = "demo://counter";

pub(crate) type Client = RunningService<RoleClient, User>;
type Outcome = Result<String>;

/// The outcome of a tool call.
#[derive(Debug)]
struct Called {
    is_error: bool,
    text: String,
    structured: Option<Value>,
}

// === impl Called ===

impl Called {
    /// Whether this is that structured result; before 2025-06-18 it is the text alone.
    fn is(&self, era: &Era, wanted: &Value) -> bool {
        let text_says_so = serde_json::from_str::<Value>(&self.text).is_ok_and(|text| text == *wanted);
        !self.is_error
            && if era.has_structure() {
                self.structured.as_ref() == Some(wanted)
            } else {
                self.structured.is_none() && text_says_so
            }
    }
}

fn done() -> Outcome {
    Ok(String::new())
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

fn params(name: &str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(name.to_owned()).with_arguments(object(arguments))
}

async fn call(client: &Client, name: &str, arguments: Value) -> Result<Called, ServiceError> {
    let got = client.call_tool(params(name, arguments)).await?;
    let text = got.content.iter().filter_map(|part| part.as_text()).map(|part| part.text.as_str()).collect();
    Ok(Called { is_error: got.is_error == Some(true), text, structured: got.structured_content })
}

pub(crate) async fn tools_list(client: &Client) -> Outcome {
    let tools = client.list_all_tools().await?;
    let names: HashSet<&str> = tools.iter().map(|tool| &*tool.name).collect();
    for wanted in
        ["add", "echo", "payload", "counter", "remember", "recall", "confirm", "slow", "fail", "touch"]
    {
        ensure!(names.contains(wanted), "{wanted} is missing");
    }
    ensure!(names.len() == tools.len(), "a tool is listed twice");
    done()
}

pub(crate) async fn call_structured(client: &Client, era: &Era) -> Outcome {
    let got = call(client, "add", json!({"a": 2, "b": 3})).await?;
    ensure!(got.is(era, &json!({"sum": 5})), "got {got:?}");
    done()
}

pub(crate) async fn call_text(client: &Client) -> Outcome {
    let text = "tram à Zürich ✓ 漢字\n\"quoted\" \\ \u{2028} end";
    let got = call(client, "echo", json!({"text": text})).await?;
    ensure!(!got.is_error && got.text == text, "got {got:?}");
    done()
}

pub(crate) async fn call_large(client: &Client) -> Outcome {
    let got = call(client, "payload", json!({"bytes": 200_000})).await?;
    ensure!(!got.is_error && got.text == "x".repeat(200_000), "got {} bytes", got.text.len());
    done()
}

pub(crate) async fn calls_at_once(client: &Client, era: &Era) -> Outcome {
    let calls = (0..16).map(|n| async move {
        let got = call(client, "add", json!({"a": n, "b": 1000})).await?;
        ensure!(got.is(era, &json!({"sum": n + 1000})), "call {n} got {got:?}");
        Ok(())
    });
    try_join_all(calls).await?;
    done()
}

pub(crate) async fn bad_arguments(client: &Client) -> Outcome {
    let got = call(client, "add", json!({"a": "two", "b": 3})).await?;
    ensure!(got.is_error && !got.text.is_empty(), "got {got:?}");
    done()
}

async fn rpc_failure(client: &Client, name: &str, arguments: Value) -> Result<i32> {
    match call(client, name, arguments).await {
        Err(ServiceError::McpError(error)) => Ok(error.code.0),
        Err(error) => Err(error.into()),
        Ok(got) => bail!("no error: {got:?}"),
    }
}

pub(crate) async fn unknown_tool(client: &Client) -> Outcome {
    let code = rpc_failure(client, "no_such_tool", json!({})).await?;
    ensure!(code == -32602, "the code is {code}");
    done()
}

pub(crate) async fn tool_error(client: &Client, kind: &str) -> Outcome {
    let got = call(client, "fail", json!({"kind": kind})).await?;
    ensure!(got.is_error && !got.text.is_empty(), "got {got:?}");
    done()
}

pub(crate) async fn rpc_error(client: &Client) -> Outcome {
    Ok(rpc_failure(client, "fail", json!({"kind": "rpc"})).await?.to_string())
}

pub(crate) async fn progress(client: &Client) -> Outcome {
    let seen = &client.service().progress;
    seen.take();
    // Four steps for three reports: some SDKs drop a report that arrives together with the result.
    let got = call(client, "slow", json!({"ms": 400, "steps": 4})).await?;
    ensure!(!got.is_error, "got {got:?}");
    ensure!(seen.until(Duration::from_secs(5), |seen| seen.len() >= 3).await, "got {:?}", seen.all());
    let reports = seen.all();
    ensure!(reports.is_sorted_by(|a, b| a.progress < b.progress), "not increasing: {reports:?}");
    ensure!(reports.iter().all(|report| report.total == Some(4.0)), "wrong total: {reports:?}");
    done()
}

pub(crate) async fn elicitation(client: &Client, answer: Answer, word: &str) -> Outcome {
    let user = client.service();
    user.asked.take();
    user.answer.send_replace(answer);
    let got = call(client, "confirm", json!({"question": "Ship it?"})).await?;
    let asked = user.asked.take();
    let [(message, schema)] = asked.as_slice() else { bail!("asked {} times", asked.len()) };
    ensure!(message.contains("Ship it?"), "the question was {message:?}");
    let kind = &schema["properties"]["confirmed"]["type"];
    ensure!(kind == "boolean", "the schema was {schema}");
    ensure!(!got.is_error && got.text.contains(word), "got {got:?}");
    done()
}

/// The revision has no elicitation: the tool fails, and nobody is asked.
pub(crate) async fn elicitation_unavailable(client: &Client) -> Outcome {
    let user = client.service();
    user.asked.take();
    let got = call(client, "confirm", json!({"question": "Ship it?"})).await;
    ensure!(user.asked.take().is_empty(), "the user was asked");
    match got {
        Err(ServiceError::McpError(error)) => Ok(error.code.0.to_string()),
        Err(error) => Err(error.into()),
        Ok(got) if got.is_error && !got.text.is_empty() => done(),
        Ok(got) => bail!("got {got:?}"),
    }
}

pub(crate) fn yes() -> Answer {
    Answer { action: ElicitationAction::Accept, content: Some(json!({"confirmed": true})) }
}

pub(crate) fn no() -> Answer {
    Answer { action: ElicitationAction::Decline, content: None }
}

pub(crate) async fn resources_list(client: &Client) -> Outcome {
    let resources = client.list_all_resources().await?;
    for wanted in ["demo://greeting", "demo://logo", COUNTER] {
        ensure!(resources.iter().any(|resource| resource.uri == wanted), "{wanted} is missing");
    }
    let templates = client.list_all_resource_templates().await?;
    ensure!(templates.iter().any(|one| one.uri_template == "demo://notes/{id}"), "got {templates:?}");
    done()
}

async fn read(client: &Client, uri: &str) -> Result<ResourceContents> {
    let got = client.read_resource(ReadResourceRequestParams::new(uri)).await?;
    let [part] = got.contents.as_slice() else { bail!("got {} parts", got.contents.len()) };
    Ok(part.clone())
}

pub(crate) async fn resource_text(client: &Client, wanted: &str, word: &str) -> Outcome {
    let part = read(client, wanted).await?;
    let ResourceContents::TextResourceContents { uri, text, .. } = &part else { bail!("got {part:?}") };
    ensure!(uri == wanted && !text.is_empty() && text.contains(word), "got {part:?}");
    done()
}

pub(crate) async fn resource_blob(client: &Client) -> Outcome {
    let part = read(client, "demo://logo").await?;
    let ResourceContents::BlobResourceContents { mime_type, blob, .. } = &part else { bail!("got {part:?}") };
    ensure!(mime_type.as_deref() == Some("image/png"), "got {mime_type:?}");
    ensure!(BASE64.decode(blob)?.starts_with(b"\x89PNG\r\n"), "the blob is not a PNG");
    done()
}

#[expect(deprecated, reason = "subscribing to one resource is what the older era has")]
pub(crate) async fn update_notification(client: &Client, era: &Era) -> Outcome {
    let updates = &client.service().updates;
    match era {
        Era::Legacy(_) => {
            client.subscribe(SubscribeRequestParams::new(COUNTER)).await?;
            touch_until(client, updates.until(STEP_LIMIT, |seen| seen.iter().any(|uri| uri == COUNTER)))
                .await?;
            client.unsubscribe(UnsubscribeRequestParams::new(COUNTER)).await?;
        }
        Era::Modern => {
            let filter = SubscriptionFilter::builder().resource_subscription(COUNTER).build();
            let mut subscription = client.listen(filter.clone()).await?;
            ensure!(*subscription.acknowledged() == filter, "acknowledged {:?}", subscription.acknowledged());
            let arrival = async {
                matches!(subscription.next().await, Ok(Some(ServerNotification::ResourceUpdatedNotification(update)))
                    if update.params.uri == COUNTER)
            };
            touch_until(client, arrival).await?;
            subscription.cancel().await?;
        }
    }
    done()
}

/// Touches the counter again and again until `arrival` says whether what arrived is the update.
async fn touch_until(client: &Client, arrival: impl Future<Output = bool>) -> Result<()> {
    tokio::pin!(arrival);
    loop {
        let got = call(client, "touch", json!({"uri": COUNTER})).await?;
        ensure!(!got.is_error, "touch failed: {got:?}");
        if let Ok(arrived) = tokio::time::timeout(TOUCH_EVERY, &mut arrival).await {
            ensure!(arrived, "something else arrived");
            return Ok(());
        }
    }
}

pub(crate) async fn prompt(client: &Client) -> Outcome {
    let prompts = client.list_all_prompts().await?;
    ensure!(prompts.iter().any(|prompt| prompt.name == "summarize"), "summarize is not listed");
    let arguments = object(json!({"text": "a long story", "style": "short"}));
    let got = client.get_prompt(GetPromptRequestParams::new("summarize").with_arguments(arguments)).await?;
    let holds = got
        .messages
        .iter()
        .any(|message| message.content.as_text().is_some_and(|part| part.text.contains("a long story")));
    ensure!(holds, "got {got:?}");
    done()
}

pub(crate) async fn completion(client: &Client) -> Outcome {
    let mut everything = client.complete_prompt_simple("summarize", "style", "").await?;
    everything.sort();
    ensure!(everything == ["bullet", "long", "short"], "got {everything:?}");
    let some = client.complete_prompt_simple("summarize", "style", "sh").await?;
    ensure!(some.iter().any(|value| value == "short"), "`sh` does not complete to `short`: {some:?}");
    done()
}

pub(crate) async fn session_values(client: &Client) -> Outcome {
    let got = call(client, "remember", json!({"key": "tram", "value": "line 8"})).await?;
    ensure!(!got.is_error, "remember failed: {got:?}");
    let got = call(client, "recall", json!({"key": "tram"})).await?;
    ensure!(!got.is_error && got.text.contains("line 8"), "got {got:?}");
    done()
}

pub(crate) async fn session_counter(client: &Client, era: &Era) -> Outcome {
    for wanted in [2, 4] {
        let got = call(client, "counter", json!({"key": "k", "by": 2})).await?;
        ensure!(got.is(era, &json!({"value": wanted})), "wanted {wanted}, got {got:?}");
    }
    done()
}

pub(crate) async fn cancellation(client: &Client, era: &Era) -> Outcome {
    let seen = &client.service().progress;
    seen.take();
    // 200 steps of 100 ms: many more reports would follow if the server went on.
    let request = CallToolRequest::new(params("slow", json!({"ms": 20_000, "steps": 200})));
    let options = PeerRequestOptions::no_options();
    let handle = client.send_cancellable_request(ClientRequest::CallToolRequest(request), options).await?;
    ensure!(seen.until(STEP_LIMIT, |seen| !seen.is_empty()).await, "no progress");
    let notice = CancelledNotificationParam::new(Some(handle.id.clone()), Some("changed my mind".into()));
    client.notify_cancelled(notice).await?;
    let told = tokio::time::timeout(PROMPT, handle.await_response()).await.context("not told in time")?;
    ensure!(matches!(told, Err(ServiceError::Cancelled { .. })), "got {told:?}");
    call_structured(client, era).await?;
    for _ in 0..5 {
        let count = seen.all().len();
        if !seen.until(QUIET, |seen| seen.len() > count).await {
            return Ok("the server went quiet".into());
        }
    }
    bail!("the server went on and reports {:?}", seen.all().last())
}
