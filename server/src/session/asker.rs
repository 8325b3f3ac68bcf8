//! Questions as requests on the call's own stream (up to 2025-11-25). The answer comes in a request of its own, to any replica.

use std::{future::pending, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use trunkline_protocol::{RequestId, lifecycle::AskRefused, model::InputRequest, revision::Related};

use super::live::{Answered, LiveSession};
use crate::{
    outbox::Outbox,
    registry::{Answering, AskError, Asker},
    telemetry::{Gauge, Held},
};

/// A question that waits; dropped, it waits no more.
struct Waiting<'a> {
    session: &'a LiveSession,
    question: RequestId,
    _held: Held,
}

/// The id of a question: names the replica that waits, and cannot be guessed.
pub(crate) fn question_id(replica: &str) -> RequestId {
    let random = URL_SAFE_NO_PAD.encode(rand::random::<[u8; 12]>());
    RequestId::Text(format!("q.{replica}.{random}").into())
}

/// The replica that waits for the answer to a question, if the id is one of ours.
pub(crate) fn asking_replica(question: &RequestId) -> Option<&str> {
    let RequestId::Text(text) = question else { return None };
    let (replica, random) = text.strip_prefix("q.")?.split_once('.')?;
    (!random.is_empty()).then_some(replica)
}

impl Asker for LiveSession {
    fn ask<'a>(
        &'a self,
        call: &'a RequestId,
        outbox: &'a Arc<Outbox>,
        _key: &'a str,
        question: &'a InputRequest,
    ) -> Answering<'a> {
        Box::pin(self.ask_on(call, outbox, question, Related::default(), pending()))
    }
}

// === impl LiveSession ===

impl LiveSession {
    /// Asks on the stream of a call, and waits for the answer, or until `over`: then nobody wants it any more.
    pub(super) async fn ask_on(
        &self,
        call: &RequestId,
        outbox: &Arc<Outbox>,
        question: &InputRequest,
        related: Related<'_>,
        over: impl Future<Output = ()>,
    ) -> Result<Box<RawValue>, AskError> {
        if !outbox.can_stream() {
            return Err(AskError::NoWay);
        }
        let id = question_id(&self.services().replica);
        let mut frame = Vec::with_capacity(256);
        self.record()
            .revision
            .write_question(&mut frame, &id, question, related)
            .map_err(|error| AskError::Malformed(error.to_string()))?;
        let (reply, answer) = oneshot::channel();
        let waiting = self.wait(id, call, reply)?;
        outbox.send(frame.into()).await.map_err(|_| AskError::Closed)?;
        let unanswered = tokio::select! {
            biased;
            answered = answer => return match answered {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(error)) => Err(AskError::Refused(error)),
                Err(_) => Err(AskError::Closed),
            },
            () = over => AskError::Cancelled,
            () = tokio::time::sleep(self.services().limits.question_time) => AskError::TimedOut,
        };
        self.take_back(&waiting.question, outbox).await;
        Err(unanswered)
    }

    fn wait(
        &self,
        question: RequestId,
        call: &RequestId,
        reply: oneshot::Sender<Answered>,
    ) -> Result<Waiting<'_>, AskError> {
        let asked = self.with_machine(|machine| machine.ask(question.clone(), call, reply));
        match asked {
            Ok(()) => {
                let held = self.services().metrics.hold(Gauge::Questions);
                Ok(Waiting { session: self, question, _held: held })
            }
            Err(AskRefused::CallCancelled) => Err(AskError::Cancelled),
            Err(AskRefused::TooManyOpen { .. }) => Err(AskError::TooMany),
            Err(AskRefused::CallEnded | AskRefused::Closed | AskRefused::DuplicateId) => {
                Err(AskError::Closed)
            }
        }
    }

    /// Tells the client that nobody waits for its answer any more.
    async fn take_back(&self, question: &RequestId, outbox: &Arc<Outbox>) {
        let mut frame = Vec::new();
        self.record().revision.write_cancelled(&mut frame, question, Some("nobody waits for the answer"));
        if let Err(error) = outbox.send(frame.into()).await {
            tracing::debug!(%error, "a question was not taken back");
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let _unanswered = self.session.with_machine(|machine| machine.answer(&self.question));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_the_replica_that_waits() {
        let id = question_id("r-1");
        assert_eq!(asking_replica(&id), Some("r-1"));
        assert_ne!(id, question_id("r-1"));
        for foreign in ["7", "q.", "q.r-1", "q.r-1."] {
            assert_eq!(asking_replica(&RequestId::from(foreign)), None, "{foreign}");
        }
        assert_eq!(asking_replica(&RequestId::Number(7)), None);
    }
}
