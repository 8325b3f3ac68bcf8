//! What handlers and sessions of one replica share.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use trunkline_hub::{Hub, HubError, Retention, Topic};
use trunkline_store::SessionStore;

use super::fanout::Fanout;
use crate::{config::Limits, keys::KeyRing, outbox::Logs, telemetry::Metrics};

/// How many broadcasts are kept for each event that is kept of one stream. They are those of all clients together, and small:
/// 64 000 with the default, which is some 7 MB, and a minute of a thousand a second.
const BROADCASTS: usize = 64;

/// The shared parts of a replica.
pub(crate) struct Services {
    /// Records.
    pub(crate) store: Arc<dyn SessionStore>,
    /// Logs and signals.
    pub(crate) hub: Arc<dyn Hub>,
    /// Hands broadcasts to who listens here.
    pub(crate) fanout: Arc<Fanout>,
    /// Where the logs of streams are kept.
    pub(crate) logs: Arc<Logs>,
    /// Keys that sign and seal what clients hand back.
    pub(crate) keys: KeyRing,
    /// Bounds.
    pub(crate) limits: Limits,
    /// Counters and gauges.
    pub(crate) metrics: Arc<Metrics>,
    /// This replica, by a name that no other has: random, since processes in containers share ids and host names.
    pub(crate) replica: Box<str>,
    /// How long a session or handle lives without use.
    pub(crate) session_ttl: Duration,
    /// Sessions a second that are opened after the store was found empty.
    pub(crate) recovery_rate: usize,
}

/// Something that all clients may want to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Broadcast {
    /// The list of tools changed.
    Tools,
    /// The list of prompts changed.
    Prompts,
    /// The list of resources changed.
    Resources,
    /// A resource changed.
    Resource(Box<str>),
}

// === impl Services ===

impl Services {
    /// The one log of broadcasts: what publishing costs does not depend on how many listen.
    pub(crate) fn broadcast_topic() -> Topic {
        Topic("broadcast".into())
    }

    /// How much of a log is kept.
    pub(crate) fn retention(&self) -> Retention {
        self.logs.retention
    }

    /// Tells all clients of all replicas.
    pub(crate) async fn publish(&self, broadcast: &Broadcast) -> Result<(), HubError> {
        let payload = serde_json::to_vec(broadcast).map(Bytes::from).unwrap_or_default();
        let Retention { entries, age } = self.retention();
        let retention = Retention { entries: entries.saturating_mul(BROADCASTS), age };
        self.hub.append(&Self::broadcast_topic(), None, retention, payload, false).await?;
        Ok(())
    }
}
