//! The one table that turns what went wrong with a request into its answer.

use std::{borrow::Cow, time::Duration};

use trunkline_hub::HubError;
use trunkline_protocol::{RpcError, error::code, jsonrpc::Malformed, revision::Dispute};
use trunkline_store::StoreError;

/// Why a request is refused before, or instead of, being served.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The body is no message: not JSON, not JSON-RPC, or past a bound of the parser.
    Malformed(RpcError),
    /// A batch in a revision that has none.
    BatchNotServed,
    /// The body is larger than accepted.
    BodyTooLarge {
        /// The bound in bytes.
        limit: usize,
    },
    /// The head of the request is larger than accepted.
    HeadTooLarge {
        /// The bound in bytes.
        limit: usize,
    },
    /// The body did not arrive in time.
    BodyTooSlow,
    /// The body is not declared to be JSON.
    UnsupportedMediaType,
    /// The client accepts nothing that can be produced.
    NotAcceptable(&'static str),
    /// The request needs a session id and carries none.
    SessionRequired,
    /// No such session for this caller: unknown, expired, deleted, or somebody else's.
    SessionUnknown,
    /// `initialize` within a live session.
    SessionLive,
    /// The revision could not be settled.
    Revision(Dispute),
    /// A header that mirrors the body disagrees with it.
    HeaderMismatch(String),
    /// The parameters do not fit the method.
    InvalidParams(String),
    /// The client did not declare what the request needs; the error says what that is.
    MissingCapability(RpcError),
    /// The method is not served in this revision.
    MethodNotFound {
        /// Its name.
        method: String,
        /// Whether the caller's revision wants HTTP 404 for it.
        modern: bool,
    },
    /// `Last-Event-ID` was not issued to this session.
    EventIdForeign,
    /// The Origin or Host is not allowed.
    OriginForbidden(String),
    /// A request id that is already in flight in this session.
    DuplicateId,
    /// A bound on what a client may have open is reached.
    TooMany(&'static str),
    /// The store or the hub cannot be reached.
    BackendUnavailable(&'static str),
    /// The store was emptied, and sessions are opened again at a bounded rate.
    Recovering {
        /// When it is this client's turn, for all that can be told.
        after: Duration,
    },
    /// This replica is shutting down.
    Draining,
    /// The HTTP method is not served on this path.
    HttpMethod(&'static str),
}

/// An answer without the connection it goes to: HTTP status, JSON-RPC error, and when to come back.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The body.
    pub(crate) error: RpcError,
    /// Seconds for `Retry-After`, before jitter.
    pub(crate) retry_after: Option<Duration>,
}

// === impl Refusal ===

impl Refusal {
    /// The answer to this refusal.
    pub(crate) fn answer(&self) -> Answer {
        let (status, error) = self.status_and_error();
        let retry_after = match self {
            Self::Recovering { after } => Some(*after),
            _ => (status == 503).then_some(Duration::from_secs(1)),
        };
        Answer { status, error, retry_after }
    }

    fn status_and_error(&self) -> (u16, RpcError) {
        let invalid = |message: String| RpcError::invalid_request(message);
        match self {
            Self::Malformed(error) => (400, error.clone()),
            Self::BatchNotServed => (400, invalid("this revision has no batches; send one message".into())),
            Self::BodyTooLarge { limit } => {
                (413, invalid(format!("the body is larger than {limit} bytes (limits.body)")))
            }
            Self::HeadTooLarge { limit } => {
                (431, invalid(format!("the headers are larger than {limit} bytes (limits.header_bytes)")))
            }
            Self::BodyTooSlow => (408, invalid("the body did not arrive in time".into())),
            Self::UnsupportedMediaType => {
                (415, invalid("the Content-Type must be application/json, without a Content-Encoding".into()))
            }
            Self::NotAcceptable(wanted) => (406, invalid(format!("the Accept header must allow {wanted}"))),
            Self::SessionRequired => {
                (400, invalid("the header Mcp-Session-Id is missing; `initialize` issues one".into()))
            }
            Self::SessionUnknown => {
                (404, invalid("the session is unknown, expired or deleted; send `initialize` again".into()))
            }
            Self::SessionLive => {
                (400, invalid("the session is already initialized; leave Mcp-Session-Id out".into()))
            }
            Self::Revision(dispute) => (400, dispute.to_rpc()),
            Self::HeaderMismatch(reason) => (400, RpcError::new(code::HEADER_MISMATCH, reason)),
            Self::InvalidParams(reason) => (400, RpcError::invalid_params(reason)),
            Self::MissingCapability(error) => (400, error.clone()),
            Self::MethodNotFound { method, modern } => {
                (if *modern { 404 } else { 200 }, RpcError::method_not_found(&beginning(method)))
            }
            Self::EventIdForeign => (400, invalid("the Last-Event-ID was not issued in this session".into())),
            Self::OriginForbidden(reason) => (403, invalid(reason.clone())),
            Self::DuplicateId => (400, invalid("a request with this id is still in flight".into())),
            Self::TooMany(what) => (503, RpcError::internal(format!("too many {what}; try again later"))),
            Self::BackendUnavailable(what) => {
                (503, RpcError::internal(format!("{what} cannot be reached; try again later")))
            }
            Self::Recovering { .. } => {
                (503, RpcError::internal("all clients open new sessions at the moment; try again later"))
            }
            Self::Draining => (503, RpcError::internal("this replica is shutting down; try again")),
            Self::HttpMethod(allowed) => (405, invalid(format!("served on this path: {allowed}"))),
        }
    }
}

/// As much of what a client sent as its error repeats.
fn beginning(text: &str) -> Cow<'_, str> {
    /// Longer than any name of ours.
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

impl From<Malformed> for Refusal {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed.error)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable { .. } => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the store failed");
                Self::BackendUnavailable("the session store")
            }
            StoreError::Full { .. } => Self::TooMany("sessions"),
            StoreError::TooLarge { .. } | StoreError::NotAnInteger { .. } => {
                Self::InvalidParams(error.to_string())
            }
        }
    }
}

impl From<HubError> for Refusal {
    fn from(error: HubError) -> Self {
        match error {
            HubError::Full { .. } => Self::TooMany("streams"),
            error => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the hub failed");
                Self::BackendUnavailable("the hub")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use trunkline_store::Operation;

    use super::*;

    /// A 404 tells a client to throw its session away, and all of them would do so at once.
    #[test]
    fn a_store_or_hub_that_is_away_is_503_and_never_404() {
        let away = || std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into();
        let store =
            [Operation::Create, Operation::Load, Operation::Change, Operation::Touch, Operation::Delete];
        let store =
            store.map(|operation| Refusal::from(StoreError::Unavailable { operation, source: away() }));
        let hub = [
            trunkline_hub::Operation::Append,
            trunkline_hub::Operation::Follow,
            trunkline_hub::Operation::Signal,
        ];
        let hub = hub.map(|operation| Refusal::from(HubError::Unavailable { operation, source: away() }));
        for refusal in store.into_iter().chain(hub) {
            let answer = refusal.answer();
            assert_eq!((answer.status, answer.error.code), (503, code::INTERNAL), "{refusal:?}");
            assert!(answer.retry_after.is_some_and(|after| !after.is_zero()), "{refusal:?}");
            assert!(!answer.error.message.contains("refused"), "no internals: {}", answer.error.message);
        }
    }

    #[test]
    fn whoever_is_refused_for_now_is_told_when_to_come_back() {
        for (refusal, for_now) in [
            (Refusal::Draining, true),
            (Refusal::TooMany("streams"), true),
            (Refusal::BackendUnavailable("the hub"), true),
            (Refusal::SessionUnknown, false),
            (Refusal::SessionRequired, false),
            (Refusal::BodyTooLarge { limit: 1 }, false),
        ] {
            let answer = refusal.answer();
            assert_eq!(
                (answer.status == 503, answer.retry_after.is_some()),
                (for_now, for_now),
                "{refusal:?}"
            );
        }
    }
}
