//! Requests over streamable HTTP: each an exchange of its own, tried again where that is safe.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use http::Uri;
use parking_lot::Mutex;
use tokio::time::sleep;
use trunkline_protocol::{SessionId, error::code, model::SetLevelParams};
use url::Url;

use super::{
    events::Events,
    mirrored::Mirrored,
    pool::Pool,
    reply::{Media, Reply},
    session::{Place, Session},
};
use crate::{
    call::{Call, Trace},
    error::{Error, Phase},
    handshake::{self, Server},
    limits::Limits,
    shared::{Beat, Ctx, Shared},
    transport::http1::{Connection, Request, Target},
    wire::{self, Dialect, Parts, Said},
};

/// How often a request goes out anew at once since the idle connection it was given was closed already. Each time
/// another connection is taken, at last a new one.
const STALE: u32 = 4;

/// The connections of one client to one endpoint, and what is spoken over them.
pub(crate) struct Link {
    pub(crate) shared: Arc<Shared>,
    pub(super) pool: Pool,
    pub(super) authority: String,
    secure: bool,
    place: ArcSwap<Place>,
    session: ArcSwapOption<Session>,
    /// How many sessions were opened. Streams that listen look for a change.
    pub(super) sessions: AtomicU64,
    /// Held while a new session is opened, so that one is opened however many calls miss the old one.
    renewing: tokio::sync::Mutex<()>,
    /// Held while a new token is asked for.
    refreshing: tokio::sync::Mutex<()>,
    pub(crate) mirrored: Mirrored,
    /// Resources that the session is subscribed to, to be restored in a new one.
    pub(crate) subscribed: Mutex<BTreeSet<String>>,
}

/// Why an exchange brought no answer.
pub(crate) enum Broken {
    Error(Error),
    /// It is to be made elsewhere.
    Redirect(Uri),
}

/// What was tried already for one request.
#[derive(Default)]
struct Tries {
    again: u32,
    stale: u32,
    redirects: usize,
    renewed: bool,
    authorized: bool,
    negotiated: bool,
}

/// Tells the server of an older revision that nobody waits any more, when the future that waited is dropped.
struct Abandoned<'a> {
    link: &'a Arc<Link>,
    session: &'a Arc<Session>,
    id: i64,
    armed: bool,
}

// === impl Broken ===

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

// === impl Link ===

impl Link {
    pub(crate) fn new(url: &Url, shared: Arc<Shared>) -> Result<Arc<Self>, Error> {
        let target = Target::new(url, shared.config.tls.clone())?;
        let authority = target.authority();
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let uri =
            path.parse().map_err(|error| Error::Refused(format!("{url} cannot be requested: {error}")))?;
        let place = Place::new(uri, &authority, &shared.config.headers)?;
        Ok(Arc::new(Self {
            pool: Pool::new(target, shared.config.connections),
            authority,
            secure: url.scheme() == "https",
            place: ArcSwap::from_pointee(place),
            session: ArcSwapOption::empty(),
            sessions: AtomicU64::new(0),
            renewing: tokio::sync::Mutex::default(),
            refreshing: tokio::sync::Mutex::default(),
            mirrored: Mirrored::new(shared.config.limits.mirrored),
            subscribed: Mutex::default(),
            shared,
        }))
    }

    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        self.session.load_full()
    }

    pub(crate) fn place(&self) -> Arc<Place> {
        self.place.load_full()
    }

    /// Speaks a modern revision from now on.
    pub(crate) fn speak(&self, dialect: Arc<Dialect>) -> Result<(), Error> {
        let session = Session::new(self.place(), dialect, None, false)?;
        self.session.store(Some(Arc::new(session)));
        Ok(())
    }

    /// Asks for the first token.
    pub(crate) async fn authorize(&self) -> Result<(), Error> {
        if self.shared.config.bearer.is_some() {
            self.refresh(None).await?;
        }
        Ok(())
    }

    /// Sends a request and waits for its answer. Dropping the future takes the request back.
    pub(crate) async fn call(self: &Arc<Self>, ctx: &mut Ctx<'_>, extra: &[u8]) -> Result<Bytes, Error> {
        let _permit = self.pool.permit().await?;
        let mut tries = Tries::default();
        loop {
            let session = self.session.load_full().ok_or(Error::Closed)?;
            match self.exchange(&session, ctx, extra, None).await {
                Ok(result) => return Ok(result),
                Err(broken) => Box::pin(self.recover(broken, &session, ctx, &mut tries, false)).await?,
            }
        }
    }

    /// Opens a session: `initialize` and `notifications/initialized`. It is spoken from now on.
    pub(crate) async fn open(
        self: &Arc<Self>,
        dialect: Arc<Dialect>,
        exactly: bool,
        trace: &mut Trace,
    ) -> Result<Server, Error> {
        let call = handshake::initialize(&dialect);
        let (result, id) = self.opening(&dialect, &call, trace).await?;
        let (revision, server) = handshake::initialized(&result, dialect.revision, exactly)?;
        let dialect = match revision == dialect.revision {
            true => dialect,
            false => Arc::new(self.shared.dialect(revision)),
        };
        let session = Arc::new(Session::new(self.place(), dialect, id, false)?);
        self.tell(&session, wire::notification("notifications/initialized", b"")?).await?;
        self.session.store(Some(session));
        self.sessions.fetch_add(1, Ordering::Release);
        Ok(server)
    }

    /// One request before there is a session.
    pub(crate) async fn opening(
        self: &Arc<Self>,
        dialect: &Arc<Dialect>,
        call: &Call,
        trace: &mut Trace,
    ) -> Result<(Bytes, Option<SessionId>), Error> {
        let beat = Beat::new();
        let mut ctx = Ctx { call, trace, beat: &beat };
        let mut tries = Tries::default();
        loop {
            let session = Session::new(self.place(), dialect.clone(), None, !dialect.is_modern())?;
            let session = Arc::new(session);
            let mut id = None;
            match self.exchange(&session, &mut ctx, b"", Some(&mut id)).await {
                Ok(result) => return Ok((result, id)),
                Err(broken) => Box::pin(self.recover(broken, &session, &mut ctx, &mut tries, true)).await?,
            }
        }
    }

    /// One request, one answer. With `opened` it is a handshake, whose answer may bring a session.
    async fn exchange(
        self: &Arc<Self>,
        session: &Arc<Session>,
        ctx: &mut Ctx<'_>,
        extra: &[u8],
        opened: Option<&mut Option<SessionId>>,
    ) -> Result<Bytes, Broken> {
        let id = self.shared.next_id();
        let call = ctx.call;
        let body = session.dialect.request(&Parts {
            id,
            method: &call.method,
            params: &call.params,
            extra,
            progress: call.progress.is_some() || call.reset_on_progress,
            log: self.shared.log(),
        })?;
        let length = body.len() as u64;
        let request = if session.dialect.is_modern() {
            let (name, params) = self.mirrored.headers(call)?;
            session.request(&call.method, name.as_ref(), &params, body)?
        } else {
            session.request(&call.method, None, &[], body)?
        };
        let connection = self.connection().await?;
        ctx.trace.sent += 1;
        ctx.trace.bytes_out += length;
        let armed = !session.dialect.is_modern() && opened.is_none();
        let mut abandoned = Abandoned { link: self, session, id, armed };
        let outcome = self.answer(session, connection, request, id, ctx, opened).await;
        abandoned.armed = false;
        outcome
    }

    async fn answer(
        self: &Arc<Self>,
        session: &Arc<Session>,
        connection: Box<Connection>,
        request: Request,
        id: i64,
        ctx: &mut Ctx<'_>,
        opened: Option<&mut Option<SessionId>>,
    ) -> Result<Bytes, Broken> {
        let reply = match &ctx.call.cut {
            None => connection.send(request).await?,
            Some(cut) => tokio::select! {
                biased;
                sent = connection.send(request) => sent?,
                () = cut.cancelled(), if ctx.trace.cut == 0 => {
                    ctx.trace.cut += 1;
                    return Err(Error::in_flight(Phase::Wait, "it was cut").into());
                }
            },
        };
        let reply = Reply::new(reply);
        ctx.trace.status = reply.status;
        ctx.trace.replica = reply.replica();
        let opening = opened.is_some();
        if reply.status == 200 {
            if let Some(opened) = opened {
                *opened = reply.session()?;
            }
            match reply.media() {
                Media::Json => {
                    let (bytes, connection) = reply.body.collect(self.shared.config.limits.body).await?;
                    self.pool.put(connection);
                    ctx.trace.bytes_in += bytes.len() as u64;
                    return self.read_answer(&bytes, id, ctx);
                }
                Media::Events => {
                    let events = Events::new(reply.body, self.shared.config.limits);
                    return Ok(Box::pin(self.follow(session, events, id, ctx)).await?);
                }
                Media::Other => {}
            }
        }
        Box::pin(self.no_answer(session, reply, opening)).await
    }

    fn read_answer(&self, bytes: &Bytes, id: i64, ctx: &mut Ctx<'_>) -> Result<Bytes, Broken> {
        let read = wire::read_answer(bytes, id);
        if matches!(read, Err(Error::WrongAnswer { .. })) {
            self.shared.count_stray();
            ctx.trace.stray += 1;
        }
        Ok(read?)
    }

    /// The way of every answer that is neither JSON nor a stream.
    async fn no_answer(&self, session: &Session, reply: Reply, opening: bool) -> Result<Bytes, Broken> {
        if let Some(redirect) = reply.redirect(&session.place.uri, &self.authority, self.secure) {
            return Err(Broken::Redirect(redirect?));
        }
        if (200..400).contains(&reply.status) {
            return Err(Broken::Error(match reply.not_mcp().await {
                // It was one before: the endpoint is right, the answer is not.
                Error::NotMcp { seen } if !opening => Error::malformed(format!("no answer but {seen}")),
                error => error,
            }));
        }
        let lost = reply.status == 404 && session.id.is_some();
        // Whoever opens looks elsewhere where there is no endpoint, whatever words that is told with.
        let absent = opening && matches!(reply.status, 404 | 405);
        let (broken, connection) = reply.refusal(lost || absent).await;
        if let Some(connection) = connection {
            self.pool.put(connection);
        }
        Err(broken)
    }

    /// Makes ready for another attempt, or says that there will be none.
    async fn recover(
        self: &Arc<Self>,
        broken: Broken,
        session: &Arc<Session>,
        ctx: &mut Ctx<'_>,
        tries: &mut Tries,
        opening: bool,
    ) -> Result<(), Error> {
        let error = match broken {
            Broken::Redirect(uri) => {
                tries.redirects += 1;
                if tries.redirects > Limits::REDIRECTS {
                    return Err(Error::Endless { what: "redirects", limit: Limits::REDIRECTS });
                }
                return self.change(|place| place.uri.clone_from(&uri));
            }
            Broken::Error(error) => error,
        };
        match error.status() {
            Some(401) if self.shared.config.bearer.is_some() && !tries.authorized => {
                tries.authorized = true;
                return self.refresh(session.place.token.as_deref()).await;
            }
            Some(404) if session.id.is_some() && !opening => {
                if tries.renewed {
                    return Err(Error::SessionLost { may_have_run: false });
                }
                tries.renewed = true;
                self.renew(session).await?;
                ctx.trace.renewed += 1;
                return Ok(());
            }
            _ => {}
        }
        if let Error::Unsent { .. } = error
            && tries.stale < STALE
        {
            tries.stale += 1;
            return Ok(());
        }
        if is_wrong_refusal(&error, session) && !tries.negotiated {
            tries.negotiated = true;
            return Ok(());
        }
        self.wait(error, ctx, tries, opening).await
    }

    /// Waits before the next attempt, where one may help and cannot run anything twice.
    async fn wait(
        &self,
        error: Error,
        ctx: &mut Ctx<'_>,
        tries: &mut Tries,
        opening: bool,
    ) -> Result<(), Error> {
        let retry = &self.shared.config.retry;
        // Nobody may ever have been there: whoever opens wants to know at once.
        let unreachable = opening && matches!(error, Error::Connect { .. });
        let harmless = !error.may_have_run() || ctx.call.may_repeat() || opening;
        if !error.is_transient() || unreachable || !harmless || tries.again >= retry.attempts {
            return Err(error);
        }
        let asked = match &error {
            Error::Status(status) => status.retry_after,
            _ => None,
        };
        let wait = retry.wait(tries.again, asked);
        tracing::debug!(%error, ?wait, "a request will be sent again");
        sleep(wait).await;
        tries.again += 1;
        ctx.trace.retried += 1;
        Ok(())
    }

    /// Opens a new session in the place of one that the server does not know any more.
    pub(super) async fn renew(self: &Arc<Self>, old: &Arc<Session>) -> Result<(), Error> {
        let _one = self.renewing.lock().await;
        let now = self.session.load_full().ok_or(Error::Closed)?;
        if now.id != old.id {
            return Ok(());
        }
        // Without the old revision the caller's own choices may not hold any more.
        self.open(old.dialect.clone(), true, &mut Trace::default()).await?;
        self.restore().await;
        Ok(())
    }

    /// Restores what the old session held. What fails is the server's to have said no to.
    async fn restore(self: &Arc<Self>) {
        let Some(session) = self.session.load_full() else { return };
        let mut calls = Vec::new();
        if let Some(level) = self.shared.log() {
            calls.push(
                serde_json::to_vec(&SetLevelParams { level })
                    .map(|params| Call::new("logging/setLevel", params)),
            );
        }
        let subscribed: Vec<String> = self.subscribed.lock().iter().cloned().collect();
        for uri in subscribed {
            let params = serde_json::to_vec(&serde_json::json!({ "uri": uri }));
            calls.push(params.map(|params| Call::new("resources/subscribe", params)));
        }
        for call in calls.into_iter().flatten() {
            let (beat, mut trace) = (Beat::new(), Trace::default());
            let mut ctx = Ctx { call: &call, trace: &mut trace, beat: &beat };
            if let Err(Broken::Error(error)) = self.exchange(&session, &mut ctx, b"", None).await {
                tracing::debug!(%error, method = &*call.method, "the new session is not as the old one");
            }
        }
    }

    /// Asks for a token in the place of one that was refused.
    pub(crate) async fn refresh(&self, refused: Option<&str>) -> Result<(), Error> {
        let Some(source) = &self.shared.config.bearer else { return Ok(()) };
        let _one = self.refreshing.lock().await;
        if refused.is_some() && self.place.load().token.as_deref() != refused {
            return Ok(());
        }
        let token: Arc<str> = source.token(refused).await.map_err(Error::Token)?.into();
        // What was kept for the old token may not be for this one.
        self.shared.cache.clear();
        self.change(|place| place.token = Some(token.clone()))
    }

    /// Changes where or how requests are sent, from the next one on.
    fn change(&self, change: impl Fn(&mut Place)) -> Result<(), Error> {
        self.place.rcu(|place| {
            let mut place = Place::clone(place);
            change(&mut place);
            place
        });
        if let Some(now) = self.session.load_full() {
            let session = Session::new(self.place(), now.dialect.clone(), now.id.clone(), false)?;
            // A new session that was opened meanwhile was opened with the change.
            self.session.compare_and_swap(&Some(now), Some(Arc::new(session)));
        }
        Ok(())
    }

    /// Sends a message that is not answered: a notification, or the answer to a question.
    pub(crate) async fn tell(&self, session: &Session, message: Bytes) -> Result<(), Error> {
        let mut attempt = 0;
        loop {
            match self.tell_once(session, message.clone()).await {
                Ok(()) => return Ok(()),
                Err(error) if !error.is_transient() || error.may_have_run() => return Err(error),
                Err(Error::Unsent { .. }) if attempt < STALE => {}
                Err(error) if attempt >= self.shared.config.retry.attempts => return Err(error),
                Err(_) => sleep(self.shared.config.retry.wait(attempt, None)).await,
            }
            attempt += 1;
        }
    }

    async fn tell_once(&self, session: &Session, message: Bytes) -> Result<(), Error> {
        let reply = self.request(session.message(message)).await?;
        if !(200..300).contains(&reply.status) {
            return match reply.refusal(true).await {
                (Broken::Error(error), _) => Err(error),
                (Broken::Redirect(_), _) => Ok(()),
            };
        }
        // Some answer a notification with a result. Nobody asked.
        if let Ok((_nothing, connection)) = reply.body.collect(Limits::REFUSAL).await {
            self.pool.put(connection);
        }
        Ok(())
    }

    /// One HTTP request; the body of its answer is the caller's to read.
    pub(crate) async fn request(&self, request: Request) -> Result<Reply, Error> {
        let connection = self.connection().await?;
        connection.send(request).await.map(Reply::new)
    }

    pub(super) async fn connection(&self) -> Result<Box<Connection>, Error> {
        self.pool.take(&mut |late| self.late(late)).await
    }

    /// Something came on a stream after its answer. An answer more is an answer too many.
    pub(super) fn late(&self, bytes: &[u8]) {
        let mut decoder = trunkline_protocol::sse::Decoder::default();
        let mut rest = bytes;
        while let Ok(Some(event)) = decoder.decode(&mut rest) {
            let _unread = wire::read(&Bytes::from(event.data), |said| {
                if let Said::Answer(..) = said {
                    self.shared.count_stray();
                }
            });
        }
    }

    /// Leaves the session without a word, and closes what is idle.
    pub(crate) fn abandon(&self) {
        self.session.store(None);
        self.pool.clear();
    }

    /// Ends the session, if there is one. A server that does not let clients do that is left alone.
    pub(crate) async fn close(&self) -> Result<(), Error> {
        let session = self.session.swap(None);
        let outcome = match session.filter(|session| session.id.is_some()) {
            None => Ok(()),
            Some(session) => match self.request(session.delete()?).await {
                Ok(reply) if reply.status < 300 || matches!(reply.status, 404 | 405) => Ok(()),
                Ok(reply) => match reply.refusal(true).await {
                    (Broken::Error(error), _) => Err(error),
                    (Broken::Redirect(_), _) => Ok(()),
                },
                Err(error) => Err(error),
            },
        };
        self.pool.clear();
        outcome
    }
}

/// Whether the server refuses the version that it says it supports. Once, that is a server finding its feet.
fn is_wrong_refusal(error: &Error, session: &Session) -> bool {
    error.rpc().is_some_and(|error| {
        error.code == code::UNSUPPORTED_VERSION
            && handshake::supported(error)
                .is_some_and(|versions| versions.iter().any(|name| name == session.revision().as_str()))
    })
}

// === impl Abandoned ===

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        let (link, session) = (self.link.clone(), self.session.clone());
        let message = wire::cancelled(self.id, "nobody waits any more");
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = link.tell_once(&session, message).await {
                    tracing::debug!(%error, "the server was not told that a call was cancelled");
                }
            });
        }
    }
}
