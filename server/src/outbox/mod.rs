//! The way back of one request: plain JSON as long as that will do, a stream from the moment something has to be said
//! before the answer is there.
//!
//! An outbox is handed down with the request. Whoever serves it says things into it, and never learns what carries them.

mod log;
mod note;

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use trunkline_hub::{Fence, HubError, Position};

use log::Writer;
pub(crate) use log::{LogCarrier, Logs, topic};
pub(crate) use note::{EntryId, Note, is_silent, opened, sealed};

/// How long a handler waits for a reader that takes nothing before its stream is given up.
const SLOW_READER: Duration = Duration::from_secs(30);

/// What may carry what is said.
#[derive(Clone)]
pub(crate) enum Carrier {
    /// One JSON body, and nothing else: the client accepts no stream.
    Json,
    /// A stream of this request alone, which ends with the connection. So many frames wait for a slow reader, and then the
    /// handler does (`limits.outbox`).
    Direct(usize),
    /// A stream of this request that can be resumed: a log in the hub.
    Log(LogCarrier),
    /// A stream that many requests share, of a client that reads all its answers there.
    Shared(Shared),
}

/// A stream that many requests share.
#[derive(Clone)]
pub(crate) enum Shared {
    /// A log that any replica appends to.
    Log(LogCarrier),
    /// A queue to the writer of this process.
    Queue(mpsc::Sender<Bytes>),
}

/// One finished answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// The HTTP status if it travels as the plain body.
    pub(crate) status: u16,
    /// The JSON-RPC message; empty where the request was cancelled and no answer follows.
    pub(crate) body: Bytes,
}

/// Finished answers in their order. Nearly always one, which takes no list.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    first: Option<Reply>,
    rest: Vec<Reply>,
}

/// What a transport reads a stream from.
pub(crate) enum Source {
    /// The log, after its first entry, which says nothing to the client.
    Log(LogCarrier, Position),
    /// The queue.
    Queue(mpsc::Receiver<Bytes>),
}

/// What a transport sends for a request.
pub(crate) enum Output {
    /// These, as one body: one for a request, several for a batch.
    Plain(Replies),
    /// A stream.
    Stream(Source),
    /// Nothing: there was to be a stream, and the hub did not take it.
    Broken,
}

/// Why something could not be said.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Undeliverable {
    /// The client accepts no stream.
    #[error("the client accepts no stream on this request")]
    NoStream,
    /// The client has gone, or the request has been answered.
    #[error("the stream is closed")]
    Closed,
    /// The hub did not take it.
    #[error("the hub did not take the message")]
    Hub(#[from] HubError),
}

/// The way back of one request, or of one batch.
pub(crate) struct Outbox {
    carrier: Carrier,
    state: Mutex<State>,
    /// Wakes the transport when the state has something for it.
    changed: Notify,
    /// Keeps what is written to a log in order, and holds the proof that this replica may write it.
    log: tokio::sync::Mutex<Option<Writer>>,
    /// Whether the request may be run again by another replica when this one dies.
    repeatable: AtomicBool,
    /// The last progress that the client got from a replica which ran the request before.
    progress: f64,
}

struct State {
    /// Answers still to come.
    open: usize,
    phase: Phase,
}

struct Stream {
    /// Where frames go, unless they go to the log.
    queue: Option<mpsc::Sender<Bytes>>,
    /// What the transport reads, until it has taken it.
    source: Option<Source>,
}

enum Phase {
    /// Nothing but answers so far, kept until they are all there.
    Plain(Replies),
    /// Something was said first.
    Streaming(Stream),
    /// There was to be a stream, and the hub did not take it.
    Broken,
    /// All is said.
    Closed,
}

// === impl Outbox ===

impl Outbox {
    /// An outbox for `answers` requests: one, or as many as a batch has.
    pub(crate) fn new(carrier: Carrier, answers: usize) -> Self {
        let phase = match &carrier {
            Carrier::Shared(Shared::Queue(queue)) => {
                Phase::Streaming(Stream { queue: Some(queue.clone()), source: None })
            }
            Carrier::Shared(Shared::Log(_)) => Phase::Streaming(Stream { queue: None, source: None }),
            _ => Phase::Plain(Replies::default()),
        };
        Self {
            carrier,
            state: Mutex::new(State { open: answers, phase }),
            changed: Notify::new(),
            log: tokio::sync::Mutex::new(None),
            repeatable: AtomicBool::new(false),
            progress: f64::NEG_INFINITY,
        }
    }

    /// The outbox of a stream that was taken over: it goes on with the log of the replica that died, after its `newest` entry and
    /// the last `progress` that the client got from there, until so many `answers` are given. Of one that lacks none the end
    /// is to be given.
    pub(crate) fn taken_over(
        carrier: LogCarrier,
        fence: Fence,
        newest: Position,
        answers: usize,
        progress: f64,
    ) -> Self {
        let phase = Phase::Streaming(Stream { queue: None, source: None });
        Self {
            carrier: Carrier::Log(carrier),
            state: Mutex::new(State { open: answers, phase }),
            changed: Notify::new(),
            log: tokio::sync::Mutex::new(Some(Writer::new(fence, newest))),
            repeatable: AtomicBool::new(true),
            progress,
        }
    }

    /// Says that the request may be run again by another replica when this one dies: it has no effect, or the same one.
    pub(crate) fn allow_repeat(&self) {
        self.repeatable.store(true, Ordering::Relaxed);
    }

    /// The last progress that the client got before this replica took the request over.
    pub(crate) fn progress(&self) -> f64 {
        self.progress
    }

    /// Whether anything can be said before the answer.
    pub(crate) fn can_stream(&self) -> bool {
        !matches!(self.carrier, Carrier::Json)
    }

    /// Says something before the answer, which makes the answer a stream.
    pub(crate) async fn send(self: &Arc<Self>, frame: Bytes) -> Result<(), Undeliverable> {
        self.to_the_end(|outbox| async move {
            let mut log = outbox.log.lock().await;
            outbox.switch(&mut log).await?;
            outbox.write(&mut log, frame, false).await
        })
        .await
    }

    /// Makes the answer a stream, if it is not one yet. What was answered before goes first.
    pub(crate) async fn open(self: &Arc<Self>) -> Result<(), Undeliverable> {
        self.to_the_end(|outbox| async move {
            let mut log = outbox.log.lock().await;
            outbox.switch(&mut log).await
        })
        .await
    }

    /// Writes to the end, whoever stops waiting for it: of an entry that was given up half way nobody knows whether it is in the
    /// log, and the next one could be taken for it.
    async fn to_the_end<W>(self: &Arc<Self>, write: impl FnOnce(Arc<Self>) -> W) -> Result<(), Undeliverable>
    where
        W: Future<Output = Result<(), Undeliverable>> + Send + 'static,
    {
        let writing = write(self.clone());
        match self.carrier {
            Carrier::Log(_) => tokio::spawn(writing).await.unwrap_or(Err(Undeliverable::Closed)),
            _ => writing.await,
        }
    }

    /// Says to other replicas that this one goes on with the request, where its answer comes on a stream that many share.
    pub(crate) async fn go_on(&self) -> Result<(), Undeliverable> {
        match &self.carrier {
            Carrier::Shared(Shared::Log(carrier)) => carrier.share_note(self.may_repeat()).await,
            _ => Ok(()),
        }
    }

    /// Gives one answer. The last one ends a stream that is this request's own.
    pub(crate) async fn respond(self: &Arc<Self>, reply: Reply) -> Result<(), Undeliverable> {
        match self.keep(reply) {
            None => Ok(()),
            // The way of few answers is kept out of this future, which is made for every call.
            Some(reply) => Box::pin(self.respond_on_stream(reply)).await,
        }
    }

    async fn respond_on_stream(self: &Arc<Self>, reply: Reply) -> Result<(), Undeliverable> {
        self.to_the_end(|outbox| async move {
            let mut log = outbox.log.lock().await;
            let last = outbox.count_answer();
            let written = outbox.write(&mut log, reply.body, last).await;
            if last && let Phase::Streaming(stream) = &mut outbox.state.lock().phase {
                stream.queue = None;
            }
            written
        })
        .await
    }

    /// Leaves the request without an answer: this replica's part in it is over. A log goes on without one, so that another
    /// replica can end it.
    pub(crate) fn abandon(&self) {
        let nothing = Reply { status: 202, body: Bytes::new() };
        if self.keep(nothing).is_none() {
            return;
        }
        if let Phase::Streaming(stream) = &mut self.state.lock().phase {
            stream.queue = None;
        }
    }

    /// Waits until there is something to send: all answers, or a stream. To be called by one transport.
    pub(crate) async fn output(&self) -> Output {
        loop {
            if let Some(output) = self.take() {
                return output;
            }
            self.changed.notified().await;
        }
    }

    /// What there is to send now, handed out once.
    pub(crate) fn take(&self) -> Option<Output> {
        let mut state = self.state.lock();
        let complete = state.open == 0;
        match &mut state.phase {
            Phase::Plain(replies) if complete => {
                let replies = std::mem::take(replies);
                state.phase = Phase::Closed;
                Some(Output::Plain(replies))
            }
            Phase::Streaming(stream) => stream.source.take().map(Output::Stream),
            Phase::Broken => {
                state.phase = Phase::Closed;
                Some(Output::Broken)
            }
            Phase::Plain(_) | Phase::Closed => None,
        }
    }

    /// Keeps an answer as long as everything is plain: the way that nearly every answer takes. Otherwise gives it back.
    fn keep(&self, reply: Reply) -> Option<Reply> {
        let mut state = self.state.lock();
        let Phase::Plain(replies) = &mut state.phase else { return Some(reply) };
        replies.push(reply);
        state.open = state.open.saturating_sub(1);
        if state.open == 0 {
            self.changed.notify_one();
        }
        None
    }

    fn may_repeat(&self) -> bool {
        self.repeatable.load(Ordering::Relaxed)
    }

    /// Counts an answer on a stream: whether it was the last of a stream that nothing else uses.
    fn count_answer(&self) -> bool {
        let mut state = self.state.lock();
        state.open = state.open.saturating_sub(1);
        state.open == 0 && !matches!(self.carrier, Carrier::Shared(_))
    }

    async fn switch(&self, log: &mut Option<Writer>) -> Result<(), Undeliverable> {
        let Some(replies) = self.leave_plain()? else { return Ok(()) };
        if let Carrier::Log(carrier) = &self.carrier {
            // The log begins with an entry that says nothing to the client: one that has seen no more than the stream's
            // beginning resumes after it, and is told if the log is gone by then.
            let begun = carrier.begin(log, self.may_repeat()).await;
            let mut state = self.state.lock();
            match begun {
                Ok(place) => {
                    let source = Some(Source::Log(carrier.clone(), place));
                    state.phase = Phase::Streaming(Stream { queue: None, source });
                }
                Err(error) => {
                    state.phase = Phase::Broken;
                    self.changed.notify_one();
                    return Err(error);
                }
            }
        }
        for reply in replies {
            self.write(log, reply.body, false).await?;
        }
        self.changed.notify_one();
        Ok(())
    }

    /// Leaves the plain phase, and returns what was answered in it; `None` if it was left before.
    fn leave_plain(&self) -> Result<Option<Replies>, Undeliverable> {
        let mut state = self.state.lock();
        let complete = state.open == 0;
        let Phase::Plain(replies) = &mut state.phase else { return Ok(None) };
        let stream = match &self.carrier {
            Carrier::Json => return Err(Undeliverable::NoStream),
            _ if complete => return Err(Undeliverable::Closed),
            Carrier::Direct(frames) => {
                let (queue, source) = mpsc::channel(*frames);
                Stream { queue: Some(queue), source: Some(Source::Queue(source)) }
            }
            // A log is to be read once it is begun.
            Carrier::Log(_) | Carrier::Shared(_) => Stream { queue: None, source: None },
        };
        let replies = std::mem::take(replies);
        state.phase = Phase::Streaming(stream);
        Ok(Some(replies))
    }

    /// Writes a frame to whatever carries the stream. An empty frame is not written; as the last one it ends a log.
    async fn write(&self, log: &mut Option<Writer>, frame: Bytes, last: bool) -> Result<(), Undeliverable> {
        let queue = match &self.state.lock().phase {
            Phase::Streaming(stream) => stream.queue.clone(),
            Phase::Plain(_) | Phase::Broken | Phase::Closed => return Err(Undeliverable::Closed),
        };
        if frame.is_empty() && (queue.is_some() || !last) {
            return Ok(());
        }
        match (queue, &self.carrier) {
            (Some(queue), _) => {
                queue.send_timeout(frame, SLOW_READER).await.map_err(|_| Undeliverable::Closed)
            }
            (None, Carrier::Log(carrier)) => carrier.append(log, frame, last, self.may_repeat()).await,
            (None, Carrier::Shared(Shared::Log(carrier))) => carrier.share(frame).await,
            (None, _) => Err(Undeliverable::Closed),
        }
    }
}

// === impl Replies ===

impl Replies {
    /// One answer.
    pub(crate) fn one(reply: Reply) -> Self {
        Self { first: Some(reply), rest: Vec::new() }
    }

    fn push(&mut self, reply: Reply) {
        match self.first {
            None => self.first = Some(reply),
            Some(_) => self.rest.push(reply),
        }
    }

    /// The HTTP status of the first; that of a request which nothing answers if there is none.
    pub(crate) fn status(&self) -> u16 {
        self.first.as_ref().map_or(202, |reply| reply.status)
    }
}

impl IntoIterator for Replies {
    type Item = Reply;
    type IntoIter = std::iter::Chain<std::option::IntoIter<Reply>, std::vec::IntoIter<Reply>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.rest)
    }
}
