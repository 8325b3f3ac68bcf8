//! A transport that is one pipe: messages go in at one end and come out at the other, in both directions, in no order.
//!
//! A transport implements [`Pipe`] for what goes out, and hands each message that comes in to its [`Inbox`], whole and in
//! order. Everything else (ids, waiting calls, progress, questions, cancellation) is done here, once for all of them.

mod listen;

use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Weak},
};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::{sync::mpsc, task::AbortHandle};
use tokio_util::sync::CancellationToken;
use trunkline_protocol::{RequestId, model::ProgressParams};

use crate::{
    error::{Error, Phase},
    notifications::{Notification, Source},
    shared::{Ctx, Shared},
    wire::{self, Dialect, Parts, Said},
};

/// Messages of one call that wait for it. A call reads them at once; more means that it is being held up, and the
/// notification is dropped.
const WAITING: usize = 64;

/// What a transport does with what goes out.
pub(crate) trait Pipe: Send + Sync + 'static {
    /// Sends one message: JSON without line ends. Messages are sent whole, in the order in which this is called first.
    ///
    /// # Errors
    /// [`Error::Unsent`] if the server cannot have read all of it; [`Error::InFlight`] if it may have.
    fn send(&self, message: Bytes) -> BoxFuture<'_, Result<(), Error>>;

    /// Ends it in an orderly way. The process, if there is one, has ended after that.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Where a transport puts what comes in.
#[derive(Clone)]
pub(crate) struct Inbox {
    link: Weak<PipeLink>,
}

/// A pipe with those who wait at it.
pub(crate) struct PipeLink {
    pub(crate) shared: Arc<Shared>,
    pipe: ArcSwapOption<Box<dyn Pipe>>,
    dialect: ArcSwapOption<Dialect>,
    calls: Mutex<HashMap<i64, mpsc::Sender<ToCall>>>,
    questions: Mutex<HashMap<RequestId, AbortHandle>>,
    /// Why nothing comes any more.
    ended: Mutex<Option<String>>,
    /// Fires when that is so.
    over: CancellationToken,
}

/// Something for one call.
enum ToCall {
    Answer(Result<Bytes, Error>),
    Notification(Notification),
}

/// Takes a call off the list, and tells the server if it was not answered.
struct Waiting<'a> {
    link: &'a Arc<PipeLink>,
    id: i64,
    /// Whether the server is told when nobody waits any more.
    tell: bool,
}

// === impl Inbox ===

impl Inbox {
    /// Takes one message, or one batch.
    pub(crate) fn deliver(&self, message: &Bytes) {
        if let Some(link) = self.link.upgrade() {
            link.deliver(message);
        }
    }

    /// Nothing will come any more: whoever waits is told.
    pub(crate) fn closed(&self, why: &str) {
        if let Some(link) = self.link.upgrade() {
            link.end(why);
        }
    }
}

// === impl PipeLink ===

impl PipeLink {
    /// A link without a pipe yet, and where its transport puts what comes in.
    pub(crate) fn new(shared: Arc<Shared>) -> (Arc<Self>, Inbox) {
        let link = Arc::new(Self {
            shared,
            pipe: ArcSwapOption::empty(),
            dialect: ArcSwapOption::empty(),
            calls: Mutex::default(),
            questions: Mutex::default(),
            ended: Mutex::default(),
            over: CancellationToken::new(),
        });
        let inbox = Inbox { link: Arc::downgrade(&link) };
        (link, inbox)
    }

    pub(crate) fn attach(&self, pipe: Box<dyn Pipe>) {
        self.pipe.store(Some(Arc::new(pipe)));
    }

    pub(crate) fn speak(&self, dialect: Arc<Dialect>) {
        self.dialect.store(Some(dialect));
    }

    pub(crate) fn dialect(&self) -> Option<Arc<Dialect>> {
        self.dialect.load_full()
    }

    /// Sends a request and waits for its answer. Dropping the future takes the request back.
    pub(crate) async fn call(self: &Arc<Self>, ctx: &mut Ctx<'_>, extra: &[u8]) -> Result<Bytes, Error> {
        self.call_as(self.shared.next_id(), ctx, extra).await
    }

    /// The same with an id that is known before. It must be new.
    async fn call_as(self: &Arc<Self>, id: i64, ctx: &mut Ctx<'_>, extra: &[u8]) -> Result<Bytes, Error> {
        let dialect = self.dialect().ok_or(Error::Closed)?;
        let message = dialect.request(&Parts {
            id,
            method: &ctx.call.method,
            params: &ctx.call.params,
            extra,
            progress: ctx.call.progress.is_some() || ctx.call.reset_on_progress,
            log: self.shared.log(),
        })?;
        let (sender, mut messages) = mpsc::channel(WAITING);
        self.calls.lock().insert(id, sender);
        let mut waiting = Waiting { link: self, id, tell: false };
        self.ended_error()?;
        ctx.trace.sent += 1;
        ctx.trace.bytes_out += message.len() as u64;
        // Before it is sent: whoever stops waiting half-way cannot know whether the server has it.
        waiting.tell = ctx.call.method != "initialize";
        let (mut sending, mut sent) = (pin!(self.send(message)), false);
        loop {
            // The answer may be quicker than the last word on the sending.
            let message = tokio::select! {
                biased;
                outcome = &mut sending, if !sent => {
                    waiting.tell &= outcome.is_ok();
                    outcome?;
                    sent = true;
                    continue;
                }
                message = messages.recv() => message,
            };
            match message {
                Some(ToCall::Notification(notification)) => ctx.notify(&self.shared, notification),
                Some(ToCall::Answer(outcome)) => {
                    waiting.tell = false;
                    if let Ok(result) = &outcome {
                        ctx.trace.bytes_in += result.len() as u64;
                    }
                    return outcome;
                }
                None => {
                    waiting.tell = false;
                    let why = self.ended.lock().clone().unwrap_or_default();
                    return Err(Error::in_flight(Phase::Wait, why));
                }
            }
        }
    }

    /// Sends a message that is not answered.
    pub(crate) async fn send(&self, message: Bytes) -> Result<(), Error> {
        let pipe = self.pipe.load_full().ok_or(Error::Closed)?;
        pipe.send(message).await
    }

    pub(crate) async fn close(&self) {
        self.end("the client was closed");
        let pipe = self.pipe.swap(None);
        if let Some(pipe) = pipe {
            pipe.close().await;
        }
    }

    fn ended_error(&self) -> Result<(), Error> {
        if !self.over.is_cancelled() {
            return Ok(());
        }
        if self.pipe.load().is_none() {
            return Err(Error::Closed);
        }
        Err(Error::unsent(self.ended.lock().clone().unwrap_or_default()))
    }

    fn end(&self, why: &str) {
        self.ended.lock().get_or_insert_with(|| why.to_owned());
        self.over.cancel();
        // Whoever waits learns of it by the end of its channel. After that: a call that comes later sees it.
        self.calls.lock().clear();
        self.forget_questions();
    }

    /// Nobody wants to know any more.
    fn forget_questions(&self) {
        for (_, question) in self.questions.lock().drain() {
            question.abort();
        }
    }

    fn deliver(self: &Arc<Self>, message: &Bytes) {
        let read = wire::read(message, |said| match said {
            Said::Answer(id, outcome) => self.answered(id.as_ref(), outcome.map_err(Error::from)),
            Said::Notification { method, params } => self.notified(method, params),
            Said::Request { id, method, params } => self.asked(id, method, params),
        });
        if let Err(error) = read {
            tracing::debug!(%error, "a message of the server makes no sense");
            self.shared.count_nonsense();
        }
    }

    fn answered(&self, id: Option<&RequestId>, outcome: Result<Bytes, Error>) {
        let sender = match id {
            Some(RequestId::Number(id)) => self.calls.lock().remove(id),
            _ => None,
        };
        match sender {
            Some(sender) => self.hand_over(&sender, outcome),
            None => self.shared.count_stray(),
        }
    }

    /// The answer always finds room: notifications leave the last place free.
    fn hand_over(&self, sender: &mpsc::Sender<ToCall>, outcome: Result<Bytes, Error>) {
        if sender.try_send(ToCall::Answer(outcome)).is_err() {
            self.shared.count_stray();
        }
    }

    fn notified(&self, method: Box<str>, params: Bytes) {
        if &*method == "notifications/cancelled" {
            self.taken_back(&params);
            return;
        }
        let notification = Notification { method, params, event_id: None, source: Source::Pipe };
        if &*notification.method == "notifications/progress" {
            self.progressed(notification);
            return;
        }
        self.shared.publish(&notification);
    }

    /// Progress is for the call whose token it names, and for nobody where there is none any more.
    fn progressed(&self, notification: Notification) {
        let token =
            serde_json::from_slice(&notification.params).map(|it: ProgressParams| it.progress_token.0);
        let Ok(RequestId::Number(id)) = token else { return };
        let sender = self.calls.lock().get(&id).cloned();
        if let Some(sender) = sender.filter(|sender| sender.capacity() > 1) {
            let source = Source::Call(id);
            let _full = sender.try_send(ToCall::Notification(Notification { source, ..notification }));
        }
    }

    fn taken_back(&self, params: &Bytes) {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Cancelled {
            request_id: RequestId,
        }
        if let Ok(cancelled) = serde_json::from_slice::<Cancelled>(params)
            && let Some(question) = self.questions.lock().remove(&cancelled.request_id)
        {
            question.abort();
        }
    }

    fn asked(self: &Arc<Self>, id: RequestId, method: Box<str>, params: Bytes) {
        // What runs must not keep the pipe open when the client is gone.
        let (link, shared, key) = (Arc::downgrade(self), self.shared.clone(), id.clone());
        // 2026-07-28 has no requests of servers.
        let modern = self.dialect.load().as_ref().is_some_and(|dialect| dialect.is_modern());
        let mut questions = self.questions.lock();
        // Twice what is answered at the same time: what is refused has to be written, too.
        if modern || questions.len() > 2 * self.shared.config.limits.questions {
            self.shared.count_nonsense();
            return;
        }
        let task = tokio::spawn(async move {
            let answer = shared.answer(&id, &method, &params).await;
            let Some(link) = link.upgrade() else { return };
            link.questions.lock().remove(&id);
            if let Err(error) = link.send(answer).await {
                tracing::debug!(%error, "an answer to the server was not sent");
            }
        });
        questions.insert(key, task.abort_handle());
    }
}

impl Drop for PipeLink {
    fn drop(&mut self) {
        self.forget_questions();
    }
}

// === impl Waiting ===

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.link.calls.lock().remove(&self.id);
        if !self.tell {
            return;
        }
        let (link, message) = (self.link.clone(), wire::cancelled(self.id, "nobody waits any more"));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { link.send(message).await });
        }
    }
}

#[cfg(test)]
mod tests;
