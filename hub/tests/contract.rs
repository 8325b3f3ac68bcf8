//! The contract of a hub, held against each implementation.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]
#![expect(clippy::cognitive_complexity, reason = "every assertion counts as branches")]

#[path = "contract/suite.rs"]
mod suite;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use trunkline_harness::redis::{Cluster, Options, Sentinel, Standalone};
use trunkline_hub::{
    Hub,
    memory::{MemoryHub, MemoryLimits},
    redis::{RedisHub, RedisLimits},
};
use trunkline_redis::{Client, Settings};

use crate::suite::Fixture;

/// One hub in memory; its replicas are one and the same. Under paused time, which passes as soon as nobody is busy.
#[derive(Clone)]
struct Memory {
    patience: Duration,
}

/// Two hubs in one Redis, under a prefix of their own each time, and in real time, which is all that Redis knows.
#[derive(Clone)]
struct Shared {
    url: String,
    served: Arc<AtomicUsize>,
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

// === impl Shared ===

impl Shared {
    fn at(url: String) -> Self {
        Self { url, served: Arc::default() }
    }

    fn hub(&self, prefix: &str) -> Arc<dyn Hub> {
        let mut settings = Settings::new(self.url.parse().unwrap());
        // The largest entries take long on a busy machine, and longer to a replica.
        (settings.response_timeout, settings.replicas_timeout) =
            (Duration::from_secs(10), Duration::from_secs(5));
        let client = Client::open(settings).unwrap();
        let limits = RedisLimits { look_every: Self::TICK / 2, ..RedisLimits::default() };
        Arc::new(RedisHub::new(client, prefix, limits))
    }
}

impl Fixture for Shared {
    /// Twice as long as it takes to look at all logs.
    const TICK: Duration = Duration::from_millis(500);
    const ROUNDS: usize = 50;
    const BURST: usize = 2000;
    const ENTRY_BYTES: usize = 8 * 1024 * 1024;

    async fn replicas(&self) -> [Arc<dyn Hub>; 2] {
        let prefix = format!("test-{}", self.served.fetch_add(1, Ordering::Relaxed));
        [self.hub(&prefix), self.hub(&prefix)]
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn redis() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let shared = Shared::at(redis.url());
    suite::run(&shared, suite::behaviours()).await;
    suite::run(&shared, suite::races()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn redis_cluster() {
    let redis = Cluster::start().await.unwrap();
    let shared = Shared::at(redis.url());
    suite::run(&shared, suite::behaviours()).await;
    suite::run(&shared, suite::races()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn redis_behind_sentinels() {
    let redis = Sentinel::start().await.unwrap();
    let shared = Shared::at(redis.url());
    suite::run(&shared, suite::behaviours()).await;
    suite::run(&shared, suite::races()).await;
}
