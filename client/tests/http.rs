//! Streamable HTTP against the real server: every revision, and what breaks on the way.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

#[path = "support/pipe.rs"]
mod pipe;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use trunkline_client::{Call, Client, Error, ListenFilter, Notifications, Retry, StreamEvent};
use trunkline_harness::{
    balancer::Kind,
    binary,
    cluster::Cluster,
    redis::{Options, Topology},
    replica::{Replica, Settings},
    scratch::Scratch,
};
use trunkline_protocol::Revision;

use crate::pipe::{Yes, call, carries_everything, soon};

/// Comes back at once, as a test likes it.
const EAGER: Retry =
    Retry { attempts: 50, resumes: 50, base: Duration::from_millis(20), cap: Duration::from_millis(200) };

async fn demo(scratch: &Scratch) -> Replica {
    Replica::start(scratch, "demo", Settings::demo(binary::trunkline().unwrap())).await.unwrap()
}

fn endpoint(replica: &Replica) -> String {
    format!("{}/mcp", replica.url())
}

async fn connect(url: &str, revision: Revision) -> Client {
    let builder = Client::http(url).revision(revision).questions(Yes).retry(EAGER);
    soon("connecting", builder.connect()).await.unwrap()
}

fn resource(uri: &str) -> ListenFilter {
    ListenFilter { resource_subscriptions: vec![uri.to_owned()], ..ListenFilter::default() }
}

/// The next thing heard that is wanted.
async fn heard<T>(events: &mut Notifications, wanted: impl Fn(StreamEvent) -> Option<T>) -> T {
    soon("something to be heard", async {
        loop {
            let event = events.event().await.expect("the stream is over");
            assert!(!matches!(event, StreamEvent::Ended(_)), "{event:?}");
            if let Some(wanted) = wanted(event) {
                return wanted;
            }
        }
    })
    .await
}

async fn opened(events: &mut Notifications) -> u32 {
    heard(events, |event| match event {
        StreamEvent::Opened(opened) => Some(opened.nth),
        _ => None,
    })
    .await
}

async fn updated(events: &mut Notifications) -> String {
    let params = heard(events, |event| match event {
        StreamEvent::Notification(it) if &*it.method == "notifications/resources/updated" => Some(it.params),
        _ => None,
    })
    .await;
    serde_json::from_slice::<Value>(&params).unwrap()["uri"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_revision_carries_everything() {
    let scratch = Scratch::new().unwrap();
    let replica = demo(&scratch).await;
    for revision in Revision::ALL {
        let client = connect(&endpoint(&replica), revision).await;
        assert_eq!(client.revision(), revision);
        assert_eq!(client.server().map(|server| server.name.as_str()), Some("trunkline"));
        carries_everything(&client).await;
        assert_eq!(client.counters().nonsense, 0, "{revision}");
        client.close().await.unwrap();
        let after = client.raw(&Call::new("tools/list", "")).await;
        if revision != Revision::V2026_07_28 {
            assert!(matches!(after.unwrap_err().error, Error::Closed), "{revision}");
        }
    }
}

#[tokio::test]
async fn the_newest_common_revision_is_found() {
    let scratch = Scratch::new().unwrap();
    let replica = demo(&scratch).await;
    let newest = soon("connecting", Client::http(&endpoint(&replica)).connect()).await.unwrap();
    assert_eq!(newest.revision(), Revision::V2026_07_28);
    let session = soon("connecting", Client::http(&endpoint(&replica)).handshake().connect()).await.unwrap();
    assert_eq!(session.revision(), Revision::V2025_11_25);
    assert!(session.session_id().is_some());
    // The stream of HTTP+SSE is a 405 to a POST, and found behind it.
    let oldest = soon("connecting", Client::http(&format!("{}/sse", replica.url())).connect()).await.unwrap();
    assert_eq!(oldest.revision(), Revision::V2024_11_05);
    call(&oldest, "add", &json!({ "a": 1, "b": 1 })).await.unwrap();
}

#[tokio::test]
async fn what_is_no_endpoint_is_told_apart() {
    let scratch = Scratch::new().unwrap();
    let replica = demo(&scratch).await;
    for versions in [None, Some(Revision::V2026_07_28), Some(Revision::V2025_06_18)] {
        let url = format!("{}/elsewhere", replica.url());
        let builder = Client::http(&url);
        let builder = versions.into_iter().fold(builder, trunkline_client::Builder::revision);
        let error = soon("connecting", builder.connect()).await.map(drop).unwrap_err();
        assert_eq!(error.status(), Some(404), "{versions:?}: {error}");
    }
    let nobody = soon("connecting", Client::http("http://127.0.0.1:9/mcp").connect()).await.map(drop);
    assert!(matches!(nobody.unwrap_err(), Error::Connect { .. }));
}

#[tokio::test]
async fn changes_are_heard_on_every_revision_and_after_every_break() {
    let scratch = Scratch::new().unwrap();
    let replica = demo(&scratch).await;
    for revision in
        [Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28]
    {
        let client = connect(&endpoint(&replica), revision).await;
        let mut events = client.listen(resource("demo://a"));
        assert_eq!(opened(&mut events).await, 0, "{revision}");
        let other = connect(&endpoint(&replica), revision).await;
        for uri in ["demo://b", "demo://a"] {
            call(&other, "touch", &json!({ "uri": uri })).await.unwrap();
        }
        assert_eq!(updated(&mut events).await, "demo://a", "{revision}");
        events.cut();
        let lost = |event| matches!(event, StreamEvent::Lost { .. }).then_some(());
        heard(&mut events, lost).await;
        if revision != Revision::V2026_07_28 {
            // Where events have ids, what happens meanwhile is not lost.
            call(&other, "touch", &json!({ "uri": "demo://a" })).await.unwrap();
            assert_eq!(opened(&mut events).await, 1);
            assert_eq!(updated(&mut events).await, "demo://a", "{revision}");
        } else {
            assert_eq!(opened(&mut events).await, 1);
        }
        call(&other, "touch", &json!({ "uri": "demo://a" })).await.unwrap();
        assert_eq!(updated(&mut events).await, "demo://a", "{revision}");
    }
}

#[tokio::test]
async fn a_call_whose_connection_is_cut_goes_on_where_it_was() {
    let scratch = Scratch::new().unwrap();
    let replica = demo(&scratch).await;
    for revision in [Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25] {
        let client = connect(&endpoint(&replica), revision).await;
        let (sender, mut progress) = mpsc::channel(64);
        let cut = CancellationToken::new();
        let slow = Call::tool("slow", r#"{"ms":600,"steps":6}"#).progress(sender).cut(cut.clone());
        let watch = async {
            let mut seen = Vec::new();
            while let Some(step) = progress.recv().await {
                seen.push(step.progress);
                cut.cancel();
                if seen.len() == 6 {
                    break;
                }
            }
            seen
        };
        let (answer, seen) = soon("a cut call", async { tokio::join!(client.raw(&slow), watch) }).await;
        let answer = answer.unwrap();
        assert_eq!(seen, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "{revision}: each once, in order");
        assert!(answer.trace.resumed >= 1 && answer.trace.cut == 1, "{revision}: {:?}", answer.trace);
    }
    // From 2026-07-28 on a broken stream is a cancelled call.
    let client = connect(&endpoint(&replica), Revision::V2026_07_28).await;
    let (sender, mut progress) = mpsc::channel(64);
    let cut = CancellationToken::new();
    let slow = Call::tool("slow", r#"{"ms":60000,"steps":600}"#).progress(sender).cut(cut.clone());
    let watch = async {
        progress.recv().await.unwrap();
        cut.cancel();
    };
    let (outcome, ()) = soon("a cut call", async { tokio::join!(client.raw(&slow), watch) }).await;
    let failure = outcome.unwrap_err();
    assert!(matches!(failure.error, Error::InFlight { .. }), "{failure}");
    assert!(failure.error.may_have_run() && failure.trace.cut == 1);
}

#[tokio::test]
async fn a_forgotten_session_is_opened_anew_with_what_it_had() {
    let scratch = Scratch::new().unwrap();
    let mut replica = demo(&scratch).await;
    let client = connect(&endpoint(&replica), Revision::V2025_11_25).await;
    let mut events = client.listen(resource("demo://a"));
    opened(&mut events).await;
    let before = client.session_id();
    replica.kill();
    replica.restart().await.unwrap();
    let answer = soon("a call", client.raw(&Call::tool("add", r#"{"a":2,"b":2}"#))).await.unwrap();
    assert_eq!(answer.trace.renewed, 1, "{:?}", answer.trace);
    assert_ne!(client.session_id(), before);
    heard(&mut events, |event| matches!(event, StreamEvent::Renewed).then_some(())).await;
    opened(&mut events).await;
    call(&client, "touch", &json!({ "uri": "demo://a" })).await.unwrap();
    assert_eq!(updated(&mut events).await, "demo://a");
}

/// Kills the replica that works on the only call there is.
async fn kill_the_one_at_work(cluster: &mut Cluster) {
    for replica in cluster.replicas() {
        if replica.metrics().await.unwrap().sum("trunkline_requests_in_flight") > 0.0 {
            replica.kill();
            return;
        }
    }
    panic!("no replica works on the call");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_replica_serves_the_client_while_one_dies() {
    let mut cluster = Cluster::builder(binary::trunkline().unwrap())
        .replicas(2)
        .balancer(Kind::Haproxy)
        .redis(Topology::Standalone(Options::default()))
        .start()
        .await
        .unwrap();
    let url = format!("{}/mcp", cluster.url());
    let client = connect(&url, Revision::V2025_11_25).await;
    let (sender, mut progress) = mpsc::channel(64);
    let slow = Call::tool("slow", r#"{"ms":2000,"steps":4}"#).progress(sender);
    let kill = async {
        progress.recv().await.unwrap();
        kill_the_one_at_work(&mut cluster).await;
        while progress.recv().await.is_some() {}
    };
    let call_slow = async {
        let outcome = client.raw(&slow).await;
        drop(slow);
        outcome
    };
    let (answer, ()) =
        soon("a call of a replica that may die", async { tokio::join!(call_slow, kill) }).await;
    let answer = answer.unwrap();
    assert!(answer.trace.resumed >= 1, "its replica died: {:?}", answer.trace);
    let answer: Value = answer.read().unwrap();
    assert_eq!(answer["content"][0]["text"], "4 steps in 2000 ms");
    for _ in 0..20 {
        call(&client, "add", &json!({ "a": 1, "b": 2 })).await.unwrap();
    }
    client.close().await.unwrap();
}
