//! What is subscribed to, and for whom: one seat a channel, however many use it.
//!
//! Users come and go here; [`super::link`] makes Redis agree. A seat without users stays until Redis was told to leave it, so
//! that one who comes back before finds it still warm.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::sync::Notify;
use trunkline_redis::{Failure, NodeId};

use super::{names::LogNames, tail::Tail};
use crate::{Channel, HubError};

/// A table is left alone below this capacity.
const SMALL_TABLE: usize = 64;

/// All seats, by the names of their channels.
#[derive(Debug)]
pub(super) struct Seats {
    most: usize,
    seats: Mutex<ByName>,
    /// Seats to look at, for each node that is there.
    desks: Mutex<HashMap<NodeId, Arc<Desk>>>,
}

#[derive(Debug, Default)]
struct ByName(HashMap<Arc<str>, Arc<Seat>>);

/// One channel.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) name: Arc<str>,
    pub(super) kind: Kind,
    /// Changed under the lock of all seats only.
    users: AtomicUsize,
    /// Whether it lies on a desk.
    queued: AtomicBool,
    /// Whether Redis has confirmed a subscription that lasts, as far as is known.
    confirmed: AtomicBool,
    /// Where that is, and why there is none.
    standing: Mutex<Standing>,
    /// Whenever one of these changes.
    changed: Notify,
}

#[derive(Debug)]
pub(super) enum Kind {
    Log(Box<Trail>),
    Signals(Channel),
}

/// A log that is followed here.
#[derive(Debug)]
pub(super) struct Trail {
    pub(super) names: LogNames,
    pub(super) tail: Mutex<Tail>,
    /// For followers that have taken everything.
    pub(super) news: Notify,
    /// For who waits until they have.
    pub(super) taken: Notify,
    /// How often it was asked to be read again, and not done yet.
    pub(super) repairs: AtomicUsize,
    pub(super) looks: Looks,
}

/// Looks at a log that all who want one at the same time share.
#[derive(Debug, Default)]
pub(super) struct Looks {
    begun: AtomicU64,
    /// The last one that was done.
    done: tokio::sync::Mutex<u64>,
}

#[derive(Debug, Default)]
struct Standing {
    node: Option<NodeId>,
    refusal: Option<Failure>,
}

/// What a node's clerk has to look at.
#[derive(Debug, Default)]
pub(super) struct Desk {
    pending: Mutex<Vec<Arc<Seat>>>,
    pub(super) kick: Notify,
}

/// A user's hold on a seat. Dropping it lets go.
#[derive(Debug)]
pub(super) struct Hold {
    seats: Arc<Seats>,
    pub(super) seat: Arc<Seat>,
    node: Option<NodeId>,
}

/// What a seat needs of Redis.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Need {
    Subscribe,
    Unsubscribe,
    Nothing,
}

// === impl Seats ===

impl Seats {
    pub(super) fn new(most: usize) -> Self {
        Self { most, seats: Mutex::default(), desks: Mutex::default() }
    }

    /// A hold on the seat of this name, which is made if need be. `node` has the channel, if that is known.
    pub(super) fn hold(
        self: &Arc<Self>,
        name: &str,
        node: Option<NodeId>,
        kind: impl FnOnce() -> Kind,
    ) -> Result<Hold, HubError> {
        let mut seats = self.seats.lock();
        let seat = match seats.0.get(name) {
            Some(seat) => Arc::clone(seat),
            None if seats.0.len() >= self.most => {
                return Err(HubError::Full { what: "subscriptions", limit: self.most });
            }
            None => {
                let name: Arc<str> = name.into();
                let seat = Arc::new(Seat::new(Arc::clone(&name), kind()));
                seats.0.insert(name, Arc::clone(&seat));
                seat
            }
        };
        seat.users.fetch_add(1, Ordering::SeqCst);
        drop(seats);
        if !seat.is_confirmed() {
            self.look_at(&seat, node.as_ref());
        }
        Ok(Hold { seats: Arc::clone(self), seat, node })
    }

    pub(super) fn get(&self, name: &str) -> Option<Arc<Seat>> {
        self.seats.lock().0.get(name).cloned()
    }

    /// Those that a condition holds for.
    pub(super) fn filter(&self, condition: impl Fn(&Seat) -> bool) -> Vec<Arc<Seat>> {
        self.seats.lock().0.values().filter(|seat| condition(seat)).cloned().collect()
    }

    pub(super) fn count(&self) -> usize {
        self.seats.lock().0.len()
    }

    /// Has the node's clerk look at a seat. Nothing is lost while there is none: one that comes looks at all.
    pub(super) fn look_at(&self, seat: &Arc<Seat>, node: Option<&NodeId>) {
        let Some(desk) = node.and_then(|node| self.desks.lock().get(node).cloned()) else { return };
        desk.put(seat);
    }

    /// A desk for a node that is there now.
    pub(super) fn open_desk(&self, node: &NodeId) -> Arc<Desk> {
        let desk = Arc::<Desk>::default();
        self.desks.lock().insert(node.clone(), Arc::clone(&desk));
        desk
    }

    /// The node is away: nothing is subscribed to there.
    pub(super) fn close_desk(&self, node: &NodeId) {
        self.desks.lock().remove(node);
        for seat in self.filter(|_| true) {
            let mut standing = seat.standing.lock();
            if standing.node.as_ref() == Some(node) {
                standing.node = None;
                seat.confirmed.store(false, Ordering::SeqCst);
            }
        }
    }

    /// What a seat needs, looked at by the clerk of `node`. One that nobody uses is gone after.
    pub(super) fn need(&self, seat: &Arc<Seat>, node: &NodeId) -> Need {
        seat.queued.store(false, Ordering::SeqCst);
        let mut seats = self.seats.lock();
        let standing = seat.standing.lock();
        if seat.is_used() {
            return if standing.node.is_none() { Need::Subscribe } else { Need::Nothing };
        }
        seats.forget(seat);
        // Another seat of the name would lose its subscription too; it inherits this one.
        let is_last = !seats.0.contains_key(&seat.name);
        if is_last && standing.node.as_ref() == Some(node) { Need::Unsubscribe } else { Need::Nothing }
    }

    fn leave(&self, seat: &Arc<Seat>, node: Option<&NodeId>) {
        let mut seats = self.seats.lock();
        if seat.users.fetch_sub(1, Ordering::SeqCst) > 1 {
            return;
        }
        let node = seat.node().or_else(|| node.cloned());
        let desk = node.and_then(|node| self.desks.lock().get(&node).cloned());
        match desk {
            Some(desk) => desk.put(seat),
            // Nobody is there who could be told.
            None => seats.forget(seat),
        }
    }
}

// === impl ByName ===

impl ByName {
    /// Unless another has its name now. A table that shrank much gives its room back.
    fn forget(&mut self, seat: &Arc<Seat>) {
        if self.0.get(&seat.name).is_some_and(|known| Arc::ptr_eq(known, seat)) {
            self.0.remove(&seat.name);
            if self.0.capacity() > SMALL_TABLE && self.0.len() < self.0.capacity() / 4 {
                let twice = self.0.len() * 2;
                self.0.shrink_to(twice);
            }
        }
    }
}

// === impl Seat ===

impl Seat {
    fn new(name: Arc<str>, kind: Kind) -> Self {
        Self {
            name,
            kind,
            users: AtomicUsize::new(0),
            queued: AtomicBool::new(false),
            confirmed: AtomicBool::new(false),
            standing: Mutex::default(),
            changed: Notify::new(),
        }
    }

    pub(super) fn trail(&self) -> Option<&Trail> {
        match &self.kind {
            Kind::Log(trail) => Some(trail),
            Kind::Signals(_) => None,
        }
    }

    pub(super) fn is_confirmed(&self) -> bool {
        self.confirmed.load(Ordering::SeqCst)
    }

    pub(super) fn is_used(&self) -> bool {
        self.users.load(Ordering::SeqCst) > 0
    }

    pub(super) fn node(&self) -> Option<NodeId> {
        self.standing.lock().node.clone()
    }

    /// Redis has confirmed a subscription over a connection that `is_alive` still. The connection's end is told after it
    /// shows, so either it shows here, or [`Seats::close_desk`] comes after.
    pub(super) fn confirm(&self, node: &NodeId, is_alive: impl Fn() -> bool) {
        let mut standing = self.standing.lock();
        if !is_alive() {
            return;
        }
        *standing = Standing { node: Some(node.clone()), refusal: None };
        self.confirmed.store(true, Ordering::SeqCst);
        drop(standing);
        self.changed.notify_waiters();
    }

    /// It is subscribed to no more.
    pub(super) fn revoke(&self) {
        let mut standing = self.standing.lock();
        standing.node = None;
        self.confirmed.store(false, Ordering::SeqCst);
    }

    pub(super) fn refuse(&self, failure: Failure) {
        self.standing.lock().refusal = Some(failure);
        self.changed.notify_waiters();
    }

    /// Waits for the next confirmation or refusal.
    pub(super) async fn change(&self) {
        self.changed.notified().await;
    }

    /// Waits until Redis has confirmed a subscription, or refused it.
    pub(super) async fn confirmed(&self) -> Result<(), Failure> {
        loop {
            let changed = self.changed.notified();
            if self.is_confirmed() {
                return Ok(());
            }
            if let Some(failure) = self.standing.lock().refusal.take() {
                return Err(failure);
            }
            changed.await;
        }
    }
}

// === impl Looks ===

impl Looks {
    /// Returns once some look was done that began after this was called.
    pub(super) async fn share<E>(&self, look: impl Future<Output = Result<(), E>>) -> Result<(), E> {
        let before = self.begun.load(Ordering::SeqCst);
        let mut done = self.done.lock().await;
        if *done > before {
            return Ok(());
        }
        let this = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        look.await?;
        *done = this;
        Ok(())
    }
}

// === impl Desk ===

impl Desk {
    /// Has the clerk look at a seat, once though it is put here many times.
    pub(super) fn put(&self, seat: &Arc<Seat>) {
        if !seat.queued.swap(true, Ordering::SeqCst) {
            self.pending.lock().push(Arc::clone(seat));
        }
        self.kick.notify_one();
    }

    /// As [`Desk::put`], also if the seat lies on the desk of a clerk that has gone.
    pub(super) fn put_again(&self, seat: &Arc<Seat>) {
        seat.queued.store(false, Ordering::SeqCst);
        self.put(seat);
    }

    /// Some of what lies here, in the order it was put.
    pub(super) fn take(&self, most: usize) -> Vec<Arc<Seat>> {
        let mut pending = self.pending.lock();
        let count = most.min(pending.len());
        pending.drain(..count).collect()
    }
}

// === impl Hold ===

impl Drop for Hold {
    fn drop(&mut self) {
        self.seats.leave(&self.seat, self.node.as_ref());
    }
}
