//! A declaration and a configuration, made into something that can run. No socket is opened yet.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use trunkline_hub::{Hub, memory::MemoryHub};
use trunkline_store::{SessionStore, memory::MemoryStore};

use super::server::Server;
use crate::{
    config::{Backend, Config},
    drain::Drain,
    keys::{KeyRing, RingError},
    registry::{Catalog, CatalogError, Registry, Services},
    session::Core,
    telemetry::Metrics,
};

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Something that is declared cannot be served.
    #[error("the server cannot serve what it declares")]
    Catalog(#[from] CatalogError),
    /// The keys of the configuration.
    #[error("the keys in [keys]")]
    Keys(#[from] RingError),
    /// The address of a listener, or the thread to serve on, is not to be had.
    #[error("the server cannot listen")]
    Listen(#[source] std::io::Error),
    /// A backend that this version does not have.
    #[error("the store or hub {0:?} is not available in this version; use \"memory\"")]
    Backend(Backend),
}

/// A server that can be run.
pub(super) struct App {
    /// The configuration.
    pub(super) config: Config,
    catalog: Catalog,
    keys: KeyRing,
}

/// A server whose shared parts have been made.
pub(super) struct Assembled {
    /// The endpoint without its transports.
    pub(super) core: Arc<Core>,
    /// The phases of its shutdown.
    pub(super) drain: Drain,
    /// Counters and gauges.
    pub(super) metrics: Arc<Metrics>,
}

// === impl App ===

impl App {
    /// Checks a declaration against a configuration.
    ///
    /// # Errors
    /// What cannot be served.
    pub(super) fn new(server: Server, config: Config) -> Result<Self, StartError> {
        for backend in [&config.store.url, config.hub_url()] {
            if *backend != Backend::Memory {
                return Err(StartError::Backend(backend.clone()));
            }
        }
        let keys = if config.keys.ring.is_empty() {
            KeyRing::generate()
        } else {
            KeyRing::new(config.keys.ring.iter().map(|key| (key.name.clone(), key.bytes)))?
        };
        let catalog = Catalog::compile(server.into_declared(), &keys)?;
        Ok(Self { config, catalog, keys })
    }

    /// Makes the shared parts. Within a runtime: the store and the hub sweep in the background.
    pub(super) fn assemble(self) -> (Assembled, Config) {
        let Self { config, catalog, keys } = self;
        let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new(store_limits(&config)));
        let hub: Arc<dyn Hub> = Arc::new(MemoryHub::new(hub_limits(&config)));
        let metrics = Arc::new(Metrics::default());
        let services = Arc::new(Services {
            store,
            hub,
            keys,
            limits: config.limits.clone(),
            metrics: metrics.clone(),
            replica: URL_SAFE_NO_PAD.encode(rand::random::<[u8; 6]>()).into(),
            session_ttl: config.store.session_ttl,
        });
        let (init_ttl, heartbeat) = (config.store.init_ttl, config.server.stream_keep_alive);
        let core = Arc::new(Core::new(Registry::new(catalog), services, init_ttl, heartbeat));
        (Assembled { core, drain: Drain::default(), metrics }, config)
    }
}

fn store_limits(config: &Config) -> trunkline_store::memory::MemoryLimits {
    let limits = &config.limits;
    // A dozen fields of the session's own, its subscriptions, and the application's values.
    let session = limits.session_values + limits.subscriptions_per_session + 16;
    // A task's result in parts, and the list of a principal's tasks.
    let result = limits.result_bytes.div_ceil(limits.value_bytes.max(1)) + 1;
    let list = limits.tasks_per_principal.min(1000) + 1;
    trunkline_store::memory::MemoryLimits {
        records: limits.sessions,
        record: trunkline_store::RecordLimits {
            value_bytes: limits.value_bytes,
            fields: session.max(result).max(list),
            ..Default::default()
        },
    }
}

fn hub_limits(config: &Config) -> trunkline_hub::memory::MemoryLimits {
    trunkline_hub::memory::MemoryLimits { log_bytes: config.limits.log_bytes, ..Default::default() }
}
