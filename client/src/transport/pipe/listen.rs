//! Listening on a pipe. It is open anyway: what is wanted is subscribed to, and what comes is picked out.

use std::{pin::pin, sync::Arc};

use serde::Deserialize;
use tokio::{
    sync::mpsc::{self, Receiver, Sender},
    time::timeout,
};
use trunkline_protocol::{
    Method, RequestId,
    model::{ListenFilter, ListenParams},
};

use super::PipeLink;
use crate::{
    call::{Call, Trace},
    error::{Error, Phase},
    notifications::{Notification, Notifications, Opened, Reader, StreamEvent},
    shared::{Beat, Ctx},
};

/// Whoever listens, and what has come for all.
struct Listener {
    link: Arc<PipeLink>,
    heard: Receiver<StreamEvent>,
    told: Sender<StreamEvent>,
}

/// What a notification of a subscription says about itself.
#[derive(Deserialize)]
struct Tagged {
    #[serde(rename = "_meta")]
    meta: Tag,
}

#[derive(Deserialize)]
struct Tag {
    #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
    subscription: RequestId,
}

// === impl PipeLink ===

impl PipeLink {
    /// Subscribes to what is wanted and hears of it. On the older revisions everything that the server tells of is heard.
    pub(crate) fn listen(self: &Arc<Self>, filter: ListenFilter) -> Notifications {
        let (told, events) = mpsc::channel(self.shared.config.notifications.max(1));
        // Before anything is asked for, so that nothing is missed after it.
        let listener = Listener { link: self.clone(), heard: self.shared.subscribe(), told };
        let modern = self.dialect().is_some_and(|dialect| dialect.is_modern());
        let task = tokio::spawn(async move {
            if modern { listener.follow(filter).await } else { listener.hear(filter).await }
        });
        Notifications::new(events, Some(Reader { task: task.abort_handle(), cut: Arc::default() }))
    }
}

// === impl Listener ===

impl Listener {
    /// Up to 2025-11-25: resources are subscribed to one by one, and the rest comes unasked.
    async fn hear(mut self, filter: ListenFilter) {
        for uri in &filter.resource_subscriptions {
            if let Err(error) = self.subscribe(uri).await {
                return self.tell(StreamEvent::Ended(error)).await;
            }
        }
        let opened = Opened { nth: 0, replica: None, after: None, granted: bytes::Bytes::new() };
        self.tell(StreamEvent::Opened(opened)).await;
        loop {
            let event = tokio::select! {
                biased;
                () = self.told.closed() => return,
                event = self.heard.recv() => event,
                () = self.link.over.cancelled() => None,
            };
            match event {
                Some(event) => self.tell(event).await,
                None => {
                    let why = self.link.ended.lock().clone().unwrap_or_default();
                    return self.tell(StreamEvent::Ended(Error::in_flight(Phase::Read, why))).await;
                }
            }
        }
    }

    async fn subscribe(&self, uri: &str) -> Result<(), Error> {
        let call = Call::with_params(Method::ResourcesSubscribe, &serde_json::json!({ "uri": uri }))?;
        let (mut trace, beat) = (Trace::default(), Beat::new());
        let mut ctx = Ctx { call: &call, trace: &mut trace, beat: &beat };
        let subscribing = self.link.call(&mut ctx, b"");
        match self.link.shared.config.timeout {
            None => subscribing.await.map(drop),
            Some(after) => match timeout(after, subscribing).await {
                Ok(outcome) => outcome.map(drop),
                Err(_elapsed) => Err(Error::Timeout { after }),
            },
        }
    }

    /// From 2026-07-28 on: one request that lasts as long as somebody listens, and whose id is on all that it brings.
    async fn follow(mut self, filter: ListenFilter) {
        let params = ListenParams { notifications: filter };
        let call = match Call::with_params(Method::SubscriptionsListen, &params) {
            Ok(call) => call,
            Err(error) => return self.tell(StreamEvent::Ended(error)).await,
        };
        let id = self.link.shared.next_id();
        let (link, mut trace, beat) = (self.link.clone(), Trace::default(), Beat::new());
        let mut ctx = Ctx { call: &call, trace: &mut trace, beat: &beat };
        let mut lasting = pin!(link.call_as(id, &mut ctx, b""));
        loop {
            let event = tokio::select! {
                biased;
                () = self.told.closed() => return,
                Some(event) = self.heard.recv() => event,
                outcome = &mut lasting => {
                    let ended = || Error::in_flight(Phase::Read, "the server has ended the subscription");
                    return self.tell(StreamEvent::Ended(outcome.err().unwrap_or_else(ended))).await;
                }
            };
            match event {
                StreamEvent::Notification(notification) => {
                    if let Some(event) = of_subscription(id, notification) {
                        self.tell(event).await;
                    }
                }
                event => self.tell(event).await,
            }
        }
    }

    /// Waits for a slow receiver: what comes meanwhile waits in `heard`, and what finds no room there is counted.
    async fn tell(&self, event: StreamEvent) {
        // When it is gone, this task is ended.
        let _gone = self.told.send(event).await;
    }
}

/// What a notification is to the subscription; nothing if it is another's.
fn of_subscription(id: i64, notification: Notification) -> Option<StreamEvent> {
    let tagged: Tagged = serde_json::from_slice(&notification.params).ok()?;
    if tagged.meta.subscription != RequestId::Number(id) {
        return None;
    }
    if &*notification.method == Method::SubscriptionsAcknowledged.name() {
        let granted = notification.params;
        return Some(StreamEvent::Opened(Opened { nth: 0, replica: None, after: None, granted }));
    }
    Some(StreamEvent::Notification(notification))
}
