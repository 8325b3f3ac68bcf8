//! The one task that hears what Redis says, and a clerk for each node that makes its subscriptions what the seats need.
//!
//! A clerk subscribes and unsubscribes in the order in which it was asked, many names in one round trip, looks at the meta of
//! every log that is followed from time to time, and ends with its connection. The next one begins with all seats of its node.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use redis::{Pipeline, PushInfo, PushKind, Value};
use tokio::{
    task::AbortHandle,
    time::{Instant, MissedTickBehavior},
};
use trunkline_redis::{Event, Events, Failure, Line, Mode, NodeId, Pushes};

use super::{
    core::Core,
    message::{Message, Reading, integer, text},
    seats::{Desk, Kind, Need, Seat},
};
use crate::{Position, Signal};

/// Names subscribed to, or metas looked at, in one round trip. 256: Redis is busy with them for a part of a millisecond.
const BATCH: usize = 256;

/// How often a subscription that did not work is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// A look at all logs is spread over so many.
const PHASES: u64 = 8;

/// The subscriptions of all nodes.
pub(super) struct Link {
    core: Arc<Core>,
    /// Dropped with this, and its connections with it.
    pushes: Pushes,
    clerks: HashMap<NodeId, AbortHandle>,
}

/// Who keeps the subscriptions of one node, over one connection.
struct Clerk {
    core: Arc<Core>,
    line: Line,
    desk: Arc<Desk>,
    phase: u64,
    /// Logs of which more was there than was told, at the last look. What is told meanwhile was only late.
    suspects: Vec<(Weak<Seat>, Position)>,
}

// === impl Link ===

impl Link {
    pub(super) fn new(core: Arc<Core>, pushes: Pushes) -> Self {
        Self { core, pushes, clerks: HashMap::new() }
    }

    pub(super) async fn run(mut self, mut events: Events) {
        while let Some(event) = events.next().await {
            match event {
                Event::Push(node, push) => self.push(&node, push),
                Event::Up(line) => self.up(line),
                Event::Down(node) => self.down(&node),
                Event::Moved => self.moved(),
            }
        }
    }

    fn up(&mut self, line: Line) {
        let node = line.node().clone();
        let again = self.core.hearing.lock().up(&node);
        if again {
            self.core.counts.resubscriptions.fetch_add(1, Ordering::Relaxed);
            tracing::info!(%node, "Redis is heard again");
        }
        let clerk = Clerk {
            core: Arc::clone(&self.core),
            desk: self.core.seats.open_desk(&node),
            line,
            phase: 0,
            suspects: Vec::new(),
        };
        let task = self.core.runtime.spawn(clerk.run());
        if let Some(earlier) = self.clerks.insert(node, task.abort_handle()) {
            earlier.abort();
        }
    }

    fn down(&mut self, node: &NodeId) {
        if self.core.hearing.lock().down(node) {
            tracing::warn!(%node, "Redis is not heard; followers are late until it is again");
        }
        if let Some(clerk) = self.clerks.remove(node) {
            clerk.abort();
        }
        self.core.seats.close_desk(node);
    }

    /// Channels are elsewhere: what was subscribed to where it no longer is counts for nothing.
    fn moved(&mut self) {
        let client = &self.core.client;
        self.core.hearing.lock().keep(&client.nodes());
        for seat in self.core.seats.filter(|_| true) {
            let node = client.node_of(seat.name.as_bytes());
            if seat.node().is_some_and(|at| Some(&at) != node.as_ref()) {
                seat.revoke();
            }
            if !seat.is_confirmed() {
                self.core.seats.look_at(&seat, node.as_ref());
            }
        }
    }

    fn push(&self, node: &NodeId, push: PushInfo) {
        let PushInfo { kind, data } = push;
        let mut data = data.into_iter();
        let Some(name) = data.next().and_then(text) else { return };
        let Some(seat) = std::str::from_utf8(&name).ok().and_then(|name| self.core.seats.get(name)) else {
            return;
        };
        match kind {
            PushKind::Message | PushKind::SMessage => {
                if let Some(payload) = data.next().and_then(text) {
                    self.message(&seat, payload);
                }
            }
            // Not asked for: the slot has moved. The answers of this connection cannot be told apart any more.
            PushKind::SUnsubscribe | PushKind::Unsubscribe
                if seat.is_confirmed() && seat.node().as_ref() == Some(node) =>
            {
                seat.revoke();
                if let Some(line) = self.pushes.line(node) {
                    line.condemn();
                }
            }
            _ => {}
        }
    }

    fn message(&self, seat: &Arc<Seat>, payload: Vec<u8>) {
        match &seat.kind {
            Kind::Signals(channel) => {
                self.core.signals.send(&Signal { channel: channel.clone(), payload: payload.into() });
            }
            Kind::Log(trail) => match Message::parse(payload) {
                Ok(message) => {
                    let news = trail.tail.lock().hear(message);
                    self.core.spread(seat, trail, news);
                }
                // What it said is found at the next look.
                Err(error) => self.core.garbled(&error),
            },
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.clerks.values().for_each(AbortHandle::abort);
    }
}

// === impl Clerk ===

impl Clerk {
    async fn run(mut self) {
        let mut retries = tokio::time::interval(RETRY);
        retries.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let tick = self.core.limits.look_every / u32::try_from(PHASES).expect("invariant: a small constant");
        let mut ticks = tokio::time::interval_at(Instant::now() + tick, tick.max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // What fails condemns the connection, and with it this clerk.
        while self.settle().await.is_ok() {
            let desk = Arc::clone(&self.desk);
            tokio::select! {
                () = desk.kick.notified() => {}
                // At once for the first time.
                _ = retries.tick() => self.take_over(),
                _ = ticks.tick() => {
                    if self.look_around().await.is_err() {
                        break;
                    }
                }
            }
        }
        self.line.condemn();
    }

    /// Puts on the desk what is not as it should be, whatever became of earlier attempts.
    fn take_over(&self) {
        let node = Some(self.line.node().clone());
        let client = &self.core.client;
        let is_off = |seat: &Seat| {
            (!seat.is_confirmed() || !seat.is_used()) && client.node_of(seat.name.as_bytes()) == node
        };
        for seat in self.core.seats.filter(is_off) {
            self.desk.put_again(&seat);
        }
    }

    /// Subscribes and unsubscribes until nothing is left on the desk.
    async fn settle(&mut self) -> Result<(), Failure> {
        loop {
            let batch = self.desk.take(BATCH);
            if batch.is_empty() {
                return Ok(());
            }
            let (mut leaving, mut coming) = (Vec::new(), Vec::new());
            for seat in batch {
                match self.core.seats.need(&seat, self.line.node()) {
                    Need::Nothing => {}
                    Need::Unsubscribe => leaving.push(seat),
                    Need::Subscribe => coming.push(seat),
                }
            }
            if leaving.is_empty() && coming.is_empty() {
                continue;
            }
            // Whoever leaves first: another of the name may come. One name a command, since each name is answered by itself;
            // and something before them that does not fail, so that each fails by itself.
            let (subscribe, unsubscribe) = self.verbs();
            let mut pipeline = Pipeline::new();
            pipeline.cmd("PING");
            for (verb, seats) in [(unsubscribe, &leaving), (subscribe, &coming)] {
                for seat in seats {
                    pipeline.cmd(verb).arg(&*seat.name);
                }
            }
            let answers = self.line.run_all(&pipeline).await?;
            self.confirm(coming, answers.into_iter().skip(1 + leaving.len())).await?;
        }
    }

    async fn confirm(
        &self,
        coming: Vec<Arc<Seat>>,
        answers: impl Iterator<Item = Value>,
    ) -> Result<(), Failure> {
        let mut begun = Vec::new();
        for (seat, answer) in coming.into_iter().zip(answers) {
            if let Value::ServerError(error) = answer {
                let failure = Failure::from(redis::RedisError::from(error));
                // What may work later is tried again soon.
                if matches!(failure, Failure::Refused(_)) {
                    tracing::error!(%failure, "Redis refused a subscription");
                    seat.refuse(failure);
                }
                continue;
            }
            seat.confirm(self.line.node(), || self.line.is_alive());
            if seat.trail().is_some_and(|trail| trail.tail.lock().is_begun()) {
                begun.push(seat);
            }
        }
        // They may have missed something while they were not subscribed to.
        for (seat, news, _) in self.look_at(begun).await? {
            if let Some(trail) = seat.trail() {
                self.core.spread(&seat, trail, news);
            }
        }
        Ok(())
    }

    /// The safety net: a part of all logs, in case a message went missing or a log expired.
    async fn look_around(&mut self) -> Result<(), Failure> {
        for (seat, newest) in std::mem::take(&mut self.suspects) {
            let Some(seat) = seat.upgrade() else { continue };
            let Some(trail) = seat.trail() else { continue };
            let news = trail.tail.lock().miss(newest);
            self.core.spread(&seat, trail, news);
        }
        self.phase = (self.phase + 1) % PHASES;
        let node = Some(self.line.node().clone());
        let is_due = |seat: &Seat| {
            seat.trail().is_some()
                && phase_of(seat) == self.phase
                && seat.is_confirmed()
                && seat.node() == node
        };
        let due = self.core.seats.filter(is_due);
        for batch in due.chunks(BATCH) {
            for seat in batch {
                if let Some(trail) = seat.trail() {
                    trail.tail.lock().let_go_of_stale();
                }
            }
            for (seat, news, newest) in self.look_at(batch.to_vec()).await? {
                let Some(trail) = seat.trail() else { continue };
                if news.wake {
                    trail.news.notify_waiters();
                }
                if news.behind {
                    self.suspects.push((Arc::downgrade(&seat), newest));
                }
            }
        }
        Ok(())
    }

    /// Reads the metas of logs, and has their tails learn from them.
    async fn look_at(
        &self,
        seats: Vec<Arc<Seat>>,
    ) -> Result<Vec<(Arc<Seat>, super::tail::News, Position)>, Failure> {
        if seats.is_empty() {
            return Ok(Vec::new());
        }
        let mut pipeline = Pipeline::new();
        pipeline.cmd("TIME");
        let mut asked = Vec::with_capacity(seats.len());
        for seat in seats {
            let Some(trail) = seat.trail() else { continue };
            pipeline.cmd("HMGET").arg(&trail.names.meta).arg(&["s", "i", "n", "t", "e", "x"]);
            let question = trail.tail.lock().ask();
            asked.push((seat, question));
        }
        let mut answers = self.line.run_all(&pipeline).await?.into_iter();
        let Some(now) = answers.next().and_then(|time| milliseconds(&time)) else { return Ok(Vec::new()) };
        let mut learnt = Vec::with_capacity(asked.len());
        for ((seat, question), answer) in asked.into_iter().zip(answers) {
            let Some(trail) = seat.trail() else { continue };
            // It is elsewhere now, or cannot be read: whoever has to read it finds out why.
            if matches!(answer, Value::ServerError(_)) {
                continue;
            }
            match Reading::of_meta(&answer, now) {
                Ok(reading) => {
                    let newest = match &reading {
                        Reading::Alive(page) => page.newest,
                        Reading::Gone(_) => Position::default(),
                    };
                    let news = trail.tail.lock().learn(question, &reading);
                    learnt.push((seat, news, newest));
                }
                Err(error) => self.core.garbled(&error),
            }
        }
        Ok(learnt)
    }

    fn verbs(&self) -> (&'static str, &'static str) {
        match self.core.client.settings().address.mode {
            Mode::Cluster => ("SSUBSCRIBE", "SUNSUBSCRIBE"),
            _ => ("SUBSCRIBE", "UNSUBSCRIBE"),
        }
    }
}

fn phase_of(seat: &Seat) -> u64 {
    let mut hasher = DefaultHasher::new();
    seat.name.hash(&mut hasher);
    hasher.finish() % PHASES
}

/// What `TIME` answers.
fn milliseconds(time: &Value) -> Option<u64> {
    let Value::Array(parts) = time else { return None };
    let [seconds, micros] = parts.as_slice() else { return None };
    Some(integer(seconds)? * 1000 + integer(micros)? / 1000)
}
