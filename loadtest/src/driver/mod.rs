//! The threads that run the clients.
//!
//! [`run`] asks the endpoint whether it is there, and starts the threads. A thread (`worker`) has a runtime of its own, and its
//! clients never leave it: nothing on a request's way is shared with other threads. A client (`client`) has lanes, one for each
//! connection, which take what is due (`pacer`, `schedule`) or go round in a closed loop, do a step of the scenario
//! (`action`) in the client's session (`session`), and count what came of it (`recorder`). A client that listens (`listener`)
//! does that beside its lanes.

mod action;
mod client;
mod failure;
mod listener;
mod pacer;
mod probe;
mod questions;
mod random;
mod recorder;
mod schedule;
mod session;
mod worker;
mod world;

use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::{
    plan::{Plan, Share},
    tally::Tally,
};

/// How often threads are looked after.
const LOOK: Duration = Duration::from_millis(20);

/// How often progress is told.
const TELL: Duration = Duration::from_secs(1);

/// Told of a run's progress while it goes on.
pub trait Observer: Send {
    /// Called once, when everything is prepared and the endpoint has answered: the run's time begins when this returns.
    /// Whoever starts several processes together, or has to know when second 0 was, does so here; it may block, and the
    /// run does not begin where `stop` is cancelled meanwhile.
    fn begin(&mut self) {}

    /// Called about once a second with what was counted since the last time: all of these together are the tally that
    /// [`run`] returns. Called on the thread that called [`run`]; what takes long here delays the next one and no client.
    fn progress(&mut self, delta: &Tally);
}

/// Why nothing was run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The URL is none.
    #[error("{url:?} is no URL of an MCP endpoint: {reason}; write one as http://127.0.0.1:8080/mcp")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Nobody answers there.
    #[error("{url} cannot be reached: {reason}; start the server, or mend --url")]
    Unreachable {
        /// The endpoint.
        url: String,
        /// What happened.
        reason: String,
    },
    /// What answers there is not MCP.
    #[error("{url} does not speak MCP: {reason}; the URL includes the endpoint's path, often /mcp")]
    NotMcp {
        /// The endpoint.
        url: String,
        /// What came instead.
        reason: String,
    },
    /// The system refuses what a run needs.
    #[error("{what}: {source}")]
    System {
        /// What was to be done.
        what: String,
        /// Why it is refused.
        source: io::Error,
    },
}

/// Runs this process's share of a plan to its end, or until `stop` is cancelled, which ends it early and in order. Blocks.
///
/// # Errors
/// See [`RunError`]: nothing was run.
pub fn run(
    plan: &Plan,
    share: Share,
    observer: &mut dyn Observer,
    stop: &CancellationToken,
) -> Result<Tally, RunError> {
    if asked(plan, stop)?.is_none() {
        return Ok(empty(plan));
    }
    observer.begin();
    if stop.is_cancelled() {
        return Ok(empty(plan));
    }
    // What goes wrong in one thread ends the others.
    let stop = stop.child_token();
    let counted = Arc::new(Mutex::new(empty(plan)));
    let threads = start(plan, share, &stop, &counted);
    let outcome = match threads {
        Ok(threads) => follow(plan, threads, &counted, observer, &stop),
        Err(source) => Err(RunError::System { what: "cannot start a thread".to_owned(), source }),
    };
    stop.cancel();
    outcome
}

fn empty(plan: &Plan) -> Tally {
    Tally { slot_seconds: plan.slot_seconds(), ..Tally::default() }
}

/// Asks the endpoint. `None` where it was ended meanwhile.
fn asked(plan: &Plan, stop: &CancellationToken) -> Result<Option<()>, RunError> {
    let system = |source| RunError::System { what: "cannot start a runtime".to_owned(), source };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
    runtime.block_on(async {
        tokio::select! {
            asked = probe::probe(plan) => asked.map(Some),
            () = stop.cancelled() => Ok(None),
        }
    })
}

fn start(
    plan: &Plan,
    share: Share,
    stop: &CancellationToken,
    counted: &Arc<Mutex<Tally>>,
) -> io::Result<Vec<JoinHandle<io::Result<()>>>> {
    let shared = Arc::new(plan.clone());
    let start = Instant::now();
    let begin = |number| {
        let (plan, stop, counted) = (shared.clone(), stop.clone(), counted.clone());
        let task = worker::Task { plan, share, thread: number, start, stop, counted };
        thread::Builder::new().name(format!("clients-{number}")).spawn(move || task.run())
    };
    let threads: io::Result<Vec<_>> = (0..plan.threads).map(begin).collect();
    if threads.is_err() {
        stop.cancel();
    }
    threads
}

/// Passes on what the threads count, until they are done.
fn follow(
    plan: &Plan,
    threads: Vec<JoinHandle<io::Result<()>>>,
    counted: &Mutex<Tally>,
    observer: &mut dyn Observer,
    stop: &CancellationToken,
) -> Result<Tally, RunError> {
    let mut tally = empty(plan);
    let mut pass_on = |observer: &mut dyn Observer| {
        let delta = std::mem::replace(&mut *counted.lock(), empty(plan));
        tally.merge(&delta);
        observer.progress(&delta);
    };
    let mut told = Instant::now();
    while !threads.iter().all(JoinHandle::is_finished) {
        // Nobody wakes this thread: it looks often enough for the end not to be noticed late.
        thread::park_timeout(LOOK);
        if told.elapsed() >= TELL {
            told = Instant::now();
            pass_on(observer);
        }
    }
    let mut outcome = Ok(());
    for thread in threads {
        let ended = thread.join().unwrap_or_else(|_panic| Err(io::Error::other("a thread panicked")));
        outcome = outcome.and(ended);
    }
    pass_on(observer);
    stop.cancel();
    outcome.map_err(|source| RunError::System { what: "a thread of clients ended".to_owned(), source })?;
    Ok(tally)
}

impl<F: FnMut(&Tally) + Send> Observer for F {
    fn progress(&mut self, delta: &Tally) {
        self(delta);
    }
}
