//! Logs and signals in the memory of one process: for one replica, for tests, and the reference for every other hub.
//!
//! A log that expired is gone at once for whoever asks, and leaves memory when it is next used or swept. The sweep is a task
//! of its own, since nobody asks for the log of a call that has ended; it ends when the hub is dropped.
//!
//! ```
//! use std::time::Duration;
//! use bytes::Bytes;
//! use futures_util::StreamExt;
//! use trunkline_hub::{Delivery, Hub, Position, Retention, Topic, memory::{MemoryHub, MemoryLimits}};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), trunkline_hub::HubError> {
//! let hub = MemoryHub::new(MemoryLimits::default());
//! let topic = Topic("s1/stream-1".into());
//! let retention = Retention { entries: 100, age: Duration::from_secs(300) };
//! let fence = hub.claim(&topic, retention).await?;
//! hub.append(&topic, Some(fence), retention, Bytes::from("hello"), false).await?;
//! hub.append(&topic, Some(fence), retention, Bytes::from("bye"), true).await?;
//!
//! let mut follower = hub.follow(&topic, Position::default()).await?;
//! let mut heard = Vec::new();
//! while let Some(Delivery::Entry(entry)) = follower.next().await.transpose()? {
//!     heard.push(entry.payload);
//! }
//! assert_eq!(heard, ["hello", "bye"]);
//! # Ok(())
//! # }
//! ```

mod log;
#[cfg(test)]
mod tests;
mod topics;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::{task::AbortHandle, time::MissedTickBehavior};

use self::topics::{Append, Reader, SHARDS, Topics};
use crate::{
    Channel, Delivery, Fence, Follower, Health, Hub, HubError, HubFuture, Listener, Position, Retention,
    Signal, Topic,
    signals::{Backlog, Listening, Signals},
    within,
};

/// How often the sweep runs, and how much it looks at: everything within 8 s, which is how long an expired log may linger
/// and how late its followers may be told.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
const SWEEP_SHARDS: usize = 8;

/// The most that a [`MemoryHub`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Logs, and names of logs that are waited for. 100 000: every call that streams has one until it expires, so 300 such
    /// calls a second at an age of five minutes.
    pub logs: usize,
    /// Bytes of one log's entries, beyond which the oldest go; also of one entry. 8 MiB: a few large results.
    pub log_bytes: usize,
    /// Bytes of all logs' entries. 256 MiB: ended logs stay until they expire, whatever they hold.
    pub bytes: usize,
    /// Bytes of one signal. 4 MiB: it may carry a client's answer, which is a request's body.
    pub signal_bytes: usize,
    /// Signals that one listener has not taken. 1024: a burst of tens of milliseconds at full load; a listener hands
    /// signals on and is behind by so much when its thread is stuck.
    pub pending_signals: usize,
    /// Bytes of the same. 16 MiB.
    pub pending_bytes: usize,
}

/// What a [`MemoryHub`] holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Logs, expired ones that are not swept yet included.
    pub logs: usize,
    /// Bytes of their entries.
    pub bytes: usize,
    /// Followers that have not ended.
    pub followers: usize,
    /// Listeners.
    pub listeners: usize,
    /// Signals that a listener has lost since the hub was made, because its queue was full.
    pub lost_signals: u64,
}

/// A [`Hub`] in memory. When it is dropped its followers are told [`Delivery::Gone`], and its listeners end.
#[derive(Debug)]
pub struct MemoryHub {
    limits: MemoryLimits,
    topics: Arc<Topics>,
    signals: Arc<Signals>,
    sweep: AbortHandle,
}

// === impl MemoryLimits ===

impl Default for MemoryLimits {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            logs: 100_000,
            log_bytes: 8 * MIB,
            bytes: 256 * MIB,
            signal_bytes: 4 * MIB,
            pending_signals: 1024,
            pending_bytes: 16 * MIB,
        }
    }
}

// === impl MemoryHub ===

impl MemoryHub {
    /// An empty hub, and its sweep as a task on the current runtime.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn new(limits: MemoryLimits) -> Self {
        let topics = Arc::new(Topics::new(limits));
        let sweep = tokio::spawn(sweep(Arc::clone(&topics))).abort_handle();
        let backlog = Backlog { signals: limits.pending_signals, bytes: limits.pending_bytes };
        Self { limits, topics, signals: Arc::new(Signals::new(backlog)), sweep }
    }

    /// What it holds now.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        Gauges {
            logs: self.topics.logs.load(Ordering::Relaxed),
            bytes: self.topics.bytes.load(Ordering::Relaxed),
            followers: self.topics.followers.load(Ordering::Relaxed),
            listeners: self.signals.listeners.load(Ordering::Relaxed),
            lost_signals: self.signals.lost.load(Ordering::Relaxed),
        }
    }

    fn add(&self, topic: &Topic, append: Append) -> Result<Position, HubError> {
        topic.check()?;
        within("an entry", append.payload.len(), self.limits.log_bytes)?;
        self.topics.append(topic, append)
    }
}

impl Drop for MemoryHub {
    fn drop(&mut self) {
        self.sweep.abort();
        self.topics.close();
        self.signals.close();
    }
}

impl Hub for MemoryHub {
    fn claim<'a>(&'a self, topic: &'a Topic, retention: Retention) -> HubFuture<'a, Fence> {
        Box::pin(async move {
            topic.check()?;
            self.topics.claim(topic, retention)
        })
    }

    fn take_over<'a>(&'a self, topic: &'a Topic, from: Fence, retention: Retention) -> HubFuture<'a, Fence> {
        Box::pin(async move {
            topic.check()?;
            self.topics.take_over(topic, from, retention)
        })
    }

    fn fence<'a>(&'a self, topic: &'a Topic) -> HubFuture<'a, Option<Fence>> {
        Box::pin(async move { Ok(self.topics.fence(topic)) })
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
        Box::pin(async move { self.add(topic, append) })
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
        Box::pin(async move { self.add(topic, append) })
    }

    fn follow<'a>(&'a self, topic: &'a Topic, after: Position) -> HubFuture<'a, Follower> {
        Box::pin(async move {
            topic.check()?;
            Ok(match self.topics.follow(topic, after)? {
                Some(reader) => deliveries(reader),
                None => stream::iter([Ok(Delivery::Gone)]).boxed(),
            })
        })
    }

    fn position<'a>(&'a self, topic: &'a Topic) -> HubFuture<'a, Position> {
        Box::pin(async move { Ok(self.topics.position(topic)) })
    }

    fn delete<'a>(&'a self, topic: &'a Topic) -> HubFuture<'a, ()> {
        Box::pin(async move {
            self.topics.delete(topic);
            Ok(())
        })
    }

    fn signal<'a>(&'a self, channel: &'a Channel, payload: Bytes) -> HubFuture<'a, ()> {
        Box::pin(async move {
            channel.check()?;
            within("a signal", payload.len(), self.limits.signal_bytes)?;
            self.signals.send(&Signal { channel: channel.clone(), payload });
            Ok(())
        })
    }

    fn listen<'a>(&'a self, channel: &'a Channel) -> HubFuture<'a, Listener> {
        Box::pin(async move {
            channel.check()?;
            let listening = self.signals.listen(channel);
            let next = |mut listening: Listening| async { Some((listening.next().await?, listening)) };
            Ok(stream::unfold(listening, next).boxed())
        })
    }

    fn health(&self) -> Health {
        Health {
            gaps: self.topics.gaps.load(Ordering::Relaxed),
            lost_signals: self.signals.lost.load(Ordering::Relaxed),
            ..Health::default()
        }
    }
}

/// What the reader reads. The reader goes with what nothing follows, not when the stream does.
fn deliveries(reader: Reader) -> Follower {
    let next = |reader: Option<Reader>| async {
        let mut reader = reader?;
        let delivery = reader.next().await?;
        let ends = match &delivery {
            Delivery::Entry(entry) => entry.last,
            Delivery::Gap => false,
            Delivery::Gone => true,
        };
        Some((Ok(delivery), (!ends).then_some(reader)))
    };
    stream::unfold(Some(reader), next).boxed()
}

/// Some shards at a time, and others may run after each.
async fn sweep(topics: Arc<Topics>) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut shards = (0..SHARDS).cycle();
    loop {
        ticks.tick().await;
        for index in shards.by_ref().take(SWEEP_SHARDS) {
            topics.sweep(index);
            tokio::task::yield_now().await;
        }
    }
}
