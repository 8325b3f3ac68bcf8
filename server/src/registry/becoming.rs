//! A call that becomes a task when its handler says so.
//!
//! Two sides meet here: the handler, which wants to go on as a task, and whoever polls it, which makes the task and answers the
//! request with it.

use std::sync::Arc;

use tokio::sync::watch;

use super::{ask::Asker, outcome::HandlerError};

/// How far a call has come on its way to be a task.
pub(crate) struct Becoming(watch::Sender<Stage>);

enum Stage {
    /// An ordinary call.
    Call,
    /// The handler waits to go on as a task.
    Wanted,
    /// It is a task, and asks its questions so.
    Task(Arc<dyn Asker>),
    /// There can be no task, for this reason; the call goes on as it was.
    Refused(String),
}

// === impl Becoming ===

impl Becoming {
    /// An ordinary call so far.
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Stage::Call))
    }

    /// The handler's side: asks to go on as a task, and waits until it does.
    pub(super) async fn begin(&self) -> Result<(), HandlerError> {
        self.0.send_if_modified(|stage| {
            let first = matches!(stage, Stage::Call);
            if first {
                *stage = Stage::Wanted;
            }
            first
        });
        let mut stage = self.0.subscribe();
        let settled = stage.wait_for(|stage| matches!(stage, Stage::Task(_) | Stage::Refused(_))).await;
        match settled.as_deref() {
            Ok(Stage::Refused(reason)) => Err(HandlerError::new(reason)),
            // The sender is ours and lives as long as we wait.
            _ => Ok(()),
        }
    }

    /// How the call asks its questions, if it is a task by now.
    pub(super) fn asker(&self) -> Option<Arc<dyn Asker>> {
        match &*self.0.borrow() {
            Stage::Task(asker) => Some(asker.clone()),
            Stage::Call | Stage::Wanted | Stage::Refused(_) => None,
        }
    }

    /// The other side: waits until the handler asks to go on as a task.
    pub(crate) async fn wanted(&self) {
        let mut stage = self.0.subscribe();
        let _ours = stage.wait_for(|stage| matches!(stage, Stage::Wanted)).await;
    }

    /// It is a task from now on, and asks its questions this way.
    pub(crate) fn begun(&self, asker: Arc<dyn Asker>) {
        self.0.send_replace(Stage::Task(asker));
    }

    /// There can be no task.
    pub(crate) fn refused(&self, reason: String) {
        self.0.send_replace(Stage::Refused(reason));
    }
}
