//! A hub that is slow, is away, or whose answers are lost: what is said on a stream is there once, and nobody waits for ever.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use trunkline_hub::{
    Channel, Delivery, Fence, Follower, Hub, HubError, HubFuture, Listener, Operation, Position, Retention,
    Topic,
    memory::{MemoryHub, MemoryLimits},
};
use trunkline_protocol::Revision;

use super::{Cluster, local};
use crate::{
    config::Limits,
    following::{Following, Life},
    outbox::{Carrier, LogCarrier, Logs, Outbox, Output, Reply, Source, is_silent},
    principal::Principal,
    registry::{Exchange, NoArguments, Tool},
};

const KEEP: Retention = Retention { entries: 100, age: Duration::from_secs(600) };

/// Longer than anything here may take.
const LONG: Duration = Duration::from_secs(3600);

/// A hub that does not do as it is asked, so many times.
pub(crate) struct FickleHub {
    hub: MemoryHub,
    /// So many steps are not done.
    pub(crate) away: AtomicUsize,
    /// So many steps are done, and nobody is told.
    pub(crate) mute: AtomicUsize,
    /// How long an append takes, in milliseconds.
    pub(crate) slow: AtomicUsize,
}

// === impl FickleHub ===

impl FickleHub {
    pub(crate) fn new() -> Arc<Self> {
        let hub = MemoryHub::new(MemoryLimits::default());
        Arc::new(Self {
            hub,
            away: AtomicUsize::new(0),
            mute: AtomicUsize::new(0),
            slow: AtomicUsize::new(0),
        })
    }

    fn step<'a, T: Send + 'a>(&'a self, operation: Operation, step: HubFuture<'a, T>) -> HubFuture<'a, T> {
        let taken = |left: &AtomicUsize| {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
        };
        Box::pin(async move {
            if taken(&self.away) {
                return Err(HubError::Unavailable { operation, source: "away".into() });
            }
            let slow = self.slow.load(Ordering::Relaxed);
            if operation == Operation::Append && slow > 0 {
                sleep(Duration::from_millis(slow.try_into().unwrap())).await;
            }
            let done = step.await;
            if taken(&self.mute) {
                return Err(HubError::Unavailable { operation, source: "mute".into() });
            }
            done
        })
    }
}

impl Hub for FickleHub {
    fn claim<'a>(&'a self, topic: &'a Topic, retention: Retention) -> HubFuture<'a, Fence> {
        self.step(Operation::Claim, self.hub.claim(topic, retention))
    }

    fn take_over<'a>(&'a self, topic: &'a Topic, from: Fence, retention: Retention) -> HubFuture<'a, Fence> {
        self.step(Operation::Claim, self.hub.take_over(topic, from, retention))
    }

    fn fence<'a>(&'a self, topic: &'a Topic) -> HubFuture<'a, Option<Fence>> {
        self.hub.fence(topic)
    }

    fn append<'a>(
        &'a self,
        topic: &'a Topic,
        fence: Option<Fence>,
        retention: Retention,
        payload: Bytes,
        last: bool,
    ) -> HubFuture<'a, Position> {
        self.step(Operation::Append, self.hub.append(topic, fence, retention, payload, last))
    }

    fn append_after<'a>(
        &'a self,
        topic: &'a Topic,
        fence: Fence,
        previous: Position,
        retention: Retention,
        payload: Bytes,
        last: bool,
    ) -> HubFuture<'a, Position> {
        let append = self.hub.append_after(topic, fence, previous, retention, payload, last);
        self.step(Operation::Append, append)
    }

    fn follow<'a>(&'a self, topic: &'a Topic, after: Position) -> HubFuture<'a, Follower> {
        self.step(Operation::Follow, self.hub.follow(topic, after))
    }

    fn position<'a>(&'a self, topic: &'a Topic) -> HubFuture<'a, Position> {
        self.hub.position(topic)
    }

    fn delete<'a>(&'a self, topic: &'a Topic) -> HubFuture<'a, ()> {
        self.hub.delete(topic)
    }

    fn signal<'a>(&'a self, channel: &'a Channel, payload: Bytes) -> HubFuture<'a, ()> {
        self.hub.signal(channel, payload)
    }

    fn listen<'a>(&'a self, channel: &'a Channel) -> HubFuture<'a, Listener> {
        self.hub.listen(channel)
    }
}

/// A call's way back, and what its log says to the client.
struct Call {
    hub: Arc<FickleHub>,
    outbox: Arc<Outbox>,
    log: LogCarrier,
}

// === impl Call ===

impl Call {
    fn new() -> Self {
        let hub = FickleHub::new();
        let logs = Logs { hub: hub.clone(), retention: KEEP, bytes: 1 << 20, replica: "a".into() };
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#;
        let log = LogCarrier::of_call(Arc::new(logs), "s".into(), body.into());
        log.stream();
        let outbox = Arc::new(Outbox::new(Carrier::Log(log.clone()), 1));
        Self { hub, outbox, log }
    }

    fn following(&self) -> Following {
        Following::new(self.hub.clone(), self.log.topic(), Position::default(), Life::Once)
    }

    async fn answer(&self, text: &'static str) {
        self.outbox.respond(Reply { status: 200, body: text.into() }).await.unwrap();
    }

    /// What a client gets, to the end.
    async fn said(&self) -> Vec<String> {
        let (mut log, mut said) = (self.following(), Vec::new());
        while let Some(delivery) = timeout(LONG, log.next()).await.expect("the stream has an end") {
            if let Delivery::Entry(entry) = delivery
                && !is_silent(&entry.payload)
            {
                said.push(String::from_utf8(entry.payload.to_vec()).unwrap());
            }
        }
        said
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_said_while_the_hub_is_away_is_there_once() {
    // At the claim, the note, a frame and the answer: before it is done, and after.
    for at in 0..4 {
        for lost in [false, true] {
            let call = Call::new();
            let fail = || if lost { &call.hub.mute } else { &call.hub.away }.store(3, Ordering::Relaxed);
            if at == 0 {
                fail();
            }
            call.outbox.open().await.unwrap();
            if at == 1 {
                fail();
            }
            call.outbox.send("one".into()).await.unwrap();
            if at == 2 {
                fail();
            }
            call.outbox.send("two".into()).await.unwrap();
            if at == 3 {
                fail();
            }
            call.answer("three").await;
            assert_eq!(call.said().await, ["one", "two", "three"], "at {at}, lost: {lost}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_stream_that_cannot_begin_is_told() {
    let call = Call::new();
    call.hub.away.store(usize::MAX, Ordering::Relaxed);
    let outbox = call.outbox.clone();
    let output = tokio::spawn(async move { outbox.output().await });
    assert!(call.outbox.send("one".into()).await.is_err());
    let output = timeout(LONG, output).await.expect("nobody waits for ever").unwrap();
    assert!(matches!(output, Output::Broken));
}

#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_any_more_is_written_all_the_same() {
    let call = Call::new();
    call.outbox.open().await.unwrap();
    call.hub.slow.store(1000, Ordering::Relaxed);
    let given_up = timeout(Duration::from_millis(10), call.outbox.send("one".into())).await;
    assert!(given_up.is_err());
    call.hub.slow.store(0, Ordering::Relaxed);
    call.answer("two").await;
    assert_eq!(call.said().await, ["one", "two"], "and the next is not taken for it");
}

#[tokio::test(start_paused = true)]
async fn a_log_that_was_lost_is_begun_again() {
    let call = Call::new();
    call.outbox.send("one".into()).await.unwrap();
    call.hub.delete(&call.log.topic()).await.unwrap();
    // Who asks for it now waits for its beginning.
    call.answer("two").await;
    assert_eq!(call.said().await, ["two"]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_whose_log_is_lost_before_anybody_reads_it_has_an_end() {
    // The question is asked, and its log lost with it: the handler waits for an answer that nobody can give.
    let call = Call::new();
    call.outbox.send("a question".into()).await.unwrap();
    let Output::Stream(Source::Log(log, begun)) = call.outbox.output().await else { panic!("no log") };
    call.hub.delete(&log.topic()).await.unwrap();
    let mut read = Following::begin(call.hub.clone(), log.topic(), begun, Life::Once).await;
    let end = timeout(LONG, read.next()).await.expect("nobody waits for ever");
    assert!(matches!(end, Some(Delivery::Gone)), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_goes_on_in_a_log_that_was_begun_again_and_shows_the_gap() {
    let call = Call::new();
    call.outbox.send("one".into()).await.unwrap();
    let Output::Stream(Source::Log(log, begun)) = call.outbox.output().await else { panic!("no log") };
    call.hub.delete(&log.topic()).await.unwrap();
    call.answer("two").await;
    let mut read = Following::begin(call.hub.clone(), log.topic(), begun, Life::Once).await;
    let mut seen = Vec::new();
    while let Some(delivery) = timeout(LONG, read.next()).await.expect("the stream has an end") {
        match delivery {
            Delivery::Entry(entry) if is_silent(&entry.payload) => {}
            Delivery::Entry(entry) => seen.push(String::from_utf8(entry.payload.to_vec()).unwrap()),
            Delivery::Gap => seen.push("gap".to_owned()),
            Delivery::Gone => seen.push("gone".to_owned()),
        }
    }
    assert_eq!(seen, ["gap", "two"]);
}

#[tokio::test(start_paused = true)]
async fn a_log_is_read_on_after_the_hub_was_away() {
    let call = Call::new();
    call.hub.away.store(5, Ordering::Relaxed);
    let mut log = call.following();
    let first = tokio::spawn(async move {
        let first = log.next().await;
        (first, log)
    });
    sleep(LONG / 60).await;
    call.outbox.send("one".into()).await.unwrap();
    let (first, _) = timeout(LONG, first).await.expect("it is read as soon as the hub is back").unwrap();
    assert!(matches!(first, Some(Delivery::Entry(_))));
}

#[tokio::test(start_paused = true)]
async fn a_log_that_expires_while_the_hub_is_away_begins_again() {
    let hub = FickleHub::new();
    let topic = Topic("broadcast".into());
    let place = hub.append(&topic, None, KEEP, "old".into(), false).await.unwrap();
    let mut log = Following::open(hub.clone(), topic.clone(), place, Life::Renewed).await.unwrap();
    hub.away.store(10, Ordering::Relaxed);
    hub.delete(&topic).await.unwrap();
    let next = tokio::spawn(async move { log.next().await });
    sleep(LONG / 60).await;
    hub.append(&topic, None, KEEP, "new".into(), false).await.unwrap();
    let next = timeout(LONG, next).await.expect("it is heard").unwrap();
    assert!(matches!(next, Some(Delivery::Entry(entry)) if entry.payload == "new"));
}

/// Says something more often than it gives a sign of life, each time on a hub that takes longer than that.
fn tools() -> Vec<Tool> {
    vec![Tool::new("work", |exchange: Exchange, _: NoArguments| async move {
        for step in 1..=3 {
            exchange.progress(f64::from(step), None, None).await;
            sleep(Duration::from_secs(20)).await;
        }
        Ok("done")
    })]
}

#[tokio::test(start_paused = true)]
async fn a_sign_of_life_does_not_wait_for_the_handler_that_waits_for_it() {
    local(async {
        let hub = FickleHub::new();
        let cluster = Cluster::new(tools, Limits::default()).with_hub(hub.clone());
        let a = cluster.replica("a").await;
        let peer = a.initialize(&Principal::anonymous(), Revision::V2025_11_25, &json!({})).await;
        hub.slow.store(40_000, Ordering::Relaxed);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "work", "_meta": {"progressToken": "p"}}});
        let log = LogCarrier::of_call(
            a.core.services.logs.clone(),
            peer.session().id().clone(),
            body.to_string().into(),
        );
        let sent = a.send_body(&peer, &body, Carrier::Log(log)).await.unwrap();
        let Output::Stream(Source::Log(log, begun)) = sent.outbox.output().await else { panic!("no log") };
        let mut log = Following::new(hub, log.topic(), begun, Life::Once);
        let answered = async {
            while let Some(delivery) = log.next().await {
                let Delivery::Entry(entry) = delivery else { continue };
                let said: Value = serde_json::from_slice(&entry.payload).unwrap_or_default();
                if said.get("result").is_some() {
                    return said;
                }
            }
            Value::Null
        };
        let answer = timeout(LONG, answered).await.expect("the call has an answer");
        assert_eq!(answer["result"]["content"][0]["text"], "done");
    })
    .await;
}
