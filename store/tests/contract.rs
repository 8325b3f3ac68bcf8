//! The contract of a store, held against each implementation.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]

#[path = "contract/shared.rs"]
mod shared;
#[path = "contract/suite.rs"]
mod suite;

use std::{sync::Arc, time::Duration};

use trunkline_harness::redis::{Cluster, Options, Sentinel, Standalone, User};
use trunkline_redis::Settings;
use trunkline_store::{
    RecordLimits, SessionStore,
    memory::{MemoryLimits, MemoryStore},
};

use crate::{shared::Shared, suite::Fixture};

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

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn redis() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let shared = Shared::at(&redis.url());
    suite::run(&shared, suite::behaviours()).await;
    suite::run(&shared, suite::races()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn redis_cluster() {
    let redis = Cluster::start().await.unwrap();
    let shared = Shared::at(&redis.url());
    suite::run(&shared, suite::behaviours()).await;
    suite::run(&shared, suite::races()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn redis_behind_sentinels() {
    let redis = Sentinel::start().await.unwrap();
    let shared = Shared::at(&redis.url());
    suite::run(&shared, suite::behaviours()).await;
    suite::run(&shared, suite::races()).await;
}

/// A user who may do no more than the documentation asks for.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn redis_over_tls_as_a_restricted_user() {
    let commands = "hello client|tracking ping eval evalsha hgetall hset hget hdel hlen hexists hincrby \
                    exists pexpire del";
    let rules: Vec<String> = commands.split_whitespace().map(|command| format!("+{command}")).collect();
    let user = User {
        name: "app".to_owned(),
        password: "s3cret".to_owned(),
        rules: format!("resetchannels -@all {} ~store*", rules.join(" ")),
    };
    let options = Options { tls: true, users: vec![user], ..Options::default() };
    let redis = Standalone::start(options).await.unwrap();
    let mut settings = Settings::new(redis.url().parse().unwrap());
    settings.ca_file = redis.authority().map(Into::into);
    suite::run(&Shared::with(settings), suite::behaviours()).await;
}
