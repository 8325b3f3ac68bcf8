//! What all parts of one client share: ids, counters, who hears notifications, who answers questions.

use std::{
    sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc};
use trunkline_protocol::{
    Method, RequestId, Revision, RpcError,
    jsonrpc::{write_error, write_json, write_result},
    model::{InputRequest, LogLevel, ProgressParams},
    params::read,
};

use crate::{
    cache::Cache,
    call::{Call, Trace},
    config::Config,
    notifications::{Notification, StreamEvent},
    wire::Dialect,
};

/// Counters of a client's whole life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Answers to requests that were not asked, or were answered already, or given up.
    pub stray_answers: u64,
    /// Messages that make no sense: not JSON-RPC, or requests where the revision has none.
    pub nonsense: u64,
    /// Questions of the server that were put to the handler.
    pub questions: u64,
}

/// Shared state of one client.
pub(crate) struct Shared {
    pub(crate) config: Config,
    ids: AtomicI64,
    /// Questions that may still be put at the same time.
    asking: Semaphore,
    subscribers: Mutex<Vec<Subscriber>>,
    has_subscribers: AtomicBool,
    /// The log level wanted: its place in [`LogLevel::ALL`] and one more, or 0.
    log: AtomicU8,
    stray_answers: AtomicU64,
    nonsense: AtomicU64,
    asked: AtomicU64,
    /// Answers that may be used again.
    pub(crate) cache: Cache,
}

struct Subscriber {
    sender: mpsc::Sender<StreamEvent>,
    missed: u64,
}

/// When a call was last heard of, for timeouts that progress starts anew.
#[derive(Debug)]
pub(crate) struct Beat {
    started: Instant,
    /// Milliseconds after `started`.
    last: AtomicU64,
}

/// One call under way.
pub(crate) struct Ctx<'a> {
    pub(crate) call: &'a Call,
    pub(crate) trace: &'a mut Trace,
    pub(crate) beat: &'a Beat,
}

// === impl Beat ===

impl Beat {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), last: AtomicU64::new(0) }
    }

    pub(crate) fn now(&self) {
        let elapsed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(elapsed, Ordering::Relaxed);
    }

    /// How long ago that was.
    pub(crate) fn silence(&self) -> Duration {
        self.started.elapsed().saturating_sub(Duration::from_millis(self.last.load(Ordering::Relaxed)))
    }
}

// === impl Ctx ===

impl Ctx<'_> {
    /// Takes a notification of the call's own stream.
    pub(crate) fn notify(&mut self, shared: &Shared, notification: Notification) {
        if &*notification.method == "notifications/progress" {
            self.beat.now();
            if let Some(sender) = &self.call.progress {
                let progress = serde_json::from_slice::<ProgressParams>(&notification.params);
                if !progress.is_ok_and(|progress| sender.try_send(progress).is_ok()) {
                    self.trace.dropped += 1;
                }
                return;
            }
        }
        if let Some(sender) = &self.call.notifications {
            shared.cache.notified(&notification.method, &notification.params);
            if sender.try_send(notification).is_err() {
                self.trace.dropped += 1;
            }
            return;
        }
        if !shared.publish(&notification) {
            self.trace.dropped += 1;
        }
    }
}

// === impl Shared ===

impl Shared {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            ids: AtomicI64::new(1),
            asking: Semaphore::new(config.limits.questions.min(Semaphore::MAX_PERMITS)),
            subscribers: Mutex::default(),
            has_subscribers: AtomicBool::new(false),
            log: AtomicU8::new(0),
            stray_answers: AtomicU64::new(0),
            nonsense: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            cache: Cache::new(&config.limits),
            config,
        }
    }

    /// An id that was never used.
    pub(crate) fn next_id(&self) -> i64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn dialect(&self, revision: Revision) -> Dialect {
        Dialect::new(revision, &self.config.implementation, &self.config.capabilities)
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters {
            stray_answers: self.stray_answers.load(Ordering::Relaxed),
            nonsense: self.nonsense.load(Ordering::Relaxed),
            questions: self.asked.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn count_stray(&self) {
        self.stray_answers.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_nonsense(&self) {
        self.nonsense.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn set_log(&self, level: Option<LogLevel>) {
        let place = level.and_then(|level| LogLevel::ALL.iter().position(|known| *known == level));
        self.log.store(place.map_or(0, |place| u8::try_from(place + 1).unwrap_or(0)), Ordering::Relaxed);
    }

    pub(crate) fn log(&self) -> Option<LogLevel> {
        let place = self.log.load(Ordering::Relaxed);
        usize::from(place).checked_sub(1).and_then(|place| LogLevel::ALL.get(place).copied())
    }

    /// Hears what comes on any stream.
    pub(crate) fn subscribe(&self) -> mpsc::Receiver<StreamEvent> {
        let (sender, receiver) = mpsc::channel(self.config.notifications.max(1));
        self.subscribers.lock().push(Subscriber { sender, missed: 0 });
        self.has_subscribers.store(true, Ordering::Release);
        receiver
    }

    /// Tells everybody who hears. `false` if nobody does.
    pub(crate) fn publish(&self, notification: &Notification) -> bool {
        self.cache.notified(&notification.method, &notification.params);
        if !self.has_subscribers.load(Ordering::Acquire) {
            return false;
        }
        let mut subscribers = self.subscribers.lock();
        subscribers.retain_mut(|subscriber| subscriber.tell(notification));
        let any = !subscribers.is_empty();
        self.has_subscribers.store(any, Ordering::Release);
        any
    }

    /// Answers a request of the server: the whole message to send back.
    pub(crate) async fn answer(&self, id: &RequestId, method: &str, params: &Bytes) -> Bytes {
        let mut out = Vec::new();
        match self.outcome(method, params).await {
            Ok(result) => write_result(&mut out, id, |out| out.extend_from_slice(&result)),
            Err(error) => write_error(&mut out, Some(id), &error),
        }
        Bytes::from(out)
    }

    async fn outcome(&self, method: &str, params: &Bytes) -> Result<Vec<u8>, RpcError> {
        let question = match Method::from_name(method) {
            Some(Method::Ping) => return Ok(b"{}".to_vec()),
            Some(Method::ElicitationCreate) => read_params(params).map(InputRequest::Elicit)?,
            Some(Method::SamplingCreateMessage) => read_params(params).map(InputRequest::Sample)?,
            Some(Method::RootsList) => InputRequest::Roots,
            _ => return Err(RpcError::method_not_found(method)),
        };
        self.ask(question).await
    }

    /// Puts a question to the handler, and writes its answer as JSON.
    pub(crate) async fn ask(&self, question: InputRequest) -> Result<Vec<u8>, RpcError> {
        let method = question.method();
        let Some(handler) = &self.config.questions else {
            return Err(RpcError::method_not_found(method.name()));
        };
        if !question.is_served_by(&self.config.capabilities) {
            return Err(RpcError::invalid_params(format!(
                "the client did not declare this kind of {method}"
            )));
        }
        let Ok(_permit) = self.asking.try_acquire() else {
            return Err(RpcError::internal("too many questions at once"));
        };
        self.asked.fetch_add(1, Ordering::Relaxed);
        let response = handler.ask(question).await?;
        let mut out = Vec::new();
        match response {
            trunkline_protocol::model::InputResponse::Elicit(result) => write_json(&mut out, &result),
            trunkline_protocol::model::InputResponse::Sample(result) => write_json(&mut out, &result),
            trunkline_protocol::model::InputResponse::Roots(result) => write_json(&mut out, &result),
        }
        Ok(out)
    }
}

fn read_params<T: serde::de::DeserializeOwned>(params: &Bytes) -> Result<T, RpcError> {
    let raw = serde_json::from_slice(params).map_err(|error| RpcError::invalid_params(error.to_string()))?;
    read(raw, "params").map_err(RpcError::invalid_params)
}

// === impl Subscriber ===

impl Subscriber {
    /// `false` when it is gone.
    fn tell(&mut self, notification: &Notification) -> bool {
        if self.missed > 0 {
            match self.sender.try_send(StreamEvent::Lagged(self.missed)) {
                Ok(()) => self.missed = 0,
                Err(mpsc::error::TrySendError::Full(_)) => {
                    self.missed += 1;
                    return true;
                }
                Err(mpsc::error::TrySendError::Closed(_)) => return false,
            }
        }
        match self.sender.try_send(StreamEvent::Notification(notification.clone())) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.missed += 1;
                true
            }
            Err(mpsc::error::TrySendError::Closed(_)) => false,
        }
    }
}
