//! What can go wrong, in which step, and whether to try again.

use std::error::Error;

/// The step that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Creating a record.
    Create,
    /// Reading a record.
    Load,
    /// Changing a field.
    Change,
    /// Renewing the expiry.
    Touch,
    /// Deleting a record.
    Delete,
}

/// Whether the same call may succeed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The store cannot be reached or is busy: answer 503 and let the caller come back.
    Later,
    /// The call itself is at fault.
    Never,
}

/// A failed store operation. That a record does not exist is not an error; see the return types.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The backend could not be reached, or did not answer in time. Whether a change took effect is unknown.
    #[error("the store did not {operation:?}")]
    Unavailable {
        /// What was attempted.
        operation: Operation,
        /// Why it failed.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The store is full: its bound on the number of records is reached.
    #[error("the store holds its limit of {limit} records")]
    Full {
        /// The bound.
        limit: usize,
    },
    /// A value or the number of fields is over its bound. Nothing was changed.
    #[error("{what} of {size} exceeds the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        size: usize,
        /// The bound.
        limit: usize,
    },
    /// The field holds something that is not an integer, or the sum leaves the range of `i64`.
    #[error("the field {field:?} is not an integer that can be incremented by this amount")]
    NotAnInteger {
        /// Which field.
        field: String,
    },
}

// === impl StoreError ===

impl StoreError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            Self::Unavailable { .. } | Self::Full { .. } => Retry::Later,
            Self::TooLarge { .. } | Self::NotAnInteger { .. } => Retry::Never,
        }
    }
}
