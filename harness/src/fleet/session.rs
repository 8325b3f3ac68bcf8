//! The session of a client: opened when it is needed, and opened again when it is lost.

use std::sync::Arc;

use serde_json::json;
use trunkline_protocol::{Revision, revision::Era};

use super::{
    client::Client,
    history::{End, What},
    message::{Ask, hello},
};

/// What names a session to the server. Of the revision without sessions there is one, without an id.
#[derive(Debug)]
pub(super) struct Session {
    /// The client's n-th; 0 before there is one.
    pub(super) number: u32,
    pub(super) id: Option<String>,
}

// === impl Session ===

impl Session {
    /// What there is before there is a session.
    pub(super) fn none() -> Self {
        Self { number: 0, id: None }
    }
}

// === impl Client ===

impl Client {
    /// The session, opened if there is none; `None` if the fleet ends before that succeeds.
    pub(super) async fn session(&self) -> Option<Arc<Session>> {
        let mut current = self.current.lock().await;
        if let Some(session) = &*current {
            return Some(session.clone());
        }
        if self.revision.era() == Era::Modern {
            return Some(current.insert(Arc::new(Session::none())).clone());
        }
        loop {
            if let Some(session) = Box::pin(self.open()).await {
                return Some(current.insert(Arc::new(session)).clone());
            }
            let pause = self.jitter(200..400);
            if !self.plan.pause(pause).await {
                return None;
            }
        }
    }

    /// Lets go of a session that the server does not know any more.
    pub(super) async fn let_go(&self, lost: &Session) {
        let mut current = self.current.lock().await;
        if current.as_ref().is_some_and(|current| current.number == lost.number) {
            *current = None;
        }
    }

    /// Ends the session.
    pub(super) async fn delete(&self) {
        let session = self.current.lock().await.take();
        if let Some(session) = session.filter(|session| session.id.is_some()) {
            let _deleted = self.call(&session, &Ask::delete()).await;
        }
    }

    /// Says hello, and subscribes to everything the client listens to.
    async fn open(&self) -> Option<Session> {
        let hello = Ask::plumbing("initialize", hello(self.revision));
        let ended = self.call(&Session::none(), &hello).await;
        ended.value()?;
        let agreed = ended.message["result"]["protocolVersion"].as_str().and_then(Revision::from_name);
        if agreed != Some(self.revision) {
            return None;
        }
        let session = Session { number: self.next_session(), id: Some(ended.session?) };
        self.log.note(What::Opened { session: session.number });
        let mut asks = vec![Ask::notification("notifications/initialized")];
        let subscribe = |uri| Ask::plumbing("resources/subscribe", json!({"uri": uri}));
        asks.extend(self.plan.subscriptions(self.index).into_iter().map(subscribe));
        for ask in asks {
            if self.call(&session, &ask).await.end != End::Done {
                return None;
            }
        }
        Some(session)
    }
}
