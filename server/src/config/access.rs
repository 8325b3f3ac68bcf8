//! Who may call by the `Host` and `Origin` headers: the guard against a page that reaches a server through its visitor's
//! browser, by DNS rebinding or across origins (2025-11-25 transports, *Security Warning*).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::types::{AllowedHost, AllowedOrigin, PublicUrl};

/// Which `Host` headers are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostRule {
    /// All of them.
    Any,
    /// The listed ones.
    Listed {
        /// Hosts with or without a port.
        hosts: Vec<(String, Option<u16>)>,
        /// Also `localhost`, 127.0.0.0/8 and `[::1]`.
        loopback: bool,
        /// Also any IP address. Rebinding needs a name, so an address is safe; a server that listens on every address
        /// of its machine cannot list them.
        addresses: bool,
    },
}

/// Which `Origin` headers are served. A request without one does not come from a page and is always served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OriginRule {
    /// All of them.
    Any,
    /// The listed ones.
    Listed {
        /// Origins as a browser writes them.
        origins: Vec<String>,
        /// Also http and https origins on loopback names, any port.
        loopback: bool,
    },
}

// === impl HostRule ===

impl HostRule {
    /// The rule for a configured list; an empty list means loopback, the bound address, and the public host.
    pub(super) fn new(allowed: &[AllowedHost], bind: IpAddr, public: Option<&PublicUrl>) -> Self {
        let mut hosts = Vec::new();
        for host in allowed {
            match host {
                AllowedHost::Any => return Self::Any,
                AllowedHost::Exact { host, port } => hosts.push((host.clone(), *port)),
            }
        }
        hosts.extend(public.map(|url| (url.host().to_owned(), None)));
        let by_default = allowed.is_empty();
        if by_default && !bind.is_unspecified() {
            hosts.push((written(bind), None));
        }
        Self::Listed { hosts, loopback: by_default, addresses: by_default && bind.is_unspecified() }
    }

    /// Whether a request with this `Host` header, or `:authority`, is served.
    #[must_use]
    pub fn permits(&self, header: &str) -> bool {
        let Self::Listed { hosts, loopback, addresses } = self else {
            return true;
        };
        let Some((host, port)) = split(header) else {
            return false;
        };
        let listed = |(name, only): &(String, Option<u16>)| {
            name.eq_ignore_ascii_case(host) && (only.is_none() || *only == port)
        };
        hosts.iter().any(listed)
            || (*loopback && is_loopback_name(host))
            || (*addresses && address(host).is_some())
    }
}

// === impl OriginRule ===

impl OriginRule {
    /// The rule for a configured list; an empty list means loopback origins. The public URL's own is always served.
    pub(super) fn new(allowed: &[AllowedOrigin], public: Option<&PublicUrl>) -> Self {
        let mut origins = Vec::new();
        for origin in allowed {
            match origin {
                AllowedOrigin::Any => return Self::Any,
                AllowedOrigin::Exact(origin) => origins.push(origin.clone()),
            }
        }
        origins.extend(public.map(PublicUrl::origin));
        Self::Listed { origins, loopback: allowed.is_empty() }
    }

    /// Whether a request with this `Origin` header is served. `null` is an origin like any other, and never listed.
    #[must_use]
    pub fn permits(&self, header: &str) -> bool {
        let Self::Listed { origins, loopback } = self else {
            return true;
        };
        origins.iter().any(|origin| origin.eq_ignore_ascii_case(header))
            || (*loopback && is_loopback_origin(header))
    }
}

/// An address as it stands in a `Host` header.
fn written(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// The host, brackets and all, and the port of a `Host` header.
fn split(header: &str) -> Option<(&str, Option<u16>)> {
    let end = if header.starts_with('[') {
        header.find(']')? + 1
    } else {
        header.find(':').unwrap_or(header.len())
    };
    let (host, rest) = header.split_at(end);
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => None,
        // `host:` is allowed by the grammar of URIs and means the default port.
        Some("") => None,
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => Some(digits.parse().ok()?),
        _ => return None,
    };
    Some((host, port)).filter(|_| !host.is_empty())
}

fn address(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    }
}

fn is_loopback_name(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some_and(|address| address.is_loopback())
}

fn is_loopback_origin(origin: &str) -> bool {
    let Ok(url) = Url::parse(origin) else {
        return false;
    };
    // What a browser sends is the serialization; anything that differs was made by hand to fool a parser.
    let as_sent = url.origin().ascii_serialization() == origin.to_ascii_lowercase();
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    matches!(url.scheme(), "http" | "https") && as_sent && loopback
}

#[cfg(test)]
mod tests;
