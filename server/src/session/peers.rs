//! What replicas tell one another of sessions: an answer to the one that asked, a cancellation or an end to all.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use trunkline_hub::{Channel, HubError};
use trunkline_protocol::{RequestId, RpcError};

use super::{
    Core,
    live::Answered,
    messages::{Answer, Cancel},
};
use crate::registry::Services;

/// A signal between replicas.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Signal {
    /// A client answered a question.
    Answer {
        /// The session.
        session: Box<str>,
        /// The question.
        question: RequestId,
        /// What it answered.
        answer: Box<RawValue>,
    },
    /// A client answered a question with an error.
    Refused {
        /// The session.
        session: Box<str>,
        /// The question.
        question: RequestId,
        /// The error.
        error: RpcError,
    },
    /// A client cancelled a call.
    Cancel {
        /// The session.
        session: Box<str>,
        /// The call.
        call: RequestId,
    },
    /// A session is over.
    Ended {
        /// The session.
        session: Box<str>,
    },
    /// A task has changed in the store.
    Task {
        /// The task.
        task: Box<str>,
    },
}

/// The channel that one replica listens to.
pub(crate) fn inbox(replica: &str) -> Channel {
    Channel(format!("inbox/{replica}").into())
}

/// The channel that all replicas listen to.
pub(crate) fn everybody() -> Channel {
    Channel("sessions".into())
}

/// Sends a signal.
///
/// # Errors
/// That the hub cannot be reached.
pub(crate) async fn send(services: &Services, channel: &Channel, signal: &Signal) -> Result<(), HubError> {
    let payload = serde_json::to_vec(signal).map(Bytes::from).unwrap_or_default();
    services.hub.signal(channel, payload).await
}

/// Takes what other replicas signal, until the hub ends.
///
/// # Errors
/// That the hub cannot be listened to.
pub(crate) async fn listen(core: &Arc<Core>) -> Result<(), HubError> {
    let services = &core.services;
    let inbox = services.hub.listen(&inbox(&services.replica)).await?;
    let everybody = services.hub.listen(&everybody()).await?;
    let mut signals = futures_util::stream::select(inbox, everybody);
    while let Some(signal) = signals.next().await {
        match serde_json::from_slice(&signal.payload) {
            Ok(signal) => take(core, signal).await,
            Err(error) => tracing::warn!(%error, "a signal of another replica cannot be read"),
        }
    }
    Ok(())
}

async fn take(core: &Arc<Core>, signal: Signal) {
    match signal {
        Signal::Answer { session, question, answer } => answered(core, &session, question, Ok(answer)).await,
        Signal::Refused { session, question, error } => {
            answered(core, &session, question, Err(error)).await;
        }
        Signal::Cancel { session, call } => {
            if let Some(session) = core.directory.here(&session) {
                let _running = session.actor().send(Cancel(call)).await;
            }
        }
        Signal::Ended { session } => core.directory.close(&session),
        Signal::Task { task } => core.tasks.changed(&task),
    }
}

/// Wakes whoever waits here for the answer. One that comes too late is counted and dropped.
pub(crate) async fn answered(core: &Arc<Core>, session: &str, question: RequestId, answered: Answered) {
    let taken = match core.directory.here(session) {
        Some(session) => session.actor().send(Answer { question, answered }).await.unwrap_or(false),
        None => false,
    };
    if !taken {
        core.services.metrics.late_answer();
    }
}
