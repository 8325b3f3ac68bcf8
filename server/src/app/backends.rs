//! The store and the hub that a configuration names.

use std::{sync::Arc, time::Duration};

use trunkline_hub::{Hub, memory::MemoryHub, redis::RedisHub};
use trunkline_redis::{Address, Client, OpenError, Settings};
use trunkline_store::{RecordLimits, SessionStore, memory::MemoryStore, redis::RedisStore};

use crate::config::{Backend, Config};

/// Where sessions live and how replicas talk.
pub(super) struct Backends {
    /// The store.
    pub(super) store: Arc<dyn SessionStore>,
    /// The hub.
    pub(super) hub: Arc<dyn Hub>,
}

// === impl Backends ===

impl Backends {
    /// Makes them. Within a runtime that outlives them: both work in the background. Nobody waits for Redis here: until it is
    /// there, what needs it is answered 503.
    ///
    /// # Errors
    /// What of the configuration cannot be used, whether Redis is there or not.
    pub(super) fn open(config: &Config) -> Result<Self, OpenError> {
        let (store_url, hub_url) = (&config.store.url, config.hub_url());
        let (store, shared): (Arc<dyn SessionStore>, _) = match store_url {
            Backend::Memory => (Arc::new(MemoryStore::new(memory_store(config))), None),
            Backend::Redis(address) => {
                let client = connect(config, address)?;
                let store = RedisStore::new(client.clone(), &config.store.prefix, record_limits(config));
                (Arc::new(store), Some(client))
            }
        };
        let hub: Arc<dyn Hub> = match hub_url {
            Backend::Memory => Arc::new(MemoryHub::new(memory_hub(config))),
            Backend::Redis(address) => {
                let client = match shared.filter(|_| store_url == hub_url) {
                    Some(client) => client,
                    None => connect(config, address)?,
                };
                Arc::new(RedisHub::new(client, &config.store.prefix, redis_hub(config)))
            }
        };
        Ok(Self { store, hub })
    }
}

fn connect(config: &Config, address: &Address) -> Result<Client, OpenError> {
    let store = &config.store;
    let settings = Settings::new(address.clone());
    // A change that waits for replicas has its answer in time all the same.
    let replicas_timeout =
        settings.replicas_timeout.min(store.response_timeout / 2).max(Duration::from_millis(1));
    Client::open(Settings {
        connections: store.connections,
        connect_timeout: store.connect_timeout,
        response_timeout: store.response_timeout,
        ca_file: store.ca_path.clone(),
        replicas_timeout,
        ..settings
    })
}

fn record_limits(config: &Config) -> RecordLimits {
    let limits = &config.limits;
    // A dozen fields of the session's own, its subscriptions, and the application's values.
    let session = limits.session_values + limits.subscriptions_per_session + 16;
    // A task's result in parts, and the list of a principal's tasks.
    let result = limits.result_bytes.div_ceil(limits.value_bytes.max(1)) + 1;
    let list = limits.tasks_per_principal.min(1000) + 1;
    RecordLimits {
        value_bytes: limits.value_bytes,
        fields: session.max(result).max(list),
        ..RecordLimits::default()
    }
}

fn memory_store(config: &Config) -> trunkline_store::memory::MemoryLimits {
    trunkline_store::memory::MemoryLimits {
        // And three of the endpoint's own: two leases and the mark.
        records: config.limits.sessions + 3,
        record: record_limits(config),
    }
}

fn memory_hub(config: &Config) -> trunkline_hub::memory::MemoryLimits {
    trunkline_hub::memory::MemoryLimits { log_bytes: config.limits.log_bytes, ..Default::default() }
}

fn redis_hub(config: &Config) -> trunkline_hub::redis::RedisLimits {
    trunkline_hub::redis::RedisLimits { log_bytes: config.limits.log_bytes, ..Default::default() }
}
