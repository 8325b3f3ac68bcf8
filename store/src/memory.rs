//! Records in the memory of one process: for one replica, for tests, and the reference for every other implementation.
//!
//! A record that expired is gone at once for whoever asks, and leaves memory when it is next touched or swept. The sweep
//! is a task of its own, since nobody asks for an abandoned session again; it ends when the store is dropped.
//!
//! ```
//! use std::time::Duration;
//! use trunkline_store::{Key, Kind, Record, SessionStore, memory::{MemoryLimits, MemoryStore}};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), trunkline_store::StoreError> {
//! let store = MemoryStore::new(MemoryLimits::default());
//! let key = Key::new(Kind::Session, "s1");
//! store.create(&key, Record::default().with("revision", "2025-11-25"), Duration::from_secs(3600)).await?;
//! assert_eq!(store.increment(&key, "calls", 2).await?, Some(2));
//! assert_eq!(store.load(&key).await?.unwrap().text("calls"), Some("2"));
//!
//! store.delete(&key).await?;
//! assert_eq!(store.increment(&key, "calls", 1).await?, None);
//! # Ok(())
//! # }
//! ```

mod fields;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::{
    sync::broadcast,
    task::AbortHandle,
    time::{Instant, MissedTickBehavior},
};

use self::fields::Fields;
use crate::{Change, Changes, Key, Record, RecordLimits, SessionStore, StoreError, StoreFuture};

/// How finely the records are divided: so that a sweep holds a lock for a part of a millisecond, at 200 000 records.
const SHARDS: usize = 64;

/// How often the sweep runs, and how much it looks at: everything within 8 s, which is how long an expired record may
/// linger and how late its expiry may be announced.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
const SWEEP_SHARDS: usize = 8;

/// Changes that a listener may be behind before it is told [`Change::Unknown`]: a burst of a few milliseconds at full
/// load. The listener only drops what it had read, so it is behind by so much when its thread is stuck.
const CHANGES: usize = 1024;

/// A longer time to live counts as this, so that no instant overflows.
const LONGEST_TTL: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// A shard's table is left alone below this capacity.
const SMALL_TABLE: usize = 64;

/// The most that a [`MemoryStore`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Records of all kinds. 200 000: at some 800 bytes a session, 160 MB if all of it is used.
    pub records: usize,
    /// Bounds on one record.
    pub record: RecordLimits,
}

/// A [`SessionStore`] in memory.
#[derive(Debug)]
pub struct MemoryStore {
    shared: Arc<Shared>,
    sweep: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    limits: MemoryLimits,
    hasher: RandomState,
    shards: Box<[Mutex<Shard>]>,
    /// Of all shards, expired ones included until they are swept. Raised before a record is put in, lowered after it is
    /// taken out, so never below the truth.
    records: AtomicUsize,
    changes: broadcast::Sender<Change>,
    /// When everything was last swept to make room.
    made_room: Mutex<Option<Instant>>,
}

type Shard = HashMap<Key, Stored>;

#[derive(Debug)]
struct Stored {
    fields: Fields,
    expires: Instant,
}

/// What a change did to a record that exists.
struct Changed<T> {
    answer: T,
    /// Whether listeners are told.
    announce: bool,
}

// === impl MemoryLimits ===

impl Default for MemoryLimits {
    fn default() -> Self {
        Self { records: 200_000, record: RecordLimits::default() }
    }
}

// === impl MemoryStore ===

impl MemoryStore {
    /// An empty store, and its sweep as a task on the current runtime.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn new(limits: MemoryLimits) -> Self {
        let shared = Arc::new(Shared {
            limits,
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            records: AtomicUsize::new(0),
            changes: broadcast::Sender::new(CHANGES),
            made_room: Mutex::new(None),
        });
        let sweep = tokio::spawn(sweep(Arc::clone(&shared))).abort_handle();
        Self { shared, sweep }
    }

    /// How many records memory holds, expired ones that are not swept yet included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.records.load(Ordering::Relaxed)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.sweep.abort();
    }
}

impl SessionStore for MemoryStore {
    fn create<'a>(&'a self, key: &'a Key, record: Record, ttl: Duration) -> StoreFuture<'a, bool> {
        Box::pin(async move { self.shared.create(key, &record, ttl) })
    }

    fn load<'a>(&'a self, key: &'a Key) -> StoreFuture<'a, Option<Record>> {
        Box::pin(async move {
            self.shared
                .change(key, |stored| Ok(Changed { answer: stored.fields.to_record(), announce: false }))
        })
    }

    fn set<'a>(&'a self, key: &'a Key, field: &'a str, value: Bytes) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let limits = &self.shared.limits.record;
            limits.admit_field(field, value.len())?;
            let set = self.shared.change(key, |stored| {
                stored.put(field, &value, limits)?;
                Ok(Changed { answer: (), announce: true })
            })?;
            Ok(set.is_some())
        })
    }

    fn remove<'a>(&'a self, key: &'a Key, field: &'a str) -> StoreFuture<'a, Option<bool>> {
        Box::pin(async move {
            self.shared.change(key, |stored| {
                let removed = stored.fields.remove(field);
                Ok(Changed { answer: removed, announce: removed })
            })
        })
    }

    fn increment<'a>(&'a self, key: &'a Key, field: &'a str, by: i64) -> StoreFuture<'a, Option<i64>> {
        Box::pin(async move {
            let limits = &self.shared.limits.record;
            limits.admit_field(field, 0)?;
            self.shared.change(key, |stored| {
                let not_an_integer = || StoreError::NotAnInteger { field: field.to_owned() };
                let current = match stored.fields.get(field) {
                    Some(value) => integer(value).ok_or_else(not_an_integer)?,
                    None => 0,
                };
                let sum = current.checked_add(by).ok_or_else(not_an_integer)?;
                let text = sum.to_string();
                limits.admit_field(field, text.len())?;
                stored.put(field, text.as_bytes(), limits)?;
                Ok(Changed { answer: sum, announce: true })
            })
        })
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        field: &'a str,
        expected: Option<Bytes>,
        new: Option<Bytes>,
    ) -> StoreFuture<'a, Option<bool>> {
        Box::pin(async move {
            let limits = &self.shared.limits.record;
            limits.admit_field(field, new.as_ref().map_or(0, Bytes::len))?;
            self.shared.change(key, |stored| {
                if stored.fields.get(field) != expected.as_deref() {
                    return Ok(Changed { answer: false, announce: false });
                }
                let announce = match &new {
                    Some(value) => stored.put(field, value, limits).map(|()| true)?,
                    None => stored.fields.remove(field),
                };
                Ok(Changed { answer: true, announce })
            })
        })
    }

    fn touch<'a>(&'a self, key: &'a Key, ttl: Duration) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let touched = self.shared.change(key, |stored| {
                stored.expires = expiry(Instant::now(), ttl);
                Ok(Changed { answer: (), announce: false })
            })?;
            Ok(touched.is_some())
        })
    }

    fn delete<'a>(&'a self, key: &'a Key) -> StoreFuture<'a, bool> {
        Box::pin(async move { Ok(self.shared.delete(key)) })
    }

    fn changes(&self) -> Changes {
        Changes::new(self.shared.changes.subscribe())
    }
}

// === impl Shared ===

impl Shared {
    fn create(&self, key: &Key, record: &Record, ttl: Duration) -> Result<bool, StoreError> {
        self.limits.record.admit_record(key, record)?;
        if self.records.load(Ordering::Relaxed) >= self.limits.records {
            self.make_room();
        }
        let now = Instant::now();
        let stored = Stored { fields: Fields::from(record), expires: expiry(now, ttl) };
        let mut shard = self.shard(key).lock();
        let expired = self.drop_expired(&mut shard, key, now);
        let created = if shard.contains_key(key) {
            Ok(false)
        } else {
            self.reserve().map(|()| shard.insert(key.clone(), stored).is_none())
        };
        drop(shard);
        if expired {
            self.announce(key.clone());
        }
        created
    }

    /// One step on a record, if it exists.
    fn change<T>(
        &self,
        key: &Key,
        step: impl FnOnce(&mut Stored) -> Result<Changed<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let mut shard = self.shard(key).lock();
        let expired = self.drop_expired(&mut shard, key, Instant::now());
        let changed = shard.get_mut(key).map(step).transpose();
        drop(shard);
        let changed = changed?;
        if expired || changed.as_ref().is_some_and(|changed| changed.announce) {
            self.announce(key.clone());
        }
        Ok(changed.map(|changed| changed.answer))
    }

    fn delete(&self, key: &Key) -> bool {
        let removed = self.shard(key).lock().remove(key);
        let Some(stored) = removed else { return false };
        self.records.fetch_sub(1, Ordering::Relaxed);
        self.announce(key.clone());
        stored.expires > Instant::now()
    }

    /// Counts one more record.
    fn reserve(&self) -> Result<(), StoreError> {
        let limit = self.limits.records;
        self.records
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |records| {
                (records < limit).then_some(records + 1)
            })
            .map(|_| ())
            .map_err(|_| StoreError::Full { limit })
    }

    /// Sweeps everything, for expired records do not count as full. Once a second at most: a full store stays cheap to ask.
    fn make_room(&self) {
        let now = Instant::now();
        let mut made_room = self.made_room.lock();
        if made_room.is_some_and(|last| now.duration_since(last) < SWEEP_EVERY) {
            return;
        }
        *made_room = Some(now);
        drop(made_room);
        (0..SHARDS).for_each(|index| self.sweep(index));
    }

    /// Takes the expired records out of a shard, tells of them, and gives back the room of a table that shrank much.
    fn sweep(&self, index: usize) {
        let now = Instant::now();
        let mut shard = self.shards[index].lock();
        let expired: Vec<Key> =
            shard.extract_if(|_, stored| stored.expires <= now).map(|(key, _)| key).collect();
        if shard.capacity() > SMALL_TABLE && shard.len() < shard.capacity() / 4 {
            let twice = shard.len() * 2;
            shard.shrink_to(twice);
        }
        drop(shard);
        self.records.fetch_sub(expired.len(), Ordering::Relaxed);
        expired.into_iter().for_each(|key| self.announce(key));
    }

    /// Whether there was an expired record, which is gone now.
    fn drop_expired(&self, shard: &mut Shard, key: &Key, now: Instant) -> bool {
        let expired = shard.get(key).is_some_and(|stored| stored.expires <= now);
        if expired {
            shard.remove(key);
            self.records.fetch_sub(1, Ordering::Relaxed);
        }
        expired
    }

    /// Tells listeners. Called without the lock; a change only names its record, so their order does not matter.
    fn announce(&self, key: Key) {
        // Fails when nobody listens, and then nobody has anything to forget.
        let _ = self.changes.send(Change::Record(key));
    }

    fn shard(&self, key: &Key) -> &Mutex<Shard> {
        let hash = self.hasher.hash_one(key);
        &self.shards[usize::try_from(hash % SHARDS as u64).expect("invariant: below the number of shards")]
    }
}

// === impl Stored ===

impl Stored {
    fn put(&mut self, field: &str, value: &[u8], limits: &RecordLimits) -> Result<(), StoreError> {
        if self.fields.get(field).is_none() {
            limits.admit_count(self.fields.len() + 1)?;
        }
        self.fields.set(field, value);
        Ok(())
    }
}

/// Some shards at a time, and others may run after each.
async fn sweep(shared: Arc<Shared>) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut shards = (0..SHARDS).cycle();
    loop {
        ticks.tick().await;
        for index in shards.by_ref().take(SWEEP_SHARDS) {
            shared.sweep(index);
            tokio::task::yield_now().await;
        }
    }
}

fn expiry(now: Instant, ttl: Duration) -> Instant {
    now + ttl.min(LONGEST_TTL)
}

/// One spelling only, as it would be written back: no sign for what is positive, no leading zero.
fn integer(value: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(value).ok()?;
    let integer: i64 = text.parse().ok()?;
    (integer.to_string() == text).then_some(integer)
}
