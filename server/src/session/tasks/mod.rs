//! Tasks: calls whose answer is fetched later, from any replica (2025-11-25 *Tasks*, and the extension
//! `io.modelcontextprotocol/tasks` of 2026-07-28).
//!
//! A task's handler runs on the replica that took the call; everything a client may ask of the task lies in the store. So any
//! replica tells how it stands, takes an answer to its questions, calls it off, and hands out its result. What changes in the
//! store is announced to all replicas, and looked for every few seconds by those who wait, so that a lost signal delays and
//! never hangs.
//!
//! | | 2025-11-25 | the extension |
//! | --- | --- | --- |
//! | begins a task | the client, with `params.task` | we do, if the client knows tasks |
//! | a tool that forbids tasks, called as one | -32601 | cannot be told: an ordinary call |
//! | a tool that requires tasks, called without | -32601 | -32021 |
//! | its questions | on the stream of `tasks/result` | in `tasks/get`, answered by `tasks/update` |
//! | its result | `tasks/result`, which waits | `tasks/get` |
//! | `tasks/cancel` of one that has ended | -32602 | acknowledged |
//!
//! The older revisions have no tasks; there, a tool that requires them is called as any other.
//!
//! Not delivered: progress and log messages of a task, which have no stream to travel on, and `notifications/tasks/status`
//! (both optional).

mod ending;
mod index;
mod ledger;
mod live;
mod methods;
mod owner;
mod record;
mod records;
mod result;
mod start;
#[cfg(test)]
mod tests;
mod timestamp;

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::watch;
use trunkline_protocol::{
    Method, RpcError,
    error::code,
    model::{ClientCapabilities, TaskParams, TaskSupport, keys::TASKS_EXTENSION},
    params::{Params, read},
    revision::TaskDialect,
};

use self::{ledger::Ledger, records::Records};
use trunkline_store::StoreError;

use super::{
    Core,
    lease::Leases,
    peers::{self, Signal},
    serve::Context,
};
use crate::registry::{Catalog, Client, Services, missing_capability};

pub(super) use methods::answer;
pub(super) use result::begin_result;
pub(super) use start::{start, start_as_call};

/// What one replica keeps of tasks.
pub(crate) struct Tasks {
    services: Arc<Services>,
    ledger: Ledger,
    /// The replicas that are there: a task is not given up for some seconds' silence.
    leases: Leases,
    records: Records,
    /// Who waits here for a task to change, by its id. There are no more than calls in flight and running tasks.
    waiting: Mutex<HashMap<Box<str>, watch::Sender<()>>>,
}

/// Waits for a task to change, until dropped.
struct Changes {
    core: Arc<Core>,
    id: Box<str>,
    changed: watch::Receiver<()>,
}

/// How a call is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// As an ordinary call.
    Call,
    /// As a task that is kept for so long.
    Task(Duration),
    /// As an ordinary call, until its handler says that it is a task.
    CallFirst,
}

/// The shortest time that a task is kept: a shorter one would be gone before it could be asked for.
const SHORTEST: Duration = Duration::from_secs(1);

/// How a call of a tool is run.
///
/// # Errors
/// Why it is not.
pub(super) fn plan(
    catalog: &Catalog,
    services: &Services,
    context: &Context,
    method: Method,
    params: &Params<'_>,
) -> Result<Plan, RpcError> {
    let dialect = context.caller.revision.features().tasks.filter(|_| method == Method::ToolsCall);
    let Some(dialect) = dialect else { return Ok(Plan::Call) };
    let Some(tool) = params.name.as_ref().and_then(|name| catalog.tool(&name.0)) else {
        return Ok(Plan::Call);
    };
    let support = tool.definition.task_support();
    match dialect {
        TaskDialect::Core => {
            let asked = params.task.filter(|_| catalog.has_tasks());
            let unserved = |what| Err(RpcError::new(code::METHOD_NOT_FOUND, format!("this tool {what}")));
            match (support, asked) {
                (TaskSupport::Forbidden, Some(_)) => {
                    unserved("does not run as a task; call it without `task`")
                }
                (TaskSupport::Required, None) => unserved("runs as a task only; call it with `task`"),
                (_, None) => Ok(Plan::Call),
                (_, Some(raw)) => {
                    let asked: TaskParams = read(raw, "task").map_err(RpcError::invalid_params)?;
                    let asked = asked.ttl.map_or(services.limits.task_ttl, Duration::from_millis);
                    Ok(Plan::Task(asked.clamp(SHORTEST, services.limits.task_ttl.max(SHORTEST))))
                }
            }
        }
        TaskDialect::Extension => {
            match (support, support != TaskSupport::Forbidden && takes_tasks(context)) {
                (TaskSupport::Required, false) => Err(missing_extension()),
                (_, false) => Ok(Plan::Call),
                (_, true) if tool.asks_before_task => Ok(Plan::CallFirst),
                (_, true) => Ok(Plan::Task(services.limits.task_ttl)),
            }
        }
    }
}

/// Whether the client said with this request that it takes a task for an answer.
fn takes_tasks(context: &Context) -> bool {
    let Client::Request { capabilities, .. } = &context.caller.client else { return false };
    let declared = serde_json::from_slice::<ClientCapabilities>(capabilities);
    declared.is_ok_and(|declared| declared.supports_tasks_extension())
}

fn missing_extension() -> RpcError {
    missing_capability(&ClientCapabilities::default().with_extension(TASKS_EXTENSION))
}

// === impl Tasks ===

impl Tasks {
    /// None yet.
    pub(crate) fn new(services: Arc<Services>) -> Self {
        Self {
            ledger: Ledger::new(services.limits.tasks_per_principal),
            leases: Leases::long(services.store.clone(), &services.replica),
            records: Records::new(services.store.clone(), services.limits.value_bytes),
            waiting: Mutex::default(),
            services,
        }
    }

    /// Keeps this replica's lease alive. To be called now and then.
    ///
    /// # Errors
    /// That the store did not take it.
    pub(super) async fn keep_lease(&self) -> Result<(), StoreError> {
        self.leases.keep().await
    }

    /// Ends this replica's lease.
    pub(super) async fn release_lease(&self) {
        self.leases.release().await;
    }

    /// A task has changed in the store: wakes who waits for it here.
    pub(super) fn changed(&self, id: &str) {
        if let Some(waiting) = self.waiting.lock().get(id) {
            waiting.send_replace(());
        }
    }

    /// Tells all replicas that a task has changed in the store. One that is not reached finds out by itself.
    async fn announce(&self, id: &str) {
        self.changed(id);
        let signal = Signal::Task { task: id.into() };
        if let Err(error) = peers::mention(&self.services, &signal).await {
            tracing::debug!(%error, "a task's change was not announced");
        }
    }
}

// === impl Changes ===

impl Changes {
    /// The changes of a task from now on.
    fn of(core: &Arc<Core>, id: &str) -> Self {
        let changed = core.tasks.waiting.lock().entry(id.into()).or_default().subscribe();
        Self { core: core.clone(), id: id.into(), changed }
    }

    /// Waits until the task has changed, for `pause` at most. Whether it was told to have changed.
    async fn next(&mut self, pause: Duration) -> bool {
        tokio::time::timeout(pause, self.changed.changed()).await.is_ok()
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let mut waiting = self.core.tasks.waiting.lock();
        // We are counted, too.
        if waiting.get(&self.id).is_some_and(|sender| sender.receiver_count() <= 1) {
            waiting.remove(&self.id);
        }
    }
}

/// A result that is written already.
fn encoded(write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut out = Vec::with_capacity(512);
    write(&mut out);
    out.into()
}
