//! What can go wrong with a request, by kind.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What went wrong. The kinds are kept apart everywhere, since each has another cause and another remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// No answer came over the network.
    Transport(Transport),
    /// An HTTP status other than success.
    Status(u16),
    /// A JSON-RPC error with this code, whatever the HTTP status.
    Rpc(i64),
    /// A JSON-RPC error with one more code than are told apart.
    RpcOther,
    /// A tool's result says that it failed.
    Tool,
    /// The answer or event is wrong.
    Wrong(Check),
    /// Nothing came within the time limit.
    Hung,
}

/// How the network failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// No connection was made.
    Connect,
    /// No connection was made within the time for it.
    ConnectTimeout,
    /// The connection broke before all of the answer was there.
    Reset,
    /// A stream ended without the answer, and could not be resumed.
    StreamEnded,
    /// What came is not HTTP, or an answer larger than the bound.
    Protocol,
    /// Whatever else.
    Other,
}

/// What is checked of what comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The answer carries what another request asked for.
    Swapped,
    /// The answer is not what was asked for.
    Value,
    /// The answer is not of the form that the specification gives it.
    Shape,
    /// A counter that only this client counts did not go up by what it added.
    Counter,
    /// What is recalled is not what was remembered.
    Memory,
    /// The answer to a question did not reach the tool that asked it.
    Question,
    /// Progress of another request, or that goes back.
    Progress,
    /// A cancelled request was answered.
    Cancelled,
    /// A scenario's expectation of an answer was not met.
    Expectation,
    /// An event was never delivered.
    EventLost,
    /// An event was delivered twice.
    EventDuplicated,
    /// An event was delivered after a later one.
    EventReordered,
    /// An event of something this session did not subscribe to.
    EventLeaked,
}

/// Not a name of an error kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no kind of error")]
pub struct UnknownKind(String);

// === impl Transport ===

impl Transport {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Connect, Self::ConnectTimeout, Self::Reset, Self::StreamEnded, Self::Protocol, Self::Other];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::ConnectTimeout => "connect-timeout",
            Self::Reset => "reset",
            Self::StreamEnded => "stream-ended",
            Self::Protocol => "protocol",
            Self::Other => "other",
        }
    }
}

// === impl Check ===

impl Check {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Swapped,
        Self::Value,
        Self::Shape,
        Self::Counter,
        Self::Memory,
        Self::Question,
        Self::Progress,
        Self::Cancelled,
        Self::Expectation,
        Self::EventLost,
        Self::EventDuplicated,
        Self::EventReordered,
        Self::EventLeaked,
    ];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Swapped => "swapped",
            Self::Value => "value",
            Self::Shape => "shape",
            Self::Counter => "counter",
            Self::Memory => "memory",
            Self::Question => "question",
            Self::Progress => "progress",
            Self::Cancelled => "cancelled",
            Self::Expectation => "expectation",
            Self::EventLost => "event-lost",
            Self::EventDuplicated => "event-duplicated",
            Self::EventReordered => "event-reordered",
            Self::EventLeaked => "event-leaked",
        }
    }

    /// What it means, in a sentence for a report.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Swapped => "an answer carried what another request had asked for",
            Self::Value => "an answer was not what was asked for",
            Self::Shape => "an answer was not of the form that the specification gives it",
            Self::Counter => "a counter did not go up by exactly what its only client added",
            Self::Memory => "what was recalled was not what had been remembered",
            Self::Question => "the answer to a question did not reach the tool that asked it",
            Self::Progress => "progress was of another request, or went back",
            Self::Cancelled => "a cancelled request was answered",
            Self::Expectation => "an answer did not meet the scenario's expectation",
            Self::EventLost => "an event was never delivered",
            Self::EventDuplicated => "an event was delivered twice",
            Self::EventReordered => "an event was delivered after a later one",
            Self::EventLeaked => "a session got an event it had not subscribed to",
        }
    }
}

// === impl ErrorKind ===

impl ErrorKind {
    /// The family: `transport`, `http`, `rpc`, `tool`, `wrong` or `hung`.
    #[must_use]
    pub const fn family(self) -> &'static str {
        match self {
            Self::Transport(_) => "transport",
            Self::Status(_) => "http",
            Self::Rpc(_) | Self::RpcOther => "rpc",
            Self::Tool => "tool",
            Self::Wrong(_) => "wrong",
            Self::Hung => "hung",
        }
    }

    /// Whether it is a check that failed.
    #[must_use]
    pub const fn is_wrong(self) -> bool {
        matches!(self, Self::Wrong(_))
    }
}

/// As `transport:reset`, `http:503`, `rpc:-32602`, `tool`, `wrong:swapped`, `hung`.
impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transport(transport) => write!(f, "transport:{}", transport.as_str()),
            Self::Status(status) => write!(f, "http:{status}"),
            Self::Rpc(code) => write!(f, "rpc:{code}"),
            Self::RpcOther => f.write_str("rpc:other"),
            Self::Tool => f.write_str("tool"),
            Self::Wrong(check) => write!(f, "wrong:{}", check.as_str()),
            Self::Hung => f.write_str("hung"),
        }
    }
}

impl FromStr for ErrorKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        let kind = match text.split_once(':') {
            None if text == "tool" => Some(Self::Tool),
            None if text == "hung" => Some(Self::Hung),
            Some(("transport", name)) => {
                Transport::ALL.into_iter().find(|transport| transport.as_str() == name).map(Self::Transport)
            }
            Some(("http", status)) => status.parse().ok().map(Self::Status),
            Some(("rpc", "other")) => Some(Self::RpcOther),
            Some(("rpc", code)) => code.parse().ok().map(Self::Rpc),
            Some(("wrong", name)) => {
                Check::ALL.into_iter().find(|check| check.as_str() == name).map(Self::Wrong)
            }
            _ => None,
        };
        kind.ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

impl Serialize for ErrorKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ErrorKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_reads_back_from_its_name() {
        let transports = Transport::ALL.map(ErrorKind::Transport);
        let checks = Check::ALL.map(ErrorKind::Wrong);
        let others = [
            ErrorKind::Status(503),
            ErrorKind::Rpc(-32602),
            ErrorKind::RpcOther,
            ErrorKind::Tool,
            ErrorKind::Hung,
        ];
        for kind in transports.into_iter().chain(checks).chain(others) {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert!("wrong:weather".parse::<ErrorKind>().is_err());
        assert!("http:many".parse::<ErrorKind>().is_err());
    }
}
