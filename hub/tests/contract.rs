//! The contract of a hub, held against each implementation.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]
#![expect(clippy::cognitive_complexity, reason = "every assertion counts as branches")]

#[path = "contract/suite.rs"]
mod suite;

use std::{sync::Arc, time::Duration};

use trunkline_hub::{
    Hub,
    memory::{MemoryHub, MemoryLimits},
};

use crate::suite::Fixture;

/// One hub in memory; its replicas are one and the same. Under paused time, which passes as soon as nobody is busy.
#[derive(Clone)]
struct Memory {
    patience: Duration,
}

// === impl Memory ===

impl Fixture for Memory {
    /// Longer than the sweep takes to come round.
    const TICK: Duration = Duration::from_secs(10);
    const ROUNDS: usize = 500;
    const BURST: usize = 2000;
    const ENTRY_BYTES: usize = 8 * 1024 * 1024;

    async fn replicas(&self) -> [Arc<dyn Hub>; 2] {
        let hub = Arc::new(MemoryHub::new(MemoryLimits::default()));
        [Arc::clone(&hub) as Arc<dyn Hub>, hub]
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
