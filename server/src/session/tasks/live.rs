//! A task on the replica that runs it: its handler goes on here, and asks through the store.

use std::{
    collections::HashSet,
    convert::Infallible,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::{runtime::Handle, sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use trunkline_protocol::{
    RequestId, Revision, RpcError,
    model::InputRequest,
    revision::{Era, TaskDialect},
};
use trunkline_store::StoreError;

use super::{
    Changes,
    ending::Ending,
    index,
    owner::Owner,
    record::{Said, State, TaskRecord},
    records::{self, Changed, insist},
};
use crate::{
    error::Refusal,
    outbox::Outbox,
    registry::{Answering, AskError, Asker, Asking, Outcome},
    session::Core,
    telemetry::{Gauge, Held},
};

/// How often a running task is looked at in the store, in case a signal was lost: how late it may learn that it was called
/// off, and with a question open, that it was answered.
const LOOK: Duration = Duration::from_secs(5);
const LOOK_FOR_ANSWER: Duration = Duration::from_secs(1);

/// A task whose handler runs here.
pub(super) struct LiveTask {
    core: Arc<Core>,
    id: String,
    owner: Owner,
    revision: Revision,
    tool: Box<str>,
    ttl: Duration,
    /// When the store drops it, as far as this replica's clock tells: when trying again is in vain.
    expires: Instant,
    /// The state as it was last read.
    seen: watch::Sender<Option<State>>,
    /// The keys of all questions there were: each is used once (*Task Update Requests*).
    keys: Mutex<HashSet<String>>,
    /// Questions that wait for an answer.
    open: AtomicUsize,
}

/// A question that waits. Dropped before it is answered, it is taken back.
struct Waiting<'a> {
    task: &'a LiveTask,
    key: String,
    answered: bool,
    _held: Held,
}

// === impl LiveTask ===

impl LiveTask {
    /// A task that is kept for `ttl`. The store knows nothing of it yet.
    pub(super) fn new(core: &Arc<Core>, owner: Owner, revision: Revision, tool: &str, ttl: Duration) -> Self {
        Self {
            id: owner.mint(&core.services.keys),
            core: core.clone(),
            owner,
            revision,
            tool: tool.into(),
            ttl,
            expires: Instant::now() + ttl,
            seen: watch::Sender::new(None),
            keys: Mutex::default(),
            open: AtomicUsize::new(0),
        }
    }

    /// How the handler asks. An older client without a session has nowhere to send an answer.
    pub(super) fn asking(self: &Arc<Self>, in_session: bool) -> Asking {
        let answerable = in_session || self.revision.era() == Era::Modern;
        if answerable { Asking::During(self.clone()) } else { Asking::Never }
    }

    /// Writes the task down, so that every replica finds it. Returns what the client is told, and the changes of the task from
    /// then on.
    ///
    /// # Errors
    /// If the store does not take it. Nothing of the task is left then, but what expires by itself.
    pub(super) async fn create(&self) -> Result<(Bytes, Changes), Refusal> {
        // Before anybody can change it: no change is missed.
        let changes = Changes::of(&self.core, &self.id);
        let (services, tasks) = (&self.core.services, &self.core.tasks);
        let store = &*services.store;
        // Others judge by it from the moment that they find the task.
        tasks.leases.keep().await?;
        let (record, begun) =
            TaskRecord::begin(&self.owner, self.revision, &self.tool, &services.replica, self.ttl);
        if !tasks.records.create(&self.id, record, self.ttl).await? {
            tracing::error!("a task id of 128 random bits came twice");
            return Err(Refusal::BackendUnavailable("the source of random numbers"));
        }
        if self.owner.dialect() == TaskDialect::Core && self.owner.is_known() {
            let listed = index::add(services, &self.owner, &self.id, self.ttl).await;
            if !matches!(listed, Ok(true)) {
                store.delete(&records::key(&self.id)).await?;
                listed?;
                return Err(Refusal::TooMany("tasks to be listed"));
            }
        }
        let catalog = self.core.registry.catalog();
        let task = begun.to_model(&self.id);
        let answer = super::encoded(|out| {
            self.revision.write_create_task_result(out, &task, catalog.server(self.revision));
        });
        Ok((answer, changes))
    }

    /// Goes on with the handler until it is done or the task is called off, and writes down what it came to. `cancel` stops
    /// the handler.
    pub(super) async fn run(
        &self,
        cancel: &CancellationToken,
        handler: impl Future<Output = Outcome>,
        changes: Changes,
        _running: Held,
    ) {
        let handler = pin!(handler);
        let outcome = tokio::select! {
            biased;
            outcome = handler => outcome,
            never = self.watch(changes, cancel) => match never {},
        };
        self.end(&outcome).await;
    }

    /// Keeps what was read of the task fresh, and stops the handler when the task has ended without it or is gone.
    async fn watch(&self, mut changes: Changes, cancel: &CancellationToken) -> Infallible {
        let tasks = &self.core.tasks;
        loop {
            let asks = self.open.load(Ordering::Relaxed) > 0;
            let _told = changes.next(if asks { LOOK_FOR_ANSWER } else { LOOK }).await;
            match tasks.records.load(&self.id).await {
                Ok(Some(record)) => {
                    if record.state.is_terminal() {
                        cancel.cancel();
                    }
                    self.seen.send_replace(Some(record.state));
                }
                Ok(None) => cancel.cancel(),
                Err(error) => tracing::debug!(%error, "a running task was not looked at"),
            }
        }
    }

    async fn end(&self, outcome: &Outcome) {
        let records = &self.core.tasks.records;
        let most = self.core.services.limits.result_bytes;
        let ending = Ending::of(self.revision, &self.id, outcome, most);
        let mut changed = insist(self.expires, || records.end(&self.id, self.ttl, &ending)).await;
        if let Err(StoreError::TooLarge { .. }) = changed {
            let ending = Ending::failed(&RpcError::internal("the result is too large to be kept"));
            changed = insist(self.expires, || records.end(&self.id, self.ttl, &ending)).await;
        }
        match changed {
            Ok(Changed::Yes(task)) => {
                tracing::debug!(tool = &*self.tool, status = ?task.state.status, "a task has ended");
                self.core.tasks.announce(&self.id).await;
            }
            Ok(Changed::No(_) | Changed::Gone) => {}
            Err(error) => tracing::error!(%error, tool = &*self.tool, "the end of a task was not written"),
        }
    }

    /// A key of its own for a question: the handler's, or that with a number where it has been used.
    fn own_key(&self, wanted: &str) -> String {
        let mut keys = self.keys.lock();
        let mut key = wanted.to_owned();
        let mut number = 1_u32;
        while !keys.insert(key.clone()) {
            number += 1;
            key = format!("{wanted}.{number}");
        }
        key
    }

    async fn put_question(&self, key: &str, question: &InputRequest) -> Result<(), AskError> {
        let records = &self.core.tasks.records;
        let most = self.core.services.limits.questions_per_session;
        let put = insist(self.expires, || {
            records.change(&self.id, |state| {
                (state.open_questions() < most || state.is_asking(key)) && state.ask(key, question)
            })
        });
        match put.await {
            Ok(Changed::Yes(_)) => {
                self.core.tasks.announce(&self.id).await;
                Ok(())
            }
            Ok(Changed::No(task)) if !task.state.is_terminal() => Err(AskError::TooMany),
            Ok(Changed::No(_) | Changed::Gone) => Err(AskError::Cancelled),
            Err(error @ StoreError::TooLarge { .. }) => Err(AskError::Malformed(error.to_string())),
            Err(_) => Err(AskError::Closed),
        }
    }

    async fn answer_to(&self, key: &str) -> Result<Box<RawValue>, AskError> {
        let mut seen = self.seen.subscribe();
        let answered =
            seen.wait_for(|state| state.as_ref().is_some_and(|state| state.answered(key).is_some()));
        let Some(blob) =
            answered.await.ok().and_then(|state| state.as_ref()?.answered(key).map(str::to_owned))
        else {
            return Err(AskError::Closed);
        };
        let records = &self.core.tasks.records;
        let said = insist(self.expires, || records.blob(&self.id, &blob)).await;
        let said = said.ok().flatten().ok_or(AskError::Closed)?;
        if records.change(&self.id, |state| state.take(key)).await.is_ok() {
            records.drop_blob(&self.id, &blob).await;
        }
        match serde_json::from_slice(&said) {
            Ok(Said::Answer(answer)) => Ok(answer),
            Ok(Said::Refused(error)) => Err(AskError::Refused(error)),
            Err(error) => Err(AskError::Malformed(error.to_string())),
        }
    }
}

impl Asker for LiveTask {
    fn ask<'a>(
        &'a self,
        _call: &'a RequestId,
        _outbox: &'a Arc<Outbox>,
        key: &'a str,
        question: &'a InputRequest,
    ) -> Answering<'a> {
        Box::pin(async move {
            let inexpressible = |error: trunkline_protocol::revision::Inexpressible| error.to_string();
            self.revision.can_ask(question).map_err(inexpressible).map_err(AskError::Malformed)?;
            let mut waiting = Waiting::new(self, self.own_key(key));
            self.put_question(&waiting.key, question).await?;
            let limit = self.core.services.limits.question_time;
            let answered = tokio::time::timeout(limit, self.answer_to(&waiting.key)).await;
            let answer = answered.map_err(|_| AskError::TimedOut)?;
            waiting.answered = true;
            answer
        })
    }
}

// === impl Waiting ===

impl<'a> Waiting<'a> {
    fn new(task: &'a LiveTask, key: String) -> Self {
        task.open.fetch_add(1, Ordering::Relaxed);
        let held = task.core.services.metrics.hold(Gauge::Questions);
        Self { task, key, answered: false, _held: held }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.task.open.fetch_sub(1, Ordering::Relaxed);
        if self.answered {
            return;
        }
        // When the process ends there is nobody left to take it back, and nobody to answer.
        let Ok(runtime) = Handle::try_current() else { return };
        let (core, id, key) = (self.task.core.clone(), self.task.id.clone(), std::mem::take(&mut self.key));
        let expires = self.task.expires;
        runtime.spawn(async move {
            let records = &core.tasks.records;
            match insist(expires, || records.change(&id, |state| state.withdraw(&key))).await {
                Ok(Changed::Yes(_)) => core.tasks.announce(&id).await,
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "a question was not taken back"),
            }
        });
    }
}
