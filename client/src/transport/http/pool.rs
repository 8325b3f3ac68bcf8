//! The connections of one client: its own, shared with nobody.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    error::Error,
    transport::http1::{Connection, Incomplete, Tail, Target},
};

/// How long an idle connection is used again. Balancers close theirs after 60 s; a request that meets the end half-way
/// could not be sent again.
const IDLE: Duration = Duration::from_secs(50);

/// The most answered streams whose end is awaited for the sake of their connection. More are closed.
const TAILS: usize = 4;

/// Connections that nobody uses at the moment, and how many may be in use.
pub(crate) struct Pool {
    target: Target,
    idle: Mutex<Vec<(Instant, Idle)>>,
    /// Calls at the same time. What serves a running call (an answer to a question, a cancellation) is not counted: it
    /// could wait for the call that waits for it.
    calls: Arc<Semaphore>,
    most: usize,
}

enum Idle {
    Ready(Box<Connection>),
    /// The answer was there; the end of its stream was not.
    Tail(Box<Incomplete>),
}

// === impl Pool ===

impl Pool {
    pub(crate) fn new(target: Target, most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Self { target, idle: Mutex::new(Vec::new()), calls: Arc::new(Semaphore::new(most)), most }
    }

    /// Leave to make one more call.
    pub(crate) async fn permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        self.calls.clone().acquire_owned().await.map_err(|_closed| Error::Closed)
    }

    /// A connection: an idle one that is open, or else a new one. What a stream said after its answer goes to `late`.
    pub(crate) async fn take(&self, late: &mut (dyn FnMut(&[u8]) + Send)) -> Result<Box<Connection>, Error> {
        let mut tails = Vec::new();
        loop {
            // Its own statement: the lock is not held while a connection is looked at.
            let popped = self.idle.lock().pop();
            let Some((since, idle)) = popped else { break };
            if since.elapsed() > IDLE {
                continue;
            }
            let free = match idle {
                Idle::Ready(connection) => Some(connection),
                Idle::Tail(rest) => match Self::finish(*rest, late).await {
                    Tail::Ended(connection) => Some(connection),
                    Tail::Pending(rest) if tails.len() < TAILS => {
                        tails.push((since, Idle::Tail(Box::new(rest))));
                        None
                    }
                    _ => None,
                },
            };
            if let Some(mut connection) = free
                && connection.is_usable().await
            {
                self.put_back(tails);
                return Ok(connection);
            }
        }
        self.put_back(tails);
        Connection::open(&self.target).await
    }

    /// Gives a connection back.
    pub(crate) fn put(&self, connection: Box<Connection>) {
        self.push(Idle::Ready(connection));
    }

    /// Gives back a stream that has brought its answer and not its end.
    pub(crate) async fn put_tail(&self, rest: Incomplete, late: &mut (dyn FnMut(&[u8]) + Send)) {
        match Self::finish(rest, late).await {
            Tail::Ended(connection) => self.put(connection),
            Tail::Pending(rest) => self.push(Idle::Tail(Box::new(rest))),
            Tail::More(..) | Tail::Broken => {}
        }
    }

    /// Closes what is idle.
    pub(crate) fn clear(&self) {
        self.idle.lock().clear();
    }

    fn push(&self, idle: Idle) {
        let mut list = self.idle.lock();
        if list.len() < self.most {
            list.push((Instant::now(), idle));
        }
    }

    fn put_back(&self, tails: Vec<(Instant, Idle)>) {
        if !tails.is_empty() {
            // To the bottom: ready ones come first.
            self.idle.lock().splice(0..0, tails);
        }
    }

    /// Reads what is there of a stream that was answered.
    async fn finish(mut rest: Incomplete, late: &mut (dyn FnMut(&[u8]) + Send)) -> Tail {
        // A server that goes on talking is cut off rather than listened to.
        for _ in 0..TAILS {
            match rest.tail().await {
                Tail::More(more, data) => {
                    late(&data);
                    rest = more;
                }
                other => return other,
            }
        }
        Tail::Broken
    }
}
