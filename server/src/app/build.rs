//! A declaration and a configuration, made into something that can run. No socket is opened yet.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use trunkline_hub::Retention;
use trunkline_redis::OpenError;

use super::{backends::Backends, server::Server};
use crate::{
    config::Config,
    drain::Drain,
    keys::{KeyRing, RingError},
    outbox::Logs,
    registry::{Catalog, CatalogError, Fanout, Registry, Services},
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
    /// What `[store]` and `[hub]` say of Redis cannot be used. That Redis is away is no reason.
    #[error("the store or the hub cannot be used")]
    Backend(#[from] OpenError),
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
        let keys = if config.keys.ring.is_empty() {
            KeyRing::generate()
        } else {
            KeyRing::new(config.keys.ring.iter().map(|key| (key.name.clone(), key.bytes)))?
        };
        let catalog = Catalog::compile(server.into_declared(), &keys)?;
        Ok(Self { config, catalog, keys })
    }

    /// Makes the shared parts. Within a runtime that outlives them: the store and the hub work in the background.
    ///
    /// # Errors
    /// That a backend cannot be used.
    pub(super) fn assemble(self) -> Result<(Assembled, Config), StartError> {
        let Self { config, catalog, keys } = self;
        let Backends { store, hub } = Backends::open(&config)?;
        let metrics = Arc::new(Metrics::default());
        let replica: Box<str> = URL_SAFE_NO_PAD.encode(rand::random::<[u8; 6]>()).into();
        let logs = Arc::new(Logs {
            hub: hub.clone(),
            retention: Retention { entries: config.limits.log_entries, age: config.limits.log_age },
            bytes: config.limits.log_bytes,
            replica: replica.clone(),
        });
        let services = Arc::new(Services {
            store,
            hub,
            fanout: Fanout::new(),
            logs,
            keys,
            limits: config.limits.clone(),
            metrics: metrics.clone(),
            replica,
            recovery_rate: config.store.recovery_rate,
            session_ttl: config.store.session_ttl,
        });
        let (init_ttl, heartbeat) = (config.store.init_ttl, config.server.stream_keep_alive);
        let core = Arc::new(Core::new(Registry::new(catalog), services, init_ttl, heartbeat));
        Ok((Assembled { core, drain: Drain::default(), metrics }, config))
    }
}
