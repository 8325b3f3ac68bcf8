//! Logs and signals in Redis, shared by every replica that names the same Redis and the same prefix.
//!
//! A log is a stream of entries and a hash beside it, at `{prefix}:log:{<first>}/<rest>:stream` and `:meta`, where the braces are
//! literal and `first` is the topic's part before the first `/`. Claiming, appending and deleting are one script each, so one
//! round trip and one atomic step, which also publishes what it did. Every key gets its expiry in the step that makes it, and
//! time is Redis's alone.
//!
//! # Following
//!
//! Whoever follows a log subscribes first and reads then. All who follow one log here share a subscription and the newest
//! entries, so that an entry costs one message, or one reading if it is large, whatever their number; who is behind that
//! reads the log by itself, in pages. Each message names the entry before it. Where that is not the one known, and after
//! every lost connection, the log is read again from there: a message that goes missing delays an entry, and loses none. If
//! nothing comes after it, it is noticed within [`RedisLimits::look_every`], as is a log that has expired.
//!
//! While Redis is away followers wait. They fail only when Redis refuses to be read.
//!
//! A replica uses the client's connections and one more to each primary, whatever it follows.
//!
//! # When Redis fails over or loses its data
//!
//! Places and fences come from Redis's clock and never go below what is known of a name, also for ten minutes after a
//! log is gone. So they rise over a failover, an expiry and a loss of all data, unless the clock goes back by
//! more than that. Entries that a failover loses are lost; what is appended afterwards still comes after the places that
//! were handed out.
//!
//! # What Redis needs
//!
//! Redis 7 or Valkey 8. A `maxmemory-policy` that evicts keys ends logs at will, which their followers are told. Where users are restricted, this needs the keys `{prefix}:log:*`, the channels `{prefix}:*`, and the
//! commands `HELLO`, `PING`, `TIME`, `EVAL`, `EVALSHA`, `HMGET`, `HSET`, `XADD`, `XLEN`, `XTRIM`, `XRANGE`,
//! `DEL`, `PEXPIRE`, `PUBLISH`, `SUBSCRIBE` and `UNSUBSCRIBE`; `WAIT` and `ROLE` behind Sentinels; on a Cluster `CLUSTER|SLOTS`, `ASKING`
//! and `SPUBLISH`, `SSUBSCRIBE` and `SUNSUBSCRIBE` instead of those.
//!
//! ```no_run
//! use std::time::Duration;
//! use bytes::Bytes;
//! use trunkline_hub::{Hub, Retention, Topic, redis::{RedisHub, RedisLimits}};
//! use trunkline_redis::{Client, Settings};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::open(Settings::new("redis://127.0.0.1".parse()?))?;
//! let hub = RedisHub::new(client, "trunkline", RedisLimits::default());
//! let retention = Retention { entries: 100, age: Duration::from_secs(300) };
//! hub.append(&Topic("news".into()), None, retention, Bytes::from("hello"), false).await?;
//! # Ok(())
//! # }
//! ```

mod core;
mod link;
mod logs;
mod message;
mod names;
mod place;
mod reader;
mod seats;
mod tail;

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use redis::Value;
use tokio::task::AbortHandle;
use trunkline_redis::{Client, Failure, Pushes};

use self::{
    core::{Core, NOTHING},
    link::Link,
    logs::{Append, StepError, publish},
    message::Reading,
    reader::{PATIENCE, Reader},
    seats::{Hold, Kind},
};
use crate::{
    Channel, Delivery, Fence, Follower, Health, Hub, HubError, HubFuture, Listener, Operation, Position,
    Retention, Topic, signals::Listening, within,
};

/// Messages that Redis has sent and the hub has not taken yet. 16 384: a message is taken in a few microseconds, so this many are
/// behind when a thread is stuck; then the connection is made anew and what was missed is read.
const PUSHES: usize = 16_384;

/// The most that a [`RedisHub`] holds in this process, and how much of it in Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedisLimits {
    /// Bytes of one log's entries, beyond which the oldest go; also of one entry. 8 MiB: a few large results.
    pub log_bytes: usize,
    /// Logs followed and channels listened to in this process. 100 000: as many as it has open streams.
    pub subscriptions: usize,
    /// Bytes of entries that followers here have not taken yet. 64 MiB: beyond it each follower that is behind reads
    /// the log by itself, one entry at a time.
    pub held_bytes: usize,
    /// Bytes of one signal. 4 MiB: it may carry a client's answer, which is a request's body.
    pub signal_bytes: usize,
    /// Signals that one listener has not taken. 1024: a burst of tens of milliseconds at full load; a listener hands
    /// signals on and is behind by so much when its thread is stuck.
    pub pending_signals: usize,
    /// Bytes of the same. 16 MiB.
    pub pending_bytes: usize,
    /// How often every log that is followed is looked at. 5 s: how late a missed message or an expiry is noticed. With 10 000
    /// logs these are 2000 small commands a second, in 8 pipelines.
    pub look_every: Duration,
}

/// What a [`RedisHub`] holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedisGauges {
    /// Logs followed and channels listened to.
    pub subscriptions: usize,
    /// Followers that have not ended.
    pub followers: usize,
    /// Listeners.
    pub listeners: usize,
    /// Bytes of entries that followers have not taken yet.
    pub held_bytes: usize,
}

/// A [`Hub`] in Redis. When it is dropped its followers fail, and its listeners end.
pub struct RedisHub {
    core: Arc<Core>,
    link: AbortHandle,
}

// === impl RedisLimits ===

impl Default for RedisLimits {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            log_bytes: 8 * MIB,
            subscriptions: 100_000,
            held_bytes: 64 * MIB,
            signal_bytes: 4 * MIB,
            pending_signals: 1024,
            pending_bytes: 16 * MIB,
            look_every: Duration::from_secs(5),
        }
    }
}

// === impl RedisHub ===

impl RedisHub {
    /// A hub whose keys and channels begin with `prefix`, which has no braces, and its connections, on the client's runtime. Does
    /// not wait for Redis to be there.
    #[must_use]
    pub fn new(client: Client, prefix: &str, limits: RedisLimits) -> Self {
        let (pushes, events) = Pushes::open(&client, Vec::new(), PUSHES);
        let runtime = client.runtime().clone();
        let core = Arc::new(Core::new(client, prefix, limits));
        let link = runtime.spawn(Link::new(Arc::clone(&core), pushes).run(events)).abort_handle();
        Self { core, link }
    }

    /// The client that it stands on; whether its operations work is that one's health.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.core.client
    }

    /// What it holds now.
    #[must_use]
    pub fn gauges(&self) -> RedisGauges {
        RedisGauges {
            subscriptions: self.core.seats.count(),
            followers: self.core.followers.load(Ordering::Relaxed),
            listeners: self.core.signals.listeners.load(Ordering::Relaxed),
            held_bytes: self.core.held.bytes(),
        }
    }

    /// A log without its entries.
    async fn look(&self, topic: &Topic) -> Result<Reading, HubError> {
        let reading = self.core.logs.read(&self.core.names.log(topic), Position::default(), NOTHING).await;
        reading.map_err(|error| error.during(Operation::Follow))
    }

    async fn send(&self, channel: &Channel, payload: &Bytes) -> Result<(), Failure> {
        let name = self.core.names.signal(channel);
        let mut cmd = redis::cmd(publish(&self.core.client));
        cmd.arg(&name).arg(&payload[..]);
        self.core.client.run::<Value>(name.as_bytes(), &cmd).await.map(drop)
    }

    async fn listening(&self, channel: &Channel) -> Result<(Listening, Hold), HubError> {
        let name = self.core.names.signal(channel);
        let node = self.core.client.node_of(name.as_bytes());
        // Before it is confirmed, so that nothing after is missed.
        let listening = self.core.signals.listen(channel);
        let hold = self.core.seats.hold(&name, node, || Kind::Signals(channel.clone()))?;
        let unavailable = |source| HubError::Unavailable { operation: Operation::Listen, source };
        match tokio::time::timeout(PATIENCE, hold.seat.confirmed()).await {
            Ok(Ok(())) => Ok((listening, hold)),
            Ok(Err(failure)) => Err(unavailable(Box::new(failure))),
            Err(elapsed) => Err(unavailable(Box::new(elapsed))),
        }
    }

    async fn add(&self, topic: &Topic, append: Append) -> Result<Position, HubError> {
        topic.check()?;
        within("an entry", append.payload.len(), self.core.limits.log_bytes)?;
        self.core.logs.append(&self.core.names.log(topic), append).await
    }
}

impl Drop for RedisHub {
    fn drop(&mut self) {
        self.link.abort();
        self.core.close();
    }
}

/// Without names of logs, which hold session ids.
impl fmt::Debug for RedisHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisHub").field("client", &self.core.client).field("gauges", &self.gauges()).finish()
    }
}

impl Hub for RedisHub {
    fn claim<'a>(&'a self, topic: &'a Topic, retention: Retention) -> HubFuture<'a, Fence> {
        Box::pin(async move {
            topic.check()?;
            self.core.logs.claim(&self.core.names.log(topic), None, retention).await
        })
    }

    fn take_over<'a>(&'a self, topic: &'a Topic, from: Fence, retention: Retention) -> HubFuture<'a, Fence> {
        Box::pin(async move {
            topic.check()?;
            self.core.logs.claim(&self.core.names.log(topic), Some(from), retention).await
        })
    }

    fn fence<'a>(&'a self, topic: &'a Topic) -> HubFuture<'a, Option<Fence>> {
        Box::pin(async move {
            Ok(match self.look(topic).await? {
                Reading::Alive(page) if page.fence != 0 => Some(Fence(page.fence)),
                _ => None,
            })
        })
    }

    fn append<'a>(
        &'a self,
        topic: &'a Topic,
        fence: Option<Fence>,
        retention: Retention,
        payload: Bytes,
        last: bool,
    ) -> HubFuture<'a, Position> {
        let append = Append { fence, previous: None, retention, payload, last };
        Box::pin(self.add(topic, append))
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
        let append = Append { fence: Some(fence), previous: Some(previous), retention, payload, last };
        Box::pin(self.add(topic, append))
    }

    fn follow<'a>(&'a self, topic: &'a Topic, after: Position) -> HubFuture<'a, Follower> {
        Box::pin(async move {
            topic.check()?;
            Ok(match Reader::begin(&self.core, topic, after).await? {
                Some(reader) => deliveries(reader),
                None => stream::iter([Ok(Delivery::Gone)]).boxed(),
            })
        })
    }

    fn position<'a>(&'a self, topic: &'a Topic) -> HubFuture<'a, Position> {
        Box::pin(async move {
            Ok(match self.look(topic).await? {
                Reading::Alive(page) => page.newest,
                Reading::Gone(_) => Position::default(),
            })
        })
    }

    fn delete<'a>(&'a self, topic: &'a Topic) -> HubFuture<'a, ()> {
        Box::pin(async move { self.core.logs.delete(&self.core.names.log(topic)).await })
    }

    fn signal<'a>(&'a self, channel: &'a Channel, payload: Bytes) -> HubFuture<'a, ()> {
        Box::pin(async move {
            channel.check()?;
            within("a signal", payload.len(), self.core.limits.signal_bytes)?;
            let sent = self.send(channel, &payload).await;
            sent.map_err(|failure| StepError::from(failure).during(Operation::Signal))
        })
    }

    fn listen<'a>(&'a self, channel: &'a Channel) -> HubFuture<'a, Listener> {
        Box::pin(async move {
            channel.check()?;
            let (listening, hold) = self.listening(channel).await?;
            let next = |(mut listening, hold): (Listening, Hold)| async {
                Some((listening.next().await?, (listening, hold)))
            };
            Ok(stream::unfold((listening, hold), next).boxed())
        })
    }

    fn health(&self) -> Health {
        self.core.health()
    }
}

/// What the reader reads. The reader goes with what nothing follows, not when the stream does.
fn deliveries(reader: Reader) -> Follower {
    let next = |reader: Option<Reader>| async {
        let mut reader = reader?;
        let delivery = reader.next().await?;
        let ends = match &delivery {
            Ok(Delivery::Entry(entry)) => entry.last,
            Ok(Delivery::Gap) => false,
            Ok(Delivery::Gone) | Err(_) => true,
        };
        Some((delivery, (!ends).then_some(reader)))
    };
    stream::unfold(Some(reader), next).boxed()
}
