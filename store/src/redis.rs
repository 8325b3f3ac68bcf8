//! Records in Redis, shared by every replica that names the same Redis and the same prefix.
//!
//! A record is one hash, at `{prefix}:{<id>}` for a session and `{prefix}:handle:{<id>}` and the like for the other kinds; the
//! braces around the id are literal, and are what a Cluster divides keys by. Every change is one command or one script, so one
//! round trip and one atomic step, guarded by the record's existence. A key gets its expiry in the step that makes it, and time
//! is Redis's alone.
//!
//! # What was read is kept honest
//!
//! [`SessionStore::load`] reads over connections of its own on which Redis tracks what was read (one to each primary), and what
//! Redis says of it becomes [`Change::Record`]. A read is answered only while the connection that it came over lives. When one
//! is lost, [`Change::Unknown`] is told before anything else is read over its successor, and again once that is there. While
//! there is none, loading waits for it within the time of an answer, and fails as unavailable if it cannot be made: nothing is
//! ever read that no connection watches over.
//!
//! What that cannot cover: a primary that was replaced while it and this replica could still talk to each other and to nobody
//! else. Behind Sentinels such a primary may be read from until one of them is heard again; it takes no changes, since those
//! wait for a replica.
//!
//! # When Redis fails over
//!
//! A change counts as done once as many replicas hold it as the client's settings ask for: one behind Sentinels. If too few say
//! so in time, the change fails as [`StoreError::Unavailable`], as everything does of which it is unknown whether it lasts.
//! A renewal of the expiry alone waits for nobody: at worst, a record expires as if it had not been renewed last.
//!
//! # What Redis needs
//!
//! Redis 7 or Valkey 8. A `maxmemory-policy` that evicts keys ends sessions at will; with `noeviction` a full Redis refuses what is
//! new, and that is unavailable here. A session takes less than 512 bytes as long as Redis keeps its hash compact, which it does
//! while no field is longer than `hash-max-listpack-value`, 64 as it comes: set it to 256, for names of clients and of principals
//! are often longer.
//!
//! Where users are restricted, this needs the keys `{prefix}:*` and the commands `HELLO`,
//! `CLIENT|TRACKING`, `PING`, `EVAL`, `EVALSHA`, `HGETALL`, `HSET`, `HGET`, `HDEL`, `HLEN`, `HEXISTS`, `HINCRBY`, `EXISTS`,
//! `PEXPIRE` and `DEL`; `WAIT` and `ROLE` behind Sentinels, `CLUSTER|SLOTS` and `ASKING` on a Cluster.
//!
//! ```no_run
//! use std::time::Duration;
//! use trunkline_redis::{Client, Settings};
//! use trunkline_store::{Key, Kind, Record, RecordLimits, SessionStore, redis::RedisStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::open(Settings::new("redis://127.0.0.1".parse()?))?;
//! let store = RedisStore::new(client, "trunkline", RecordLimits::default());
//! let key = Key::new(Kind::Session, "s1");
//! store.create(&key, Record::default().with("revision", "2025-11-25"), Duration::from_secs(3600)).await?;
//! assert_eq!(store.increment(&key, "calls", 2).await?, Some(2));
//! # Ok(())
//! # }
//! ```

mod keys;
mod scripts;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use redis::{FromRedisValue, PushInfo, PushKind, Value};
use tokio::{sync::broadcast, task::AbortHandle};
use trunkline_redis::{Client, Event, Events, Failure, Pushes, Script};

use self::{
    keys::Keys,
    scripts::{Scripts, Sum},
};
use crate::{Change, Changes, Key, Operation, Record, RecordLimits, SessionStore, StoreError, StoreFuture};

/// Changes that a listener may be behind before it is told [`Change::Unknown`]; see the store in memory.
const CHANGES: usize = 1024;

/// Invalidations that Redis has sent and nobody has passed on yet. Passing on takes less than a microsecond, so this many are
/// behind when a thread is stuck; then everything read is forgotten, which costs one load per session in use.
const PUSHES: usize = 4096;

/// A longer time to live counts as this, so that Redis's sums do not overflow.
const LONGEST_TTL: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// A [`SessionStore`] in Redis.
#[derive(Debug)]
pub struct RedisStore {
    client: Client,
    pushes: Pushes,
    keys: Arc<Keys>,
    scripts: Scripts,
    limits: RecordLimits,
    changes: broadcast::Sender<Change>,
    listener: AbortHandle,
}

// === impl RedisStore ===

impl RedisStore {
    /// A store whose keys begin with `prefix`, and its connections, on the client's runtime. Does not wait for Redis to be
    /// there.
    #[must_use]
    pub fn new(client: Client, prefix: &str, limits: RecordLimits) -> Self {
        let mut tracking = redis::cmd("CLIENT");
        tracking.arg("TRACKING").arg("ON");
        let (pushes, events) = Pushes::open(&client, vec![tracking], PUSHES);
        let keys = Arc::new(Keys::new(prefix));
        let changes = broadcast::Sender::new(CHANGES);
        let listener = listen(events, Arc::clone(&keys), changes.clone());
        let listener = client.runtime().spawn(listener).abort_handle();
        Self { client, pushes, keys, scripts: Scripts::default(), limits, changes, listener }
    }

    /// The client that it stands on; its health is the store's.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    async fn create(&self, key: &Key, record: &Record, ttl: Duration) -> Result<bool, StoreError> {
        self.limits.admit_record(key, record)?;
        let ttl = millis(ttl).to_string();
        let mut args = vec![ttl.as_bytes(), scripts::HIDDEN, b""];
        for (name, value) in &record.fields {
            args.extend([name.as_bytes(), value]);
        }
        let created: i64 = self.script(Operation::Create, &self.scripts.create, key, &args).await?;
        Ok(created == 1)
    }

    async fn load(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        let key = self.keys.write(key);
        let mut question = redis::cmd("HGETALL");
        question.arg(&key);
        let answer = self.pushes.run::<Value>(&key, &question).await;
        Ok(record(answer.map_err(|failure| unavailable(Operation::Load, failure))?))
    }

    async fn set(&self, key: &Key, field: &str, value: &[u8]) -> Result<bool, StoreError> {
        self.limits.admit_field(field, value.len())?;
        let limit = self.limits.fields.to_string();
        let args = [field.as_bytes(), value, limit.as_bytes()];
        let answer: i64 = self.script(Operation::Change, &self.scripts.set, key, &args).await?;
        self.admit(answer)?;
        Ok(answer == 1)
    }

    async fn remove(&self, key: &Key, field: &str) -> Result<Option<bool>, StoreError> {
        let args = [field.as_bytes()];
        let answer: i64 = self.script(Operation::Change, &self.scripts.remove, key, &args).await?;
        Ok((answer >= 0).then_some(answer == 1))
    }

    async fn increment(&self, key: &Key, field: &str, by: i64) -> Result<Option<i64>, StoreError> {
        self.limits.admit_field(field, 0)?;
        let (by, limit, bytes) =
            (by.to_string(), self.limits.fields.to_string(), self.limits.value_bytes.to_string());
        let args = [field.as_bytes(), by.as_bytes(), limit.as_bytes(), bytes.as_bytes()];
        match self.script(Operation::Change, &self.scripts.increment, key, &args).await? {
            Sum::Absent => Ok(None),
            Sum::Is(sum) => Ok(Some(sum)),
            Sum::NotAnInteger => Err(StoreError::NotAnInteger { field: field.to_owned() }),
            Sum::TooMany(fields) => self.limits.admit_count(fields).map(|()| None),
            Sum::TooLong(bytes) => self.limits.admit_field(field, bytes).map(|()| None),
        }
    }

    async fn compare_and_set(
        &self,
        key: &Key,
        field: &str,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<Option<bool>, StoreError> {
        self.limits.admit_field(field, new.map_or(0, <[u8]>::len))?;
        let limit = self.limits.fields.to_string();
        let given = |value: Option<&[u8]>| if value.is_some() { b"1" } else { b"0" };
        let args = [
            field.as_bytes(),
            limit.as_bytes(),
            given(expected),
            expected.unwrap_or_default(),
            given(new),
            new.unwrap_or_default(),
        ];
        let answer: i64 = self.script(Operation::Change, &self.scripts.compare_and_set, key, &args).await?;
        self.admit(answer)?;
        Ok((answer >= 0).then_some(answer == 1))
    }

    async fn touch(&self, key: &Key, ttl: Duration) -> Result<bool, StoreError> {
        let key = self.keys.write(key);
        let mut renewal = redis::cmd("PEXPIRE");
        renewal.arg(&key).arg(millis(ttl));
        let touched = self.client.run::<i64>(&key, &renewal).await;
        touched.map(|touched| touched == 1).map_err(|failure| unavailable(Operation::Touch, failure))
    }

    async fn delete(&self, key: &Key) -> Result<bool, StoreError> {
        let key = self.keys.write(key);
        let mut deletion = redis::cmd("DEL");
        deletion.arg(&key);
        let deleted = self.client.change::<i64>(&key, &deletion).await;
        deleted.map(|deleted| deleted == 1).map_err(|failure| unavailable(Operation::Delete, failure))
    }

    async fn script<T: FromRedisValue>(
        &self,
        operation: Operation,
        script: &Script,
        key: &Key,
        args: &[&[u8]],
    ) -> Result<T, StoreError> {
        let key = self.keys.write(key);
        let answer = self.client.change_script(script, &[&key], args).await;
        answer.map_err(|failure| unavailable(operation, failure))
    }

    /// Refuses where a script says that there would be too many fields: by their number, below -1.
    fn admit(&self, answer: i64) -> Result<(), StoreError> {
        match usize::try_from(-answer) {
            Ok(fields) if answer < -1 => self.limits.admit_count(fields),
            _ => Ok(()),
        }
    }
}

impl Drop for RedisStore {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl SessionStore for RedisStore {
    fn create<'a>(&'a self, key: &'a Key, record: Record, ttl: Duration) -> StoreFuture<'a, bool> {
        Box::pin(async move { self.create(key, &record, ttl).await })
    }

    fn load<'a>(&'a self, key: &'a Key) -> StoreFuture<'a, Option<Record>> {
        Box::pin(self.load(key))
    }

    fn set<'a>(&'a self, key: &'a Key, field: &'a str, value: Bytes) -> StoreFuture<'a, bool> {
        Box::pin(async move { self.set(key, field, &value).await })
    }

    fn remove<'a>(&'a self, key: &'a Key, field: &'a str) -> StoreFuture<'a, Option<bool>> {
        Box::pin(self.remove(key, field))
    }

    fn increment<'a>(&'a self, key: &'a Key, field: &'a str, by: i64) -> StoreFuture<'a, Option<i64>> {
        Box::pin(self.increment(key, field, by))
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        field: &'a str,
        expected: Option<Bytes>,
        new: Option<Bytes>,
    ) -> StoreFuture<'a, Option<bool>> {
        Box::pin(async move { self.compare_and_set(key, field, expected.as_deref(), new.as_deref()).await })
    }

    fn touch<'a>(&'a self, key: &'a Key, ttl: Duration) -> StoreFuture<'a, bool> {
        Box::pin(self.touch(key, ttl))
    }

    fn delete<'a>(&'a self, key: &'a Key) -> StoreFuture<'a, bool> {
        Box::pin(self.delete(key))
    }

    fn changes(&self) -> Changes {
        Changes::new(self.changes.subscribe())
    }
}

/// Passes on what Redis says of records, and what it may have said where nobody heard.
async fn listen(mut events: Events, keys: Arc<Keys>, changes: broadcast::Sender<Change>) {
    // Telling fails when nobody listens, and then nobody has anything to forget.
    let tell = |change| drop(changes.send(change));
    while let Some(event) = events.next().await {
        match event {
            Event::Push(_, push) if push.kind == PushKind::Invalidate => invalidated(push, &keys, &tell),
            Event::Push(..) => {}
            Event::Up(_) | Event::Down(_) | Event::Moved => tell(Change::Unknown),
        }
    }
}

fn invalidated(push: PushInfo, keys: &Keys, tell: &impl Fn(Change)) {
    for part in push.data {
        match part {
            Value::Array(names) => {
                let read = |name: Value| match name {
                    Value::BulkString(name) => keys.read(&name),
                    _ => None,
                };
                names.into_iter().filter_map(read).for_each(|key| tell(Change::Record(key)));
            }
            // Everything at once, as by FLUSHALL.
            _ => tell(Change::Unknown),
        }
    }
}

/// What a hash holds, but for what is hidden; an empty one is an absent one.
fn record(answer: Value) -> Option<Record> {
    let Value::Map(pairs) = answer else { return None };
    if pairs.is_empty() {
        return None;
    }
    let field = |(name, value)| match (name, value) {
        (Value::BulkString(name), Value::BulkString(value)) => {
            Some((String::from_utf8(name).ok()?.into_boxed_str(), Bytes::from(value)))
        }
        _ => None,
    };
    Some(Record { fields: pairs.into_iter().filter_map(field).collect() })
}

/// At least one, where it is more than nothing.
fn millis(ttl: Duration) -> u64 {
    let ttl = ttl.min(LONGEST_TTL);
    u64::try_from(ttl.as_nanos().div_ceil(1_000_000)).expect("invariant: ten years fit")
}

fn unavailable(operation: Operation, failure: Failure) -> StoreError {
    StoreError::Unavailable { operation, source: Box::new(failure) }
}
