//! What is particular to the hub in Redis: lost connections, lost data, what it costs, what it leaves behind.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

#[path = "redis/away.rs"]
mod away;
#[path = "redis/costs.rs"]
mod costs;
#[path = "redis/failover.rs"]
mod failover;
#[path = "redis/lost.rs"]
mod lost;
#[path = "redis/traces.rs"]
mod traces;

use std::{fmt::Debug, future::Future, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt;
use trunkline_harness::{redis::Standalone, wait::Wait};
use trunkline_hub::{
    Delivery, Entry, Fence, Follower, Hub, HubError, Position, Retention, Topic,
    redis::{RedisHub, RedisLimits},
};
use trunkline_redis::{Client, Settings};

const KEEP: Retention = Retention { entries: 100_000, age: Duration::from_secs(600) };

/// Whatever is waited for comes long before, unless it never does.
const PATIENCE: Duration = Duration::from_secs(90);

/// Looks often, so that what only a look finds is found soon.
fn limits() -> RedisLimits {
    RedisLimits { look_every: Duration::from_millis(400), ..RedisLimits::default() }
}

/// Never looks, so that what only a look finds is never found.
fn blind() -> RedisLimits {
    RedisLimits { look_every: Duration::from_secs(3600), ..RedisLimits::default() }
}

fn hub(url: &str, limits: RedisLimits) -> Arc<RedisHub> {
    let client = Client::open(Settings::new(url.parse().unwrap())).unwrap();
    Arc::new(RedisHub::new(client, "trunkline", limits))
}

fn topic(name: &str) -> Topic {
    Topic(name.into())
}

async fn say(
    hub: &RedisHub,
    topic: &Topic,
    fence: Option<Fence>,
    number: usize,
) -> Result<Position, HubError> {
    hub.append(topic, fence, KEEP, Bytes::from(number.to_string()), false).await
}

async fn end(
    hub: &RedisHub,
    topic: &Topic,
    fence: Option<Fence>,
    number: usize,
) -> Result<Position, HubError> {
    hub.append(topic, fence, KEEP, Bytes::from(number.to_string()), true).await
}

/// Appends a number until Redis takes it. One that was not answered may have been taken all the same, so it may be there twice.
async fn insist(hub: &RedisHub, topic: &Topic, fence: Option<Fence>, number: usize) -> Position {
    let wait = Wait::new("an append", PATIENCE);
    loop {
        match say(hub, topic, fence, number).await {
            Ok(position) => return position,
            Err(HubError::Unavailable { .. }) => wait.again(&number).await.unwrap(),
            Err(error) => panic!("{error}"),
        }
    }
}

async fn next(follower: &mut Follower) -> Option<Delivery> {
    soon("a delivery", follower.next()).await.transpose().unwrap()
}

async fn entry(follower: &mut Follower) -> Entry {
    match next(follower).await {
        Some(Delivery::Entry(entry)) => entry,
        other => panic!("no entry but {other:?}"),
    }
}

fn number(entry: &Entry) -> usize {
    std::str::from_utf8(&entry.payload).unwrap().parse().unwrap()
}

/// What a follower says up to the last entry.
async fn to_the_end(mut follower: Follower) -> Vec<usize> {
    let mut numbers = Vec::new();
    while let Some(delivery) = next(&mut follower).await {
        match delivery {
            Delivery::Entry(entry) => numbers.push(number(&entry)),
            other => panic!("{other:?} after {numbers:?}"),
        }
    }
    numbers
}

async fn soon<T>(what: &str, wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("{what} did not come"))
}

/// Waits until a condition holds for what is looked at.
async fn until<T: Debug, Fut: Future<Output = T>>(
    what: &str,
    look: impl Fn() -> Fut,
    holds: impl Fn(&T) -> bool,
) -> T {
    let wait = Wait::new(what, PATIENCE);
    loop {
        let seen = look().await;
        if holds(&seen) {
            return seen;
        }
        wait.again(&seen).await.unwrap();
    }
}

/// A field of what `INFO` says.
async fn info(redis: &Standalone, section: &str, field: &str) -> Option<String> {
    let info = redis.command(&["INFO", section]).await.unwrap().text().unwrap();
    info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':').map(str::to_owned))
}

/// How often clients and scripts have run a command.
async fn calls(redis: &Standalone, command: &str) -> u64 {
    let stats = info(redis, "commandstats", &format!("cmdstat_{command}")).await;
    let calls = stats.and_then(|stats| stats.strip_prefix("calls=")?.split(',').next()?.parse().ok());
    calls.unwrap_or(0)
}

/// Channels that somebody has subscribed to.
async fn channels(redis: &Standalone) -> usize {
    redis.command(&["PUBSUB", "CHANNELS"]).await.unwrap().list().len()
}
