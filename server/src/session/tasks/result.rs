//! `tasks/result` (2025-11-25): waits until a task has ended, asks its questions meanwhile, and brings what its call came to.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use trunkline_protocol::{
    Method, RpcError,
    model::{InputRequest, TaskStatus},
    revision::Related,
};
use trunkline_store::StoreError;

use super::{
    Changes,
    methods::{find, own_id, read_error, unknown},
    owner::Owner,
    record::{Said, State, TaskRecord},
    records::insist,
};
use crate::{
    error::Refusal,
    registry::{AskError, Begun, Exchange, Outcome, Running},
    session::{
        Core, LiveSession,
        serve::{Context, Incoming},
    },
};

/// How often a task is looked at in the store, in case a signal was lost.
const LOOK: Duration = Duration::from_secs(1);

/// How much longer than a task may live its result is waited for.
const SLACK: Duration = Duration::from_secs(60);

/// One `tasks/result` that waits.
struct Waiter {
    core: Arc<Core>,
    session: Option<Arc<LiveSession>>,
    exchange: Exchange,
    owner: Owner,
    id: String,
    /// Questions of the task that this stream asks. Dropping one takes it back.
    asked: HashMap<String, DropGuard>,
    answers: FuturesUnordered<Coming>,
}

/// The answer to a question of a task, on its way, under the question's key.
type Coming = BoxFuture<'static, (String, Result<Box<RawValue>, AskError>)>;

/// Begins to wait for a task's result.
///
/// # Errors
/// Why it is not waited for.
pub(in crate::session) async fn begin_result(
    core: &Arc<Core>,
    context: &Context,
    exchange: Exchange,
    incoming: &Incoming<'_>,
) -> Result<Begun, Refusal> {
    let (revision, method) = (context.caller.revision, Method::TasksResult);
    let Some(owner) = Owner::of(&context.caller) else {
        return Err(Refusal::MethodNotFound { method: method.name().to_owned(), modern: false });
    };
    let Some(id) = own_id(core, &owner, method, revision, incoming)? else {
        return Ok(Begun::Done(unknown()));
    };
    let Some(task) = find(core, &owner, id).await? else { return Ok(Begun::Done(unknown())) };
    if task.state.is_terminal() {
        return Ok(Begun::Done(outcome(core, id, &task).await?));
    }
    let waiter = Waiter {
        core: core.clone(),
        session: context.session.clone(),
        exchange: exchange.clone(),
        owner,
        id: id.to_owned(),
        asked: HashMap::new(),
        answers: FuturesUnordered::new(),
    };
    Ok(Begun::Running(Running::new(exchange, Box::pin(waiter.wait()), core.services.limits.task_ttl + SLACK)))
}

/// What the call of an ended task came to.
async fn outcome(core: &Core, id: &str, task: &TaskRecord) -> Result<Outcome, StoreError> {
    if task.state.status == TaskStatus::Cancelled {
        return Ok(Outcome::Error(RpcError::invalid_params("the task was cancelled and has no result")));
    }
    let payload = match &task.state.payload {
        Some(name) => core.tasks.records.blob(id, name).await?,
        None => None,
    };
    Ok(match (task.state.status, payload) {
        (TaskStatus::Failed, payload) => Outcome::Error(read_error(&payload.unwrap_or_default())),
        (_, Some(payload)) => Outcome::Encoded(payload),
        // It has expired just now.
        (_, None) => unknown(),
    })
}

/// Reads the task, and if nothing was told of it, whether the replica that runs it is still there.
async fn look(core: &Core, owner: &Owner, id: &str, told: bool) -> Result<Option<TaskRecord>, StoreError> {
    if told { core.tasks.records.load(id).await } else { find(core, owner, id).await }
}

// === impl Waiter ===

impl Waiter {
    async fn wait(mut self) -> Outcome {
        let core = self.core.clone();
        let mut changes = Changes::of(&core, &self.id);
        let mut told = false;
        loop {
            match look(&core, &self.owner, &self.id, told).await {
                Ok(Some(task)) if task.state.is_terminal() => match outcome(&core, &self.id, &task).await {
                    Ok(outcome) => return outcome,
                    Err(error) => tracing::debug!(%error, "a task's result was not read"),
                },
                Ok(Some(task)) => self.ask_what_is_open(&task.state),
                Ok(None) => return unknown(),
                Err(error) => tracing::debug!(%error, "a task was not looked at"),
            }
            tokio::select! {
                change = changes.next(LOOK) => told = change,
                Some((key, answer)) = self.answers.next() => match said(answer) {
                    Ok(said) => give(&core, &self.id, key, said).await,
                    // There may be room for one more question when the task is next looked at.
                    Err(AskError::TooMany) => drop(self.asked.remove(&key)),
                    // This stream asks it no more; the next `tasks/result` may.
                    Err(_) => {}
                },
            }
        }
    }

    /// Asks what is not asked yet, and takes back what is answered elsewhere or no longer wanted.
    fn ask_what_is_open(&mut self, state: &State) {
        self.asked.retain(|key, _| state.is_asking(key));
        let Some(session) = self.session.clone() else { return };
        for (key, question) in state.questions() {
            if self.asked.contains_key(&key) {
                continue;
            }
            let over = CancellationToken::new();
            self.asked.insert(key.clone(), over.clone().drop_guard());
            let asking = ask(session.clone(), self.exchange.clone(), self.id.clone(), question, over);
            self.answers.push(Box::pin(async move { (key, asking.await) }));
        }
    }
}

/// What a client has said, if it has.
fn said(answer: Result<Box<RawValue>, AskError>) -> Result<Said, AskError> {
    match answer {
        Ok(answer) => Ok(Said::Answer(answer)),
        Err(AskError::Refused(error)) => Ok(Said::Refused(error)),
        Err(error) => Err(error),
    }
}

/// Hands what a client has said to the task, wherever it runs.
async fn give(core: &Core, id: &str, key: String, said: Said) {
    let ttl = core.services.limits.task_ttl;
    let said = [(key, said)];
    match insist(Instant::now() + ttl, || core.tasks.records.give(id, ttl, &said)).await {
        Ok(true) => core.tasks.announce(id).await,
        Ok(false) => core.services.metrics.late_answer(),
        Err(error) => tracing::warn!(%error, "an answer to a task's question was lost"),
    }
}

/// Asks a task's question on the stream of the request that waits for its result.
async fn ask(
    session: Arc<LiveSession>,
    exchange: Exchange,
    task: String,
    question: InputRequest,
    over: CancellationToken,
) -> Result<Box<RawValue>, AskError> {
    let related = Related { subscription: None, task: Some(&task) };
    session.ask_on(&exchange.asked().id, exchange.outbox(), &question, related, over.cancelled()).await
}
