//! How a client is made.

use std::{path::PathBuf, time::Duration};

use crate::{Address, Mode};

/// Where Redis is, how long to wait for it, and how much to use of it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where Redis is.
    pub address: Address,
    /// Shared connections to each primary. 4: one carries more than 100 000 small commands a second, and while one waits for
    /// replicas or a large answer, the others go on.
    pub connections: usize,
    /// The longest that connecting may take, the greeting included. 2 s.
    pub connect_timeout: Duration,
    /// The longest that an answer may take, redirections included. 1 s.
    pub response_timeout: Duration,
    /// Certificates to trust instead of the system's, in PEM.
    pub ca_file: Option<PathBuf>,
    /// Replicas that have to hold a change before it counts as done.
    ///
    /// Without any, a change that was answered is lost when its primary fails before it was copied. With one, the change waits
    /// for a replica, and fails as unavailable if none confirms it in time. At a primary that has had no replica
    /// yet, as after a failover, nothing is waited for (not on a Cluster): none could take its place. 1 behind Sentinels, where failing over is the point, and 0 elsewhere.
    pub replicas: u32,
    /// The longest that a change waits for them. 500 ms: within the answer's time.
    pub replicas_timeout: Duration,
}

/// Why there is no client. That Redis is away is no reason.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The certificates to trust cannot be read.
    #[error("cannot read the certificates in {path}")]
    CaFile {
        /// Where they were looked for.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The certificates to trust are none, or TLS cannot be set up with them.
    #[error("cannot set up TLS")]
    Tls(#[source] redis::RedisError),
    /// There is no Tokio runtime for the connections to run on.
    #[error("a Redis client needs a Tokio runtime")]
    NoRuntime,
}

// === impl Settings ===

impl Settings {
    /// The defaults for this address.
    #[must_use]
    pub fn new(address: Address) -> Self {
        let default_replicas = u32::from(matches!(address.mode, Mode::Sentinel { .. }));
        Self {
            replicas: address.replicas.unwrap_or(default_replicas),
            address,
            connections: 4,
            connect_timeout: Duration::from_secs(2),
            response_timeout: Duration::from_secs(1),
            ca_file: None,
            replicas_timeout: Duration::from_millis(500),
        }
    }
}
