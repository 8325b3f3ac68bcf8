//! The generator: connections that each have one request in flight, one after the other, and check every answer.
//!
//! It sends recorded requests, byte for byte those of an official client but for the id, the arguments and the session. It is
//! a closed loop: what it finds is the cost of a call and how many fit into a second, not what users of a busy server see.

mod answer;
mod connection;
mod template;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use trunkline_protocol::{Revision, revision::Era};

use self::answer::check;
pub(super) use self::{
    connection::{Connection, Reply, ReplyError},
    template::{Operation, Template},
};

/// How much is done in a round.
#[derive(Clone, Copy, Debug)]
pub(super) enum Amount {
    /// So many calls of each connection: for a look whether everything answers.
    Calls(u32),
    /// As many as fit, after a time to warm up.
    Time {
        /// What is not counted.
        warm_up: Duration,
        /// What is.
        measured: Duration,
    },
}

/// What is replayed.
#[derive(Clone, Copy)]
pub(super) struct Replay {
    pub(super) server: SocketAddr,
    pub(super) revision: Revision,
    pub(super) operation: Operation,
    pub(super) in_flight: u32,
    pub(super) amount: Amount,
}

/// What came of it.
pub(super) struct Replayed {
    pub(super) calls: u64,
    pub(super) took: Duration,
    /// In nanoseconds.
    pub(super) latencies: Histogram<u64>,
    /// Bytes of the last answer's body.
    pub(super) answer: usize,
}

/// Why a row has no figures.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReplayError {
    /// It does not serve this.
    #[error("{0}")]
    Refused(String),
    /// An answer was wrong.
    #[error("{0}")]
    Wrong(String),
}

/// One connection with its session, and the requests it makes.
struct Worker<'a> {
    connection: Connection,
    template: &'a Template,
    host: String,
    session: Option<String>,
    /// The number of its next request; every connection has a range of its own.
    next: u64,
    answer: usize,
}

/// How many numbers a connection has for its requests.
const RANGE: u64 = 1_000_000;

// === impl Replay ===

impl Replay {
    /// Runs it. `begin` and `end` are called around what is measured.
    ///
    /// # Errors
    /// The first answer that is wrong ends it.
    pub(super) async fn run<T>(self, mark: impl Fn() -> T) -> Result<(Replayed, T, T), ReplayError> {
        let template = Template::recorded(self.operation, self.revision);
        let mut workers = Vec::new();
        for nth in 0..self.in_flight {
            workers.push(Worker::open(self, &template, nth).await?);
        }
        let mut total = empty();
        if let Amount::Time { warm_up, .. } = self.amount {
            self.all(&mut workers, Amount::Time { warm_up, measured: warm_up }, &mut total).await?;
            total = empty();
        }
        let before = mark();
        let started = Instant::now();
        self.all(&mut workers, self.amount, &mut total).await?;
        let took = started.elapsed();
        let after = mark();
        let answer = workers.first().map_or(0, |worker| worker.answer);
        Ok((Replayed { calls: total.len(), took, latencies: total, answer }, before, after))
    }

    /// Has all connections work side by side, and adds up their latencies.
    async fn all(
        self,
        workers: &mut [Worker<'_>],
        amount: Amount,
        total: &mut Histogram<u64>,
    ) -> Result<(), ReplayError> {
        let until = match amount {
            Amount::Calls(_) => None,
            Amount::Time { measured, .. } => Some(Instant::now() + measured),
        };
        let most = if let Amount::Calls(calls) = amount { calls } else { u32::MAX };
        let running = workers.iter_mut().map(|worker| worker.work(self.operation, most, until));
        for latencies in futures_util::future::try_join_all(running).await? {
            // Both count the same range.
            let _added = total.add(latencies);
        }
        Ok(())
    }
}

// === impl Worker ===

impl<'a> Worker<'a> {
    async fn open(replay: Replay, template: &'a Template, nth: u32) -> Result<Self, ReplayError> {
        let host = replay.server.to_string();
        let mut connection =
            Connection::open(replay.server).await.map_err(|error| ReplayError::refused(&error))?;
        let session = match replay.revision.era() {
            Era::Legacy => begin_session(&mut connection, &host, replay.revision).await?,
            Era::Modern => None,
        };
        Ok(Self { connection, template, host, session, next: u64::from(nth) * RANGE, answer: 0 })
    }

    async fn work(
        &mut self,
        operation: Operation,
        most: u32,
        until: Option<Instant>,
    ) -> Result<Histogram<u64>, ReplayError> {
        let mut latencies = empty();
        for _ in 0..most {
            let number = self.next;
            self.next += 1;
            let request = self.template.fill(&self.host, self.session.as_deref(), number);
            let sent = Instant::now();
            if until.is_some_and(|until| sent >= until) {
                break;
            }
            let reply = self.connection.ask(&request).await.map_err(|error| ReplayError::wrong(&error))?;
            latencies.saturating_record(u64::try_from(sent.elapsed().as_nanos()).unwrap_or(u64::MAX));
            if reply.status != 200 {
                return Err(ReplayError::Wrong(format!("status {}: {}", reply.status, reply.shown())));
            }
            let message = reply.message();
            check(message, operation, number).map_err(ReplayError::Wrong)?;
            self.answer = message.len();
        }
        Ok(latencies)
    }
}

/// Opens a session as a client does. `None` where the server gives none.
async fn begin_session(
    connection: &mut Connection,
    host: &str,
    revision: Revision,
) -> Result<Option<String>, ReplayError> {
    let initialize = Template::initialize(revision).fill(host, None, 0);
    let reply = connection.ask(&initialize).await.map_err(|error| ReplayError::refused(&error))?;
    let agreed = answer::revision(reply.message());
    if reply.status != 200 || agreed.as_deref() != Some(revision.as_str()) {
        let seen = format!("initialize for {revision}: status {}: {}", reply.status, reply.shown());
        return Err(ReplayError::Refused(seen));
    }
    let session = reply.session.clone();
    let initialized = Template::initialized(revision).fill(host, session.as_deref(), 0);
    let reply = connection.ask(&initialized).await.map_err(|error| ReplayError::refused(&error))?;
    if !(200..300).contains(&reply.status) {
        return Err(ReplayError::Refused(format!("notifications/initialized: status {}", reply.status)));
    }
    Ok(session)
}

/// Latencies of up to ten minutes, to three digits.
pub(super) fn empty() -> Histogram<u64> {
    #[expect(clippy::expect_used, reason = "the bounds are constants that fit")]
    Histogram::new_with_bounds(1, 600_000_000_000, 3).expect("constant bounds")
}

// === impl ReplayError ===

impl ReplayError {
    fn refused(error: &ReplyError) -> Self {
        Self::Refused(error.to_string())
    }

    fn wrong(error: &ReplyError) -> Self {
        Self::Wrong(error.to_string())
    }
}
