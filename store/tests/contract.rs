//! The contract of a store, held against each implementation.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]

#[path = "contract/suite.rs"]
mod suite;

use std::{sync::Arc, time::Duration};

use trunkline_store::{
    RecordLimits, SessionStore,
    memory::{MemoryLimits, MemoryStore},
};

use crate::suite::Fixture;

/// One store in memory; its replicas are one and the same. Under paused time, which passes as soon as nobody is busy.
#[derive(Clone)]
struct Memory {
    patience: Duration,
}

// === impl Memory ===

impl Fixture for Memory {
    /// Longer than the sweep takes to come round.
    const TICK: Duration = Duration::from_secs(10);
    const ROUNDS: usize = 1000;
    const BACKLOG: usize = 5000;

    async fn replicas(&self) -> [Arc<dyn SessionStore>; 2] {
        let store = Arc::new(MemoryStore::new(MemoryLimits::default()));
        [Arc::clone(&store) as Arc<dyn SessionStore>, store]
    }

    fn limits(&self) -> RecordLimits {
        RecordLimits::default()
    }

    fn patience(&self) -> Duration {
        self.patience
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

#[tokio::test(start_paused = true)]
async fn memory() {
    // Paused time passes freely.
    suite::run(&Memory { patience: Duration::from_secs(3600) }, suite::behaviours()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory_races() {
    suite::run(&Memory { patience: Duration::from_secs(60) }, suite::races()).await;
}
