//! stdio: one client, one message a line, everything on one channel.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use futures_util::stream::unfold;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{Semaphore, mpsc},
};
use tokio_util::{io::StreamReader, sync::CancellationToken};
use trunkline_protocol::{
    Method, RequestId, Revision, RpcError,
    jsonrpc::{Body, Bounds, Message, Notification, Request, parse, write_error, write_result},
    model::ListenParams,
    params::read,
    revision::{Claim, settle},
};

use super::{
    broadcast::{Broadcasts, Heard, Wanted},
    context::{check_task_filter, greet, modern_context, notified},
};
use crate::{
    cancel::Cancel,
    drain::Drain,
    error::Refusal,
    outbox::{Carrier, Outbox, Output, Shared},
    principal::Principal,
    record::Greeting,
    session::{Context, Core, Incoming, LiveSession, refused, serve},
};

/// Lines on their way out. The reader is a process beside us; past this, what is said waits.
const LINES: usize = 256;

/// How long running calls may go on after the client has closed its end.
const GRACE: Duration = Duration::from_secs(2);

/// How stdio is served.
pub(crate) struct Settings {
    /// The longest line, in bytes.
    pub(crate) line: usize,
    /// Bounds of the parser.
    pub(crate) bounds: Bounds,
    /// The most resources in one `subscriptions/listen`.
    pub(crate) listen_subscriptions: usize,
}

/// The one connection.
struct Connection {
    core: Arc<Core>,
    drain: Drain,
    settings: Settings,
    lines: mpsc::Sender<Bytes>,
    /// The session, once `initialize` has opened it.
    session: Option<Arc<LiveSession>>,
    /// What cancels a request that describes itself, as long as its outbox is in use.
    running: HashMap<RequestId, (Cancel, Weak<Outbox>)>,
    /// How many more subscriptions there may be: each is a stream of its own, if on one channel with the others.
    subscriptions: Arc<Semaphore>,
}

/// Serves until the client closes its end.
///
/// # Errors
/// That a stream cannot be read or written.
pub(crate) async fn run(
    core: Arc<Core>,
    drain: Drain,
    settings: Settings,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let (lines, written) = mpsc::channel(LINES);
    let writer = tokio::spawn(write(written, output));
    let subscriptions = Arc::new(Semaphore::new(core.services.limits.streams_per_session));
    let mut connection = Connection {
        core,
        drain: drain.clone(),
        settings,
        lines,
        session: None,
        running: HashMap::new(),
        subscriptions,
    };
    let mut input = BufReader::new(input);
    loop {
        let line = tokio::select! {
            line = next_line(&mut input, connection.settings.line) => line?,
            () = drain.draining() => None,
        };
        match line {
            None => break,
            Some(Ok(line)) if line.iter().all(u8::is_ascii_whitespace) => {}
            Some(Ok(line)) => connection.take(&line).await,
            Some(Err(TooLong)) => {
                connection.refuse(None, &Refusal::BodyTooLarge { limit: connection.settings.line }).await;
            }
        }
    }
    drain.begin();
    drop(connection);
    // The writer ends when the last running call has let go of it.
    match tokio::time::timeout(GRACE, writer).await {
        Ok(Ok(written)) => written,
        Ok(Err(_)) | Err(_) => Ok(()),
    }
}

/// Standard input. Read by a thread of its own: one that waits in the runtime's own pool would keep the process from ending
/// until the client writes another line.
pub(crate) fn input() -> impl AsyncRead + Unpin {
    /// Chunks that have been read ahead, of 64 KiB at most.
    const AHEAD: usize = 4;
    let (chunks, read) = mpsc::channel::<std::io::Result<Bytes>>(AHEAD);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        loop {
            let chunk = match std::io::BufRead::fill_buf(&mut stdin) {
                Ok([]) => return,
                Ok(chunk) => Ok(Bytes::copy_from_slice(chunk)),
                Err(error) => Err(error),
            };
            let (length, failed) = (chunk.as_ref().map_or(0, Bytes::len), chunk.is_err());
            std::io::BufRead::consume(&mut stdin, length);
            if chunks.blocking_send(chunk).is_err() || failed {
                return;
            }
        }
    });
    StreamReader::new(Box::pin(unfold(read, |mut read| async move {
        read.recv().await.map(|chunk| (chunk, read))
    })))
}

/// A line that is longer than accepted; the rest of it has been read.
struct TooLong;

async fn next_line(
    input: &mut (impl AsyncBufReadExt + Unpin),
    longest: usize,
) -> std::io::Result<Option<Result<Bytes, TooLong>>> {
    let mut line = Vec::new();
    let most = u64::try_from(longest).unwrap_or(u64::MAX);
    let mut bounded = input.take(most.saturating_add(1));
    if bounded.read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') || line.len() <= longest {
        return Ok(Some(Ok(line.into())));
    }
    loop {
        let rest = input.fill_buf().await?;
        let end = memchr_newline(rest);
        let (skipped, done) = end.map_or((rest.len(), rest.is_empty()), |end| (end + 1, true));
        input.consume(skipped);
        if done {
            return Ok(Some(Err(TooLong)));
        }
    }
}

fn memchr_newline(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

async fn write(mut lines: mpsc::Receiver<Bytes>, mut output: impl AsyncWrite + Unpin) -> std::io::Result<()> {
    while let Some(line) = lines.recv().await {
        output.write_all(&line).await?;
        output.write_all(b"\n").await?;
        if lines.is_empty() {
            output.flush().await?;
        }
    }
    output.flush().await
}

// === impl Connection ===

impl Connection {
    async fn take(&mut self, line: &Bytes) {
        match parse(line, self.settings.bounds) {
            Ok(Body::Single(Message::Request(mut request))) => {
                if let Err(refusal) = self.request(&mut request, line).await {
                    self.refuse(Some(&request.id), &refusal).await;
                }
            }
            Ok(Body::Single(Message::Notification(notification))) => self.notification(&notification).await,
            Ok(Body::Single(Message::Response(response))) => {
                if let Some(session) = &self.session
                    && self.core.answer(session, response).await.is_err()
                {
                    tracing::warn!("an answer could not be taken");
                }
            }
            Ok(Body::Batch(messages)) => self.batch(messages, line).await,
            Err(malformed) => {
                self.refuse(malformed.id.as_ref(), &Refusal::Malformed(malformed.error)).await;
            }
        }
    }

    async fn request(&mut self, request: &mut Request<'_>, line: &Bytes) -> Result<(), Refusal> {
        let params = request.take_params().map_err(Refusal::InvalidParams)?;
        let method = Method::from_name(&request.method);
        let claim = settle(None, params.meta.as_ref(), method, false).map_err(Refusal::Revision)?;
        let incoming = Incoming { request, method, params: &params, body: line };
        let outbox = self.outbox();
        let cancel = Cancel::default();
        let context = match claim {
            Claim::Modern(revision) => {
                if method == Some(Method::SubscriptionsListen) {
                    return self.listen(revision, &incoming, cancel).await;
                }
                self.keep(&request.id, &cancel, &outbox)?;
                modern_context(revision, Principal::anonymous(), &params, line)
            }
            Claim::Legacy(_) if method == Some(Method::Initialize) => {
                return self.initialize(request).await;
            }
            Claim::Legacy(_) => Context::of_session(self.session()?),
        };
        serve(&self.core, &context, &incoming, &outbox, &cancel).await
    }

    fn outbox(&self) -> Arc<Outbox> {
        Arc::new(Outbox::new(Carrier::Shared(Shared::Queue(self.lines.clone())), 1))
    }

    /// Keeps what cancels a request, and lets go of those that are done.
    fn keep(&mut self, id: &RequestId, cancel: &Cancel, outbox: &Arc<Outbox>) -> Result<(), Refusal> {
        self.running.retain(|_, (_, outbox)| outbox.strong_count() > 0);
        if self.running.contains_key(id) {
            return Err(Refusal::DuplicateId);
        }
        self.running.insert(id.clone(), (cancel.clone(), Arc::downgrade(outbox)));
        Ok(())
    }

    fn session(&self) -> Result<Arc<LiveSession>, Refusal> {
        self.session.clone().ok_or_else(|| {
            let error = RpcError::invalid_request("the session is not initialized; send `initialize` first");
            Refusal::Malformed(error)
        })
    }

    async fn initialize(&mut self, request: &Request<'_>) -> Result<(), Refusal> {
        if self.session.is_some() {
            return Err(Refusal::SessionLive);
        }
        let greeting = Greeting::read(request.params).map_err(Refusal::InvalidParams)?;
        let revision = greeting.revision;
        let principal = Principal::anonymous();
        let id = self.core.directory.create(&principal, &greeting).await?;
        let session = self.core.directory.find(id.as_str(), &principal).await?;
        self.session = Some(session.clone());
        self.say(greet(&self.core, revision, &request.id).body).await;
        let wanted = Wanted::Session(session);
        let broadcasts = Broadcasts::after(self.core.clone(), revision, wanted, None).await?;
        tokio::spawn(forward(
            broadcasts,
            self.lines.clone(),
            self.drain.clone(),
            CancellationToken::new(),
            None,
        ));
        Ok(())
    }

    async fn listen(
        &mut self,
        revision: Revision,
        incoming: &Incoming<'_>,
        cancel: Cancel,
    ) -> Result<(), Refusal> {
        let raw =
            incoming.request.params.ok_or_else(|| Refusal::InvalidParams("params are missing".into()))?;
        let asked: ListenParams = read(raw, "params").map_err(Refusal::InvalidParams)?;
        check_task_filter(incoming.params, &asked.notifications)?;
        let most = self.settings.listen_subscriptions;
        let catalog = self.core.registry.catalog().clone();
        let granted = super::broadcast::granted(&catalog, asked.notifications, most)?;
        let id = incoming.request.id.clone();
        let outbox = self.outbox();
        self.keep(&id, &cancel, &outbox)?;
        let place = self.subscriptions.clone().try_acquire_owned();
        let place = place.map_err(|_| Refusal::TooMany("subscriptions (limits.streams_per_session)"))?;
        let mut acknowledged = Vec::new();
        revision.write_subscriptions_acknowledged(&mut acknowledged, &granted, &id);
        let mut farewell = Vec::new();
        write_result(&mut farewell, &id, |out| {
            revision.write_listen_result(out, &id, catalog.server(revision));
        });
        let wanted = Wanted::Filter { listen: id.clone(), filter: granted };
        let broadcasts = Broadcasts::after(self.core.clone(), revision, wanted, None).await?;
        self.say(acknowledged.into()).await;
        let (lines, drain) = (self.lines.clone(), self.drain.clone());
        tokio::spawn(async move {
            forward(broadcasts, lines, drain, cancel.token().clone(), Some(farewell.into())).await;
            // Until here the subscription can be cancelled.
            drop((outbox, place));
        });
        Ok(())
    }

    async fn notification(&mut self, notification: &Notification<'_>) {
        let method = Method::from_name(&notification.method);
        if method == Some(Method::Cancelled)
            && let Some(cancelled) = super::context::cancelled(notification.params)
            && let Some((cancel, _)) = self.running.remove(&cancelled)
        {
            cancel.cancel();
            return;
        }
        let Some(session) = &self.session else { return };
        let context = Context::of_session(session.clone());
        if notified(&self.core, &context, method, notification.params).await.is_err() {
            tracing::warn!("a notification could not be taken");
        }
    }

    /// A batch is answered as one (2025-03-26). Its calls say nothing before their answers: there is no telling whose it is
    /// in a client that reads one array.
    async fn batch(
        &mut self,
        messages: Vec<Result<Message<'_>, trunkline_protocol::jsonrpc::Malformed>>,
        line: &Bytes,
    ) {
        let session = match self.session() {
            Ok(session) if session.record().revision.features().batch => session,
            Ok(_) => return self.refuse(None, &Refusal::BatchNotServed).await,
            Err(refusal) => return self.refuse(None, &refusal).await,
        };
        let answers =
            messages.iter().filter(|message| matches!(message, Err(_) | Ok(Message::Request(_)))).count();
        let outbox = Arc::new(Outbox::new(Carrier::Json, answers));
        let context = Context::of_session(session);
        for message in messages {
            self.member(&context, &outbox, message, line).await;
        }
        if answers == 0 {
            return;
        }
        let lines = self.lines.clone();
        tokio::spawn(async move {
            if let Output::Plain(replies) = outbox.output().await {
                let bodies: Vec<_> =
                    replies.into_iter().map(|reply| reply.body).filter(|body| !body.is_empty()).collect();
                let line = [&b"["[..], &bodies.join(&b","[..]), &b"]"[..]].concat();
                let _gone = lines.send(line.into()).await;
            }
        });
    }

    async fn member(
        &mut self,
        context: &Context,
        outbox: &Arc<Outbox>,
        message: Result<Message<'_>, trunkline_protocol::jsonrpc::Malformed>,
        line: &Bytes,
    ) {
        let (id, refusal) = match message {
            Ok(Message::Notification(note)) => return self.notification(&note).await,
            Ok(Message::Response(response)) => {
                if let Some(session) = &context.session {
                    let _taken = self.core.answer(session, response).await;
                }
                return;
            }
            Ok(Message::Request(mut request)) => {
                let served = match request.take_params() {
                    Err(reason) => Err(Refusal::InvalidParams(reason)),
                    Ok(params) => {
                        let method = Method::from_name(&request.method);
                        let incoming = Incoming { request: &request, method, params: &params, body: line };
                        serve(&self.core, context, &incoming, outbox, &Cancel::default()).await
                    }
                };
                match served {
                    Ok(()) => return,
                    Err(refusal) => (Some(request.id), refusal),
                }
            }
            Err(malformed) => (malformed.id, Refusal::Malformed(malformed.error)),
        };
        let answer = refusal.answer();
        let _kept = outbox.respond(refused(id.as_ref(), &answer.error, answer.status)).await;
    }

    async fn refuse(&self, id: Option<&RequestId>, refusal: &Refusal) {
        self.core.services.metrics.refused();
        let mut line = Vec::new();
        write_error(&mut line, id, &refusal.answer().error);
        self.say(line.into()).await;
    }

    async fn say(&self, line: Bytes) {
        if self.lines.send(line).await.is_err() {
            tracing::debug!("the client reads no more");
        }
    }
}

/// Passes broadcasts on until the client cancels or this process ends.
async fn forward(
    mut broadcasts: Broadcasts,
    lines: mpsc::Sender<Bytes>,
    drain: Drain,
    cancel: CancellationToken,
    farewell: Option<Bytes>,
) {
    loop {
        let line = tokio::select! {
            biased;
            // Nothing follows a cancellation.
            () = cancel.cancelled() => return,
            heard = broadcasts.next() => match heard {
                Heard::Message(_, line) => line,
                Heard::Gap => continue,
                Heard::SessionOver => return,
            },
            () = drain.draining() => {
                if let Some(farewell) = farewell {
                    let _gone = lines.send(farewell).await;
                }
                return;
            }
        };
        if lines.send(line).await.is_err() {
            return;
        }
    }
}
