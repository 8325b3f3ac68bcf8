//! What a session's actor is told, one message a verb.

use actix::Message;
use trunkline_protocol::{
    lifecycle::{ListenRefused, ListenerToken},
    model::LogLevel,
};

use super::live::Listener;
use crate::error::Refusal;

/// A stream that listens for what belongs to no call. The newest carries the messages; an older one ends. `None` if a newer one
/// was faster.
#[derive(Debug, Message)]
#[rtype(result = "Result<Option<ListenerToken>, ListenRefused>")]
pub(crate) struct Listen(pub(crate) Listener);

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

/// The session has nothing for the actor to do.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Stop;
