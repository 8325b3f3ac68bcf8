//! What travels beside a message's own members: `_meta`, and how long a result may be kept.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The members of a `_meta`.
pub type MetaMap = serde_json::Map<String, Value>;

/// The keys of `_meta` that the protocol gives a meaning to (2026-07-28 *Basic*, `_meta`).
pub mod keys {
    /// The revision of a request (from 2026-07-28).
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// Who asks (from 2026-07-28).
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// What the client can do (from 2026-07-28).
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// The least severe log message wanted (from 2026-07-28).
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// Who answers (from 2026-07-28).
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The id of the request that opened the stream a notification travels on (from 2026-07-28).
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// The task a message belongs to (2025-11-25).
    pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
    /// The name of the tasks extension among the `extensions` of the capabilities (from 2026-07-28).
    pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";
}

/// Who may be served a kept result (2026-07-28 *Caching*).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// Everybody.
    Public,
    /// The principal who asked, nobody else. The safe choice, so the default.
    #[default]
    Private,
}

/// How long a result may be kept, and for whom. The default is not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caching {
    /// Milliseconds; 0 means that it is stale at once.
    pub ttl_ms: u64,
    /// For whom.
    pub scope: CacheScope,
}

// === impl Caching ===

impl Caching {
    /// May be kept for anybody.
    #[must_use]
    pub const fn public(ttl_ms: u64) -> Self {
        Self { ttl_ms, scope: CacheScope::Public }
    }

    /// May be kept for the principal who asked.
    #[must_use]
    pub const fn private(ttl_ms: u64) -> Self {
        Self { ttl_ms, scope: CacheScope::Private }
    }
}

/// Adds one member to a `_meta` that may not be there yet.
pub(crate) fn insert(meta: &mut Option<Box<MetaMap>>, key: impl Into<String>, value: impl Into<Value>) {
    meta.get_or_insert_default().insert(key.into(), value.into());
}
