//! What can go wrong, and in which step.

use std::error::Error;

/// The step that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Appending to a log.
    Append,
    /// Reading a log.
    Follow,
    /// Taking a log over.
    Claim,
    /// Deleting a log.
    Delete,
    /// Sending a signal.
    Signal,
    /// Listening for signals.
    Listen,
}

/// A failed hub operation.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The backend could not be reached, or did not answer in time. Whether an append took effect is unknown. Try later.
    #[error("the hub did not {operation:?}")]
    Unavailable {
        /// What was attempted.
        operation: Operation,
        /// Why it failed.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The log already has its last entry; nothing follows it.
    #[error("the log has ended")]
    Ended,
    /// Somebody else has taken the log over since; what this owner still says is not wanted.
    #[error("the log was taken over by another owner")]
    Fenced,
    /// The log does not exist, has expired, or was deleted.
    #[error("the log does not exist")]
    Unknown,
    /// An entry, a signal or a name is larger than it may be. Nothing was changed.
    #[error("{what} of {size} bytes exceeds the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size in bytes.
        size: usize,
        /// The bound in bytes.
        limit: usize,
    },
    /// A bound of the hub as a whole is reached. Nothing was changed. Try later.
    #[error("the hub holds its limit of {limit} {what}")]
    Full {
        /// What there is too much of.
        what: &'static str,
        /// The bound.
        limit: usize,
    },
}

/// Refuses what is larger than it may be.
pub(crate) fn within(what: &'static str, size: usize, limit: usize) -> Result<(), HubError> {
    if size > limit { Err(HubError::TooLarge { what, size, limit }) } else { Ok(()) }
}
