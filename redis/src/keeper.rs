//! A connection that is kept: made, watched, and replaced whenever it is lost.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use redis::{Arg, Cmd, Pipeline, RedisError, Value, aio::MultiplexedConnection};
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
    task::AbortHandle,
    time::{Instant, MissedTickBehavior},
};

use crate::{
    Failure, Host, NodeId,
    backoff::Backoff,
    error::condemns,
    health::Record,
    node::{Lanes, Seat},
    pushes::Link,
    topology::Place,
};

/// How often a connection is asked whether it lives, and for how long. A peer that vanished without a word is noticed within
/// their sum.
const PING_EVERY: Duration = Duration::from_secs(1);
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection that lived so long was a good one: the next wait is short again.
const STEADY: Duration = Duration::from_secs(5);

/// A connection that lives, until it does not. Clones are one.
#[derive(Clone)]
pub struct Line(Arc<Inner>);

struct Inner {
    node: NodeId,
    connection: MultiplexedConnection,
    vital: Arc<Vital>,
    timeout: Duration,
    health: Record,
}

/// Whether a connection lives.
#[derive(Debug)]
pub(crate) struct Vital {
    alive: watch::Sender<bool>,
    /// Ends of subscriptions to sharded channels that were asked for and not told yet.
    ends: AtomicUsize,
}

/// What is asked in one round trip.
#[derive(Clone, Copy)]
pub(crate) enum Request<'a> {
    One(&'a Cmd),
    All(&'a Pipeline),
}

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

// === impl Line ===

impl Line {
    /// The node that it leads to.
    #[must_use]
    pub fn node(&self) -> &NodeId {
        &self.0.node
    }

    /// Whether it lives, as far as is known. What was read over it is covered by it only if it lived afterwards.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.0.vital.is_alive()
    }

    /// Runs a command over this connection and no other.
    ///
    /// # Errors
    ///
    /// As [`Failure`] says; what names another node is [`Failure::Unavailable`] here.
    pub async fn run<T: redis::FromRedisValue>(&self, cmd: &Cmd) -> Result<T, Failure> {
        let mut values = self.timed(Request::One(cmd)).await?;
        let value = values.pop().unwrap_or_default();
        redis::from_redis_value(value).map_err(|error| Failure::Refused(error.into()))
    }

    /// Runs commands over this connection, in one round trip. Fails if the first one does; those behind it that failed are
    /// among the values as [`Value::ServerError`].
    ///
    /// # Errors
    ///
    /// As [`Line::run`].
    pub async fn run_all(&self, pipeline: &Pipeline) -> Result<Vec<Value>, Failure> {
        self.timed(Request::All(pipeline)).await
    }

    /// Gives the connection up. It is replaced soon; what still waits for an answer may get it.
    pub fn condemn(&self) {
        self.0.vital.condemn();
    }

    /// Fails as soon as the connection is given up, and when it was by the time of the answer.
    async fn timed(&self, request: Request<'_>) -> Result<Vec<Value>, Failure> {
        self.0.vital.ends.fetch_add(request.ends(), Ordering::Relaxed);
        let values = tokio::select! {
            biased;
            () = self.0.vital.end() => return Err(lost()),
            outcome = tokio::time::timeout(self.0.timeout, self.exchange(request)) => match outcome {
                Ok(outcome) => outcome?,
                Err(_) => {
                    self.condemn();
                    return Err(timed_out().into());
                }
            }
        };
        if self.is_alive() { Ok(values) } else { Err(lost()) }
    }

    /// Without a limit of time, which is for the caller to keep. One late answer is no reason to give the connection up: Redis may
    /// be busy, and to connect again would make it busier. Whether it lives, pings find out.
    pub(crate) async fn exchange(&self, request: Request<'_>) -> Result<Vec<Value>, RedisError> {
        let began = Instant::now();
        let mut connection = self.0.connection.clone();
        let outcome = match request {
            Request::One(cmd) => connection.send_packed_command(cmd).await.map(|value| vec![value]),
            Request::All(pipeline) => connection.send_packed_commands(pipeline, 0, pipeline.len()).await,
        };
        let outcome = outcome.and_then(|values| match values.first() {
            Some(Value::ServerError(error)) => Err(RedisError::from(error.clone())),
            _ => Ok(values),
        });
        match &outcome {
            Ok(_) => self.0.health.worked(began.elapsed()),
            Err(error) if condemns(error) => self.condemn(),
            Err(_) => {}
        }
        outcome
    }

    /// Whether it answers, and as a primary where that matters.
    async fn answers(&self, primary_only: bool) -> bool {
        let question = redis::cmd(if primary_only { "ROLE" } else { "PING" });
        let mut connection = self.0.connection.clone();
        let answer = connection.send_packed_command(&question);
        let Ok(Ok(value)) = tokio::time::timeout(PING_TIMEOUT, answer).await else { return false };
        match value {
            Value::ServerError(_) => false,
            value => !primary_only || is_primary(&value),
        }
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("node", &self.0.node).field("alive", &self.is_alive()).finish()
    }
}

// === impl Vital ===

impl Vital {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { alive: watch::Sender::new(true), ends: AtomicUsize::new(0) })
    }

    pub(crate) fn is_alive(&self) -> bool {
        *self.alive.borrow()
    }

    pub(crate) fn condemn(&self) {
        self.alive.send_replace(false);
    }

    /// Waits until it lives no more.
    async fn end(&self) {
        // Fails never: the sender is right here.
        let _ = self.alive.subscribe().wait_for(|alive| !alive).await;
    }

    /// Whether the end of a subscription to a sharded channel was asked for.
    pub(crate) fn expects_end(&self) -> bool {
        self.ends.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |ends| ends.checked_sub(1)).is_ok()
    }
}

// === impl Request ===

impl Request<'_> {
    /// How many subscriptions to sharded channels it ends.
    fn ends(&self) -> usize {
        let ends = |cmd: &Cmd| match cmd.args_iter().next() {
            Some(Arg::Simple(name)) => usize::from(name.eq_ignore_ascii_case(b"SUNSUBSCRIBE")),
            _ => 0,
        };
        match self {
            Self::One(cmd) => ends(cmd),
            Self::All(pipeline) => pipeline.cmd_iter().map(ends).sum(),
        }
    }
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
                    let began = Instant::now();
                    state.send_replace(State::Up(line.clone()));
                    self.purpose.up(&line).await;
                    self.watch(&line, fresh, place.host()).await;
                    line.condemn();
                    state.send_replace(State::Connecting);
                    tracing::debug!(node = %self.node, "a connection to Redis was lost");
                    self.purpose.down(&line).await;
                    if began.elapsed() >= STEADY {
                        backoff.reset();
                    }
                }
                Err(failure) => {
                    self.health.unreachable(&failure);
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
        let line = Line(Arc::new(Inner {
            node: self.node.clone(),
            connection: fresh.connection.clone(),
            vital: Arc::clone(&fresh.vital),
            timeout: self.timeout,
            health: self.health.clone(),
        }));
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
                () = line.0.vital.end() => return,
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
                () = line.0.vital.end() => return,
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

fn is_primary(role: &Value) -> bool {
    let Value::Array(parts) = role else { return false };
    match parts.first() {
        Some(Value::BulkString(role)) => role == b"master",
        Some(Value::SimpleString(role)) => role == "master",
        _ => false,
    }
}

/// What was read over a connection that is lost is not covered by it.
pub(crate) fn lost() -> Failure {
    Failure::unavailable("the connection was lost meanwhile")
}

pub(crate) fn timed_out() -> RedisError {
    std::io::Error::new(std::io::ErrorKind::TimedOut, "Redis did not answer in time").into()
}
