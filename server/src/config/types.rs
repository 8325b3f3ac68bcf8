//! The types of single values. Each is made by parsing only, so that one in hand is valid.

use std::fmt;

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

/// A backend of the store or the hub.
#[derive(Clone, PartialEq, Eq)]
pub enum Backend {
    /// In this process.
    Memory,
    /// Redis. The text is the whole URL and may hold a password.
    Redis {
        /// How it is reached.
        mode: RedisMode,
        /// The URL as it was given.
        url: String,
    },
}

/// How Redis is reached, which the scheme of its URL says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedisMode {
    /// `redis://`: one server.
    Plain,
    /// `rediss://`: one server over TLS.
    Tls,
    /// `redis+sentinel://`: sentinels name the primary.
    Sentinel,
    /// `redis+cluster://`: a cluster.
    Cluster,
}

/// How clients reach a server: scheme, host, port, and the path under which a proxy mounts it, without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    url: Url,
}

/// An origin that may call, or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedOrigin {
    /// `*`
    Any,
    /// The origin as a browser writes it: lower case, no default port.
    Exact(String),
}

/// A host that a request may name, or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedHost {
    /// `*`
    Any,
    /// One host.
    Exact {
        /// Lower case; an IPv6 address stands in brackets.
        host: String,
        /// The only port; `None` allows all, and none.
        port: Option<u16>,
    },
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

// === impl Backend ===

impl Backend {
    /// The backend a URL names, if its scheme is one of ours. Only the scheme is looked at; a driver reads the rest.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text == "memory" {
            return Some(Self::Memory);
        }
        let (scheme, rest) = text.split_once("://")?;
        let mode = match scheme.to_ascii_lowercase().as_str() {
            "redis" => RedisMode::Plain,
            "rediss" => RedisMode::Tls,
            "redis+sentinel" => RedisMode::Sentinel,
            "redis+cluster" => RedisMode::Cluster,
            _ => return None,
        };
        (!rest.is_empty()).then(|| Self::Redis { mode, url: text.to_owned() })
    }
}

/// The URL may hold a password.
impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("Memory"),
            Self::Redis { mode, .. } => write!(f, "Redis({mode:?}, …)"),
        }
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
        Ok(Self { url })
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

// === impl AllowedOrigin ===

impl AllowedOrigin {
    /// Reads `*` or an origin; the error says what is wrong with it.
    ///
    /// Schemes besides http and https are taken as they stand, for pages of editors and browser extensions.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let url = Url::parse(text).map_err(|_| "is not an origin")?;
        if !url.has_host() {
            return Err("has no host");
        }
        let bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        if !bare || !url.username().is_empty() || url.password().is_some() {
            return Err("has more than a scheme, a host and a port");
        }
        if matches!(url.scheme(), "http" | "https") {
            return Ok(Self::Exact(url.origin().ascii_serialization()));
        }
        Ok(Self::Exact(text.trim_end_matches('/').to_ascii_lowercase()))
    }
}

impl fmt::Display for AllowedOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Exact(origin) => f.write_str(origin),
        }
    }
}

// === impl AllowedHost ===

impl AllowedHost {
    /// Reads `*`, or a host with or without a port; the error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if text == "*" {
            return Ok(Self::Any);
        }
        if text.contains("://") || text.contains('/') {
            return Err("is a URL");
        }
        if text.contains('*') {
            return Err("has a wildcard within a name");
        }
        let url = Url::parse(&format!("http://{text}/")).map_err(|_| "is not a host name")?;
        if !url.username().is_empty()
            || url.password().is_some()
            || url.path() != "/"
            || url.query().is_some()
        {
            return Err("is not a host name");
        }
        let host = url.host_str().ok_or("is not a host name")?.to_owned();
        // The parser hides port 80, which is the default of the scheme lent to it.
        let port =
            text.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).filter(|_| !text.ends_with(']'));
        Ok(Self::Exact { host, port })
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Exact { host, port: Some(port) } => write!(f, "{host}:{port}"),
            Self::Exact { host, port: None } => f.write_str(host),
        }
    }
}

// === impl RingKey ===

/// The name only.
impl fmt::Debug for RingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RingKey({}, …)", self.name)
    }
}
