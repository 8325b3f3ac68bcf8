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
//! | `https://app.example.com` | origins only: this scheme, host and port (the scheme's own if none is given) |
//! | `*` | everything well-formed: the check is off, save for `null` and malformed values |
//!
//! A host entry in the list of origins fits `http` and `https`; other schemes need to be spelled out. The scheme of our own
//! side is never compared: behind a balancer that ends TLS we do not know it.

use std::net::Ipv6Addr;

/// The hosts that are this machine for whoever runs on it: no name that an attacker can point anywhere.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The longest host name, in bytes (RFC 1035).
const MAX_HOST: usize = 253;

/// Which pages may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginPolicy(Vec<Entry>);

/// Which names this server goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPolicy(Vec<Entry>);

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
    V6(Ipv6Addr),
}

#[derive(Clone, Copy)]
enum Host<'a> {
    Name(&'a str),
    V6(Ipv6Addr),
}

// === impl OriginPolicy ===

impl Default for OriginPolicy {
    /// Pages of this machine.
    fn default() -> Self {
        Self(loopback())
    }
}

impl OriginPolicy {
    /// A policy that allows what `entries` say and nothing else.
    ///
    /// # Errors
    /// [`InvalidEntry`] for the first that is malformed.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidEntry> {
        entries.into_iter().map(Entry::parse).collect::<Result<_, _>>().map(Self)
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
        Self(loopback())
    }
}

impl HostPolicy {
    /// A policy that allows what `entries` say and nothing else.
    ///
    /// # Errors
    /// [`InvalidEntry`] for the first that is malformed or has a scheme.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidEntry> {
        let parse = |text| {
            let entry = Entry::parse(text)?;
            if entry.scheme.is_some() {
                return Err(InvalidEntry::new(text, "is an origin; a host has no scheme before it"));
            }
            Ok(entry)
        };
        entries.into_iter().map(parse).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a request with these values of `Host` (or the one of `:authority`) may pass: exactly one, well-formed, and
    /// allowed.
    pub fn allows<'a>(&self, values: impl IntoIterator<Item = &'a [u8]>) -> bool {
        let mut values = values.into_iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let Some((host, port)) = std::str::from_utf8(value).ok().and_then(split_authority) else {
            return false;
        };
        self.0.iter().any(|entry| entry.fits_host(host, port))
    }
}

fn loopback() -> Vec<Entry> {
    LOOPBACK.iter().map(|name| Entry::parse(name).expect("invariant: the names are well-formed")).collect()
}

// === impl InvalidEntry ===

impl InvalidEntry {
    fn new(entry: &str, reason: &'static str) -> Self {
        Self { entry: entry.to_owned(), reason }
    }
}

// === impl Entry ===

impl Entry {
    fn parse(text: &str) -> Result<Self, InvalidEntry> {
        let refuse = |reason| Err(InvalidEntry::new(text, reason));
        if text == "*" {
            return Ok(Self { scheme: None, host: Pattern::Any, port: None });
        }
        if text.eq_ignore_ascii_case("null") {
            return refuse("is what every sandboxed page calls itself and cannot be allowed");
        }
        let (scheme, authority) = match text.split_once("://") {
            Some((scheme, _)) if !is_scheme(scheme) => return refuse("has a malformed scheme"),
            Some((scheme, authority)) => (Some(scheme.to_ascii_lowercase().into()), authority),
            None => (None, text),
        };
        let (below, authority) = match authority.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, authority),
        };
        let host = match split_authority(authority) {
            Some((Host::Name(name), port)) if below => (Pattern::Below(format!(".{name}").into()), port),
            Some((Host::Name(name), port)) => (Pattern::Name(name.into()), port),
            Some((Host::V6(address), port)) if !below => (Pattern::V6(address), port),
            _ => {
                return refuse(
                    "is not a host, host:port, *.host, or scheme://host without a path; IPv6 goes in brackets",
                );
            }
        };
        Ok(Self { scheme, host: host.0, port: host.1 })
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
            (Self::V6(expected), Host::V6(address)) => *expected == address,
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

/// Splits `host[:port]`. Nothing else may be there: no user, path, space, or empty port.
fn split_authority(text: &str) -> Option<(Host<'_>, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        return Some((Host::V6(address.parse().ok()?), port_after_colon(rest)?));
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
    Some((Host::Name(name), port_after_colon(rest)?))
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
