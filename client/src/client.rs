//! The client itself: one request, one answer.

use std::{fmt, future::pending, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::time::sleep;
use trunkline_protocol::{
    Revision,
    model::{Implementation, ListenFilter, ServerCapabilities},
    revision::Era,
};

use crate::{
    builder::Builder,
    call::{Answer, Call, Trace},
    error::Error,
    handshake::Server,
    notifications::Notifications,
    rounds,
    shared::{Beat, Counters, Ctx, Shared},
    transport::{http::Link, pipe::PipeLink},
    wire,
};

/// A connected client of one server. Cheap to clone: clones share its session, its connections and its cache. It shares
/// nothing with other clients.
///
/// When the last clone is dropped, connections are closed and a child process is ended; the session is left to expire.
/// [`Client::close`] ends it.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    way: Way,
    revision: Revision,
    server: Server,
}

/// How messages get there.
#[derive(Clone)]
pub(crate) enum Way {
    /// Each request has an exchange of its own.
    Http(Arc<Link>),
    /// All share one pipe.
    Pipe(Arc<PipeLink>),
}

/// A call without an answer, with what happened on the way.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Failure {
    /// Why there is none.
    #[source]
    pub error: Error,
    /// What happened on the way.
    pub trace: Trace,
}

// === impl Client ===

impl Client {
    /// A client of an MCP endpoint over HTTP.
    #[must_use]
    pub fn http(url: &str) -> Builder {
        Builder::http(url)
    }

    /// A client of a server that has nothing but HTTP+SSE (2024-11-05): the URL is that of its stream, often `/sse`.
    #[must_use]
    pub fn sse(url: &str) -> Builder {
        Builder::sse(url)
    }

    /// A client of a server that is started as a process and speaks over its stdin and stdout.
    #[must_use]
    pub fn stdio(command: tokio::process::Command) -> Builder {
        Builder::stdio(command)
    }

    pub(crate) fn new(shared: Arc<Shared>, way: Way, revision: Revision, server: Server) -> Self {
        Self(Arc::new(Inner { shared, way, revision, server }))
    }

    /// The revision that is spoken.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.0.revision
    }

    /// Who the server is by its own word, if it was asked.
    #[must_use]
    pub fn server(&self) -> Option<&Implementation> {
        self.0.server.implementation.as_ref()
    }

    /// What the server can do by its own word; nothing if it was not asked.
    #[must_use]
    pub fn capabilities(&self) -> &ServerCapabilities {
        &self.0.server.capabilities
    }

    /// How the server is used, for a model.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.0.server.instructions.as_deref()
    }

    /// The session's id, where there is one.
    #[must_use]
    pub fn session_id(&self) -> Option<String> {
        match &self.0.way {
            Way::Http(link) => link.session()?.id.as_ref().map(|id| id.as_str().to_owned()),
            Way::Pipe(_) => None,
        }
    }

    /// What was counted since the client was built.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.0.shared.counters()
    }

    /// Sends a prepared request and waits for its answer, through every question, broken stream and repetition on the way.
    /// Dropping the future takes the request back.
    ///
    /// # Errors
    /// Whatever kept the answer away, with what happened on the way. See [`Error`].
    pub async fn raw(&self, call: &Call) -> Result<Answer, Failure> {
        let mut trace = Trace::default();
        match self.answer(call, &mut trace).await {
            Ok(result) => Ok(Answer { result, trace }),
            Err(error) => Err(Failure { error, trace }),
        }
    }

    async fn answer(&self, call: &Call, trace: &mut Trace) -> Result<Bytes, Error> {
        let Inner { shared, way, revision, .. } = &*self.0;
        let cache = shared.cache.of(*revision, call);
        if let Some(result) = cache.and_then(|cache| cache.get(call)) {
            trace.cached = true;
            return Ok(result);
        }
        let beat = Beat::new();
        let mut ctx = Ctx { call, trace, beat: &beat };
        let modern = revision.era() == Era::Modern;
        let work = async {
            let result = way.call(&mut ctx, b"").await?;
            if modern { rounds::finish(shared, way, &mut ctx, result).await } else { Ok(result) }
        };
        let result = bounded(work, call, call.timeout.or(shared.config.timeout), &beat).await?;
        if let Some(cache) = cache.filter(|_| trace.rounds == 0) {
            cache.put(call, &result);
        }
        Ok(result)
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// As [`Client::raw`].
    pub async fn notify(&self, method: &str, params: &str) -> Result<(), Error> {
        let message = wire::notification(method, params.as_bytes())?;
        match &self.0.way {
            Way::Http(link) => link.tell(&*link.session().ok_or(Error::Closed)?, message).await,
            Way::Pipe(link) => link.send(message).await,
        }
    }

    /// Notifications of all streams that the client reads: of calls that bring no receiver of their own, and of streams that
    /// listen. It opens none; see [`Client::listen`].
    #[must_use]
    pub fn notifications(&self) -> Notifications {
        Notifications::new(self.0.shared.subscribe(), None)
    }

    /// Opens a stream to listen on: GET up to 2025-11-25, a subscription from 2026-07-28 on; on a pipe, which is open
    /// anyway, only what is subscribed to is asked for. It is opened again when it breaks, after the last event where the
    /// revision has that, and closed when what is returned is dropped.
    ///
    /// The first thing heard is [`StreamEvent::Opened`](crate::StreamEvent::Opened): what happens after that is heard. The
    /// resources in `filter` are subscribed to by then.
    #[must_use]
    pub fn listen(&self, filter: ListenFilter) -> Notifications {
        match &self.0.way {
            Way::Http(link) => link.listen(filter),
            Way::Pipe(link) => link.listen(filter),
        }
    }

    /// Ends the session with a word to the server where there is one, closes connections, and ends a child process. Calls of
    /// clones fail from now on.
    ///
    /// # Errors
    /// If the server did not hear of it; everything is closed all the same.
    pub async fn close(&self) -> Result<(), Error> {
        match &self.0.way {
            Way::Http(link) => link.close().await,
            Way::Pipe(link) => {
                link.close().await;
                Ok(())
            }
        }
    }

    /// The same without a word: the server is left with the session, as by a client that died.
    pub fn abandon(&self) {
        if let Way::Http(link) = &self.0.way {
            link.abandon();
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    pub(crate) fn way(&self) -> &Way {
        &self.0.way
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("revision", &self.0.revision).finish_non_exhaustive()
    }
}

/// Waits for the work, its cancellation, or the end of its time.
async fn bounded<T>(
    work: impl Future<Output = Result<T, Error>>,
    call: &Call,
    limit: Option<Duration>,
    beat: &Beat,
) -> Result<T, Error> {
    let cancelled = async {
        match &call.cancel {
            Some(token) => token.cancelled().await,
            None => pending().await,
        }
    };
    tokio::select! {
        biased;
        outcome = work => outcome,
        () = cancelled => Err(Error::Cancelled),
        after = expired(limit, call.reset_on_progress, beat) => Err(Error::Timeout { after }),
    }
}

/// Returns when nothing was heard for so long.
async fn expired(limit: Option<Duration>, from_progress: bool, beat: &Beat) -> Duration {
    let Some(limit) = limit else { return pending().await };
    let mut rest = limit;
    loop {
        sleep(rest).await;
        match limit.checked_sub(beat.silence()).filter(|rest| from_progress && !rest.is_zero()) {
            Some(more) => rest = more,
            None => return limit,
        }
    }
}

// === impl Way ===

impl Way {
    /// Sends a request and waits for its answer, finished or not. `extra` are further members of its parameters.
    pub(crate) async fn call(&self, ctx: &mut Ctx<'_>, extra: &[u8]) -> Result<Bytes, Error> {
        match self {
            Self::Http(link) => link.call(ctx, extra).await,
            Self::Pipe(link) => link.call(ctx, extra).await,
        }
    }
}

// === impl Failure ===

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}
