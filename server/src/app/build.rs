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
    session::{Core, Directory},
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
        let core = Arc::new(Core {
            registry: Registry::new(catalog),
            directory: Directory::new(services.clone(), config.store.init_ttl),
            services,
            heartbeat: config.server.stream_keep_alive,
        });
        (Assembled { core, drain: Drain::default(), metrics }, config)
    }
}

fn store_limits(config: &Config) -> trunkline_store::memory::MemoryLimits {
    let limits = &config.limits;
    let mut store = trunkline_store::memory::MemoryLimits::default();
    store.records = limits.sessions;
    store.record.value_bytes = limits.value_bytes;
    // A dozen fields of the session's own, its subscriptions, and the application's values.
    store.record.fields = limits.session_values + limits.subscriptions_per_session + 16;
    store
}

fn hub_limits(config: &Config) -> trunkline_hub::memory::MemoryLimits {
    trunkline_hub::memory::MemoryLimits { log_bytes: config.limits.log_bytes, ..Default::default() }
}
