//! What a session's actor is told, one message a verb.

use actix::Message;
use tokio_util::sync::CancellationToken;
use trunkline_protocol::{
    RequestId,
    lifecycle::{ListenRefused, ListenerToken},
    model::LogLevel,
};

use super::live::Answered;
use crate::error::Refusal;

/// A stream that listens for what belongs to no call. The newest carries the messages; an older one ends.
#[derive(Debug, Message)]
#[rtype(result = "Result<ListenerToken, ListenRefused>")]
pub(crate) struct Listen {
    /// Fired to end the stream.
    pub(crate) end: CancellationToken,
}

/// A listening stream has ended.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct ListenerGone(pub(crate) ListenerToken);

/// The client wants log messages from this level on.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), Refusal>")]
pub(crate) struct SetLevel(pub(crate) LogLevel);

/// The client wants to hear of a resource's changes.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), Refusal>")]
pub(crate) struct Subscribe(pub(crate) Box<str>);

/// The client no longer wants to.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), Refusal>")]
pub(crate) struct Unsubscribe(pub(crate) Box<str>);

/// The client answered a question. `false` if nobody waits for it.
#[derive(Debug, Message)]
#[rtype(result = "bool")]
pub(crate) struct Answer {
    /// The question.
    pub(crate) question: RequestId,
    /// What it says.
    pub(crate) answered: Answered,
}

/// The client cancelled a call. `false` if it does not run here.
#[derive(Debug, Message)]
#[rtype(result = "bool")]
pub(crate) struct Cancel(pub(crate) RequestId);

/// The session has nothing for the actor to do.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Stop;
