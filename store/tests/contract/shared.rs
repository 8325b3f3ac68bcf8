//! Stores in a real Redis, each of two clients.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use trunkline_redis::{Client, Settings};
use trunkline_store::{RecordLimits, SessionStore, redis::RedisStore};

use crate::suite::Fixture;

/// Stores in one Redis, each under a prefix of its own.
#[derive(Clone)]
pub(crate) struct Shared {
    settings: Settings,
    stores: Arc<AtomicUsize>,
}

// === impl Shared ===

impl Shared {
    pub(crate) fn at(url: &str) -> Self {
        Self::with(Settings::new(url.parse().unwrap()))
    }

    /// However busy the machine is, nothing here fails for being slow.
    pub(crate) fn with(settings: Settings) -> Self {
        let settings = Settings {
            connect_timeout: Duration::from_secs(20),
            response_timeout: Duration::from_secs(20),
            replicas_timeout: Duration::from_secs(10),
            ..settings
        };
        Self { settings, stores: Arc::default() }
    }
}

impl Fixture for Shared {
    /// Far longer than a few commands take. What expired is told within some of it: Redis looks for it ten times a second.
    const TICK: Duration = Duration::from_millis(300);
    const ROUNDS: usize = 200;
    const BACKLOG: usize = 2500;

    async fn replicas(&self) -> [Arc<dyn SessionStore>; 2] {
        let prefix = format!("store{}", self.stores.fetch_add(1, Ordering::Relaxed));
        [(); 2].map(|()| {
            let client = Client::open(self.settings.clone()).unwrap();
            Arc::new(RedisStore::new(client, &prefix, RecordLimits::default())) as Arc<dyn SessionStore>
        })
    }

    fn limits(&self) -> RecordLimits {
        RecordLimits::default()
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// Redis's clock is the real one, and nothing else tells that it has gone on.
    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}
