//! The face of a store.

use std::{future::Future, pin::Pin, time::Duration};

use bytes::Bytes;

use crate::{Key, Record, StoreError};

/// What every operation returns: boxed, since the store is chosen when the server starts and no hot path calls it.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A record that changed, or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// This record was changed or deleted, or expired.
    Record(Key),
    /// Changes may have been missed: nothing read before may be used any more.
    Unknown,
}

/// The changes of records, from the moment it was asked for.
///
/// Bounded: a reader that falls behind gets [`Change::Unknown`] instead of what it missed.
pub struct Changes(tokio::sync::broadcast::Receiver<Change>);

/// Records shared by all replicas.
///
/// Every method is one atomic step. A change of a record that does not exist changes nothing and says so: nothing brings
/// a deleted session back. An expired record does not exist; one without fields does. Expiry is measured by the store's own
/// clock, and renewed by [`SessionStore::touch`] alone.
///
/// What is over a bound of [`crate::RecordLimits`] is refused with [`StoreError::TooLarge`], and nothing is changed.
/// Names and values are measured before anything else.
///
/// Implementations: [`crate::memory::MemoryStore`] for one process, [`crate::redis::RedisStore`] for many. All pass the same suite of tests, `tests/contract.rs`.
pub trait SessionStore: Send + Sync + 'static {
    /// Creates a record that expires after `ttl` unless touched. `false` if one with this key exists, which is left as it is.
    fn create<'a>(&'a self, key: &'a Key, record: Record, ttl: Duration) -> StoreFuture<'a, bool>;

    /// Reads a record. Reading does not renew its expiry.
    fn load<'a>(&'a self, key: &'a Key) -> StoreFuture<'a, Option<Record>>;

    /// Sets a field. `false` if the record does not exist.
    fn set<'a>(&'a self, key: &'a Key, field: &'a str, value: Bytes) -> StoreFuture<'a, bool>;

    /// Removes a field. `None` if the record does not exist, otherwise whether the field was there.
    fn remove<'a>(&'a self, key: &'a Key, field: &'a str) -> StoreFuture<'a, Option<bool>>;

    /// Adds to a field that holds a decimal integer, an absent one counting as 0, and returns the sum.
    /// `None` if the record does not exist. An integer has one spelling: no plus sign, no leading zero, no space.
    fn increment<'a>(&'a self, key: &'a Key, field: &'a str, by: i64) -> StoreFuture<'a, Option<i64>>;

    /// Replaces `expected` by `new`, where `None` is the field's absence. `None` if the record does not exist, otherwise
    /// whether the field held what was expected.
    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        field: &'a str,
        expected: Option<Bytes>,
        new: Option<Bytes>,
    ) -> StoreFuture<'a, Option<bool>>;

    /// Renews the expiry to `ttl` from now. `false` if the record does not exist.
    fn touch<'a>(&'a self, key: &'a Key, ttl: Duration) -> StoreFuture<'a, bool>;

    /// Deletes a record. `false` if there was none.
    fn delete<'a>(&'a self, key: &'a Key) -> StoreFuture<'a, bool>;

    /// What changes from now on, whoever changes it, this replica included. Used to keep what was read honest: listen, then
    /// load, and forget what was loaded when its change is told.
    ///
    /// A change is told after it took effect, and for a record that was loaded through this store since it last was; other
    /// changes may be told too. A creation need not be told, so that a record is absent must not be remembered.
    /// An expiry is told within seconds, by the sweep or whoever comes upon it first.
    fn changes(&self) -> Changes;
}

// === impl Changes ===

impl Changes {
    /// Wraps the receiving end of an implementation's channel.
    #[must_use]
    pub fn new(receiver: tokio::sync::broadcast::Receiver<Change>) -> Self {
        Self(receiver)
    }

    /// The next change; `None` when the store is gone.
    pub async fn next(&mut self) -> Option<Change> {
        use tokio::sync::broadcast::error::RecvError;
        match self.0.recv().await {
            Ok(change) => Some(change),
            Err(RecvError::Lagged(_)) => Some(Change::Unknown),
            Err(RecvError::Closed) => None,
        }
    }
}
