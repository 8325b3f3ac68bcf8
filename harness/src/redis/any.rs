//! Redis, in whichever mode.

use super::{Cluster, Options, Sentinel, Standalone};
use crate::HarnessError;

/// A mode to start.
#[derive(Clone, Debug)]
pub enum Topology {
    /// One server.
    Standalone(Options),
    /// A primary, a replica and three sentinels.
    Sentinel,
    /// Three primaries that share the keys.
    Cluster,
}

/// A running Redis.
#[derive(Debug)]
pub enum Redis {
    /// One server.
    Standalone(Box<Standalone>),
    /// A primary, a replica and three sentinels.
    Sentinel(Box<Sentinel>),
    /// Three primaries that share the keys.
    Cluster(Box<Cluster>),
}

// === impl Topology ===

impl Topology {
    /// Starts it.
    ///
    /// # Errors
    /// [`HarnessError::Missing`] with the command that installs it, [`HarnessError::Ended`], [`HarnessError::Late`].
    pub async fn start(self) -> Result<Redis, HarnessError> {
        Ok(match self {
            Self::Standalone(options) => Redis::Standalone(Box::new(Standalone::start(options).await?)),
            Self::Sentinel => Redis::Sentinel(Box::new(Sentinel::start().await?)),
            Self::Cluster => Redis::Cluster(Box::new(Cluster::start().await?)),
        })
    }
}

// === impl Redis ===

impl Redis {
    /// The URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        match self {
            Self::Standalone(redis) => redis.url(),
            Self::Sentinel(redis) => redis.url(),
            Self::Cluster(redis) => redis.url(),
        }
    }

    /// The one server, where it is one.
    #[must_use]
    pub fn standalone(&mut self) -> Option<&mut Standalone> {
        match self {
            Self::Standalone(redis) => Some(redis),
            Self::Sentinel(_) | Self::Cluster(_) => None,
        }
    }

    /// Kills every server that holds data (SIGKILL).
    pub fn kill(&mut self) {
        match self {
            Self::Standalone(redis) => redis.kill(),
            Self::Sentinel(redis) => redis.kill(),
            Self::Cluster(redis) => redis.kill(),
        }
    }

    /// Stops what serves in its tracks (SIGSTOP): the primary, or every node of a cluster.
    ///
    /// # Errors
    /// [`HarnessError::NotRunning`].
    pub fn stop(&mut self) -> Result<(), HarnessError> {
        match self {
            Self::Standalone(redis) => redis.stop(),
            Self::Sentinel(redis) => redis.stop(),
            Self::Cluster(redis) => redis.stop(),
        }
    }

    /// Lets it go on (SIGCONT).
    ///
    /// # Errors
    /// [`HarnessError::NotRunning`].
    pub fn resume(&mut self) -> Result<(), HarnessError> {
        match self {
            Self::Standalone(redis) => redis.resume(),
            Self::Sentinel(redis) => redis.resume(),
            Self::Cluster(redis) => redis.resume(),
        }
    }

    /// Closes every connection that subscribes to something.
    ///
    /// # Errors
    /// [`HarnessError::Connection`] when it is down, [`HarnessError::Late`] when it stands still.
    pub async fn client_kill_pubsub(&mut self) -> Result<(), HarnessError> {
        match self {
            Self::Standalone(redis) => redis.client_kill_pubsub().await,
            Self::Sentinel(redis) => redis.client_kill_pubsub().await,
            Self::Cluster(redis) => redis.client_kill_pubsub().await,
        }
    }

    /// Brings it back with what it knew: a server alone is killed if it runs, of several those are started that were
    /// killed.
    ///
    /// # Errors
    /// [`HarnessError::Unsupported`] for a server that was killed and keeps nothing on disk; [`HarnessError::Ended`],
    /// [`HarnessError::Late`].
    pub async fn restart_with_data(&mut self) -> Result<(), HarnessError> {
        match self {
            Self::Standalone(redis) => redis.restart_with_data().await,
            Self::Sentinel(redis) => redis.restart_with_data().await,
            Self::Cluster(redis) => redis.restart_with_data().await,
        }
    }

    /// Kills every server that holds data, and brings it back with nothing in it.
    ///
    /// # Errors
    /// [`HarnessError::Ended`], [`HarnessError::Late`].
    pub async fn restart_empty(&mut self) -> Result<(), HarnessError> {
        match self {
            Self::Standalone(redis) => redis.restart_empty().await,
            Self::Sentinel(redis) => redis.restart_empty().await,
            Self::Cluster(redis) => redis.restart_empty().await,
        }
    }
}
