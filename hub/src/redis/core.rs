//! What the parts of a Redis hub share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use rand::Rng;
use tokio::{runtime::Handle, sync::Semaphore, time::Instant};
use trunkline_redis::{Client, NodeId};

use super::{
    RedisLimits,
    logs::{Logs, Portion, StepError},
    message::Garbled,
    names::Names,
    seats::{Kind, Looks, Seat, Seats, Trail},
    tail::{Held, News, Tail},
};
use crate::{
    Health, Topic,
    signals::{Backlog, Signals},
};

/// Readings at the same time, of all followers. 64: each holds one entry and a page in memory, and a few connections carry
/// them all.
const READS: usize = 64;

/// What a repair reads at a time: two fit into a tail.
const REPAIR: Portion = Portion { entries: 64, bytes: 128 * 1024 };

/// What is read of a log to know how it is.
pub(super) const NOTHING: Portion = Portion { entries: 0, bytes: 0 };

/// How long a repair waits for followers to take what it has read, before it goes on and leaves them to read by themselves:
/// 10 000 take a page in so long, and one that sleeps holds the others up by no more than this a page.
const PACE: Duration = Duration::from_millis(20);

/// The wait after a first failure, and the longest.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Core {
    pub(super) client: Client,
    pub(super) runtime: Handle,
    pub(super) limits: RedisLimits,
    pub(super) names: Names,
    pub(super) logs: Logs,
    pub(super) seats: Arc<Seats>,
    pub(super) signals: Arc<Signals>,
    pub(super) held: Arc<Held>,
    pub(super) reads: Semaphore,
    pub(super) followers: AtomicUsize,
    pub(super) counts: Counts,
    pub(super) hearing: Mutex<Hearing>,
    closed: AtomicBool,
}

/// What has happened since the hub was made.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) resubscriptions: AtomicU64,
    pub(super) repairs: AtomicU64,
    pub(super) gaps: AtomicU64,
    pub(super) garbled: AtomicU64,
}

/// Which nodes are heard.
#[derive(Debug)]
pub(super) struct Hearing {
    up: Vec<NodeId>,
    down: Vec<NodeId>,
    deaf_since: Option<Instant>,
}

/// What is left to be read after a reading.
enum More {
    Entries,
    Nothing,
    /// It failed, and may work later.
    Later,
}

// === impl Core ===

impl Core {
    pub(super) fn new(client: Client, prefix: &str, limits: RedisLimits) -> Self {
        let backlog = Backlog { signals: limits.pending_signals, bytes: limits.pending_bytes };
        Self {
            names: Names::new(prefix, client.settings().address.database),
            logs: Logs::new(client.clone(), limits.log_bytes),
            runtime: client.runtime().clone(),
            client,
            seats: Arc::new(Seats::new(limits.subscriptions)),
            signals: Arc::new(Signals::new(backlog)),
            held: Arc::new(Held::new(limits.held_bytes)),
            reads: Semaphore::new(READS),
            followers: AtomicUsize::new(0),
            counts: Counts::default(),
            hearing: Mutex::new(Hearing::new()),
            closed: AtomicBool::new(false),
            limits,
        }
    }

    pub(super) fn trail(&self, topic: &Topic) -> Kind {
        Kind::Log(Box::new(Trail {
            names: self.names.log(topic),
            tail: Mutex::new(Tail::new(Arc::clone(&self.held))),
            news: tokio::sync::Notify::new(),
            taken: tokio::sync::Notify::new(),
            repairs: AtomicUsize::new(0),
            looks: Looks::default(),
        }))
    }

    pub(super) fn health(&self) -> Health {
        Health {
            deaf_for: self.hearing.lock().deaf_since.map(|since| since.elapsed()),
            resubscriptions: self.counts.resubscriptions.load(Ordering::Relaxed),
            repairs: self.counts.repairs.load(Ordering::Relaxed),
            gaps: self.counts.gaps.load(Ordering::Relaxed),
            lost_signals: self.signals.lost.load(Ordering::Relaxed),
        }
    }

    /// What came is not what any replica of this version says. It is left out; the next look finds what is missing.
    pub(super) fn garbled(&self, error: &Garbled) {
        if self.counts.garbled.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::error!(%error, "further ones are not told");
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Ends all followers and listeners.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.signals.close();
        for seat in self.seats.filter(|_| true) {
            if let Some(trail) = seat.trail() {
                trail.news.notify_waiters();
            }
        }
    }

    /// Has followers told what there is, and reads what is not here.
    pub(super) fn spread(self: &Arc<Self>, seat: &Arc<Seat>, trail: &Trail, news: News) {
        if news.wake {
            trail.news.notify_waiters();
        }
        if news.behind {
            // One at a time; it goes on for as long as it is asked, and what is missed meanwhile is not the fault of a message.
            if trail.repairs.fetch_add(1, Ordering::SeqCst) == 0 {
                if news.missed {
                    self.counts.repairs.fetch_add(1, Ordering::Relaxed);
                }
                self.runtime.spawn(Arc::clone(self).repair(Arc::clone(seat)));
            }
        }
    }

    /// Learns whether a log is still what it is known as. All who ask at the same time share one answer.
    pub(super) async fn look(self: &Arc<Self>, seat: &Arc<Seat>, trail: &Trail) -> Result<(), StepError> {
        let look = async {
            let asked = trail.tail.lock().ask();
            let reading = self.logs.read(&trail.names, asked.after, NOTHING).await?;
            let news = trail.tail.lock().learn(asked, &reading);
            self.spread(seat, trail, news);
            Ok(())
        };
        trail.looks.share(look).await
    }

    /// Reads the log from the newest place known, for all its followers at once.
    async fn repair(self: Arc<Self>, seat: Arc<Seat>) {
        let Some(trail) = seat.trail() else { return };
        let mut failures = 0;
        loop {
            let wanted = trail.repairs.load(Ordering::SeqCst);
            if seat.is_used() && !self.is_closed() {
                match self.repair_once(trail).await {
                    More::Entries => continue,
                    More::Nothing => failures = 0,
                    More::Later => {
                        failures += 1;
                        let _ = tokio::time::timeout(backoff(failures), seat.change()).await;
                        continue;
                    }
                }
            }
            if trail.repairs.fetch_sub(wanted, Ordering::SeqCst) == wanted {
                return;
            }
        }
    }

    async fn repair_once(&self, trail: &Trail) -> More {
        let asked = trail.tail.lock().ask();
        let reading = {
            let _permit = self.reads.acquire().await;
            self.logs.read(&trail.names, asked.after, REPAIR).await
        };
        let reading = match reading {
            Ok(reading) => reading,
            Err(error) if error.passes() => return More::Later,
            Err(_) => {
                // Each follower finds out for itself, and ends.
                trail.tail.lock().forget();
                trail.news.notify_waiters();
                return More::Nothing;
            }
        };
        let news = trail.tail.lock().learn(asked, &reading);
        if news.wake {
            trail.news.notify_waiters();
        }
        if !news.behind {
            return More::Nothing;
        }
        let taken = trail.taken.notified();
        if !trail.tail.lock().is_taken() {
            let _ = tokio::time::timeout(PACE, taken).await;
        }
        More::Entries
    }
}

// === impl Hearing ===

impl Hearing {
    fn new() -> Self {
        Self { up: Vec::new(), down: Vec::new(), deaf_since: Some(Instant::now()) }
    }

    /// Whether the node was not heard before, though it once was.
    pub(super) fn up(&mut self, node: &NodeId) -> bool {
        let was_down = self.down.contains(node);
        self.down.retain(|known| known != node);
        self.up.retain(|known| known != node);
        self.up.push(node.clone());
        if self.down.is_empty() {
            self.deaf_since = None;
        }
        was_down
    }

    /// Whether the node was heard before.
    pub(super) fn down(&mut self, node: &NodeId) -> bool {
        let was_up = self.up.contains(node);
        self.up.retain(|known| known != node);
        if was_up {
            self.down.push(node.clone());
            self.deaf_since.get_or_insert_with(Instant::now);
        }
        was_up
    }

    /// Forgets nodes that are no more.
    pub(super) fn keep(&mut self, nodes: &[NodeId]) {
        self.down.retain(|node| nodes.contains(node));
        if self.down.is_empty() && !self.up.is_empty() {
            self.deaf_since = None;
        }
    }
}

/// Doubled with each failure, and spread so that not all come back at once.
pub(super) fn backoff(failures: u32) -> Duration {
    let wait = FIRST_WAIT.saturating_mul(1 << failures.min(10)).min(LONGEST_WAIT);
    wait.mul_f64(rand::rng().random_range(0.5..1.0))
}
