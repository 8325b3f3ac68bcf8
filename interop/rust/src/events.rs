//! Values in order of arrival, and a way to wait for them without polling.

use std::time::Duration;

use tokio::sync::watch;

/// What has arrived so far.
#[derive(Debug)]
pub(crate) struct Events<T>(watch::Sender<Vec<T>>);

// === impl Events ===

impl<T> Default for Events<T> {
    fn default() -> Self {
        Self(watch::Sender::new(Vec::new()))
    }
}

impl<T: Clone> Events<T> {
    pub(crate) fn put(&self, value: T) {
        self.0.send_modify(|values| values.push(value));
    }

    pub(crate) fn take(&self) -> Vec<T> {
        self.0.send_replace(Vec::new())
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0.borrow().clone()
    }

    /// Waits until `done` holds of the values; false when that took longer than `limit`.
    pub(crate) async fn until(&self, limit: Duration, done: impl FnMut(&Vec<T>) -> bool) -> bool {
        let mut seen = self.0.subscribe();
        matches!(tokio::time::timeout(limit, seen.wait_for(done)).await, Ok(Ok(_)))
    }
}
