//! A session on this replica: what was read of it, and what cannot be shared.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix::{Actor, Addr};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use trunkline_protocol::{
    RequestId, RpcError,
    lifecycle::{self, Outcome},
};

use super::actor::SessionActor;
use crate::{
    cancel::Cancel,
    principal::Principal,
    record::SessionRecord,
    registry::Services,
    telemetry::{Gauge, Held},
};

/// What a client answered to a question.
pub(crate) type Answered = Result<Box<RawValue>, RpcError>;

/// The session machine with what this replica stores in it: what cancels a call, who waits for an answer, the stream that
/// listens.
pub(crate) type Machine = lifecycle::Session<Cancel, oneshot::Sender<Answered>, Listener>;

/// A stream that listens for what belongs to no call.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    /// Counts the session's listening streams on all replicas. The highest carries the messages.
    pub(crate) number: i64,
    /// Fired to end the stream.
    pub(crate) end: CancellationToken,
}

/// A session while something of it is on this replica.
///
/// Requests read the record and enter the machine without a message: both are short, and a call stays on the thread it came
/// to. What changes the session, and what waits, goes through its actor, which is started when it is first needed.
pub(crate) struct LiveSession {
    id: Arc<str>,
    services: Arc<Services>,
    record: ArcSwap<SessionRecord>,
    machine: Mutex<Machine>,
    actor: OnceLock<Addr<SessionActor>>,
    /// Fires when the session is over; every stream of it listens.
    closed: CancellationToken,
    /// How often the record is known to have changed, and how often it had when it was read: equal while it may be used.
    changes: AtomicU64,
    read_at: AtomicU64,
    /// When it was last used and when its expiry was last renewed, in milliseconds of the directory's clock.
    used: AtomicU64,
    renewed: AtomicU64,
    /// Open streams that were asked for with GET.
    streams: AtomicUsize,
    _held: Held,
}

/// One open stream of a session, until it is dropped.
pub(crate) struct StreamPermit {
    session: Arc<LiveSession>,
    _held: Held,
}

// === impl LiveSession ===

impl LiveSession {
    /// A session that was just read, at `now` of the directory's clock.
    pub(super) fn new(id: Arc<str>, record: SessionRecord, services: Arc<Services>, now: u64) -> Self {
        let bounds = lifecycle::Bounds {
            calls: services.limits.in_flight_per_session.try_into().unwrap_or(u16::MAX),
            questions: services.limits.questions_per_session.try_into().unwrap_or(u16::MAX),
        };
        Self {
            id,
            record: ArcSwap::from_pointee(record),
            machine: Mutex::new(Machine::live(bounds)),
            actor: OnceLock::new(),
            closed: CancellationToken::new(),
            changes: AtomicU64::new(0),
            read_at: AtomicU64::new(0),
            used: AtomicU64::new(now),
            renewed: AtomicU64::new(0),
            streams: AtomicUsize::new(0),
            _held: services.metrics.hold(Gauge::Sessions),
            services,
        }
    }

    /// The session's id.
    pub(crate) fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// What this replica shares.
    pub(crate) fn services(&self) -> &Arc<Services> {
        &self.services
    }

    /// The session as it was last read.
    pub(crate) fn record(&self) -> Arc<SessionRecord> {
        self.record.load_full()
    }

    /// Whether the session is this caller's.
    pub(crate) fn belongs_to(&self, principal: &Principal) -> bool {
        self.record.load().principal == *principal
    }

    /// Changes what was read as the store was changed, so that the next request here sees it.
    pub(super) fn change_record(&self, change: impl Fn(&mut SessionRecord)) {
        self.record.rcu(|record| {
            let mut changed = SessionRecord::clone(record);
            change(&mut changed);
            changed
        });
    }

    /// Fires when the session is over.
    pub(crate) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// The session's actor.
    pub(crate) fn actor(self: &Arc<Self>) -> &Addr<SessionActor> {
        self.actor.get_or_init(|| SessionActor::new(self.clone()).start())
    }

    /// Counts an open stream, unless there are as many as there may be.
    pub(crate) fn open_stream(self: &Arc<Self>) -> Option<StreamPermit> {
        let most = self.services.limits.streams_per_session;
        let open = self.streams.fetch_add(1, Ordering::Relaxed);
        let permit =
            StreamPermit { session: self.clone(), _held: self.services.metrics.hold(Gauge::Streams) };
        (open < most).then_some(permit)
    }

    /// Enters a call. What is returned by `cancel` fires when the call is cancelled.
    pub(crate) fn begin_call(&self, id: RequestId, cancel: Cancel) -> Result<(), lifecycle::CallRefused> {
        self.machine.lock().begin_call(id, cancel)
    }

    /// Leaves a call: whether its answer goes to the client.
    pub(crate) fn end_call(&self, id: &RequestId) -> bool {
        let ended = self.machine.lock().end_call(id);
        ended.outcome == Outcome::Deliver
    }

    /// Cancels a call that runs here. Whether it does.
    pub(super) fn cancel_call(&self, call: &RequestId) -> bool {
        let running = self.machine.lock().cancel_call(call);
        running.map(|cancel| cancel.cancel()).is_some()
    }

    /// Who waits here for the answer to a question. It waits no more.
    pub(super) fn take_question(&self, question: &RequestId) -> Option<oneshot::Sender<Answered>> {
        self.machine.lock().answer(question)
    }

    /// Ends the listening stream, if it is older than the one with this number.
    pub(super) fn end_older_listener(&self, number: i64) {
        if let Some(listener) = self.machine.lock().listener().filter(|open| open.number < number) {
            listener.end.cancel();
        }
    }

    /// Works with the machine. Short, and without waiting.
    pub(super) fn with_machine<T>(&self, work: impl FnOnce(&mut Machine) -> T) -> T {
        work(&mut self.machine.lock())
    }

    /// Ends everything of the session on this replica.
    pub(crate) fn close(&self) {
        // First: a call that is left without an answer from here on can tell that it was not its client who cancelled it.
        self.closed.cancel();
        let released = self.machine.lock().close();
        for cancel in released.cancels {
            cancel.cancel();
        }
        if let Some(listener) = released.listener {
            listener.end.cancel();
        }
        self.stop_actor();
    }

    /// Waits until no call of the session runs here.
    pub(crate) async fn quiet(&self) {
        /// How often it is looked, in a shutdown only.
        const LOOK: Duration = Duration::from_millis(20);
        while self.machine.lock().in_flight() > 0 {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Lets go of the actor of a session that is idle or over.
    pub(super) fn stop_actor(&self) {
        if let Some(actor) = self.actor.get() {
            // A full mailbox means it is at work; the next sweep comes again.
            let _sent = actor.try_send(super::messages::Stop);
        }
    }

    /// Whether nothing of the session is on this replica but what was read of it.
    pub(super) fn is_idle_since(&self, before: u64) -> bool {
        self.used.load(Ordering::Relaxed) < before
            && self.streams.load(Ordering::Relaxed) == 0
            && self.machine.lock().is_idle()
    }

    /// The record has changed: it is read again before it is next used.
    pub(super) fn mark_stale(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether the record may be used as it is.
    pub(super) fn is_fresh(&self) -> bool {
        self.read_at.load(Ordering::Acquire) == self.changes.load(Ordering::Acquire)
    }

    /// Whether the session may have subscribed to a resource: what was read of it says so, or is not up to date.
    pub(crate) fn may_have_subscribed(&self, uri: &str) -> bool {
        !self.is_fresh() || self.record.load().subscriptions.contains(uri)
    }

    /// About to read the record again: a change after this makes what is read stale. The record there is stays stale until
    /// it is replaced, so that nobody is served from it meanwhile.
    pub(super) fn begin_refresh(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Puts what was read in the place of the record. To be called by one at a time.
    pub(super) fn end_refresh(&self, begun: u64, record: SessionRecord) {
        self.record.store(Arc::new(record));
        self.read_at.store(begun, Ordering::Release);
    }

    /// Whether its expiry was last renewed before a time.
    pub(super) fn renewed_before(&self, time: u64) -> bool {
        self.renewed.load(Ordering::Relaxed) < time
    }

    /// Notes a use at `now`. Whether the expiry should be renewed: at most once per tenth of its length.
    pub(super) fn note_use(&self, now: u64, ttl: Duration) -> bool {
        self.used.store(now, Ordering::Relaxed);
        let pause = u64::try_from(ttl.as_millis() / 10).unwrap_or(u64::MAX);
        let renewed = self.renewed.load(Ordering::Relaxed);
        if renewed != 0 && now.saturating_sub(renewed) < pause {
            return false;
        }
        // One of several at the same moment renews.
        let ordering = Ordering::Relaxed;
        self.renewed.compare_exchange(renewed, now.max(1), ordering, ordering).is_ok()
    }
}

// === impl StreamPermit ===

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.session.streams.fetch_sub(1, Ordering::Relaxed);
    }
}
