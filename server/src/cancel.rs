//! How a call is cancelled.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// Cancels a call. Nearly every call is over before anybody waits for its cancellation, so that what can be waited for is
/// made when it is first asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancel(Arc<OnceLock<CancellationToken>>);

/// Cancels a call when it is dropped, unless it was [disarmed](CancelOnDrop::disarm).
#[derive(Debug)]
pub(crate) struct CancelOnDrop(Option<Cancel>);

// === impl Cancel ===

impl Cancel {
    /// Cancels the call.
    pub(crate) fn cancel(&self) {
        self.token().cancel();
    }

    /// Whether it was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.get().is_some_and(CancellationToken::is_cancelled)
    }

    /// What can be waited for.
    pub(crate) fn token(&self) -> &CancellationToken {
        self.0.get_or_init(CancellationToken::new)
    }

    /// Cancels it when what is returned is dropped.
    pub(crate) fn on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(Some(self.clone()))
    }
}

// === impl CancelOnDrop ===

impl CancelOnDrop {
    /// Does not cancel after all.
    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(cancel) = &self.0 {
            cancel.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_early_or_late_is_told() {
        let cancel = Cancel::default();
        let early = cancel.token().clone();
        assert!(!cancel.is_cancelled() && !early.is_cancelled());
        cancel.cancel();
        assert!(cancel.is_cancelled() && early.is_cancelled() && cancel.token().is_cancelled());

        let unwatched = Cancel::default();
        assert!(!unwatched.is_cancelled());
        unwatched.cancel();
        assert!(unwatched.is_cancelled() && unwatched.token().is_cancelled());
    }

    #[test]
    fn a_guard_cancels_unless_it_is_disarmed() {
        let (dropped, disarmed) = (Cancel::default(), Cancel::default());
        drop(dropped.on_drop());
        disarmed.on_drop().disarm();
        assert!(dropped.is_cancelled() && !disarmed.is_cancelled());
    }
}
