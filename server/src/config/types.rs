//! The types of single values. Each is made by parsing only, so that one in hand is valid.

use std::fmt;

use trunkline_protocol::header::{AllowedHost, AllowedOrigin};
use trunkline_redis::{Address, AddressError};
use url::Url;

/// Whether the older revisions get sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sessions {
    /// A session per client, with an id that the client sends back.
    #[default]
    On,
    /// No session and no id, for clients that never send one back.
    Off,
}

/// How a log line is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// The importance of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something is wrong and was dealt with.
    Warn,
    /// What an operator wants to know.
    #[default]
    Info,
    /// What a developer wants to know.
    Debug,
    /// Everything.
    Trace,
}

/// What a replica that cannot reach its backends says of itself on `/readyz`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readiness {
    /// That it is not ready: balancers send to replicas that can reach them.
    #[default]
    Fail,
    /// That it is ready all the same: requests that need neither store nor hub go on being served.
    Degrade,
}

/// A backend of the store or the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// In this process.
    Memory,
    /// Redis. Boxed: an address is larger than most of a configuration.
    Redis(Box<Address>),
}

/// How clients reach a server: scheme, host, port, and the path under which a proxy mounts it, without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    url: Url,
    host: AllowedHost,
    origin: AllowedOrigin,
}

/// A named secret key of 32 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct RingKey {
    /// What logs call it.
    pub name: String,
    /// The secret.
    pub bytes: [u8; 32],
}

// === impl Sessions ===

impl Sessions {
    pub(super) const NAMES: &'static [(&'static str, Self)] = &[("on", Self::On), ("off", Self::Off)];
}

// === impl LogFormat ===

impl LogFormat {
    pub(super) const NAMES: &'static [(&'static str, Self)] = &[("text", Self::Text), ("json", Self::Json)];
}

// === impl LogLevel ===

impl LogLevel {
    pub(super) const NAMES: &'static [(&'static str, Self)] = &[
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
    ];

    /// The level's name, as filters of log lines take it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(_, level)| *level == self).map_or("info", |(name, _)| name)
    }
}

// === impl Readiness ===

impl Readiness {
    pub(super) const NAMES: &'static [(&'static str, Self)] =
        &[("fail", Self::Fail), ("degrade", Self::Degrade)];
}

// === impl Backend ===

impl Backend {
    /// The backend that a URL names.
    ///
    /// # Errors
    /// Which part of it is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, AddressError> {
        if text == "memory" { Ok(Self::Memory) } else { Ok(Self::Redis(Box::new(text.parse()?))) }
    }
}

// === impl PublicUrl ===

impl PublicUrl {
    /// Reads a base URL; the error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut url = Url::parse(text).map_err(|_| "is not an absolute URL")?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("is neither http nor https");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("holds a user name or a password");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("has a query or a fragment");
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        // Whoever is sent there names it in `Host` and `Origin`, so these have to be able to.
        let host = AllowedHost::parse(url.host_str().unwrap_or_default());
        let origin = AllowedOrigin::parse(&url.origin().ascii_serialization());
        let (Ok(host), Ok(origin)) = (host, origin) else {
            return Err("has a host that is no name or address");
        };
        Ok(Self { url, host, origin })
    }

    /// Scheme, host and port as a browser writes an origin.
    #[must_use]
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// The host, lower case, an IPv6 address in brackets, without a port.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The host, with any port, as an entry of those allowed.
    #[must_use]
    pub fn allowed_host(&self) -> &AllowedHost {
        &self.host
    }

    /// The origin as an entry of those allowed.
    #[must_use]
    pub fn allowed_origin(&self) -> &AllowedOrigin {
        &self.origin
    }

    /// The path under which a proxy mounts the server: empty, or with a slash at its beginning and none at its end.
    #[must_use]
    pub fn mount(&self) -> &str {
        self.url.path().trim_end_matches('/')
    }

    /// The URL of a path of this server, as `/mcp`, seen from outside.
    #[must_use]
    pub fn of(&self, path: &str) -> String {
        format!("{}{}{path}", self.origin(), self.mount())
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.mount())
    }
}

// === impl RingKey ===

/// The name only.
impl fmt::Debug for RingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RingKey({}, …)", self.name)
    }
}
