//! What replicas tell one another of sessions: an answer to the one that asked, a cancellation or an end to all.
//!
//! What somebody waits for goes through logs, one that each replica reads alone and one that all read: a replica that was
//! deaf for a moment hears it afterwards. What is found out anyway is a signal.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use trunkline_hub::{Channel, Delivery, HubError, Position, Retention, Topic};
use trunkline_protocol::{RequestId, RpcError};

use super::{Core, live::Answered};
use crate::{
    following::{Following, Life},
    registry::Services,
};

/// How much of what replicas tell one another is kept: as long as one may be deaf and still be there for its clients. 10 000
/// of some hundred bytes, or of the size of an answer where it is one.
const KEPT: Retention = Retention { entries: 10_000, age: Duration::from_secs(60) };

/// The pause before a log that cannot be followed is tried again.
const PAUSE: Duration = Duration::from_millis(500);

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
    /// A session has a new stream that listens.
    Listening {
        /// The session.
        session: Box<str>,
        /// Its number; the highest carries the messages.
        number: i64,
    },
    /// A task has changed in the store.
    Task {
        /// The task.
        task: Box<str>,
    },
}

/// The log that one replica reads.
fn inbox(replica: &str) -> Topic {
    Topic(format!("inbox.{replica}").into())
}

/// The log that all replicas read.
fn everybody() -> Topic {
    Topic("peers".into())
}

/// The channel that all replicas listen to.
fn whoever_listens() -> Channel {
    Channel("tasks".into())
}

/// Tells one replica.
///
/// # Errors
/// That the hub cannot be reached.
pub(crate) async fn tell(services: &Services, replica: &str, signal: &Signal) -> Result<(), HubError> {
    services.hub.append(&inbox(replica), None, KEPT, payload(signal), false).await?;
    Ok(())
}

/// Tells all replicas.
///
/// # Errors
/// That the hub cannot be reached.
pub(crate) async fn tell_all(services: &Services, signal: &Signal) -> Result<(), HubError> {
    services.hub.append(&everybody(), None, KEPT, payload(signal), false).await?;
    Ok(())
}

/// Tells whoever listens now.
///
/// # Errors
/// That the hub cannot be reached.
pub(crate) async fn mention(services: &Services, signal: &Signal) -> Result<(), HubError> {
    services.hub.signal(&whoever_listens(), payload(signal)).await
}

fn payload(signal: &Signal) -> Bytes {
    serde_json::to_vec(signal).map(Bytes::from).unwrap_or_default()
}

/// Takes what other replicas tell, as long as it is polled.
pub(crate) async fn listen(core: &Arc<Core>) {
    let own = inbox(&core.services.replica);
    tokio::join!(read(core, own, Some(Position::default())), read(core, everybody(), None), hear(core));
}

/// Reads a log from a place on, or from now.
async fn read(core: &Arc<Core>, topic: Topic, from: Option<Position>) {
    let hub = &core.services.hub;
    let place = match from {
        Some(place) => place,
        None => now(core, &topic).await,
    };
    let mut log = Following::new(hub.clone(), topic, place, Life::Renewed);
    while let Some(delivery) = log.next().await {
        match delivery {
            Delivery::Entry(entry) => hand_over(core, &entry.payload),
            Delivery::Gap => {
                core.services.metrics.gap();
                tracing::warn!("some of what other replicas told was missed");
            }
            Delivery::Gone => {}
        }
    }
}

/// The place from where everything is new.
async fn now(core: &Core, topic: &Topic) -> Position {
    loop {
        match core.services.hub.position(topic).await {
            Ok(place) => return place,
            Err(error) => {
                tracing::debug!(%error, "what other replicas tell is not received; trying again");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn hear(core: &Arc<Core>) {
    loop {
        match core.services.hub.listen(&whoever_listens()).await {
            Ok(mut signals) => {
                while let Some(signal) = signals.next().await {
                    hand_over(core, &signal.payload);
                }
            }
            Err(error) => tracing::debug!(%error, "signals of other replicas are not received; trying again"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn hand_over(core: &Arc<Core>, payload: &[u8]) {
    match serde_json::from_slice(payload) {
        Ok(signal) => take(core, signal),
        // One of a later version.
        Err(error) => tracing::debug!(%error, "what another replica told cannot be read"),
    }
}

fn take(core: &Arc<Core>, signal: Signal) {
    match signal {
        Signal::Answer { session, question, answer } => answered(core, &session, &question, Ok(answer)),
        Signal::Refused { session, question, error } => answered(core, &session, &question, Err(error)),
        Signal::Cancel { session, call } => {
            if let Some(session) = core.directory.here(&session) {
                session.cancel_call(&call);
            }
        }
        Signal::Ended { session } => core.directory.close(&session),
        Signal::Listening { session, number } => {
            if let Some(session) = core.directory.here(&session) {
                session.end_older_listener(number);
            }
        }
        Signal::Task { task } => core.tasks.changed(&task),
    }
}

/// Wakes whoever waits here for the answer. One that comes too late is counted and dropped.
pub(crate) fn answered(core: &Core, session: &str, question: &RequestId, answered: Answered) {
    let session = core.directory.here(session);
    let waiting = session.and_then(|session| session.take_question(question));
    if waiting.is_none_or(|waiting| waiting.send(answered).is_err()) {
        core.services.metrics.late_answer();
    }
}
