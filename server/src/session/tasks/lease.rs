//! Whether a replica is still there, so that a task whose replica died does not seem to run for ever.
//!
//! A replica that runs tasks keeps a record alive. Who comes upon a task that has not ended, of a replica whose record has
//! lapsed, ends it. A replica that was only cut off finds the task ended, and what it still does becomes nothing.

use std::time::Duration;

use tokio::{sync::Mutex, time::Instant};
use trunkline_store::{Key, Kind, Record, SessionStore, StoreError};

/// How long a replica counts as there without a sign of life: several times [`BEAT`], so that one lost write is no death.
pub(super) const LAPSE: Duration = Duration::from_secs(30);

/// The least pause between two signs of life.
const BEAT: Duration = Duration::from_secs(5);

/// This replica's own record.
pub(super) struct Lease {
    replica: Box<str>,
    /// When the last sign was given. Held while one is given: who comes meanwhile waits until the record is there.
    beaten: Mutex<Option<Instant>>,
}

// === impl Lease ===

impl Lease {
    /// Of this replica; there is no record yet.
    pub(super) fn new(replica: &str) -> Self {
        Self { replica: replica.into(), beaten: Mutex::default() }
    }

    /// A sign of life, unless one was given just now.
    ///
    /// # Errors
    /// The store's; the next call tries again.
    pub(super) async fn beat(&self, store: &dyn SessionStore) -> Result<(), StoreError> {
        let mut beaten = self.beaten.lock().await;
        if beaten.is_some_and(|at| at.elapsed() < BEAT) {
            return Ok(());
        }
        let key = key(&self.replica);
        if !store.touch(&key, LAPSE).await? {
            store.create(&key, Record::default(), LAPSE).await?;
        }
        *beaten = Some(Instant::now());
        Ok(())
    }

    /// Whether a replica is there.
    pub(super) async fn is_there(&self, store: &dyn SessionStore, replica: &str) -> Result<bool, StoreError> {
        Ok(*replica == *self.replica || store.load(&key(replica)).await?.is_some())
    }
}

fn key(replica: &str) -> Key {
    Key::new(Kind::Task, &format!("replica.{replica}"))
}
