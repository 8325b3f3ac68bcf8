//! Every key there is: the table from which the file, the environment, the suggestions and the manual are made.

use std::{num::NonZeroUsize, ops::RangeInclusive, path::PathBuf, time::Duration};

use trunkline_protocol::header::{AllowedHost, AllowedOrigin};

use super::{
    Config,
    types::{Backend, LogFormat, LogLevel, PublicUrl, Readiness, RingKey, Sessions},
    value::{self, Raw, Wrong},
};

/// A section and its keys.
pub(super) struct Section {
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    pub(super) keys: &'static [Key],
}

/// One key. Its default is what [`Config::default`] has in its field.
pub(super) struct Key {
    pub(super) section: &'static str,
    pub(super) name: &'static str,
    pub(super) slot: Slot,
    /// What it means, for an operator.
    pub(super) doc: &'static str,
}

/// The field that a key sets.
pub(super) type Field<T> = fn(&mut Config) -> &mut T;

/// Where a value goes, and so how it is read.
pub(super) enum Slot {
    Address(Field<std::net::SocketAddr>),
    Path(Field<String>),
    Prefix(Field<String>),
    PublicUrl(Field<Option<PublicUrl>>),
    Origins(Field<Vec<AllowedOrigin>>),
    Hosts(Field<Vec<AllowedHost>>),
    Boolean(Field<bool>),
    Sessions(Field<Sessions>),
    Readiness(Field<Readiness>),
    File(Field<Option<PathBuf>>),
    LogFormat(Field<LogFormat>),
    LogLevel(Field<LogLevel>),
    Time(RangeInclusive<Duration>, Field<Duration>),
    Size(RangeInclusive<usize>, Field<usize>),
    Count(RangeInclusive<usize>, Field<usize>),
    Workers(RangeInclusive<usize>, Field<Option<NonZeroUsize>>),
    Backend(Field<Backend>),
    OtherBackend(Field<Option<Backend>>),
    Ring(Field<Vec<RingKey>>),
}

const fn key(section: &'static str, name: &'static str, slot: Slot, doc: &'static str) -> Key {
    Key { section, name, slot, doc }
}

const fn millis(from: u64, to: u64) -> RangeInclusive<Duration> {
    Duration::from_millis(from)..=Duration::from_millis(to)
}

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;

/// All sections, in the manual's order.
pub(super) static SECTIONS: &[Section] = &[
    Section {
        name: "server",
        doc: "The listeners, who may call, and how streams and shutdown behave.",
        keys: SERVER,
    },
    Section { name: "store", doc: "Where sessions live.", keys: STORE },
    Section { name: "hub", doc: "How replicas talk to each other.", keys: HUB },
    Section {
        name: "keys",
        doc: "The secrets that sign session ids, cursors and event ids, and seal what a client carries for the server. \
              All replicas of one endpoint have the same ring.",
        keys: RING,
    },
    Section {
        name: "limits",
        doc: "Every bound on what a client can make grow. None can be switched off.",
        keys: LIMITS,
    },
    Section { name: "telemetry", doc: "What the server says about itself.", keys: TELEMETRY },
];

const SERVER: &[Key] = &[
    key(
        "server",
        "bind",
        Slot::Address(|c| &mut c.server.bind),
        "The address and port where clients connect. Port 0 lets the system choose one.",
    ),
    key(
        "server",
        "admin_bind",
        Slot::Address(|c| &mut c.server.admin_bind),
        "The address and port of `/livez`, `/readyz` and `/metrics`. Keep it away from the public route.",
    ),
    key(
        "server",
        "path",
        Slot::Path(|c| &mut c.server.path),
        "The path of the endpoint. It is served with and without a slash at its end.",
    ),
    key(
        "server",
        "public_url",
        Slot::PublicUrl(|c| &mut c.server.public_url),
        "Scheme, host and port at which clients reach the server, and the path where a proxy mounts it, without \
         `server.path`. URLs that the server hands out begin with it. Its host and origin are always allowed.",
    ),
    key(
        "server",
        "allowed_origins",
        Slot::Origins(|c| &mut c.server.allowed_origins),
        "The browser origins that may call, as `https://app.example.com`. A host alone, as `app.example.com`, allows \
         `http` and `https` and, unless it has one, every port; `*.example.com` every host below; `*` all but `null`. \
         Empty: `localhost` and loopback addresses. A request without an `Origin` header is always served.",
    ),
    key(
        "server",
        "allowed_hosts",
        Slot::Hosts(|c| &mut c.server.allowed_hosts),
        "The hosts that a request's `Host` header may name, against DNS rebinding. A host without a port allows every \
         port; `*.example.com` every host below; `*` all. Empty: `localhost`, loopback addresses and the address of \
         `server.bind`; where that is `0.0.0.0` or `[::]`, every IP address, but no other name.",
    ),
    key(
        "server",
        "sessions",
        Slot::Sessions(|c| &mut c.server.sessions),
        "`on` gives the older revisions sessions. `off` gives them none, for clients that never send a session id back.",
    ),
    key(
        "server",
        "upgrade_after",
        Slot::Time(millis(0, HOUR), |c| &mut c.server.upgrade_after),
        "A call that takes longer has its answer turned into a stream, so that no proxy on the way gives up.",
    ),
    key(
        "server",
        "stream_keep_alive",
        Slot::Time(millis(100, 10 * MINUTE), |c| &mut c.server.stream_keep_alive),
        "A stream that was silent for so long sends a comment. Stay well below the idle timeout of every proxy on the way.",
    ),
    key(
        "server",
        "stream_max_age",
        Slot::Time(millis(SECOND, 7 * DAY), |c| &mut c.server.stream_max_age),
        "A stream that is older ends with a hint to come back, a little earlier or later so that not all come at once. \
         Stay below the longest request that the proxies on the way allow.",
    ),
    key(
        "server",
        "serve_replica_header",
        Slot::Boolean(|c| &mut c.server.serve_replica_header),
        "Whether answers name the replica in `x-trunkline-replica`, for tests.",
    ),
    key(
        "server",
        "workers",
        Slot::Workers(1..=1024, |c| &mut c.server.workers),
        "Threads that serve connections. Unset: one per core that the process may use.",
    ),
    key(
        "server",
        "keep_alive",
        Slot::Time(millis(SECOND, HOUR), |c| &mut c.server.keep_alive),
        "An idle connection is closed after so long. Stay above the balancer's own idle timeout, usually 60 s, or it will \
         send a request into a closing connection.",
    ),
    key(
        "server",
        "request_timeout",
        Slot::Time(millis(100, 10 * MINUTE), |c| &mut c.server.request_timeout),
        "The head of a request has to arrive within this time.",
    ),
    key(
        "server",
        "drain_grace",
        Slot::Time(millis(0, HOUR), |c| &mut c.server.drain_grace),
        "In a shutdown, running calls may go on for so long. The process is gone after `drain_delay` and `drain_grace` \
         together, so give it more than both before it is killed.",
    ),
    key(
        "server",
        "drain_delay",
        Slot::Time(millis(0, 10 * MINUTE), |c| &mut c.server.drain_delay),
        "In a shutdown, how long everything is served on after `/readyz` began to fail, so that balancers take notice.",
    ),
    key(
        "server",
        "readiness",
        Slot::Readiness(|c| &mut c.server.readiness),
        "What `/readyz` says while the store or the hub cannot be reached. `fail`: not ready. `degrade`: ready, since requests that \
         need neither are served, and the others answered 503.",
    ),
    key(
        "server",
        "sse_2024",
        Slot::Boolean(|c| &mut c.server.sse_2024),
        "Whether the transport of revision 2024-11-05 is served, at `/sse` and `/messages`.",
    ),
];

const STORE: &[Key] = &[
    key(
        "store",
        "url",
        Slot::Backend(|c| &mut c.store.url),
        "`memory` keeps sessions in the process; they end with it, and there is one replica. Several share Redis: \
         `redis://[user:password@]host[:port][/db]`, `redis+sentinel://[user:password@]host,host,host/master[/db]` or \
         `redis+cluster://[user:password@]host,host,host`; with `rediss` it is spoken to over TLS. `?replicas=N` after it says how \
         many of its replicas have to hold a change before it counts: 1 with sentinels, otherwise 0.",
    ),
    key(
        "store",
        "prefix",
        Slot::Prefix(|c| &mut c.store.prefix),
        "What the names of shared records begin with. Endpoints that share a store need different ones.",
    ),
    key(
        "store",
        "session_ttl",
        Slot::Time(millis(SECOND, 30 * DAY), |c| &mut c.store.session_ttl),
        "A session that was not used for so long is gone.",
    ),
    key(
        "store",
        "init_ttl",
        Slot::Time(millis(SECOND, DAY), |c| &mut c.store.init_ttl),
        "A session that never got past `initialize` is gone after so long.",
    ),
    key(
        "store",
        "connections",
        Slot::Count(1..=64, |c| &mut c.store.connections),
        "Connections to each primary of Redis that commands share, whatever the number of sessions; a few more are for what \
         Redis says unasked.",
    ),
    key(
        "store",
        "connect_timeout",
        Slot::Time(millis(10, MINUTE), |c| &mut c.store.connect_timeout),
        "The longest that connecting to Redis may take.",
    ),
    key(
        "store",
        "response_timeout",
        Slot::Time(millis(10, MINUTE), |c| &mut c.store.response_timeout),
        "The longest that an answer of Redis may take. After it, the request that waited is answered 503.",
    ),
    key(
        "store",
        "ca_path",
        Slot::File(|c| &mut c.store.ca_path),
        "With `rediss`: the certificates to trust instead of the system's, in PEM.",
    ),
    key(
        "store",
        "recovery_rate",
        Slot::Count(1..=1_000_000, |c| &mut c.store.recovery_rate),
        "When a shared store came back empty all clients open new sessions at once: each replica admits so many a second then, \
         and tells the others when to come back.",
    ),
];

const HUB: &[Key] = &[key(
    "hub",
    "url",
    Slot::OtherBackend(|c| &mut c.hub.url),
    "As `store.url`. Unset: the same backend as the store's.",
)];

const RING: &[Key] = &[key(
    "keys",
    "ring",
    Slot::Ring(|c| &mut c.keys.ring),
    "Named keys, each `NAME:KEY`, where KEY is 32 random bytes in base64 (`openssl rand -base64 32`). The first signs and \
     seals, all verify and open. To change the key, put the new one last everywhere, then first everywhere, then remove the \
     old one once nothing that it signed is in use. Empty: one random key, and a restart forgets it.",
)];

const LIMITS: &[Key] = &[
    key(
        "limits",
        "body",
        Slot::Size(KIB..=GIB, |c| &mut c.limits.body),
        "A request body. Larger ones are refused with 413.",
    ),
    key(
        "limits",
        "header_bytes",
        Slot::Size(KIB..=128 * KIB, |c| &mut c.limits.header_bytes),
        "The head of a request, its line and all headers.",
    ),
    // serde_json refuses to nest deeper than 127.
    key(
        "limits",
        "json_depth",
        Slot::Count(4..=127, |c| &mut c.limits.json_depth),
        "How deep the JSON of a body may nest.",
    ),
    key(
        "limits",
        "batch",
        Slot::Count(1..=10_000, |c| &mut c.limits.batch),
        "Messages in one batch (2025-03-26 only).",
    ),
    key(
        "limits",
        "sessions",
        Slot::Count(1..=100_000_000, |c| &mut c.limits.sessions),
        "Live sessions in a process whose store is `memory`.",
    ),
    key(
        "limits",
        "session_values",
        Slot::Count(1..=10_000, |c| &mut c.limits.session_values),
        "Values that tools keep in one session.",
    ),
    key(
        "limits",
        "value_bytes",
        Slot::Size(KIB..=64 * MIB, |c| &mut c.limits.value_bytes),
        "One such value.",
    ),
    key(
        "limits",
        "in_flight_per_session",
        Slot::Count(1..=65_535, |c| &mut c.limits.in_flight_per_session),
        "Calls of one session that run on one replica at the same time.",
    ),
    key(
        "limits",
        "in_flight",
        Slot::Count(1..=1_000_000, |c| &mut c.limits.in_flight),
        "Calls of all clients that run on one replica at the same time.",
    ),
    key(
        "limits",
        "streams_per_session",
        Slot::Count(1..=10_000, |c| &mut c.limits.streams_per_session),
        "Streams of one session that are open on one replica.",
    ),
    key(
        "limits",
        "streams",
        Slot::Count(1..=1_000_000, |c| &mut c.limits.streams),
        "Streams of all clients that are open on one replica. Each needs a file descriptor.",
    ),
    key(
        "limits",
        "listen_subscriptions",
        Slot::Count(1..=100_000, |c| &mut c.limits.listen_subscriptions),
        "Resources that one `subscriptions/listen` may name (2026-07-28).",
    ),
    key(
        "limits",
        "subscriptions_per_session",
        Slot::Count(1..=100_000, |c| &mut c.limits.subscriptions_per_session),
        "Resources that one session may subscribe to (up to 2025-11-25).",
    ),
    key(
        "limits",
        "log_entries",
        Slot::Count(1..=1_000_000, |c| &mut c.limits.log_entries),
        "Events of one resumable stream that are kept for a client that comes back. The oldest go first.",
    ),
    key(
        "limits",
        "log_age",
        Slot::Time(millis(SECOND, DAY), |c| &mut c.limits.log_age),
        "How long the events of a resumable stream are kept after the last of them.",
    ),
    key(
        "limits",
        "log_bytes",
        Slot::Size(KIB..=GIB, |c| &mut c.limits.log_bytes),
        "Bytes of one resumable stream that are kept. At least `limits.result_bytes`.",
    ),
    key(
        "limits",
        "outbox",
        Slot::Count(1..=65_536, |c| &mut c.limits.outbox),
        "Messages that wait for one connection whose client reads slowly. When it is full the connection is closed.",
    ),
    key(
        "limits",
        "result_bytes",
        Slot::Size(KIB..=GIB, |c| &mut c.limits.result_bytes),
        "The result of one call, encoded. Many clients and proxies give up far earlier.",
    ),
    key(
        "limits",
        "tool_time",
        Slot::Time(millis(10, DAY), |c| &mut c.limits.tool_time),
        "How long a tool may run that declares no limit of its own. Then it is cancelled.",
    ),
    key(
        "limits",
        "questions_per_session",
        Slot::Count(1..=10_000, |c| &mut c.limits.questions_per_session),
        "Questions to one client that wait for an answer.",
    ),
    key(
        "limits",
        "question_time",
        Slot::Time(millis(10, 7 * DAY), |c| &mut c.limits.question_time),
        "How long a question to a client waits for its answer.",
    ),
    key(
        "limits",
        "tasks_per_principal",
        Slot::Count(1..=1_000_000, |c| &mut c.limits.tasks_per_principal),
        "Tasks of one principal that one replica has begun and keeps.",
    ),
    key(
        "limits",
        "task_ttl",
        Slot::Time(millis(SECOND, 30 * DAY), |c| &mut c.limits.task_ttl),
        "How long a task and its result are kept.",
    ),
];

const TELEMETRY: &[Key] = &[
    key(
        "telemetry",
        "log_format",
        Slot::LogFormat(|c| &mut c.telemetry.log_format),
        "`text` for people, `json` for collectors: one object a line.",
    ),
    key(
        "telemetry",
        "log_level",
        Slot::LogLevel(|c| &mut c.telemetry.log_level),
        "The least important level that is logged: `error`, `warn`, `info`, `debug` or `trace`.",
    ),
];

/// Every key, in the table's order.
pub(super) fn all() -> impl Iterator<Item = &'static Key> {
    SECTIONS.iter().flat_map(|section| section.keys)
}

/// The key of this name in this section.
pub(super) fn find(section: &str, name: &str) -> Option<&'static Key> {
    all().find(|key| key.section == section && key.name == name)
}

// === impl Key ===

impl Key {
    /// The key as messages name it.
    pub(super) fn id(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// The variable that sets it.
    pub(super) fn variable(&self) -> String {
        format!("{VARIABLE_PREFIX}{}__{}", self.section, self.name).to_ascii_uppercase()
    }

    /// Whether the value may be a secret, and so may stand in a file of its own, named by `NAME_file`.
    pub(super) fn is_secret(&self) -> bool {
        matches!(self.slot, Slot::Backend(_) | Slot::OtherBackend(_) | Slot::Ring(_))
    }

    /// Whether a file with the value holds one item a line.
    pub(super) fn is_list(&self) -> bool {
        matches!(self.slot, Slot::Origins(_) | Slot::Hosts(_) | Slot::Ring(_))
    }
}

/// What the names of our variables begin with. The double underscore keeps clear of those that Kubernetes sets for a service
/// named `trunkline`, as `TRUNKLINE_SERVICE_HOST`.
pub(super) const VARIABLE_PREFIX: &str = "TRUNKLINE__";

/// What is added to a key's name for the file that holds its value.
pub(super) const FILE_SUFFIX: &str = "_file";

// === impl Slot ===

impl Slot {
    /// Reads a value into its field.
    pub(super) fn set(&self, config: &mut Config, raw: &Raw) -> Result<(), Wrong> {
        match self {
            Self::Address(field) => *field(config) = value::address(raw)?,
            Self::Path(field) => *field(config) = value::path(raw)?,
            Self::Prefix(field) => *field(config) = value::prefix(raw)?,
            Self::PublicUrl(field) => *field(config) = value::public_url(raw)?,
            Self::Origins(field) => *field(config) = value::origins(raw)?,
            Self::Hosts(field) => *field(config) = value::hosts(raw)?,
            Self::Boolean(field) => *field(config) = value::boolean(raw)?,
            Self::Sessions(field) => *field(config) = value::choice(raw, Sessions::NAMES)?,
            Self::Readiness(field) => *field(config) = value::choice(raw, Readiness::NAMES)?,
            Self::File(field) => *field(config) = Some(value::file(raw)?),
            Self::LogFormat(field) => *field(config) = value::choice(raw, LogFormat::NAMES)?,
            Self::LogLevel(field) => *field(config) = value::choice(raw, LogLevel::NAMES)?,
            Self::Time(range, field) => *field(config) = value::time(raw, range)?,
            Self::Size(range, field) => *field(config) = value::size(raw, range)?,
            Self::Count(range, field) => *field(config) = value::count(raw, range)?,
            Self::Workers(range, field) => *field(config) = NonZeroUsize::new(value::count(raw, range)?),
            Self::Backend(field) => *field(config) = value::backend(raw)?,
            Self::OtherBackend(field) => *field(config) = Some(value::backend(raw)?),
            Self::Ring(field) => *field(config) = value::ring(raw)?,
        }
        Ok(())
    }
}
