//! All logs by name, and who follows them.
//!
//! Locks are taken in one order: a shard, then a slot of it. A reader takes its slot's only. Nobody waits under a lock, and
//! readers are woken after it was let go.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use super::{
    MemoryLimits,
    log::{Log, Read},
};
use crate::{Delivery, Fence, HubError, Position, Retention, Topic};

/// How finely the logs are divided, so that a sweep holds a lock for a part of a millisecond.
pub(super) const SHARDS: usize = 64;

/// A full hub looks for what has expired this often at most, so that it stays cheap to ask.
const MAKE_ROOM_EVERY: Duration = Duration::from_secs(1);

/// A shard's table is left alone below this capacity.
const SMALL_TABLE: usize = 64;

#[derive(Debug)]
pub(super) struct Topics {
    limits: MemoryLimits,
    hasher: RandomState,
    shards: Box<[Mutex<Shard>]>,
    /// Names that are known: logs, and those that are only waited for.
    slots: AtomicUsize,
    pub(super) logs: AtomicUsize,
    pub(super) bytes: AtomicUsize,
    pub(super) followers: AtomicUsize,
    /// How often a follower was told of a gap.
    pub(super) gaps: AtomicU64,
    /// The last number given to a log or a fence. Starts at the time, so that those of an earlier process are lower.
    serial: AtomicU64,
    made_room: Mutex<Option<Instant>>,
}

type Shard = HashMap<Topic, Arc<Slot>>;

/// What is known under one name. In its shard for as long as there is a log or a follower.
#[derive(Debug, Default)]
struct Slot {
    /// For readers that have read everything.
    wake: Notify,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    log: Option<Log>,
    /// How many logs of this name were deleted or expired: whoever began to read before the last of them is told.
    deaths: u64,
    followers: usize,
    /// Readers have something new to see.
    news: bool,
}

/// A reader's place in a log. Dropping it forgets it.
#[derive(Debug)]
pub(super) struct Reader {
    topics: Arc<Topics>,
    topic: Topic,
    slot: Arc<Slot>,
    place: Position,
    deaths: u64,
}

/// An entry to append, and by whom.
#[derive(Debug)]
pub(super) struct Append {
    pub(super) fence: Option<Fence>,
    /// The entry before it, where it may be the repetition of one that is there.
    pub(super) previous: Option<Position>,
    pub(super) retention: Retention,
    pub(super) payload: Bytes,
    pub(super) last: bool,
}

// === impl Topics ===

impl Topics {
    pub(super) fn new(limits: MemoryLimits) -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            limits,
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            slots: AtomicUsize::new(0),
            logs: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            followers: AtomicUsize::new(0),
            gaps: AtomicU64::new(0),
            serial: AtomicU64::new(u64::try_from(since_epoch.as_micros()).unwrap_or_default()),
            made_room: Mutex::new(None),
        }
    }

    pub(super) fn claim(&self, topic: &Topic, retention: Retention) -> Result<Fence, HubError> {
        self.visit_or_make(topic, |_, state| {
            let now = Instant::now();
            let fence = Fence(self.serial());
            state.log_or_new(self, retention, now).claim(fence, retention, now)?;
            Ok(fence)
        })
    }

    pub(super) fn take_over(
        &self,
        topic: &Topic,
        from: Fence,
        retention: Retention,
    ) -> Result<Fence, HubError> {
        let step = |_: &Arc<Slot>, state: &mut State| {
            let log = state.log.as_mut().ok_or(HubError::Unknown)?;
            log.admit(Some(from))?;
            let fence = Fence(self.serial());
            log.claim(fence, retention, Instant::now())?;
            Ok(fence)
        };
        self.visit(topic, step).unwrap_or(Err(HubError::Unknown))
    }

    pub(super) fn fence(&self, topic: &Topic) -> Option<Fence> {
        self.visit(topic, |_, state| state.log.as_ref().and_then(Log::fence)).flatten()
    }

    pub(super) fn append(&self, topic: &Topic, append: Append) -> Result<Position, HubError> {
        let cost = Log::cost(&append.payload);
        self.admit_bytes(cost)?;
        let claimed = append.fence.is_some();
        let step = |_: &Arc<Slot>, state: &mut State| {
            let now = Instant::now();
            let log = match &mut state.log {
                Some(log) => log,
                None if claimed => return Err(HubError::Unknown),
                None => state.log_or_new(self, append.retention, now),
            };
            if let Some(there) = log.repeated(append.fence, append.previous) {
                return Ok(there);
            }
            log.admit(append.fence)?;
            let before = log.bytes();
            let position =
                log.append(append.payload, append.last, append.retention, self.limits.log_bytes, now);
            // Added first, so that the sum is never below the truth.
            self.bytes.fetch_add(cost, Ordering::Relaxed);
            self.bytes.fetch_sub(before + cost - log.bytes(), Ordering::Relaxed);
            state.news = true;
            Ok(position)
        };
        if claimed {
            self.visit(topic, step).unwrap_or(Err(HubError::Unknown))
        } else {
            self.visit_or_make(topic, step)
        }
    }

    /// `None` if the log is gone.
    pub(super) fn follow(
        self: &Arc<Self>,
        topic: &Topic,
        after: Position,
    ) -> Result<Option<Reader>, HubError> {
        let step = |slot: &Arc<Slot>, state: &mut State| {
            if state.log.is_none() && after != Position::default() {
                return Ok(None);
            }
            state.followers += 1;
            self.followers.fetch_add(1, Ordering::Relaxed);
            Ok(Some(Reader {
                topics: Arc::clone(self),
                topic: topic.clone(),
                slot: Arc::clone(slot),
                place: after,
                deaths: state.deaths,
            }))
        };
        if after == Position::default() {
            self.visit_or_make(topic, step)
        } else {
            self.visit(topic, step).unwrap_or(Ok(None))
        }
    }

    pub(super) fn position(&self, topic: &Topic) -> Position {
        self.visit(topic, |_, state| state.log.as_ref().map_or_else(Position::default, Log::position))
            .unwrap_or_default()
    }

    pub(super) fn delete(&self, topic: &Topic) {
        self.visit(topic, |_, state| state.bury(self));
    }

    /// Takes expired logs out of a shard, and gives back the room of a table that shrank much.
    pub(super) fn sweep(&self, index: usize) {
        let now = Instant::now();
        self.prune(index, |state| state.bury_expired(self, now));
    }

    /// Deletes every log, and tells every follower, that of a log still to come included.
    pub(super) fn close(&self) {
        for index in 0..SHARDS {
            self.prune(index, |state| {
                state.bury(self);
                state.deaths += 1;
                state.news = true;
            });
        }
    }

    /// A step on each slot of a shard, with the empty slots gone after.
    fn prune(&self, index: usize, mut step: impl FnMut(&mut State)) {
        let mut shard = self.shards[index].lock();
        let before = shard.len();
        let mut woken = Vec::new();
        shard.retain(|_, slot| {
            let mut state = slot.state.lock();
            step(&mut state);
            if std::mem::take(&mut state.news) && state.followers > 0 {
                woken.push(Arc::clone(slot));
            }
            !state.is_empty()
        });
        self.slots.fetch_sub(before - shard.len(), Ordering::Relaxed);
        if shard.capacity() > SMALL_TABLE && shard.len() < shard.capacity() / 4 {
            let twice = shard.len() * 2;
            shard.shrink_to(twice);
        }
        drop(shard);
        woken.iter().for_each(|slot| slot.wake.notify_waiters());
    }

    /// One step on a name that is known; `None` otherwise.
    fn visit<T>(&self, topic: &Topic, step: impl FnOnce(&Arc<Slot>, &mut State) -> T) -> Option<T> {
        let mut shard = self.shard(topic).lock();
        let slot = Arc::clone(shard.get(topic)?);
        let (answer, news) = self.step(&mut shard, topic, &slot, step);
        drop(shard);
        if news {
            slot.wake.notify_waiters();
        }
        Some(answer)
    }

    /// One step on a name, which need not be known.
    fn visit_or_make<T>(
        &self,
        topic: &Topic,
        step: impl FnOnce(&Arc<Slot>, &mut State) -> Result<T, HubError>,
    ) -> Result<T, HubError> {
        if self.slots.load(Ordering::Relaxed) >= self.limits.logs {
            self.make_room();
        }
        let mut shard = self.shard(topic).lock();
        let slot = match shard.get(topic) {
            Some(slot) => Arc::clone(slot),
            None => {
                self.reserve()?;
                Arc::clone(shard.entry(topic.clone()).or_default())
            }
        };
        let (answer, news) = self.step(&mut shard, topic, &slot, step);
        drop(shard);
        if news {
            slot.wake.notify_waiters();
        }
        answer
    }

    /// The step, with an expired log gone before and an empty slot gone after. Also whether readers are to be woken.
    fn step<T>(
        &self,
        shard: &mut Shard,
        topic: &Topic,
        slot: &Arc<Slot>,
        step: impl FnOnce(&Arc<Slot>, &mut State) -> T,
    ) -> (T, bool) {
        let mut state = slot.state.lock();
        state.bury_expired(self, Instant::now());
        let answer = step(slot, &mut state);
        let (empty, news) = (state.is_empty(), std::mem::take(&mut state.news));
        drop(state);
        if empty {
            shard.remove(topic);
            self.slots.fetch_sub(1, Ordering::Relaxed);
        }
        (answer, news)
    }

    /// Counts one more name.
    fn reserve(&self) -> Result<(), HubError> {
        let limit = self.limits.logs;
        self.slots
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |slots| (slots < limit).then_some(slots + 1))
            .map(|_| ())
            .map_err(|_| HubError::Full { what: "logs", limit })
    }

    /// Whether there is room for an entry. Appends at the same moment may all pass: the bound is exceeded by one entry for
    /// each thread at most.
    fn admit_bytes(&self, cost: usize) -> Result<(), HubError> {
        let limit = self.limits.bytes;
        let is_full = || self.bytes.load(Ordering::Relaxed).saturating_add(cost) > limit;
        if is_full() {
            self.make_room();
        }
        if is_full() { Err(HubError::Full { what: "bytes", limit }) } else { Ok(()) }
    }

    fn make_room(&self) {
        let now = Instant::now();
        let mut made_room = self.made_room.lock();
        if made_room.is_some_and(|last| now.duration_since(last) < MAKE_ROOM_EVERY) {
            return;
        }
        *made_room = Some(now);
        drop(made_room);
        (0..SHARDS).for_each(|index| self.sweep(index));
    }

    /// Whether no name is known.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.slots.load(Ordering::Relaxed) == 0 && self.shards.iter().all(|shard| shard.lock().is_empty())
    }

    /// A number higher than any before.
    fn serial(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn shard(&self, topic: &Topic) -> &Mutex<Shard> {
        let hash = self.hasher.hash_one(topic);
        &self.shards[usize::try_from(hash % SHARDS as u64).expect("invariant: below the number of shards")]
    }
}

// === impl State ===

impl State {
    fn is_empty(&self) -> bool {
        self.log.is_none() && self.followers == 0
    }

    fn log_or_new(&mut self, topics: &Topics, retention: Retention, now: Instant) -> &mut Log {
        self.log.get_or_insert_with(|| {
            topics.logs.fetch_add(1, Ordering::Relaxed);
            Log::new(topics.serial(), retention, now)
        })
    }

    /// Ends the log, if there is one.
    fn bury(&mut self, topics: &Topics) {
        if let Some(log) = self.log.take() {
            topics.logs.fetch_sub(1, Ordering::Relaxed);
            topics.bytes.fetch_sub(log.bytes(), Ordering::Relaxed);
            self.deaths += 1;
            self.news = true;
        }
    }

    fn bury_expired(&mut self, topics: &Topics, now: Instant) {
        if self.log.as_ref().is_some_and(|log| log.is_expired(now)) {
            self.bury(topics);
        }
    }
}

// === impl Reader ===

impl Reader {
    /// The next delivery; `None` when nothing can follow any more.
    pub(super) async fn next(&mut self) -> Option<Delivery> {
        // A long past is always ready: others get their turn all the same.
        tokio::task::consume_budget().await;
        let slot = Arc::clone(&self.slot);
        loop {
            // Made before reading, so that it is told of whatever comes after.
            let woken = slot.wake.notified();
            match self.read() {
                Read::Delivery(delivery, place) => {
                    if delivery == Delivery::Gap {
                        self.topics.gaps.fetch_add(1, Ordering::Relaxed);
                    }
                    self.place = place;
                    return Some(delivery);
                }
                Read::End => return None,
                Read::Wait => woken.await,
            }
        }
    }

    fn read(&self) -> Read {
        let state = self.slot.state.lock();
        let expired = state.log.as_ref().is_some_and(|log| log.is_expired(Instant::now()));
        if expired || state.deaths != self.deaths {
            return Read::Delivery(Delivery::Gone, self.place);
        }
        state.log.as_ref().map_or(Read::Wait, |log| log.read(self.place))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.topics.visit(&self.topic, |_, state| state.followers -= 1);
        self.topics.followers.fetch_sub(1, Ordering::Relaxed);
    }
}
