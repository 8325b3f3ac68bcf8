//! A connection that is kept: made, watched, and replaced whenever it is lost.

use std::{sync::Arc, time::Duration};

use redis::aio::MultiplexedConnection;
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
    task::AbortHandle,
    time::{Instant, MissedTickBehavior},
};

use crate::{
    Failure, Host, NodeId,
    backoff::Backoff,
    error::chain,
    health::Record,
    line::{Line, Vital},
    node::{Lanes, Seat},
    pushes::Link,
    topology::Place,
};

/// How often a connection is asked whether it lives. A peer that vanished without a word is noticed within this and
/// [`crate::line::PING_TIMEOUT`].
const PING_EVERY: Duration = Duration::from_secs(1);

/// A connection that lived so long was a good one: the next wait is short again.
const STEADY: Duration = Duration::from_secs(5);

/// How a kept connection is.
#[derive(Clone)]
pub(crate) enum State {
    /// It is being made, the first attempt since it was last there.
    Connecting,
    /// It is there.
    Up(Line),
    /// The last attempt to make it failed.
    Down(Failure),
}

/// What a kept connection is for.
pub(crate) enum Purpose {
    /// Commands, among others of its kind.
    Lane(Arc<Lanes>),
    /// What Redis says unasked.
    Link(Link),
}

/// What keeps one connection.
pub(crate) struct Keeper {
    pub(crate) node: NodeId,
    /// Where the node is now, if that is known.
    pub(crate) place: watch::Receiver<Place>,
    /// Whether a node that is no primary is left.
    pub(crate) primary_only: bool,
    /// Woken when a connection is lost: the node may have gone elsewhere.
    pub(crate) lost: Arc<Notify>,
    pub(crate) purpose: Purpose,
    pub(crate) timeout: Duration,
    pub(crate) health: Record,
}

/// A connection that is kept until this is dropped.
pub(crate) struct Kept {
    state: watch::Receiver<State>,
    task: AbortHandle,
}

/// A connection just made.
pub(crate) struct Fresh {
    pub(crate) connection: MultiplexedConnection,
    pub(crate) vital: Arc<Vital>,
    /// Changes whenever some connection of the node is lost.
    pub(crate) losses: Option<watch::Receiver<u64>>,
    /// Its seat among the connections of its node.
    pub(crate) _seat: Option<Seat>,
}

// === impl Kept ===

impl Kept {
    /// The connection, if it is there.
    pub(crate) fn up(&self) -> Option<Line> {
        match &*self.state.borrow() {
            State::Up(line) if line.is_alive() => Some(line.clone()),
            _ => None,
        }
    }

    /// Why it is not there, if that is known.
    pub(crate) fn down(&self) -> Option<Failure> {
        match &*self.state.borrow() {
            State::Down(failure) => Some(failure.clone()),
            _ => None,
        }
    }

    /// The connection, once it was made.
    pub(crate) async fn line(&self) -> Result<Line, Failure> {
        let mut state = self.state.clone();
        let settled = state.wait_for(|state| match state {
            State::Connecting => false,
            State::Up(line) => line.is_alive(),
            State::Down(_) => true,
        });
        match settled.await.as_deref() {
            Ok(State::Up(line)) => Ok(line.clone()),
            Ok(State::Down(failure)) => Err(failure.clone()),
            _ => Err(Failure::unavailable("the client is closed")),
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.task.abort();
        if let State::Up(line) = &*self.state.borrow() {
            line.condemn();
        }
    }
}

// === impl Keeper ===

impl Keeper {
    pub(crate) fn spawn(self, runtime: &Handle) -> Kept {
        let (sender, state) = watch::channel(State::Connecting);
        let task = runtime.spawn(self.keep(sender)).abort_handle();
        Kept { state, task }
    }

    async fn keep(mut self, state: watch::Sender<State>) {
        let mut backoff = Backoff::default();
        loop {
            let place = self.place.borrow_and_update().clone();
            let connected = match &place {
                Place::Unknown => {
                    moved(&mut self.place).await;
                    continue;
                }
                Place::Nowhere(failure) => Err(failure.clone()),
                Place::At(host) => self.connect(host).await,
            };
            match connected {
                Ok((line, fresh)) => {
                    self.health.alive();
                    if matches!(&*state.borrow(), State::Down(_)) {
                        self.purpose.say(&self.node, "connected to Redis again", None);
                    }
                    let began = Instant::now();
                    state.send_replace(State::Up(line.clone()));
                    self.purpose.up(&line).await;
                    self.watch(&line, fresh, place.host()).await;
                    line.condemn();
                    state.send_replace(State::Connecting);
                    self.purpose.say(&self.node, "a connection to Redis was lost", None);
                    self.purpose.down(&line).await;
                    if began.elapsed() >= STEADY {
                        backoff.reset();
                    }
                }
                Err(failure) => {
                    self.health.unreachable(&failure);
                    if !matches!(&*state.borrow(), State::Down(_)) {
                        self.purpose.say(&self.node, "cannot connect to Redis", Some(&failure));
                    }
                    state.send_replace(State::Down(failure));
                }
            }
            self.lost.notify_one();
            tokio::select! {
                () = tokio::time::sleep(backoff.next()) => {}
                () = moved(&mut self.place) => {}
            }
        }
    }

    async fn connect(&self, host: &Host) -> Result<(Line, Fresh), Failure> {
        let fresh = self.purpose.connect(host).await?;
        let line = Line::new(
            self.node.clone(),
            fresh.connection.clone(),
            Arc::clone(&fresh.vital),
            self.timeout,
            self.health.clone(),
        );
        if self.primary_only && !line.answers(true).await {
            return Err(Failure::unavailable("this server is no primary"));
        }
        Ok((line, fresh))
    }

    /// Returns when the connection is lost, or its node is elsewhere.
    async fn watch(&mut self, line: &Line, mut fresh: Fresh, host: Option<&Host>) {
        let mut pings = tokio::time::interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = line.end() => return,
                () = moved(&mut self.place) => {
                    if self.place.borrow().host() != host {
                        return;
                    }
                    continue;
                }
                () = loss(fresh.losses.as_mut()) => {}
                _ = pings.tick() => {}
            }
            tokio::select! {
                () = line.end() => return,
                answers = line.answers(self.primary_only) => if !answers { return },
            }
            self.health.alive();
        }
    }
}

// === impl Purpose ===

impl Purpose {
    async fn connect(&self, host: &Host) -> Result<Fresh, Failure> {
        match self {
            Self::Lane(lanes) => lanes.connect(host).await,
            Self::Link(link) => link.connect(host).await,
        }
    }

    /// One voice is enough for all that is lost together: that of what tells of changes.
    fn say(&self, node: &NodeId, what: &'static str, failure: Option<&Failure>) {
        let error = failure.map(chain).unwrap_or_default();
        match self {
            Self::Link(_) => tracing::warn!(%node, error, "{what}"),
            Self::Lane(_) => tracing::debug!(%node, error, "{what}"),
        }
    }

    async fn up(&self, line: &Line) {
        if let Self::Link(link) = self {
            link.up(line).await;
        }
    }

    async fn down(&self, line: &Line) {
        if let Self::Link(link) = self {
            link.down(line).await;
        }
    }
}

/// Waits for a loss among the connections of a node.
async fn loss(losses: Option<&mut watch::Receiver<u64>>) {
    if let Some(losses) = losses
        && losses.changed().await.is_ok()
    {
        return;
    }
    // Nothing is left that could tell; a ping will.
    std::future::pending::<()>().await;
}

/// Waits until a node is elsewhere. One whose place nobody follows stays.
async fn moved(place: &mut watch::Receiver<Place>) {
    if place.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}
