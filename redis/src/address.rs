//! Where Redis is, as one URL.

#[cfg(test)]
mod tests;

use std::{fmt, str::FromStr};

use percent_encoding::percent_decode_str;

const REDIS_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// Where Redis is, and who asks.
///
/// | URL | what |
/// | --- | --- |
/// | `redis://[user:password@]host[:port][/db]` | one server |
/// | `redis+sentinel://[user:password@]host[:port],…/master[/db]` | the primary of this name, as the Sentinels tell it |
/// | `redis+cluster://[user:password@]host[:port],…` | a Cluster; any of its nodes |
///
/// `rediss` in place of `redis` speaks TLS, to the Sentinels too. After a `?` may follow, joined by `&`: `replicas=N`, how many
/// replicas have to hold a change before it counts as done; `sentinel_user` and `sentinel_password`, where the Sentinels ask for
/// credentials of their own. Special characters of user and password are written as `%40`. `redis://:password@host` has no user.
///
/// ```
/// use trunkline_redis::{Address, Mode};
///
/// let address: Address = "redis+sentinel://app:s3cret@s1,s2,s3:26380/main/2".parse()?;
/// assert_eq!(address.mode, Mode::Sentinel { master: "main".to_owned() });
/// assert_eq!(address.to_string(), "redis+sentinel://app@s1:26379,s2:26379,s3:26380/main/2");
/// # Ok::<(), trunkline_redis::AddressError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// What stands behind the hosts.
    pub mode: Mode,
    /// Whether every connection speaks TLS.
    pub tls: bool,
    /// At least one: the server, the Sentinels, or some nodes of the Cluster.
    pub hosts: Vec<Host>,
    /// The number of the database; 0 on a Cluster.
    pub database: i64,
    /// Replicas that have to hold a change before it counts as done, if the URL says so.
    pub replicas: Option<u32>,
    pub(crate) credentials: Credentials,
    pub(crate) sentinel_credentials: Credentials,
}

/// What stands behind an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One server.
    Standalone,
    /// Sentinels that know the primary.
    Sentinel {
        /// The name under which they watch it.
        master: String,
    },
    /// A Cluster.
    Cluster,
}

/// A host and its port.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Host {
    /// A name or an IP address, the latter without brackets.
    pub name: String,
    /// Its port.
    pub port: u16,
}

/// Who asks. Not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

/// A URL that names no Redis: which part, and what to write. Says nothing that could be a part of a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part}: {remedy}")]
pub struct AddressError {
    /// The part that is wrong.
    pub part: &'static str,
    /// What to write instead.
    pub remedy: &'static str,
}

/// The parts of a URL, not looked at yet.
struct Parts<'a> {
    scheme: &'a str,
    userinfo: Option<&'a str>,
    hosts: &'a str,
    path: Vec<&'a str>,
    query: Option<&'a str>,
}

// === impl Address ===

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(url: &str) -> Result<Self, AddressError> {
        let parts = Parts::split(url)?;
        let (tls, kind) = match parts.scheme.split_once('+').unwrap_or((parts.scheme, "")) {
            ("redis", kind) => (false, kind),
            ("rediss", kind) => (true, kind),
            _ => return Err(SCHEME),
        };
        let mode = match kind {
            "" if !parts.scheme.ends_with('+') => Mode::Standalone,
            "cluster" => Mode::Cluster,
            "sentinel" => Mode::Sentinel { master: parts.master()? },
            _ => return Err(SCHEME),
        };
        let default_port = if kind == "sentinel" { SENTINEL_PORT } else { REDIS_PORT };
        let hosts = hosts(parts.hosts, default_port)?;
        if mode == Mode::Standalone && hosts.len() > 1 {
            let remedy = "one host only; for several write redis+sentinel:// or redis+cluster://";
            return Err(AddressError { part: "hosts", remedy });
        }
        let mut address = Self {
            database: parts.database(&mode)?,
            credentials: credentials(parts.userinfo)?,
            mode,
            tls,
            hosts,
            replicas: None,
            sentinel_credentials: Credentials::default(),
        };
        address.options(parts.query.unwrap_or_default())?;
        Ok(address)
    }
}

impl Address {
    /// Whether a Cluster stands behind it.
    #[must_use]
    pub fn is_cluster(&self) -> bool {
        self.mode == Mode::Cluster
    }

    fn options(&mut self, query: &str) -> Result<(), AddressError> {
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let sentinel = matches!(self.mode, Mode::Sentinel { .. });
            match name {
                "replicas" => {
                    let remedy = "write a number, as in replicas=1";
                    let replicas = value.parse().map_err(|_| AddressError { part: "replicas", remedy })?;
                    self.replicas = Some(replicas);
                }
                "sentinel_user" if sentinel => self.sentinel_credentials.user = Some(decoded(value)?),
                "sentinel_password" if sentinel => self.sentinel_credentials.password = Some(decoded(value)?),
                _ => {
                    let remedy =
                        "known are replicas, and with redis+sentinel:// sentinel_user and sentinel_password";
                    return Err(AddressError { part: "options", remedy });
                }
            }
        }
        Ok(())
    }
}

/// As a URL, without its passwords.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.mode {
            Mode::Standalone => "",
            Mode::Sentinel { .. } => "+sentinel",
            Mode::Cluster => "+cluster",
        };
        write!(f, "redis{}{kind}://", if self.tls { "s" } else { "" })?;
        if let Some(user) = &self.credentials.user {
            write!(f, "{user}@")?;
        }
        for (index, host) in self.hosts.iter().enumerate() {
            write!(f, "{}{host}", if index == 0 { "" } else { "," })?;
        }
        if let Mode::Sentinel { master } = &self.mode {
            write!(f, "/{master}")?;
        }
        if self.database != 0 {
            write!(f, "/{}", self.database)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

// === impl Host ===

impl Host {
    /// A host.
    #[must_use]
    pub fn new(name: impl Into<String>, port: u16) -> Self {
        Self { name: name.into(), port }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.contains(':') {
            write!(f, "[{}]:{}", self.name, self.port)
        } else {
            write!(f, "{}:{}", self.name, self.port)
        }
    }
}

// === impl Parts ===

const SCHEME: AddressError = AddressError {
    part: "scheme",
    remedy: "write redis://, rediss://, redis+sentinel://, rediss+sentinel://, redis+cluster:// or rediss+cluster://",
};

impl<'a> Parts<'a> {
    fn split(url: &'a str) -> Result<Self, AddressError> {
        let (scheme, rest) = url.split_once("://").ok_or(SCHEME)?;
        let (before_query, query) =
            rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let (authority, path) =
            before_query.split_once('/').map_or((before_query, None), |(head, tail)| (head, Some(tail)));
        // A password with a slash or a question mark in it ends the authority early, and its rest would be taken for a path.
        if rest.len() > authority.len() && rest[authority.len()..].contains('@') {
            let remedy = "write special characters as %2F (/), %3F (?), %40 (@)";
            return Err(AddressError { part: "user or password", remedy });
        }
        let (userinfo, hosts) =
            authority.rsplit_once('@').map_or((None, authority), |(userinfo, hosts)| (Some(userinfo), hosts));
        let path = path.map_or_else(Vec::new, |path| path.split('/').collect());
        Ok(Self { scheme, userinfo, hosts, path, query })
    }

    fn master(&self) -> Result<String, AddressError> {
        let master = decoded(self.path.first().unwrap_or(&""))?;
        if master.is_empty() {
            let remedy =
                "write the name that the Sentinels watch after the hosts: redis+sentinel://host/name";
            return Err(AddressError { part: "master", remedy });
        }
        Ok(master)
    }

    fn database(&self, mode: &Mode) -> Result<i64, AddressError> {
        let path = match mode {
            Mode::Sentinel { .. } => self.path.get(1..).unwrap_or_default(),
            _ => &self.path,
        };
        let remedy = match mode {
            Mode::Cluster => "a Cluster has only database 0; write nothing after the hosts",
            _ => "write its number, as in /2, and nothing after it",
        };
        let number = match path {
            [] | [""] => 0,
            [number] | [number, ""] => {
                number.parse::<u16>().map_err(|_| AddressError { part: "database", remedy })?
            }
            _ => return Err(AddressError { part: "database", remedy }),
        };
        if *mode == Mode::Cluster && number != 0 {
            return Err(AddressError { part: "database", remedy });
        }
        Ok(i64::from(number))
    }
}

fn hosts(list: &str, default_port: u16) -> Result<Vec<Host>, AddressError> {
    list.split(',').map(|host| self::host(host, default_port)).collect()
}

fn host(text: &str, default_port: u16) -> Result<Host, AddressError> {
    let remedy = "write host or host:port, an IPv6 address in brackets";
    let wrong = || AddressError { part: "host", remedy };
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest.split_once(']').ok_or_else(wrong)?;
            let port = if port.is_empty() { None } else { Some(port.strip_prefix(':').ok_or_else(wrong)?) };
            (name, port)
        }
        None => text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
    };
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(wrong());
    }
    let remedy = "write a number from 1 to 65535";
    let port = port.map_or(Ok(default_port), |port| {
        port.parse().ok().filter(|port| *port != 0).ok_or(AddressError { part: "port", remedy })
    })?;
    Ok(Host::new(name, port))
}

fn credentials(userinfo: Option<&str>) -> Result<Credentials, AddressError> {
    let Some(userinfo) = userinfo else { return Ok(Credentials::default()) };
    let (user, password) = userinfo.split_once(':').ok_or(AddressError {
        part: "user or password",
        remedy: "write user:password@, or :password@ where there is no user",
    })?;
    let some = |text: &str| (!text.is_empty()).then(|| decoded(text)).transpose();
    Ok(Credentials { user: some(user)?, password: some(password)? })
}

fn decoded(text: &str) -> Result<String, AddressError> {
    let remedy = "what is behind its %-escapes has to be UTF-8";
    let text = percent_decode_str(text).decode_utf8();
    text.map(Into::into).map_err(|_| AddressError { part: "escapes", remedy })
}
