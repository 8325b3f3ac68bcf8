//! The sections of a configuration as typed fields, and their defaults: the only place where a default is written.
//!
//! What a field means for an operator, and its range, is in the table beside its name (`table.rs`).

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    num::NonZeroUsize,
    path::PathBuf,
    time::Duration,
};

use trunkline_protocol::header::{AllowedHost, AllowedOrigin, HostPolicy, OriginPolicy};

use super::types::{Backend, LogFormat, LogLevel, PublicUrl, Readiness, RingKey, Sessions};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// `[server]`: the listeners, who may call, and how streams and shutdown behave.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    /// Where clients connect. Port 0 lets the system choose.
    pub bind: SocketAddr,
    /// Where health checks and metrics are served.
    pub admin_bind: SocketAddr,
    /// The path of the endpoint, without a slash at its end; `/` itself is allowed.
    pub path: String,
    /// How clients reach this server from outside, without [`ServerConfig::path`].
    pub public_url: Option<PublicUrl>,
    /// The browser origins that may call; empty means loopback. See [`ServerConfig::origin_policy`].
    pub allowed_origins: Vec<AllowedOrigin>,
    /// The host names that requests may carry; empty means a default. See [`ServerConfig::host_policy`].
    pub allowed_hosts: Vec<AllowedHost>,
    /// Whether the older revisions get sessions.
    pub sessions: Sessions,
    /// How long a call may take before its answer becomes a stream.
    pub upgrade_after: Duration,
    /// The pause after which a silent stream sends a comment.
    pub stream_keep_alive: Duration,
    /// The greatest age of a stream, before jitter.
    pub stream_max_age: Duration,
    /// Whether answers name the replica, in `x-trunkline-replica`.
    pub serve_replica_header: bool,
    /// Threads that serve connections; `None` means one per core. See [`ServerConfig::worker_count`].
    pub workers: Option<NonZeroUsize>,
    /// How long an idle connection stays open.
    pub keep_alive: Duration,
    /// How long a request's head may take to arrive.
    pub request_timeout: Duration,
    /// How long running calls may go on in a shutdown.
    pub drain_grace: Duration,
    /// How long the listener stays open after readiness turned false.
    pub drain_delay: Duration,
    /// What a replica that cannot reach its backends says on `/readyz`.
    pub readiness: Readiness,
    /// Whether the transport of 2024-11-05 is served, `GET /sse` and `POST /messages`.
    pub sse_2024: bool,
}

/// `[store]`: where sessions live.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreConfig {
    /// The backend.
    pub url: Backend,
    /// What the names of all shared records begin with.
    pub prefix: String,
    /// How long an unused session lives.
    pub session_ttl: Duration,
    /// How long a session lives that never got past `initialize`.
    pub init_ttl: Duration,
    /// Shared connections to each primary of Redis.
    pub connections: usize,
    /// The longest that connecting to Redis may take.
    pub connect_timeout: Duration,
    /// The longest that an answer of Redis may take.
    pub response_timeout: Duration,
    /// Certificates to trust instead of the system's.
    pub ca_path: Option<PathBuf>,
    /// Sessions a second that this replica opens after the store was found empty.
    pub recovery_rate: usize,
}

/// `[hub]`: how replicas talk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HubConfig {
    /// The backend; `None` means the store's. See [`super::Config::hub_url`].
    pub url: Option<Backend>,
}

/// `[keys]`: what signs and seals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyConfig {
    /// The first signs and seals, all verify and open. Empty means a key of this process alone.
    pub ring: Vec<RingKey>,
}

/// `[limits]`: every bound on what a client can make grow. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// A request body.
    pub body: usize,
    /// The head of a request: its line and all headers.
    pub header_bytes: usize,
    /// How deep JSON may nest.
    pub json_depth: usize,
    /// Messages in one batch (2025-03-26).
    pub batch: usize,
    /// Live sessions that the memory store holds.
    pub sessions: usize,
    /// Application values of one session.
    pub session_values: usize,
    /// One application value.
    pub value_bytes: usize,
    /// Running calls of one session on one replica.
    pub in_flight_per_session: usize,
    /// Running calls on one replica.
    pub in_flight: usize,
    /// Open streams of one session on one replica.
    pub streams_per_session: usize,
    /// Open streams on one replica.
    pub streams: usize,
    /// Resources named in one `subscriptions/listen`.
    pub listen_subscriptions: usize,
    /// Resource subscriptions of one session.
    pub subscriptions_per_session: usize,
    /// Events kept of one resumable stream.
    pub log_entries: usize,
    /// How long a resumable stream's events outlive the last of them.
    pub log_age: Duration,
    /// Bytes kept of one resumable stream.
    pub log_bytes: usize,
    /// Messages waiting for one slow connection.
    pub outbox: usize,
    /// The encoded result of one call.
    pub result_bytes: usize,
    /// How long a tool may run unless it declares its own limit.
    pub tool_time: Duration,
    /// Questions of one session that wait for an answer.
    pub questions_per_session: usize,
    /// How long a question waits for its answer.
    pub question_time: Duration,
    /// Live tasks of one principal.
    pub tasks_per_principal: usize,
    /// How long a task and its result are kept.
    pub task_ttl: Duration,
}

/// `[telemetry]`: what the server says about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TelemetryConfig {
    /// How a log line is written.
    pub log_format: LogFormat,
    /// The least important level that is logged.
    pub log_level: LogLevel,
}

// === impl ServerConfig ===

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080),
            admin_bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9090),
            path: "/mcp".to_owned(),
            public_url: None,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            sessions: Sessions::On,
            upgrade_after: SECOND,
            stream_keep_alive: 15 * SECOND,
            stream_max_age: HOUR,
            serve_replica_header: false,
            workers: None,
            // Outlasts the 60 s after which the usual balancer drops an idle connection, so that it never races our close.
            keep_alive: 75 * SECOND,
            request_timeout: 5 * SECOND,
            drain_grace: 30 * SECOND,
            drain_delay: Duration::ZERO,
            readiness: Readiness::Fail,
            sse_2024: true,
        }
    }
}

impl ServerConfig {
    /// The number of serving threads: the configured one, or one per core that the process may use.
    #[must_use]
    pub fn worker_count(&self) -> NonZeroUsize {
        let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.workers.unwrap_or_else(cores)
    }

    /// Which names this server goes by: the listed ones, or loopback and the bound address, and the public one.
    #[must_use]
    pub fn host_policy(&self) -> HostPolicy {
        let own = [AllowedHost::loopback(), AllowedHost::bound_to(self.bind.ip())];
        let entries = if self.allowed_hosts.is_empty() { &own[..] } else { &self.allowed_hosts };
        let public = self.public_url.as_ref().map(PublicUrl::allowed_host);
        entries.iter().chain(public).cloned().collect()
    }

    /// Which pages may call: the listed ones, or those of loopback, and those of the public URL.
    #[must_use]
    pub fn origin_policy(&self) -> OriginPolicy {
        let own = [AllowedOrigin::loopback()];
        let entries = if self.allowed_origins.is_empty() { &own[..] } else { &self.allowed_origins };
        let public = self.public_url.as_ref().map(PublicUrl::allowed_origin);
        entries.iter().chain(public).cloned().collect()
    }
}

// === impl StoreConfig ===

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            url: Backend::Memory,
            prefix: "trunkline".to_owned(),
            session_ttl: HOUR,
            init_ttl: MINUTE,
            connections: 4,
            connect_timeout: 2 * SECOND,
            response_timeout: SECOND,
            ca_path: None,
            recovery_rate: 200,
        }
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 4 * MIB,
            // A bearer token of 8 KiB, twice over, and the rest of the headers.
            header_bytes: 32 * KIB,
            json_depth: 64,
            batch: 50,
            sessions: 200_000,
            session_values: 64,
            value_bytes: 64 * KIB,
            in_flight_per_session: 64,
            in_flight: 10_000,
            streams_per_session: 16,
            streams: 20_000,
            listen_subscriptions: 256,
            subscriptions_per_session: 256,
            log_entries: 1000,
            log_age: 10 * MINUTE,
            log_bytes: 16 * MIB,
            outbox: 64,
            result_bytes: 8 * MIB,
            tool_time: 5 * MINUTE,
            questions_per_session: 16,
            question_time: 10 * MINUTE,
            tasks_per_principal: 1000,
            task_ttl: HOUR,
        }
    }
}

#[cfg(test)]
mod tests;
