//! The phases of a shutdown, as everything that has to end sees them.

use tokio_util::sync::CancellationToken;

/// The phases of a shutdown. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drain {
    draining: CancellationToken,
    closing: CancellationToken,
}

// === impl Drain ===

impl Drain {
    /// New sessions go elsewhere, idle streams end; running calls go on.
    pub(crate) fn begin(&self) {
        self.draining.cancel();
    }

    /// The grace period is over: everything ends.
    pub(crate) fn close(&self) {
        self.draining.cancel();
        self.closing.cancel();
    }

    /// Whether the shutdown has begun.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Whether the grace period is over.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Waits until the shutdown begins.
    pub(crate) async fn draining(&self) {
        self.draining.cancelled().await;
    }

    /// Waits until everything has to end.
    pub(crate) async fn closing(&self) {
        self.closing.cancelled().await;
    }
}
