//! Where a coordinator is.

use std::{fmt, str::FromStr};

/// Host and port of a coordinator, read from `tcp://10.0.0.5:7000` or `10.0.0.5:7000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no address of a coordinator; write its host and port, as tcp://10.0.0.5:7000")]
pub struct AddressError(String);

// === impl Address ===

impl Address {
    /// Host and port, as `10.0.0.5:7000` or `[::1]:7000`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let bad = || AddressError(text.to_owned());
        let rest = text.trim();
        let rest = rest.strip_prefix("tcp://").unwrap_or(rest);
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = rest.rsplit_once(':').ok_or_else(bad)?;
        let bracketed = host.starts_with('[') && host.ends_with(']');
        let plain = !host.contains(|c: char| ":/@?#[]".contains(c) || c.is_whitespace());
        if host.is_empty() || !(bracketed || plain) || port.parse::<u16>().is_err() {
            return Err(bad());
        }
        Ok(Self(rest.to_owned()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tcp://{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_with_and_without_its_scheme() {
        for (text, address) in [
            ("tcp://10.0.0.5:7000", "10.0.0.5:7000"),
            ("coordinator.load:7000", "coordinator.load:7000"),
            ("tcp://[::1]:7000/", "[::1]:7000"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().as_str(), address);
        }
        for text in ["", "7000", "http://10.0.0.5:7000", "tcp://10.0.0.5", "::1:7000", "host:70000", ":7000"]
        {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains("tcp://"), "{error}");
        }
    }
}
