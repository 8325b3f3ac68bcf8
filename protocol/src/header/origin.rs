//! `Origin` and `Host` against lists of who is allowed (2026-07-28 Streamable HTTP, *Security & Endpoint*): a page on the
//! web must not reach a server through its visitor's browser, not even by a name that it points at that server.
//!
//! Entries of both lists:
//!
//! | entry | allows |
//! | --- | --- |
//! | `mcp.example.com` | this host with any port |
//! | `mcp.example.com:8443` | this host with this port; 80 and 443 also where the port is left out |
//! | `*.example.com`, `*.example.com:8443` | every host below, not `example.com` itself |
//! | `[::1]`, `127.0.0.1` | addresses; IPv6 in brackets, in any spelling |
//! | `https://app.example.com` | origins only: this scheme, host and port (the scheme's own if none is given); one slash may follow |
//! | `*` | everything well-formed: the check is off, save for `null` and malformed values |
//!
//! A host entry in the list of origins fits `http` and `https`; other schemes need to be spelled out. The scheme of our own
//! side is never compared: behind a balancer that ends TLS we do not know it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest host name, in bytes (RFC 1035).
const MAX_HOST: usize = 253;

/// Which pages may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginPolicy(Vec<Entry>);

/// Which names this server goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPolicy(Vec<Entry>);

/// An entry of the list of origins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedOrigin(Entry);

/// An entry of the list of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost(Entry);

/// An entry of a list that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{entry:?} {reason}")]
pub struct InvalidEntry {
    /// The entry.
    pub entry: String,
    /// What is wrong with it, to be read after it.
    pub reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// In lower case. Without one, `http` and `https`.
    scheme: Option<Box<str>>,
    host: Pattern,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Any,
    Name(Box<str>),
    /// With the dot before it.
    Below(Box<str>),
    Address(IpAddr),
    /// This machine for whoever runs on it: `localhost` and loopback addresses.
    Loopback,
    AnyAddress,
}

#[derive(Clone, Copy)]
enum Host<'a> {
    Name(&'a str),
    Address(IpAddr),
}

// === impl OriginPolicy ===

impl Default for OriginPolicy {
    /// Pages of this machine.
    fn default() -> Self {
        Self::from_iter([AllowedOrigin::loopback()])
    }
}

impl FromIterator<AllowedOrigin> for OriginPolicy {
    fn from_iter<I: IntoIterator<Item = AllowedOrigin>>(entries: I) -> Self {
        Self(entries.into_iter().map(|entry| entry.0).collect())
    }
}

impl OriginPolicy {
    /// A policy that allows what `entries` say and nothing else.
    ///
    /// # Errors
    /// [`InvalidEntry`] for the first that is malformed.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidEntry> {
        entries.into_iter().map(AllowedOrigin::parse).collect()
    }

    /// Whether a request with these values of `Origin` may pass. Without one it may: it does not come from a page.
    /// `null`, malformed and repeated ones may not.
    pub fn allows<'a>(&self, values: impl IntoIterator<Item = &'a [u8]>) -> bool {
        let mut values = values.into_iter();
        match (values.next(), values.next()) {
            (None, _) => true,
            (Some(value), None) => self.allows_value(value),
            (Some(_), Some(_)) => false,
        }
    }

    fn allows_value(&self, value: &[u8]) -> bool {
        let origin = std::str::from_utf8(value).ok().and_then(|text| text.split_once("://"));
        let Some((scheme, authority)) = origin.filter(|(scheme, _)| is_scheme(scheme)) else { return false };
        let Some((host, port)) = split_authority(authority) else { return false };
        self.0.iter().any(|entry| entry.fits_origin(scheme, host, port))
    }
}

// === impl HostPolicy ===

impl Default for HostPolicy {
    /// The names of this machine for itself.
    fn default() -> Self {
        Self::from_iter([AllowedHost::loopback()])
    }
}

impl FromIterator<AllowedHost> for HostPolicy {
    fn from_iter<I: IntoIterator<Item = AllowedHost>>(entries: I) -> Self {
        Self(entries.into_iter().map(|entry| entry.0).collect())
    }
}

impl HostPolicy {
    /// A policy that allows what `entries` say and nothing else.
    ///
    /// # Errors
    /// [`InvalidEntry`] for the first that is malformed or has a scheme.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidEntry> {
        entries.into_iter().map(AllowedHost::parse).collect()
    }

    /// Whether a request with these values of `Host` (or the one of `:authority`) may pass: exactly one, well-formed, and
    /// allowed.
    pub fn allows<'a>(&self, values: impl IntoIterator<Item = &'a [u8]>) -> bool {
        let mut values = values.into_iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let Some((host, port)) = std::str::from_utf8(value).ok().and_then(split_host) else { return false };
        self.0.iter().any(|entry| entry.fits_host(host, port))
    }
}

// === impl AllowedOrigin ===

impl AllowedOrigin {
    /// Reads an entry.
    ///
    /// # Errors
    /// [`InvalidEntry`] if it means nothing.
    pub fn parse(text: &str) -> Result<Self, InvalidEntry> {
        Entry::parse(text).map(Self)
    }

    /// Pages of this machine: `http` and `https`, any port.
    #[must_use]
    pub const fn loopback() -> Self {
        Self(Entry::any_port(Pattern::Loopback))
    }
}

// === impl AllowedHost ===

impl AllowedHost {
    /// Reads an entry.
    ///
    /// # Errors
    /// [`InvalidEntry`] if it means nothing, or has a scheme.
    pub fn parse(text: &str) -> Result<Self, InvalidEntry> {
        let entry = Entry::parse(text)?;
        if entry.scheme.is_some() {
            return Err(InvalidEntry::new(text, "is an origin; a host has no scheme before it"));
        }
        Ok(Self(entry))
    }

    /// The names of this machine for itself, any port.
    #[must_use]
    pub const fn loopback() -> Self {
        Self(Entry::any_port(Pattern::Loopback))
    }

    /// What a server that listens on `address` is called by it, any port. One that listens on all addresses of its machine
    /// cannot list them and is called by any address: pointing a page at a server takes a name.
    #[must_use]
    pub const fn bound_to(address: IpAddr) -> Self {
        Self(Entry::any_port(if address.is_unspecified() {
            Pattern::AnyAddress
        } else {
            Pattern::Address(address)
        }))
    }
}

// === impl InvalidEntry ===

impl InvalidEntry {
    fn new(entry: &str, reason: &'static str) -> Self {
        Self { entry: entry.to_owned(), reason }
    }
}

// === impl Entry ===

impl Entry {
    const fn any_port(host: Pattern) -> Self {
        Self { scheme: None, host, port: None }
    }

    fn parse(text: &str) -> Result<Self, InvalidEntry> {
        let refuse = |reason| Err(InvalidEntry::new(text, reason));
        if text == "*" {
            return Ok(Self::any_port(Pattern::Any));
        }
        if text.eq_ignore_ascii_case("null") {
            return refuse("is what every sandboxed page calls itself and cannot be allowed");
        }
        let (scheme, authority) = match text.split_once("://") {
            Some((scheme, _)) if !is_scheme(scheme) => return refuse("has a malformed scheme"),
            Some((scheme, rest)) => {
                (Some(scheme.to_ascii_lowercase().into()), rest.strip_suffix('/').unwrap_or(rest))
            }
            None => (None, text),
        };
        let (below, authority) = match authority.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, authority),
        };
        let (host, port) = match split_authority(authority) {
            Some((Host::Name(name), port)) if below => (Pattern::Below(format!(".{name}").into()), port),
            Some((Host::Name(name), port)) => (Pattern::Name(name.into()), port),
            Some((Host::Address(address), port)) if !below => (Pattern::Address(address), port),
            _ => return refuse("is no host, host:port, *.host, or scheme://host without a path"),
        };
        Ok(Self { scheme, host, port })
    }

    fn fits_origin(&self, scheme: &str, host: Host<'_>, port: Option<u16>) -> bool {
        let own = default_port(scheme);
        let same_scheme = match &self.scheme {
            Some(expected) => expected.eq_ignore_ascii_case(scheme),
            None => matches!(self.host, Pattern::Any) || is_web(scheme),
        };
        let same_port = match (&self.scheme, self.port) {
            (None, None) => true,
            (_, expected) => expected.or(own) == port.or(own),
        };
        same_scheme && same_port && self.host.fits(host)
    }

    fn fits_host(&self, host: Host<'_>, port: Option<u16>) -> bool {
        let same_port = match (self.port, port) {
            (None, _) => true,
            // Left out, it is the scheme's own, and the scheme is not known here.
            (Some(expected), None) => matches!(expected, 80 | 443),
            (Some(expected), Some(port)) => expected == port,
        };
        same_port && self.host.fits(host)
    }
}

// === impl Pattern ===

impl Pattern {
    fn fits(&self, host: Host<'_>) -> bool {
        match (self, host) {
            (Self::Any, _) => true,
            (Self::Name(expected), Host::Name(name)) => expected.eq_ignore_ascii_case(name),
            // What is before the suffix is not empty, since no name begins with a dot.
            (Self::Below(suffix), Host::Name(name)) => {
                let end = name.len().checked_sub(suffix.len()).and_then(|start| name.get(start..));
                end.is_some_and(|end| end.eq_ignore_ascii_case(suffix))
            }
            (Self::Address(expected), Host::Address(address)) => *expected == address,
            (Self::Loopback, Host::Name(name)) => name.eq_ignore_ascii_case("localhost"),
            (Self::Loopback, Host::Address(address)) => address.is_loopback(),
            (Self::AnyAddress, Host::Address(_)) => true,
            _ => false,
        }
    }
}

fn is_web(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        _ if scheme.eq_ignore_ascii_case("http") => Some(80),
        _ if scheme.eq_ignore_ascii_case("https") => Some(443),
        _ => None,
    }
}

fn is_scheme(text: &str) -> bool {
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(rest)
}

/// Splits the value of `Host`, where a port may be there and yet empty (RFC 9110, *Host and :authority*), as if left out.
fn split_host(text: &str) -> Option<(Host<'_>, Option<u16>)> {
    match text.strip_suffix(':') {
        Some(host) => split_authority(host).filter(|(_, port)| port.is_none()),
        None => split_authority(text),
    }
}

/// Splits `host[:port]`. Nothing else may be there: no user, path, space, or empty port.
fn split_authority(text: &str) -> Option<(Host<'_>, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        let address = address.parse::<Ipv6Addr>().ok()?;
        return Some((Host::Address(address.into()), port_after_colon(rest)?));
    }
    let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
    let label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    // Underscores are no host names by the letter, yet container networks use them.
    if name.len() > MAX_HOST || !name.split('.').all(label) {
        return None;
    }
    let host = name.parse::<Ipv4Addr>().map_or(Host::Name(name), |address| Host::Address(address.into()));
    Some((host, port_after_colon(rest)?))
}

/// `None` where the text is neither empty nor a port.
fn port_after_colon(text: &str) -> Option<Option<u16>> {
    if text.is_empty() {
        return Some(None);
    }
    let digits = text.strip_prefix(':').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok().map(Some)
}

#[cfg(test)]
mod tests;
