//! Waiting for something to become true, never longer than a deadline.
//!
//! The waits use Tokio's clock. A test that pauses it must not wait for real servers: the clock would jump to the deadline.

use std::{
    fmt::Debug,
    time::{Duration, Instant},
};

use crate::HarnessError;

/// How often it is looked: the error of every time that is measured by polling.
pub const LOOK: Duration = Duration::from_millis(10);

/// Far above what any start takes on a busy machine.
pub const START: Duration = Duration::from_secs(30);

/// A wait for one thing.
///
/// ```
/// # use std::time::Duration;
/// # use trunkline_harness::{HarnessError, wait::Wait};
/// # async fn wait(file: &std::path::Path) -> Result<(), HarnessError> {
/// let wait = Wait::new("the file", Duration::from_secs(5));
/// while !file.exists() {
///     wait.again(&"no file").await?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Wait {
    what: String,
    limit: Duration,
    end: Instant,
}

// === impl Wait ===

impl Wait {
    /// Begins to wait for `what`, for `limit` from now.
    #[must_use]
    pub fn new(what: &str, limit: Duration) -> Self {
        Self { what: what.to_owned(), limit, end: Instant::now() + limit }
    }

    /// It is not there yet, and `seen` is what was there instead: returns when it is time to look again.
    ///
    /// # Errors
    /// [`HarnessError::Late`], with what was seen, when the limit is over.
    pub async fn again<S: Debug + ?Sized>(&self, seen: &S) -> Result<(), HarnessError> {
        if Instant::now() >= self.end {
            let (what, limit) = (self.what.clone(), self.limit);
            return Err(HarnessError::Late { what, limit, seen: format!("{seen:?}") });
        }
        tokio::time::sleep(LOOK).await;
        Ok(())
    }
}
