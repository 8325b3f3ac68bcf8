//! The actor of a session: one thing after another, where order matters or something has to be waited for.

use std::sync::Arc;

use actix::{Actor, ActorContext, AtomicResponse, Context, Handler, MessageResult, WrapFuture};
use bytes::Bytes;
use trunkline_protocol::lifecycle::{ListenRefused, ListenerToken};
use trunkline_store::{Key, Kind};

use super::{
    live::LiveSession,
    messages::{Listen, ListenerGone, SetLevel, Stop, Subscribe, Unsubscribe},
};
use crate::{error::Refusal, record::field};

/// Messages that wait for a session. One client sends them, each after an HTTP request; past this, senders wait.
const MAILBOX: usize = 32;

/// Serves one session on one replica.
pub(crate) struct SessionActor {
    session: Arc<LiveSession>,
}

// === impl SessionActor ===

impl SessionActor {
    /// The actor of a session.
    pub(super) fn new(session: Arc<LiveSession>) -> Self {
        Self { session }
    }
}

impl Actor for SessionActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<Listen> for SessionActor {
    type Result = Result<Option<ListenerToken>, ListenRefused>;

    fn handle(&mut self, Listen(listener): Listen, _: &mut Self::Context) -> Self::Result {
        self.session.with_machine(|machine| {
            if machine.listener().is_some_and(|open| open.number > listener.number) {
                return Ok(None);
            }
            let opened = machine.open_listener(listener)?;
            if let Some(older) = opened.replaced {
                older.end.cancel();
            }
            Ok(Some(opened.token))
        })
    }
}

impl Handler<ListenerGone> for SessionActor {
    type Result = ();

    fn handle(&mut self, ListenerGone(token): ListenerGone, _: &mut Self::Context) {
        let _ended = self.session.with_machine(|machine| machine.close_listener(token));
    }
}

impl Handler<SetLevel> for SessionActor {
    type Result = AtomicResponse<Self, Result<(), Refusal>>;

    fn handle(&mut self, SetLevel(level): SetLevel, _: &mut Self::Context) -> Self::Result {
        let session = self.session.clone();
        let value = Bytes::from_static(level.as_str().as_bytes());
        AtomicResponse::new(Box::pin(
            async move {
                set(&session, field::LOG_LEVEL, value).await?;
                session.change_record(|record| record.log_level = Some(level));
                Ok(())
            }
            .into_actor(self),
        ))
    }
}

impl Handler<Subscribe> for SessionActor {
    type Result = AtomicResponse<Self, Result<(), Refusal>>;

    fn handle(&mut self, Subscribe(uri): Subscribe, _: &mut Self::Context) -> Self::Result {
        let session = self.session.clone();
        AtomicResponse::new(Box::pin(
            async move {
                let limit = session.services().limits.subscriptions_per_session;
                let record = session.record();
                if !record.subscriptions.contains(&uri) && record.subscriptions.len() >= limit {
                    return Err(Refusal::InvalidParams(format!(
                        "a session has at most {limit} subscriptions (limits.subscriptions_per_session)"
                    )));
                }
                set(&session, &subscription_field(&uri), Bytes::from_static(b"1")).await?;
                session.change_record(|record| {
                    record.subscriptions.insert(uri.clone());
                });
                Ok(())
            }
            .into_actor(self),
        ))
    }
}

impl Handler<Unsubscribe> for SessionActor {
    type Result = AtomicResponse<Self, Result<(), Refusal>>;

    fn handle(&mut self, Unsubscribe(uri): Unsubscribe, _: &mut Self::Context) -> Self::Result {
        let session = self.session.clone();
        AtomicResponse::new(Box::pin(
            async move {
                let store = &session.services().store;
                let removed = store.remove(&key(&session), &subscription_field(&uri)).await?;
                removed.ok_or(Refusal::SessionUnknown)?;
                session.change_record(|record| {
                    record.subscriptions.remove(&uri);
                });
                Ok(())
            }
            .into_actor(self),
        ))
    }
}

impl Handler<Stop> for SessionActor {
    type Result = MessageResult<Stop>;

    fn handle(&mut self, Stop: Stop, context: &mut Self::Context) -> Self::Result {
        context.stop();
        MessageResult(())
    }
}

fn key(session: &LiveSession) -> Key {
    Key::new(Kind::Session, session.id())
}

fn subscription_field(uri: &str) -> String {
    format!("{}{uri}", field::SUBSCRIPTION)
}

async fn set(session: &LiveSession, field: &str, value: Bytes) -> Result<(), Refusal> {
    let alive = session.services().store.set(&key(session), field, value).await?;
    if alive { Ok(()) } else { Err(Refusal::SessionUnknown) }
}
