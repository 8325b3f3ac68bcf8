//! Counts what one thread's clients do.

use std::{
    cell::{Cell, RefCell},
    time::{Duration, Instant},
};

use trunkline_client::Trace;

use crate::{
    check::result::Wrong,
    plan::Plan,
    tally::{Check, ErrorKind, Example, Operation, Tally},
};

/// Codes of JSON-RPC errors that one thread tells apart in a second: a server that makes them up must not fill the report.
const CODES: usize = 32;

/// What one thread counts.
pub(super) struct Recorder {
    pub(super) start: Instant,
    measured_from: Instant,
    slot_seconds: u32,
    delta: RefCell<Tally>,
    pub(super) sessions_open: Cell<u64>,
    pub(super) streams_open: Cell<u64>,
}

/// Who did something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who {
    pub(super) client: u32,
    pub(super) revision: &'static str,
}

/// A request that ended.
pub(super) struct Ended<'a> {
    pub(super) who: Who,
    pub(super) operation: &'a Operation,
    /// When it was due.
    pub(super) intended: Instant,
    /// When it was sent.
    pub(super) sent: Instant,
    pub(super) outcome: Result<(), Wrong>,
}

// === impl Recorder ===

impl Recorder {
    pub(super) fn new(plan: &Plan, start: Instant) -> Self {
        let slot_seconds = plan.slot_seconds();
        Self {
            start,
            measured_from: start + plan.warmup.get(),
            slot_seconds,
            delta: RefCell::new(Tally { slot_seconds, ..Tally::default() }),
            sessions_open: Cell::default(),
            streams_open: Cell::default(),
        }
    }

    /// Whether something that was due then is measured.
    pub(super) fn measures(&self, intended: Instant) -> bool {
        intended >= self.measured_from
    }

    /// Counts in ways of its own.
    pub(super) fn with<T>(&self, count: impl FnOnce(&mut Tally) -> T) -> T {
        count(&mut self.delta.borrow_mut())
    }

    pub(super) fn slot(&self, at: Instant) -> u32 {
        let seconds = at.saturating_duration_since(self.start).as_secs();
        u32::try_from(seconds / u64::from(self.slot_seconds)).unwrap_or(u32::MAX)
    }

    /// A request was begun.
    pub(super) fn started(&self, operation: &Operation, intended: Instant) {
        let slot = self.slot(Instant::now());
        let measures = self.measures(intended);
        self.with(|tally| {
            tally.timeline.entry(slot).or_default().started += 1;
            if measures {
                of(tally, operation).started += 1;
            }
        });
    }

    /// A request ended.
    pub(super) fn ended(&self, ended: Ended<'_>) {
        let now = Instant::now();
        let latency = now.saturating_duration_since(ended.intended);
        let measures = self.measures(ended.intended);
        let slot = self.slot(now);
        match ended.outcome {
            Ok(()) => self.with(|tally| {
                let second = tally.timeline.entry(slot).or_default();
                second.succeeded += 1;
                second.latency.record(latency);
                if measures {
                    let counts = of(tally, ended.operation);
                    counts.succeeded += 1;
                    counts.latency.record(latency);
                    counts.service.record(now.saturating_duration_since(ended.sent));
                }
            }),
            Err((kind, text)) => {
                self.with(|tally| {
                    let kind = bounded(tally, kind);
                    *tally.timeline.entry(slot).or_default().errors.entry(kind).or_default() += 1;
                    if measures {
                        let counts = of(tally, ended.operation);
                        *counts.errors.entry(kind).or_default() += 1;
                        counts.failed.record(latency);
                    }
                });
                self.tell(ended.who, ended.operation, kind, text);
            }
        }
    }

    /// What happened on a request's way.
    pub(super) fn trace(&self, trace: &Trace) {
        self.with(|tally| {
            tally.traffic.sent += trace.bytes_out;
            tally.traffic.received += trace.bytes_in;
            if trace.retried + trace.resumed + trace.cut > 0 {
                let sessions = &mut tally.sessions;
                sessions.retried += u64::from(trace.retried);
                sessions.calls_resumed += u64::from(trace.resumed > 0);
                sessions.cut += u64::from(trace.cut);
            }
        });
    }

    /// Which replica answered, and whether it is another one than before.
    pub(super) fn answered_by(&self, replica: Option<&str>, moved: bool, intended: Instant) {
        let measures = self.measures(intended);
        let slot = self.slot(Instant::now());
        self.with(|tally| {
            if moved {
                tally.timeline.entry(slot).or_default().moved += 1;
            }
            if measures {
                tally.replicas.moved += u64::from(moved);
                match replica {
                    Some(replica) => tally.replicas.add(replica, 1),
                    None => tally.replicas.unnamed += 1,
                }
            }
        });
    }

    /// A check was made.
    pub(super) fn checked(&self, check: Check) {
        self.with(|tally| *tally.checked.entry(check).or_default() += 1);
    }

    /// A check of something that is no request's found something.
    pub(super) fn found(&self, who: Who, operation: &Operation, check: Check, text: String) {
        let kind = ErrorKind::Wrong(check);
        let slot = self.slot(Instant::now());
        self.with(|tally| *tally.timeline.entry(slot).or_default().errors.entry(kind).or_default() += 1);
        self.tell(who, operation, kind, text);
    }

    /// Counts a finding, and keeps an example.
    fn tell(&self, who: Who, operation: &Operation, kind: ErrorKind, text: String) {
        let at_ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.with(|tally| {
            if let ErrorKind::Wrong(check) = kind {
                *tally.findings.entry(check).or_default() += 1;
            }
            let kind = bounded(tally, kind);
            let examples = tally.examples.entry(kind).or_default();
            if examples.wants(at_ms) {
                let (revision, operation) = (who.revision.to_owned(), operation.clone());
                examples.add(Example { at_ms, client: who.client, revision, operation, text });
            }
        });
    }

    /// What was counted since the last time.
    pub(super) fn take(&self) -> Tally {
        let empty = Tally { slot_seconds: self.slot_seconds, ..Tally::default() };
        self.delta.replace(empty)
    }

    /// Notes how much is open at the end of a slot.
    pub(super) fn gauge(&self, slot: u32) {
        let (sessions, streams) = (self.sessions_open.get(), self.streams_open.get());
        self.with(|tally| {
            let second = tally.timeline.entry(slot).or_default();
            (second.sessions_open, second.streams_open) = (sessions, streams);
        });
    }

    /// A start that was due was noticed by the generator so late.
    pub(super) fn due(&self, intended: Instant, late: Duration, fate: Fate) {
        let measures = self.measures(intended);
        let slot = self.slot(Instant::now());
        self.with(|tally| {
            if fate == Fate::Dropped {
                tally.timeline.entry(slot).or_default().dropped += 1;
            }
            if measures {
                tally.arrivals.intended += 1;
                tally.arrivals.waited += u64::from(fate == Fate::Waits);
                tally.arrivals.dropped += u64::from(fate == Fate::Dropped);
                tally.arrivals.lateness.record(late);
            }
        });
    }

    /// A start that waited was given up.
    pub(super) fn dropped(&self, intended: Instant) {
        let measures = self.measures(intended);
        let slot = self.slot(Instant::now());
        self.with(|tally| {
            tally.timeline.entry(slot).or_default().dropped += 1;
            tally.arrivals.dropped += u64::from(measures);
        });
    }
}

/// What becomes of a start that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    AtOnce,
    Waits,
    Dropped,
}

/// The counts of an operation, without making its name anew.
fn of<'a>(tally: &'a mut Tally, operation: &Operation) -> &'a mut crate::tally::OperationTally {
    if !tally.operations.contains_key(operation) {
        tally.operations.insert(operation.clone(), crate::tally::OperationTally::default());
    }
    tally.operations.get_mut(operation).expect("invariant: it was put there just now")
}

/// The kind, or the one that stands for all further codes.
fn bounded(tally: &Tally, kind: ErrorKind) -> ErrorKind {
    let is_new = matches!(kind, ErrorKind::Rpc(_)) && !tally.examples.contains_key(&kind);
    if is_new && tally.examples.len() >= CODES { ErrorKind::RpcOther } else { kind }
}
