//! Streams that are opened to listen: GET up to 2025-11-25, `subscriptions/listen` from 2026-07-28 on.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use serde::Serialize;
use tokio::{
    sync::{Notify, mpsc},
    time::sleep,
};
use trunkline_protocol::{
    RequestId,
    model::{ListenFilter, ListenParams},
};

use super::{
    events::Events,
    link::{Broken, Link},
    reply::{Media, Reply},
    session::Session,
    stream::Asked,
};
use crate::{
    call::{Call, Trace},
    error::Error,
    notifications::{Notification, Notifications, Opened, Reader, Source, StreamEvent},
    shared::{Beat, Ctx},
    transport::http1::Request,
    wire::{self, Parts, Said},
};

/// The first message of a subscription.
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// One listener, over all the streams that it takes.
struct Listening {
    link: Arc<Link>,
    filter: ListenFilter,
    sender: mpsc::Sender<StreamEvent>,
    cut: Arc<Notify>,
    /// How many streams were opened.
    opened: u32,
    /// The last event, where events have ids.
    last: Option<Arc<str>>,
    /// How long the server wants the client to wait.
    retry: Option<Duration>,
    /// Attempts since something was heard.
    attempts: u32,
    /// The session that the last stream was of.
    sessions: u64,
    authorized: bool,
}

/// Why a stream is not read any more.
enum Stop {
    /// Another one is opened.
    Again(Option<Error>),
    /// The session is unknown to the server.
    Forgotten(Arc<Session>),
    /// It is over.
    Over(Error),
    /// Nobody listens.
    Unheard,
}

/// An open stream: the id of the request that asked for it, where one did.
struct Stream {
    events: Events,
    id: Option<i64>,
    replica: Option<Box<str>>,
}

// === impl Link ===

impl Link {
    /// Listens until what is returned is dropped.
    pub(crate) fn listen(self: &Arc<Self>, filter: ListenFilter) -> Notifications {
        let (sender, receiver) = mpsc::channel(self.shared.config.notifications.max(1));
        let cut = Arc::new(Notify::new());
        let listening = Listening {
            link: self.clone(),
            filter,
            sender,
            cut: cut.clone(),
            opened: 0,
            last: None,
            retry: None,
            attempts: 0,
            sessions: self.sessions.load(Ordering::Acquire),
            authorized: false,
        };
        let task = tokio::spawn(listening.run()).abort_handle();
        Notifications::new(receiver, Some(Reader { task, cut }))
    }
}

// === impl Listening ===

impl Listening {
    async fn run(mut self) {
        loop {
            let stop = match self.once().await {
                Ok(()) => Stop::Again(None),
                Err(stop) => stop,
            };
            let stop = match stop {
                Stop::Again(error) => self.pause(error).await,
                Stop::Forgotten(session) => self.link.renew(&session).await.map_err(Stop::Over),
                stop => Err(stop),
            };
            match stop {
                Ok(()) => {}
                Err(Stop::Over(error)) => {
                    // Whoever does not listen any more does not need to know.
                    let _unheard = self.sender.send(StreamEvent::Ended(error)).await;
                    return;
                }
                Err(_) => return,
            }
        }
    }

    /// Opens one stream and reads it to its end.
    async fn once(&mut self) -> Result<(), Stop> {
        let session = self.link.session().ok_or(Stop::Over(Error::Closed))?;
        self.notice_renewal().await?;
        let mut stream = self.open(&session).await?;
        self.authorized = false;
        if self.opened == 0 && stream.id.is_none() {
            self.subscribe(&session).await?;
        }
        if stream.id.is_none() {
            // A subscription tells itself when it is open.
            self.tell_opened(&stream, Bytes::new()).await?;
        }
        let mut asked = Asked::default();
        let cut = self.cut.clone();
        tokio::select! {
            biased;
            outcome = self.read(&session, &mut stream, &mut asked) => outcome,
            () = cut.notified() => Err(Stop::Again(Some(Error::in_flight(crate::Phase::Read, "it was cut")))),
        }
    }

    /// Whether the session is another one than that of the last stream.
    async fn notice_renewal(&mut self) -> Result<(), Stop> {
        let sessions = self.link.sessions.load(Ordering::Acquire);
        if sessions == self.sessions {
            return Ok(());
        }
        self.sessions = sessions;
        self.last = None;
        self.say(StreamEvent::Renewed).await
    }

    async fn open(&mut self, session: &Arc<Session>) -> Result<Stream, Stop> {
        let (request, id) = if session.dialect.is_modern() {
            let (request, id) = self.subscription(session).map_err(Stop::Over)?;
            (request, Some(id))
        } else {
            let after = self.last.as_deref().filter(|_| session.revision().features().resumable);
            (session.get(after).map_err(Stop::Over)?, None)
        };
        let reply = self.link.request(request).await.map_err(|error| Stop::Again(Some(error)))?;
        let replica = reply.replica();
        match (reply.status, reply.media()) {
            (200, Media::Events) => {
                let events = Events::new(reply.body, self.link.shared.config.limits);
                Ok(Stream { events, id, replica })
            }
            _ => Err(self.not_opened(session, reply).await),
        }
    }

    /// The POST of a subscription, and its id.
    fn subscription(&self, session: &Session) -> Result<(Request, i64), Error> {
        const METHOD: &str = "subscriptions/listen";
        let id = self.link.shared.next_id();
        let params = to_json(&ListenParams { notifications: self.filter.clone() })?;
        let log = self.link.shared.log();
        let parts = Parts { id, method: METHOD, params: &params, extra: b"", progress: false, log };
        let body = session.dialect.request(&parts)?;
        Ok((session.request(METHOD, None, &[], body)?, id))
    }

    /// What an answer that is no stream means for this listener.
    async fn not_opened(&mut self, session: &Arc<Session>, reply: Reply) -> Stop {
        let status = reply.status;
        if status == 404 && session.id.is_some() {
            return Stop::Forgotten(session.clone());
        }
        if (200..400).contains(&status) {
            return Stop::Over(reply.not_mcp().await);
        }
        let (Broken::Error(error), _) = reply.refusal(session.id.is_some()).await else {
            return Stop::Over(Error::malformed("a stream was redirected"));
        };
        if status == 401 && self.link.shared.config.bearer.is_some() && !self.authorized {
            self.authorized = true;
            let refreshed = self.link.refresh(session.place.token.as_deref()).await;
            return refreshed.map_or_else(Stop::Over, |()| Stop::Again(None));
        }
        // A stream that is open already (409) is the ghost of the one that broke.
        if error.is_transient() || status == 409 { Stop::Again(Some(error)) } else { Stop::Over(error) }
    }

    /// Subscribes to what the filter names, before anything is said to have been opened.
    async fn subscribe(&self, session: &Arc<Session>) -> Result<(), Stop> {
        for uri in &self.filter.resource_subscriptions {
            let params = to_json(&serde_json::json!({ "uri": uri })).map_err(Stop::Over)?;
            let (call, beat) = (Call::new("resources/subscribe", params), Beat::new());
            let mut trace = Trace::default();
            let mut ctx = Ctx { call: &call, trace: &mut trace, beat: &beat };
            match self.link.call(&mut ctx, b"").await {
                Ok(_) => drop(self.link.subscribed.lock().insert(uri.clone())),
                Err(Error::SessionLost { .. }) => return Err(Stop::Forgotten(session.clone())),
                Err(error) => return Err(Stop::Over(error)),
            }
        }
        Ok(())
    }

    async fn read(
        &mut self,
        session: &Arc<Session>,
        stream: &mut Stream,
        asked: &mut Asked,
    ) -> Result<(), Stop> {
        loop {
            let event = match stream.events.next().await {
                Ok(Some(event)) => event,
                ended => {
                    self.retry = stream.events.decoder().retry().or(self.retry);
                    return ended.map(drop).map_err(|error| Stop::Again(Some(error)));
                }
            };
            self.retry = event.retry.or(self.retry);
            self.attempts = 0;
            if let Some(id) = event.id.as_deref() {
                self.last = (!id.is_empty()).then(|| id.into());
            }
            if event.data.is_empty() {
                continue;
            }
            let mut said = Vec::new();
            if let Err(error) = wire::read(&Bytes::from(event.data), |one| said.push(one)) {
                tracing::debug!(%error, "an event makes no sense");
                self.link.shared.count_nonsense();
            }
            for one in said {
                self.said(session, stream, asked, one).await?;
            }
        }
    }

    async fn said(
        &mut self,
        session: &Arc<Session>,
        stream: &Stream,
        asked: &mut Asked,
        said: Said,
    ) -> Result<(), Stop> {
        match said {
            Said::Answer(Some(RequestId::Number(id)), outcome) if stream.id == Some(id) => match outcome {
                // The server ends the subscription in an orderly way: another replica has it, soon.
                Ok(_) => Err(Stop::Again(None)),
                Err(error) => Err(Stop::Over(error.into())),
            },
            Said::Answer(..) => {
                self.link.shared.count_stray();
                Ok(())
            }
            Said::Request { id, method, params } => {
                self.link.ask(session, asked, id, method, params);
                Ok(())
            }
            Said::Notification { method, params } if stream.id.is_some() && &*method == ACKNOWLEDGED => {
                self.tell_opened(stream, params).await
            }
            Said::Notification { method, params } if &*method == "notifications/cancelled" => {
                asked.take_back(&params);
                drop(method);
                Ok(())
            }
            Said::Notification { method, params } => {
                let event_id = self.last.clone();
                let notification = Notification { method, params, event_id, source: Source::Listening };
                self.link.shared.publish(&notification);
                self.say(StreamEvent::Notification(notification)).await
            }
        }
    }

    async fn tell_opened(&mut self, stream: &Stream, granted: Bytes) -> Result<(), Stop> {
        let after = self.last.clone().filter(|_| stream.id.is_none());
        let opened = Opened { nth: self.opened, replica: stream.replica.clone(), after, granted };
        self.opened = self.opened.saturating_add(1);
        self.say(StreamEvent::Opened(opened)).await
    }

    /// Waits for room where the receiver is slow: the server is held up, and nothing is lost.
    async fn say(&self, event: StreamEvent) -> Result<(), Stop> {
        self.sender.send(event).await.map_err(|_| Stop::Unheard)
    }

    /// Waits before the next attempt, if there is to be one.
    async fn pause(&mut self, error: Option<Error>) -> Result<(), Stop> {
        let retry = self.link.shared.config.retry;
        if self.attempts >= retry.resumes {
            return Err(Stop::Over(error.unwrap_or_else(Events::cut_short)));
        }
        let asked = match &error {
            Some(Error::Status(status)) => status.retry_after,
            _ => self.retry.filter(|_| self.attempts == 0),
        };
        let wait = retry.wait(self.attempts, asked);
        self.attempts += 1;
        if self.opened > 0 {
            self.say(StreamEvent::Lost { error, wait }).await?;
        }
        sleep(wait).await;
        Ok(())
    }
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(value).map_err(|error| Error::Refused(format!("this is not JSON: {error}")))
}
