//! What is tried with every server.

use std::time::Duration;

use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use trunkline_client::Notifications;
use trunkline_protocol::{Method, Revision};

use crate::{
    Failure, Run,
    peer::{GREETING, Peer},
    person::ROOT,
};

/// How long a change may take to be heard of, before it is made again: over HTTP the stream that carries it may not have
/// been open.
const HEARD: Duration = Duration::from_millis(500);

/// How often a change is made, and a counter looked at, before that is a failure.
const ATTEMPTS: u32 = 20;

/// Takes all of them.
pub(crate) async fn all(run: &mut Run, peer: &Peer) {
    run.report("connect", peer.revision.clone().map_err(Failure::from));
    run.step("tools_list", tools_list(peer)).await;
    run.step("call_structured", call_structured(peer)).await;
    run.step("call_text", call_text(peer)).await;
    run.step("calls_at_once", calls_at_once(peer)).await;
    run.step("unknown_tool", unknown_tool(peer)).await;
    run.step("progress", progress(peer)).await;
    // It came with that revision.
    if peer.client.revision() >= Revision::V2025_06_18 {
        run.step("elicitation_accepted", elicitation(peer, Some("blue"), "accept: blue")).await;
        run.step("elicitation_declined", elicitation(peer, None, "decline")).await;
    }
    run.step("sampling", sampling(peer)).await;
    run.step("roots", roots(peer)).await;
    run.step("resources", resources(peer)).await;
    run.step("prompts", prompts(peer)).await;
    run.step("completion", completion(peer)).await;
    run.step("changes", changes(peer)).await;
    run.step("cancellation", cancellation(peer)).await;
    run.step("no_strays", no_strays(peer)).await;
    run.step("close", close(peer)).await;
}

fn check(holds: bool, seen: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(seen().into()) }
}

fn equal(seen: &str, wanted: &str) -> Result<(), Failure> {
    check(seen == wanted, || format!("got {seen:?}, not {wanted:?}"))
}

async fn tools_list(peer: &Peer) -> Result<(), Failure> {
    let tools = peer.client.list_tools().await?;
    for wanted in ["add", "ask", "cancelled", "echo", "hang", "roots", "sample", "slow", "touch", "update"] {
        let found = tools.iter().filter(|tool| tool.name == wanted).count();
        check(found == 1, || format!("{wanted} is listed {found} times"))?;
    }
    Ok(())
}

async fn call_structured(peer: &Peer) -> Result<(), Failure> {
    let called = peer.call("add", &json!({ "a": 2, "b": 3 })).await?;
    // Structured results came with 2025-06-18; some send them to older clients, too.
    if peer.client.revision() >= Revision::V2025_06_18 || !called.structured.is_null() {
        check(called.structured == json!({ "result": 5 }), || called.structured.to_string())?;
    }
    check(called.text()?.contains('5'), || "the text does not say it".to_owned())
}

async fn call_text(peer: &Peer) -> Result<(), Failure> {
    let text = "tram à Zürich ✓ 漢字\n\"quoted\" \\ \u{2028} end";
    equal(&peer.call("echo", &json!({ "text": text })).await?.text()?, text)?;
    let large = "x".repeat(200_000);
    let got = peer.call("echo", &json!({ "text": large })).await?.text()?;
    check(got == large, || format!("{} bytes came back of {}", got.len(), large.len()))
}

async fn calls_at_once(peer: &Peer) -> Result<(), Failure> {
    let one = async |n: u32| {
        let text = format!("call {n}");
        equal(&peer.call("echo", &json!({ "text": text })).await?.text()?, &text)
    };
    try_join_all((0..16).map(one)).await.map(drop)
}

async fn unknown_tool(peer: &Peer) -> Result<(), Failure> {
    // Some answer with an error, some with a result that is one.
    match peer.call("no_such_tool", &json!({})).await {
        Ok(called) => check(called.is_error, || format!("it was answered with {:?}", called.text)),
        Err(error) => {
            check(error.to_string().contains("the server answered with an error"), || error.to_string())
        }
    }
}

async fn progress(peer: &Peer) -> Result<(), Failure> {
    let (called, seen) = peer.call_with_progress("slow", &json!({ "steps": 3 })).await?;
    equal(&called.text()?, "done")?;
    check(seen.len() == 3, || format!("{} reports of 3", seen.len()))?;
    let last = seen.last().and_then(|report| report.message.clone()).unwrap_or_default();
    // The message came with 2025-03-26.
    if peer.client.revision() == Revision::V2024_11_05 { Ok(()) } else { equal(&last, "step 3") }
}

async fn elicitation(peer: &Peer, answer: Option<&str>, wanted: &str) -> Result<(), Failure> {
    peer.person.will_say(answer);
    peer.person.take_asked();
    equal(&peer.call("ask", &json!({ "question": "Which colour?" })).await?.text()?, wanted)?;
    let asked = peer.person.take_asked();
    check(asked == ["Which colour?"], || format!("the questions were {asked:?}"))
}

async fn sampling(peer: &Peer) -> Result<(), Failure> {
    equal(&peer.call("sample", &json!({ "prompt": "Rain" })).await?.text()?, "parrot: Rain, indeed")
}

async fn roots(peer: &Peer) -> Result<(), Failure> {
    let got = peer.call("roots", &json!({})).await?.text()?;
    equal(got.trim_end_matches('/'), ROOT)
}

async fn resources(peer: &Peer) -> Result<(), Failure> {
    let resources = peer.client.list_resources().await?;
    check(resources.iter().any(|resource| resource.uri == GREETING), || format!("{resources:?}"))?;
    let read = peer.ask(Method::ResourcesRead, &json!({ "uri": GREETING })).await?;
    check(read["contents"][0]["text"] == "hello", || read.to_string())
}

async fn prompts(peer: &Peer) -> Result<(), Failure> {
    let prompts = peer.client.list_prompts().await?;
    check(prompts.iter().any(|prompt| prompt.name == "greet"), || format!("{prompts:?}"))?;
    let got =
        peer.ask(Method::PromptsGet, &json!({ "name": "greet", "arguments": { "name": "Ada" } })).await?;
    check(got["messages"][0]["content"]["text"] == "Say hello to Ada.", || got.to_string())
}

async fn completion(peer: &Peer) -> Result<(), Failure> {
    let params = json!({
        "ref": { "type": "ref/prompt", "name": "greet" },
        "argument": { "name": "name", "value": "A" },
    });
    let got = peer.ask(Method::CompletionComplete, &params).await?;
    check(got["completion"]["values"] == json!(["Ada", "Alan"]), || got.to_string())
}

async fn cancellation(peer: &Peer) -> Result<(), Failure> {
    let count = async || peer.call("cancelled", &json!({})).await?.text();
    let before = count().await?;
    peer.cancel_after_progress("hang").await?;
    for _ in 0..ATTEMPTS {
        if count().await? != before {
            return Ok(());
        }
        sleep(HEARD / 5).await;
    }
    Err("the server goes on with the cancelled call".into())
}

/// Changes of the tools and of a resource are heard of.
async fn changes(peer: &Peer) -> Result<(), Failure> {
    // Nobody listens any more when this is done: the server is told before the next steps, and has a subscription to end.
    // What is open when its stdin ends, some wait for.
    let mut heard = peer.heard.lock().take().ok_or("nobody listens")?;
    change(peer, &mut heard, "touch", "notifications/tools/list_changed", "").await?;
    change(peer, &mut heard, "update", "notifications/resources/updated", GREETING).await
}

async fn change(
    peer: &Peer,
    heard: &mut Notifications,
    tool: &str,
    method: &str,
    uri: &str,
) -> Result<(), Failure> {
    for _ in 0..ATTEMPTS {
        peer.call(tool, &json!({})).await?.text()?;
        while let Ok(Some(told)) = timeout(HEARD, heard.next()).await {
            let params: Value = serde_json::from_slice(&told.params).unwrap_or_default();
            if &*told.method == method && params["uri"].as_str().unwrap_or_default() == uri {
                return Ok(());
            }
        }
    }
    Err(format!("nothing was heard of {ATTEMPTS} changes by {tool}").into())
}

/// Nothing came that was not asked for, or that made no sense. Two answers may: a call and a subscription were cancelled.
async fn no_strays(peer: &Peer) -> Result<(), Failure> {
    let counters = peer.client.counters();
    check(counters.stray_answers <= 2 && counters.nonsense == 0, || format!("{counters:?}"))
}

async fn close(peer: &Peer) -> Result<(), Failure> {
    peer.client.close().await?;
    match peer.call("echo", &json!({ "text": "anybody there?" })).await {
        Ok(_) => Err("a closed client still calls".into()),
        Err(_closed) => Ok(()),
    }
}
