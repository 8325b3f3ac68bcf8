//! The face of a hub.

use std::{future::Future, pin::Pin, time::Duration};

use bytes::Bytes;
use futures_core::Stream;

use crate::{Channel, Delivery, Fence, HubError, Position, Retention, Topic};

/// What every operation returns: boxed, since the hub is chosen when the server starts and no hot path calls it.
pub type HubFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, HubError>> + Send + 'a>>;

/// The entries of a log, past and to come. It ends after an entry that is the last, after [`Delivery::Gone`], or when dropped.
///
/// Bounded by design: a follower keeps its place and reads on from the log, so a slow one costs no memory and meets
/// [`Delivery::Gap`] once the log has been trimmed past it.
pub type Follower = Pin<Box<dyn Stream<Item = Result<Delivery, HubError>> + Send>>;

/// The signals of one channel from now on. Signals sent while nobody listened, or faster than they are taken, are lost.
pub type Listener = Pin<Box<dyn Stream<Item = Signal> + Send>>;

/// One signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Where it was sent.
    pub channel: Channel,
    /// What it says.
    pub payload: Bytes,
}

/// How well a hub works: whether it hears the other replicas, and what went wrong since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// How long followers and listeners have heard nothing, since the backend could not be reached; `None` while all is well.
    /// Followers are late by so much and miss nothing; signals sent meanwhile are lost.
    pub deaf_for: Option<Duration>,
    /// How often the connections that followers and listeners share were made again.
    pub resubscriptions: u64,
    /// How often a follower's past was read again, since a message was missing or came out of turn.
    pub repairs: u64,
    /// How often a follower was told [`Delivery::Gap`].
    pub gaps: u64,
    /// Signals that a listener has lost because its queue was full.
    pub lost_signals: u64,
}

/// Logs and signals between replicas.
///
/// Implementations: [`crate::memory::MemoryHub`] for one process, [`crate::redis::RedisHub`] for many. All pass the same suite of tests, `tests/contract.rs`.
pub trait Hub: Send + Sync + 'static {
    /// Takes a log over, making it if need be, and returns a fence higher than any before. Entries of an earlier owner are
    /// refused from now on. Renews the log's age. A log that has ended cannot be taken: [`HubError::Ended`].
    fn claim<'a>(&'a self, topic: &'a Topic, retention: Retention) -> HubFuture<'a, Fence>;

    /// Takes a log over from exactly one owner: as [`Hub::claim`], if `from` is the log's fence now. Of many who take it over from
    /// the same owner one succeeds.
    ///
    /// Refused, the first that applies: [`HubError::Unknown`] when the log that `from` was given for is gone;
    /// [`HubError::Fenced`] when another has claimed it since; [`HubError::Ended`].
    fn take_over<'a>(&'a self, topic: &'a Topic, from: Fence, retention: Retention) -> HubFuture<'a, Fence>;

    /// The fence of a log's owner; `None` if nobody has claimed it, or it does not exist. A log that has ended keeps its own.
    fn fence<'a>(&'a self, topic: &'a Topic) -> HubFuture<'a, Option<Fence>>;

    /// Appends an entry and returns its place once it can be had by every replica. `last` ends the log. Renews its age.
    ///
    /// `fence` is what [`Hub::claim`] returned, or `None` on a log that nobody claims: one that many replicas write, as the
    /// broadcast log, which is made by its first entry. The retention given last counts.
    ///
    /// Refused, the first that applies: [`HubError::Unknown`] with a fence, when the log it was given for is gone;
    /// [`HubError::Fenced`] when another has claimed the log since, or without a fence anybody has; [`HubError::Ended`].
    fn append<'a>(
        &'a self,
        topic: &'a Topic,
        fence: Option<Fence>,
        retention: Retention,
        payload: Bytes,
        last: bool,
    ) -> HubFuture<'a, Position>;

    /// Appends an entry of the log's owner after the one that it appended last, the default before its first. So it may repeat
    /// what ended in [`HubError::Unavailable`]: if an entry follows `previous` already, it is this one, whose answer was lost,
    /// and its place is returned. Otherwise as [`Hub::append`].
    fn append_after<'a>(
        &'a self,
        topic: &'a Topic,
        fence: Fence,
        previous: Position,
        retention: Retention,
        payload: Bytes,
        last: bool,
    ) -> HubFuture<'a, Position>;

    /// Reads a log after a place, and goes on with what is appended. The future resolves once nothing appended from then on
    /// can be missed. A log that does not exist yet is waited for if `after` is the default, and is gone otherwise.
    ///
    /// A place in a log of this name that was deleted since lies before a [`Delivery::Gap`]. After the last entry of a log that
    /// has ended there is nothing, and the follower ends at once.
    fn follow<'a>(&'a self, topic: &'a Topic, after: Position) -> HubFuture<'a, Follower>;

    /// The place of the newest entry; the default if the log has none yet or does not exist. Following from here gives only what is new.
    fn position<'a>(&'a self, topic: &'a Topic) -> HubFuture<'a, Position>;

    /// Deletes a log; its followers are told [`Delivery::Gone`], as soon as the news is with them, whatever they have not read. One
    /// that waits for a log goes on waiting. A later append or claim makes a new log, whose places all lie after those of the old one.
    fn delete<'a>(&'a self, topic: &'a Topic) -> HubFuture<'a, ()>;

    /// Sends a signal to whoever listens now.
    fn signal<'a>(&'a self, channel: &'a Channel, payload: Bytes) -> HubFuture<'a, ()>;

    /// Listens. The future resolves once signals sent from then on are received.
    fn listen<'a>(&'a self, channel: &'a Channel) -> HubFuture<'a, Listener>;

    /// How well it works now, for readiness and metrics. Costs nothing and asks nobody. Of a hub that depends on nobody: well.
    fn health(&self) -> Health {
        Health::default()
    }
}
