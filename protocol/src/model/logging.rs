//! Log messages for the client.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// How severe a log message is (RFC 5424), the least severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// For whoever hunts a bug.
    Debug,
    /// What goes on.
    Info,
    /// Normal and worth knowing.
    Notice,
    /// May become an error.
    Warning,
    /// An operation failed.
    Error,
    /// A part failed.
    Critical,
    /// Somebody must act now.
    Alert,
    /// Nothing works.
    Emergency,
}

/// The parameters of `notifications/message`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogMessageParams {
    /// How severe it is.
    pub level: LogLevel,
    /// Who says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// What is said: any JSON.
    pub data: Box<RawValue>,
}

/// The parameters of `logging/setLevel` (up to 2025-11-25).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetLevelParams {
    /// The least severe messages wanted.
    pub level: LogLevel,
}

// === impl LogLevel ===

impl LogLevel {
    /// All levels, the least severe first.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// The level with exactly this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_in_every_way_of_writing_them() {
        for level in LogLevel::ALL {
            assert_eq!(LogLevel::from_name(level.as_str()), Some(level));
            assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
        }
        assert_eq!(LogLevel::from_name("WARNING"), None);
        assert!(LogLevel::ALL.is_sorted() && LogLevel::Error > LogLevel::Notice);
    }
}
