//! What can go wrong between here and Redis.

use redis::{ErrorKind, RedisError, ServerErrorKind};

/// A failed operation.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// Redis was not reached, did not answer in time, or cannot serve now. Whether a change took effect is unknown. Try later.
    #[error("Redis is not available")]
    Unavailable(#[source] RedisError),
    /// Redis has no memory left for changes. Nothing was changed. Try later.
    #[error("Redis is full")]
    Full(#[source] RedisError),
    /// Too few replicas confirmed a change in time. It took effect, and is lost if the primary fails now.
    #[error("only {confirmed} of {wanted} replicas confirmed the change")]
    NotReplicated {
        /// How many did.
        confirmed: u32,
        /// How many had to.
        wanted: u32,
    },
    /// Redis refused the command itself: a mistake here, or a missing permission. Nothing was changed.
    #[error("Redis refused the command")]
    Refused(#[source] RedisError),
}

// === impl Failure ===

impl Failure {
    /// Something other than Redis's own words says that it is not available.
    pub(crate) fn unavailable(why: &'static str) -> Self {
        Self::Unavailable(RedisError::from((ErrorKind::Io, why)))
    }
}

impl From<RedisError> for Failure {
    fn from(error: RedisError) -> Self {
        match error.code() {
            Some("OOM") => return Self::Full(error),
            // Cannot save to disk; too few replicas for its own bound; a failover is going on; replaced while it started.
            Some("MISCONF" | "NOREPLICAS" | "UNBLOCKED" | "BUSY") => return Self::Unavailable(error),
            _ => {}
        }
        match error.kind() {
            ErrorKind::Io
            | ErrorKind::Parse
            | ErrorKind::ClusterConnectionNotFound
            | ErrorKind::MasterNameNotFoundBySentinel
            | ErrorKind::Server(
                ServerErrorKind::BusyLoading
                | ServerErrorKind::Moved
                | ServerErrorKind::Ask
                | ServerErrorKind::TryAgain
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ReadOnly,
            ) => Self::Unavailable(error),
            _ => Self::Refused(error),
        }
    }
}

/// Whether a connection that answered so should be replaced: it is broken, stuck, or no longer leads to a primary.
pub(crate) fn condemns(error: &RedisError) -> bool {
    error.is_unrecoverable_error()
        || error.is_timeout()
        || error.is_io_error()
        || matches!(error.kind(), ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown))
}

/// An error with its cause.
pub(crate) fn chain(failure: &Failure) -> String {
    match std::error::Error::source(failure) {
        Some(source) => format!("{failure}: {source}"),
        None => failure.to_string(),
    }
}
