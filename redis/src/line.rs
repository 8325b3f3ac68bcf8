//! One connection, as who uses it sees it.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use redis::{Arg, Cmd, Pipeline, RedisError, Value, aio::MultiplexedConnection};
use tokio::{sync::watch, time::Instant};

use crate::{Failure, NodeId, error::condemns, health::Record};

/// How long a connection may take to say that it lives.
pub(crate) const PING_TIMEOUT: Duration = Duration::from_secs(2);

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

// === impl Line ===

impl Line {
    pub(crate) fn new(
        node: NodeId,
        connection: MultiplexedConnection,
        vital: Arc<Vital>,
        timeout: Duration,
        health: Record,
    ) -> Self {
        Self(Arc::new(Inner { node, connection, vital, timeout, health }))
    }

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
            outcome = tokio::time::timeout(self.0.timeout, self.exchange(request)) => {
                outcome.map_err(|_| timed_out())??
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

    /// Waits until it is given up.
    pub(crate) async fn end(&self) {
        self.0.vital.end().await;
    }

    /// Whether it answers, and as a primary where that matters.
    pub(crate) async fn answers(&self, primary_only: bool) -> bool {
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
