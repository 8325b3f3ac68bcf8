//! Which replicas are there. Each keeps a record in the store alive that lapses soon after the replica does; who comes upon
//! something that a replica began, and does not find its record, may take it over.
//!
//! Expiry is the store's, so no two replicas' clocks are compared. A lapsed lease is no proof of death: a replica that was
//! only asleep wakes up and goes on. What it writes then carries the fence of its time and is refused.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;
use trunkline_store::{Key, Kind, Record, SessionStore, StoreError};

/// How long a replica counts as there without a sign of life. Clients whose streams broke wait for so long at most until
/// another replica speaks for the dead one; a replica that is kept from running for so long loses its calls.
pub(crate) const TERM: Duration = Duration::from_secs(3);

/// The pause between two signs of life: three may be lost.
pub(super) const BEAT: Duration = Duration::from_millis(750);

/// How long what was seen of another replica counts, so that many who wait for the same one ask once.
const SEEN: Duration = Duration::from_millis(500);

/// Replicas that are remembered, well above any number that runs; they are forgotten together.
const MOST_SEEN: usize = 256;

/// The same for what is not worth losing to a replica that stood still for some seconds, and can be waited for.
pub(crate) const LONG_TERM: Duration = Duration::from_secs(30);

/// The leases of one kind, as one replica sees them.
pub(crate) struct Leases {
    store: Arc<dyn SessionStore>,
    /// What the names of their records begin with.
    kind: &'static str,
    /// How long a replica counts as there without a sign of life.
    term: Duration,
    replica: Box<str>,
    own: Mutex<Option<Own>>,
    /// Whether the last sign of life failed.
    failing: AtomicBool,
    seen: Mutex<HashMap<Box<str>, Seen>>,
}

/// What a replica knows of its own lease.
#[derive(Clone, Copy)]
struct Own {
    /// Since when it has been held without a break.
    since: Instant,
    /// When it was last renewed; taken before the store was asked, so that it does not lapse later than the record.
    renewed: Instant,
}

#[derive(Clone, Copy)]
struct Seen {
    at: Instant,
    there: bool,
}

// === impl Leases ===

impl Leases {
    /// The leases in a store that lapse after [`TERM`]. This replica has none yet.
    pub(crate) fn new(store: Arc<dyn SessionStore>, replica: &str) -> Self {
        Self::of_kind(store, replica, "lease", TERM)
    }

    /// Those that lapse after [`LONG_TERM`].
    pub(crate) fn long(store: Arc<dyn SessionStore>, replica: &str) -> Self {
        Self::of_kind(store, replica, "long-lease", LONG_TERM)
    }

    fn of_kind(store: Arc<dyn SessionStore>, replica: &str, kind: &'static str, term: Duration) -> Self {
        Self {
            store,
            kind,
            term,
            replica: replica.into(),
            own: Mutex::default(),
            failing: AtomicBool::new(false),
            seen: Mutex::default(),
        }
    }

    /// Whether the store took the last sign of life, and there was one.
    pub(crate) fn is_held(&self) -> bool {
        self.own.lock().is_some() && !self.failing.load(Ordering::Relaxed)
    }

    /// A sign of life if it is time for one: each quarter of the term, so that three may be lost.
    ///
    /// # Errors
    /// That the store did not take it.
    pub(super) async fn keep(&self) -> Result<(), StoreError> {
        let own = *self.own.lock();
        match own {
            Some(own) if own.renewed.elapsed() < self.term / 4 => Ok(()),
            _ => self.beat().await,
        }
    }

    /// One sign of life. To be given each quarter of the term.
    ///
    /// # Errors
    /// That the store did not take it.
    pub(super) async fn beat(&self) -> Result<(), StoreError> {
        let beaten = self.renew().await;
        self.failing.store(beaten.is_err(), Ordering::Relaxed);
        beaten
    }

    async fn renew(&self) -> Result<(), StoreError> {
        let renewed = Instant::now();
        let key = self.key(&self.replica);
        let held = self.store.touch(&key, self.term).await?;
        if !held {
            self.store.create(&key, Record::default(), self.term).await?;
        }
        let mut own = self.own.lock();
        let since = match *own {
            Some(own) if held && renewed.duration_since(own.renewed) < self.term => own.since,
            _ => renewed,
        };
        *own = Some(Own { since, renewed });
        Ok(())
    }

    /// Ends this replica's lease, so that nobody waits until it has lapsed.
    pub(crate) async fn release(&self) {
        if let Err(error) = self.store.delete(&self.key(&self.replica)).await {
            tracing::debug!(%error, "the lease of this replica was not ended; it lapses");
        }
    }

    /// Whether this replica has held its own lease for a whole term without a break. While the store is away all leases lapse, and
    /// nothing is to be concluded from one that is missing until every replica had the time to renew its own.
    fn is_steady(&self) -> bool {
        let own = *self.own.lock();
        own.is_some_and(|own| own.renewed.elapsed() < self.term && own.since.elapsed() >= self.term)
    }

    /// Whether a replica is gone, for all that can be known: this one has held its own lease for as long as that one's takes to
    /// lapse.
    ///
    /// # Errors
    /// That the store cannot be asked.
    pub(crate) async fn is_gone(&self, replica: &str) -> Result<bool, StoreError> {
        if *replica == *self.replica || !self.is_steady() {
            return Ok(false);
        }
        if let Some(seen) = self.remembered(replica) {
            return Ok(!seen.there);
        }
        let at = Instant::now();
        let there = self.store.load(&self.key(replica)).await?.is_some();
        self.remember(replica, Seen { at, there });
        // The store may have been away meanwhile.
        Ok(!there && self.is_steady())
    }

    fn key(&self, replica: &str) -> Key {
        Key::new(Kind::Endpoint, &format!("{}.{replica}", self.kind))
    }

    fn remembered(&self, replica: &str) -> Option<Seen> {
        self.seen.lock().get(replica).copied().filter(|seen| seen.at.elapsed() < SEEN)
    }

    fn remember(&self, replica: &str, what: Seen) {
        let mut seen = self.seen.lock();
        if seen.len() >= MOST_SEEN {
            seen.clear();
        }
        seen.insert(replica.into(), what);
    }
}

#[cfg(test)]
mod tests {
    use trunkline_store::memory::{MemoryLimits, MemoryStore};

    use super::*;

    fn two() -> (Arc<Leases>, Arc<Leases>) {
        let store = Arc::new(MemoryStore::new(MemoryLimits::default()));
        (Arc::new(Leases::new(store.clone(), "a")), Arc::new(Leases::new(store, "b")))
    }

    async fn pass(time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// A replica that is there.
    fn keep(leases: &Arc<Leases>) -> tokio::task::JoinHandle<()> {
        let leases = leases.clone();
        tokio::spawn(async move {
            loop {
                leases.beat().await.unwrap();
                pass(BEAT).await;
            }
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_replica_that_dies_is_gone_when_its_lease_has_lapsed() {
        let (a, b) = two();
        let (keep_a, _keep_b) = (keep(&a), keep(&b));
        pass(TERM * 2).await;
        assert!(!b.is_gone("a").await.unwrap());
        assert!(b.is_gone("c").await.unwrap(), "never there");
        keep_a.abort();
        pass(TERM / 2).await;
        assert!(!b.is_gone("a").await.unwrap());
        pass(TERM).await;
        assert!(b.is_gone("a").await.unwrap());
        assert!(!a.is_gone("b").await.unwrap(), "one that sleeps judges nobody");
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_just_come_judges_nobody() {
        let (_, b) = two();
        let _keep = keep(&b);
        pass(Duration::from_millis(1)).await;
        assert!(!b.is_gone("a").await.unwrap());
        pass(TERM).await;
        assert!(b.is_gone("a").await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_lapsed_begins_anew() {
        let (_, b) = two();
        b.beat().await.unwrap();
        pass(TERM * 2).await;
        b.beat().await.unwrap();
        assert!(!b.is_steady(), "the store may have been away");
        pass(TERM / 2).await;
        b.beat().await.unwrap();
        pass(TERM / 2).await;
        assert!(b.is_steady());
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_is_given_back_is_gone_at_once() {
        let (a, b) = two();
        let _keep = keep(&b);
        a.beat().await.unwrap();
        pass(TERM - Duration::from_millis(1)).await;
        a.beat().await.unwrap();
        pass(TERM / 2).await;
        assert!(!b.is_gone("a").await.unwrap());
        a.release().await;
        pass(SEEN).await;
        assert!(b.is_gone("a").await.unwrap());
    }
}
