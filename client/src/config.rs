//! What a client was built with.

use std::{sync::Arc, time::Duration};

use http::HeaderMap;
use rustls::ClientConfig;
use trunkline_protocol::{
    Revision,
    model::{ClientCapabilities, Implementation},
};

use crate::{limits::Limits, questions::DynQuestions, retry::Retry, token::TokenSource};

/// Which revision to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Versions {
    /// The newest that both speak, found out by asking (2026-07-28 *Versioning*).
    #[default]
    Automatic,
    /// Opens with `initialize` and takes what the server offers.
    Handshake,
    /// This one or none.
    Exactly(Revision),
}

/// Everything that a builder collects, but where the server is.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) versions: Versions,
    pub(crate) implementation: Implementation,
    /// What is declared beside what the questions' handler answers.
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) questions: Option<Arc<dyn DynQuestions>>,
    pub(crate) bearer: Option<Arc<dyn TokenSource>>,
    pub(crate) headers: HeaderMap,
    pub(crate) tls: Option<Arc<ClientConfig>>,
    /// For calls that bring none of their own.
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: Retry,
    pub(crate) limits: Limits,
    /// Calls at the same time over HTTP.
    pub(crate) connections: usize,
    /// Notifications that wait for a slow receiver.
    pub(crate) notifications: usize,
    /// Whether a modern server is asked to describe itself when the client connects.
    pub(crate) discover: bool,
}

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self {
            versions: Versions::default(),
            implementation: Implementation::new("trunkline-client", env!("CARGO_PKG_VERSION")),
            capabilities: ClientCapabilities::default(),
            questions: None,
            bearer: None,
            headers: HeaderMap::new(),
            tls: None,
            // Most tools are done in seconds. A server that says nothing for this long will say nothing.
            timeout: Some(Duration::from_secs(300)),
            retry: Retry::default(),
            limits: Limits::default(),
            // One program's calls to one server. Each is a socket at both ends.
            connections: 64,
            // A burst: every resource of a small server changed at once.
            notifications: 256,
            discover: true,
        }
    }
}
