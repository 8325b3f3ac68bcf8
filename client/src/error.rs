//! What can go wrong, and whether it may have had an effect.

use std::{error::Error as StdError, io, time::Duration};

use trunkline_protocol::RpcError;

/// What a failed transport was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Sending the request: the server has not read all of it.
    Send,
    /// Waiting for the answer to begin.
    Wait,
    /// Reading the answer.
    Read,
}

/// Why a call has no answer.
///
/// Closed, so that whoever counts failures counts all kinds. Each says in its text what was seen and what may help.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection came about: nothing was sent.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// Host and port, or the program that could not be started.
        address: String,
        /// What the operating system or TLS said.
        #[source]
        source: io::Error,
    },
    /// The connection failed before the server can have read the whole request.
    #[error("the connection failed before the request was sent: {source}")]
    Unsent {
        /// What failed.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The connection failed while the request was under way: the server may have served it, or may yet.
    #[error("the connection failed with the answer outstanding: {source}")]
    InFlight {
        /// What the client was doing.
        phase: Phase,
        /// What failed.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server refused by an HTTP status and not by a JSON-RPC error.
    #[error(transparent)]
    Status(Box<StatusError>),
    /// The server answered with a JSON-RPC error.
    #[error("the server answered with an error: {0}")]
    Rpc(Box<RpcError>),
    /// What answers is not a server of this protocol.
    #[error("this is not an MCP endpoint: {seen}")]
    NotMcp {
        /// What was seen instead.
        seen: String,
    },
    /// The server forgot the session while the request was under way, or again right after a new one was opened.
    #[error("the server does not know the session (any more)")]
    SessionLost {
        /// Whether the server may have served the request before.
        may_have_run: bool,
    },
    /// The time that the call was given is over.
    #[error("no answer within {} ms", after.as_millis())]
    Timeout {
        /// The time it was given.
        after: Duration,
    },
    /// The caller cancelled.
    #[error("the call was cancelled")]
    Cancelled,
    /// The server's answer breaks the protocol.
    #[error("the server breaks the protocol: {what}")]
    Malformed {
        /// What it does wrong.
        what: String,
    },
    /// The server answered a request that was not asked, and not the one that was.
    #[error("the answer is for the request {got}, and {asked} was asked")]
    WrongAnswer {
        /// The id of the request.
        asked: i64,
        /// The id in the answer.
        got: String,
    },
    /// The server sends more than the client is prepared to hold.
    #[error("{what} is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The part of the answer.
        what: &'static str,
        /// The bound in bytes. See [`crate::Limits`].
        limit: usize,
    },
    /// There is no revision that both ends speak.
    #[error("no common protocol revision: asked for {wanted}, the server offers {offered}")]
    Unsupported {
        /// What was asked for.
        wanted: String,
        /// What the server said it has.
        offered: String,
    },
    /// The client will not send this: the request itself is wrong.
    #[error("the request was not sent: {0}")]
    Refused(String),
    /// The server went on asking, or went on paging, past the bound.
    #[error("gave up after {limit} {what}")]
    Endless {
        /// What did not end.
        what: &'static str,
        /// The bound.
        limit: usize,
    },
    /// A question of the server was not answered, so that the call cannot go on.
    #[error("the server's question {question} was not answered: {reason}")]
    Unanswered {
        /// The question's method.
        question: &'static str,
        /// Why not.
        reason: Box<RpcError>,
    },
    /// The source of tokens has none.
    #[error("no access token: {0}")]
    Token(#[source] Box<dyn StdError + Send + Sync>),
    /// The client was closed.
    #[error("the client is closed")]
    Closed,
}

/// See [`Error::Status`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("HTTP status {code}{}{}", if message.is_empty() { "" } else { ": " }, message)]
pub struct StatusError {
    /// The status code.
    pub code: u16,
    /// When the server wants to be asked again.
    pub retry_after: Option<Duration>,
    /// How the server wants the client to authenticate (`WWW-Authenticate`), after 401 and 403.
    pub challenge: Option<String>,
    /// The message of a JSON-RPC error in the body, or the beginning of the body; at most [`crate::Limits::EXCERPT`] bytes.
    pub message: String,
}

/// The kinds of errors, for counting. The names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// [`Error::Connect`], [`Error::Unsent`], [`Error::InFlight`], [`Error::Closed`].
    Transport,
    /// [`Error::Status`], [`Error::SessionLost`], [`Error::Token`].
    Status,
    /// [`Error::Rpc`].
    Rpc,
    /// [`Error::NotMcp`], [`Error::Malformed`], [`Error::WrongAnswer`], [`Error::TooLarge`], [`Error::Unsupported`],
    /// [`Error::Endless`].
    Protocol,
    /// [`Error::Timeout`].
    Timeout,
    /// [`Error::Cancelled`], [`Error::Refused`], [`Error::Unanswered`]: the caller's own.
    Caller,
}

// === impl Error ===

impl Error {
    /// The connection failed before the request was sent.
    pub(crate) fn unsent(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Unsent { source: source.into() }
    }

    /// The connection failed with the answer outstanding.
    pub(crate) fn in_flight(phase: Phase, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::InFlight { phase, source: source.into() }
    }

    /// The server breaks the protocol.
    pub(crate) fn malformed(what: impl Into<String>) -> Self {
        Self::Malformed { what: what.into() }
    }

    /// The kind, for counting.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Connect { .. } | Self::Unsent { .. } | Self::InFlight { .. } | Self::Closed => {
                Kind::Transport
            }
            Self::Status(_) | Self::SessionLost { .. } | Self::Token(_) => Kind::Status,
            Self::Rpc(_) => Kind::Rpc,
            Self::NotMcp { .. }
            | Self::Malformed { .. }
            | Self::WrongAnswer { .. }
            | Self::TooLarge { .. }
            | Self::Unsupported { .. }
            | Self::Endless { .. } => Kind::Protocol,
            Self::Timeout { .. } => Kind::Timeout,
            Self::Cancelled | Self::Refused(_) | Self::Unanswered { .. } => Kind::Caller,
        }
    }

    /// Whether the server may have served the request, in whole or in part, or may yet.
    #[must_use]
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Connect { .. }
            | Self::Unsent { .. }
            | Self::Refused(_)
            | Self::Token(_)
            | Self::Closed
            | Self::NotMcp { .. }
            | Self::Unsupported { .. } => false,
            Self::SessionLost { may_have_run } => *may_have_run,
            Self::Status(status) => status.may_have_run(),
            Self::InFlight { .. }
            | Self::Rpc(_)
            | Self::Timeout { .. }
            | Self::Cancelled
            | Self::Malformed { .. }
            | Self::WrongAnswer { .. }
            | Self::TooLarge { .. }
            | Self::Endless { .. }
            | Self::Unanswered { .. } => true,
        }
    }

    /// Whether the same request may succeed a little later, without anybody mending anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Unsent { .. } | Self::InFlight { .. } | Self::Timeout { .. } => true,
            Self::Status(status) => matches!(status.code, 429 | 502 | 503 | 504),
            _ => false,
        }
    }

    /// The HTTP status, if one was the answer.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status(status) => Some(status.code),
            _ => None,
        }
    }

    /// The JSON-RPC error, if one was the answer.
    #[must_use]
    pub fn rpc(&self) -> Option<&RpcError> {
        match self {
            Self::Rpc(error) => Some(error),
            _ => None,
        }
    }
}

impl From<RpcError> for Error {
    fn from(error: RpcError) -> Self {
        Self::Rpc(Box::new(error))
    }
}

impl From<StatusError> for Error {
    fn from(error: StatusError) -> Self {
        Self::Status(Box::new(error))
    }
}

// === impl StatusError ===

impl StatusError {
    /// Whether the server may have begun to serve the request. A status that says when to come back was the server's own
    /// refusal; other statuses from 500 on may be a proxy's word on a server that broke down half-way.
    #[must_use]
    pub const fn may_have_run(&self) -> bool {
        self.code >= 500 && !(self.code == 503 && self.retry_after.is_some()) && self.code != 501
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, retry_after: Option<u64>) -> StatusError {
        let retry_after = retry_after.map(Duration::from_secs);
        StatusError { code, retry_after, challenge: None, message: String::new() }
    }

    #[test]
    fn only_a_refusal_is_known_to_have_had_no_effect() {
        for (error, ran) in [
            (status(429, None), false),
            (status(503, Some(1)), false),
            (status(503, None), true),
            (status(502, Some(1)), true),
            (status(400, None), false),
        ] {
            assert_eq!(error.may_have_run(), ran, "{error:?}");
        }
    }

    #[test]
    fn the_text_says_what_was_seen() {
        let mut error = status(503, None);
        assert_eq!(error.to_string(), "HTTP status 503");
        error.message = "draining".into();
        assert_eq!(Error::from(error).to_string(), "HTTP status 503: draining");
    }
}
