//! How many sessions may be opened. As many as come, unless the store was emptied: then every client comes at once, and they
//! are let in at a rate that the replica and the store can bear.
//!
//! That the store was emptied shows by a mark which every replica keeps alive there: it is gone, or it is another one than
//! before, which the replica made that missed it first.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::Instant;
use trunkline_store::{Key, Kind, Record, SessionStore, StoreError};

use super::lease::BEAT;
use crate::error::Refusal;

/// How long the mark outlives its last renewal: longer than any endpoint is switched off and expects its sessions to be there.
const MARK_TTL: Duration = Duration::from_secs(30 * 24 * 3600);

/// The pause between two renewals of the mark.
const RENEWAL: Duration = Duration::from_secs(3600);

/// The field of the mark that tells it from the one before it. A mark of an earlier version has none.
const NAME: &str = "name";

/// A mark that was seen so recently is there.
const FRESH: Duration = BEAT.saturating_mul(2);

/// The rate is bounded until nobody had to wait for so long.
const CALM: Duration = Duration::from_secs(60);

/// The longest that anybody is told to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Who may open a session now.
pub(crate) struct Admission {
    store: Arc<dyn SessionStore>,
    rate: f64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The mark; `None` before it was first seen.
    mark: Option<Mark>,
    /// Something pointed to a loss since: the mark is looked for before the next session is opened.
    suspect: bool,
    /// Where a loss was found, until it is over.
    recovery: Option<Recovery>,
}

/// The mark as it was last seen.
struct Mark {
    name: Option<Bytes>,
    seen: Instant,
    renewed: Instant,
}

/// A token bucket that holds one second's worth, and those who were turned away.
struct Recovery {
    tokens: f64,
    filled: Instant,
    /// When somebody had last to wait.
    waited: Instant,
    /// Who was turned away in this second and the last: they will be back.
    turned_away: [u32; 2],
    second: Instant,
}

// === impl Admission ===

impl Admission {
    /// Admits everybody, and `rate` a second after a loss.
    pub(crate) fn new(store: Arc<dyn SessionStore>, rate: usize) -> Self {
        let rate = u32::try_from(rate).map_or(f64::from(u32::MAX), f64::from);
        Self { store, rate, state: Mutex::default() }
    }

    /// Looks at the mark, and renews it where it is time. To be called now and then.
    ///
    /// # Errors
    /// That the store cannot be asked.
    pub(crate) async fn look(&self) -> Result<(), StoreError> {
        let key = Key::new(Kind::Endpoint, "mark");
        let name = self.read(&key).await?;
        let now = Instant::now();
        let renewed = self.state.lock().mark.as_ref().map(|mark| mark.renewed);
        let renewed = match renewed {
            Some(renewed) if now.duration_since(renewed) < RENEWAL => renewed,
            // If it expires between the two, the next look finds that.
            _ => self.store.touch(&key, MARK_TTL).await.map(|_| now)?,
        };
        let mut state = self.state.lock();
        state.suspect = false;
        let before = state.mark.replace(Mark { name: name.clone(), seen: now, renewed });
        if before.is_some_and(|before| before.name != name) {
            tracing::warn!(
                "the store was emptied: its sessions are gone, and new ones are opened at a bounded rate"
            );
            state.recovery = Some(Recovery::begin());
        }
        Ok(())
    }

    /// The name of the mark, which is made if there is none.
    async fn read(&self, key: &Key) -> Result<Option<Bytes>, StoreError> {
        loop {
            if let Some(mark) = self.store.load(key).await? {
                return Ok(mark.fields.get(NAME).cloned());
            }
            let mut mark = Record::default();
            let name = Bytes::from(rand::random::<u64>().to_string());
            mark.fields.insert(NAME.into(), name.clone());
            // Of those who miss it at the same time one makes it, and the others find that one.
            if self.store.create(key, mark, MARK_TTL).await? {
                return Ok(Some(name));
            }
        }
    }

    /// Something was missed in the store that should have been there.
    pub(crate) fn suspect(&self) {
        self.state.lock().suspect = true;
    }

    /// Whether a session may be opened now.
    ///
    /// # Errors
    /// [`Refusal::Recovering`], or that the store cannot be asked.
    pub(crate) async fn admit(&self) -> Result<(), Refusal> {
        let stale = {
            let state = self.state.lock();
            state.suspect || state.mark.as_ref().is_none_or(|mark| mark.seen.elapsed() > FRESH)
        };
        if stale {
            self.look().await?;
        }
        let mut state = self.state.lock();
        let Some(recovery) = &mut state.recovery else { return Ok(()) };
        if recovery.is_over() {
            state.recovery = None;
            return Ok(());
        }
        recovery.admit(self.rate)
    }
}

// === impl Recovery ===

impl Recovery {
    fn begin() -> Self {
        let now = Instant::now();
        Self { tokens: 0.0, filled: now, waited: now, turned_away: [0; 2], second: now }
    }

    fn is_over(&self) -> bool {
        self.waited.elapsed() >= CALM
    }

    fn admit(&mut self, rate: f64) -> Result<(), Refusal> {
        let now = Instant::now();
        self.tokens = (self.tokens + now.duration_since(self.filled).as_secs_f64() * rate).min(rate.max(1.0));
        self.filled = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        self.waited = now;
        if now.duration_since(self.second) >= Duration::from_secs(1) {
            self.turned_away = [0, self.turned_away[0]];
            self.second = now;
        }
        self.turned_away[0] = self.turned_away[0].saturating_add(1);
        // As long as it takes to let in those who wait.
        let waiting = f64::from(self.turned_away[0].max(self.turned_away[1]));
        let wait = Duration::from_secs_f64((waiting / rate).min(LONGEST_WAIT.as_secs_f64()));
        Err(Refusal::Recovering { after: wait.max(Duration::from_secs(1)) })
    }
}

#[cfg(test)]
mod tests {
    use trunkline_store::memory::{MemoryLimits, MemoryStore};

    use super::*;

    fn store() -> Arc<MemoryStore> {
        Arc::new(MemoryStore::new(MemoryLimits::default()))
    }

    /// How many of so many are let in now.
    async fn admitted(admission: &Admission, come: usize) -> usize {
        let mut admitted = 0;
        for _ in 0..come {
            match admission.admit().await {
                Ok(()) => admitted += 1,
                Err(Refusal::Recovering { after }) => assert!(after <= LONGEST_WAIT),
                Err(other) => panic!("{other:?}"),
            }
        }
        admitted
    }

    async fn empty(store: &MemoryStore) {
        assert!(store.delete(&Key::new(Kind::Endpoint, "mark")).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn everybody_is_let_in_as_long_as_nothing_is_lost() {
        let store = store();
        let (first, second) = (Admission::new(store.clone(), 1), Admission::new(store, 1));
        assert_eq!(admitted(&first, 1000).await, 1000, "a new store has lost nothing");
        assert_eq!(admitted(&second, 1000).await, 1000, "nor has one that others use");
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_loss_the_rate_is_kept_until_nobody_waits() {
        let store = store();
        let admission = Admission::new(store.clone(), 10);
        assert_eq!(admitted(&admission, 100).await, 100);
        empty(&store).await;
        admission.suspect();
        assert_eq!(admitted(&admission, 100).await, 0);
        let mut all = 0;
        for _ in 0..100 {
            tokio::time::advance(Duration::from_millis(100)).await;
            all += admitted(&admission, 100).await;
        }
        assert!((98..=100).contains(&all), "{all} in ten seconds");
        tokio::time::advance(CALM).await;
        assert_eq!(admitted(&admission, 100).await, 100);
    }

    #[tokio::test(start_paused = true)]
    async fn a_loss_is_found_without_a_hint_after_a_while() {
        let store = store();
        let admission = Admission::new(store.clone(), 10);
        assert_eq!(admitted(&admission, 1).await, 1);
        empty(&store).await;
        tokio::time::advance(FRESH * 2).await;
        assert_eq!(admitted(&admission, 100).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn every_replica_keeps_the_rate_whoever_finds_the_loss_first() {
        let store = store();
        let (first, second) = (Admission::new(store.clone(), 10), Admission::new(store.clone(), 10));
        assert_eq!((admitted(&first, 1).await, admitted(&second, 1).await), (1, 1));
        empty(&store).await;
        first.look().await.unwrap();
        second.look().await.unwrap();
        assert_eq!((admitted(&first, 100).await, admitted(&second, 100).await), (0, 0));
        let third = Admission::new(store, 10);
        assert_eq!(admitted(&third, 100).await, 100, "one that starts afterwards has lost nothing");
    }

    #[tokio::test(start_paused = true)]
    async fn the_mark_outlives_what_it_marks() {
        let store = store();
        let admission = Admission::new(store.clone(), 10);
        for _ in 0..40 * 24 {
            assert_eq!(admitted(&admission, 1).await, 1);
            tokio::time::advance(Duration::from_secs(3600)).await;
        }
        let mark = store.load(&Key::new(Kind::Endpoint, "mark")).await.unwrap();
        assert!(mark.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_more_are_turned_away_the_later_they_are_to_come_back() {
        let store = store();
        let admission = Admission::new(store.clone(), 10);
        assert_eq!(admitted(&admission, 1).await, 1);
        empty(&store).await;
        admission.suspect();
        let mut waits = Vec::new();
        for _ in 0..1000 {
            match admission.admit().await {
                Err(Refusal::Recovering { after }) => waits.push(after),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(waits[0], Duration::from_secs(1));
        assert_eq!(waits[299], Duration::from_secs(30));
        assert_eq!(waits[999], LONGEST_WAIT);
    }
}
