//! `tasks/get`, `tasks/update`, `tasks/cancel` and `tasks/list`.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::try_join_all;
use serde_json::value::RawValue;
use trunkline_protocol::{
    Method, Revision, RpcError,
    model::{Task, TaskDetail, TaskStatus},
    params::read,
    revision::TaskDialect,
};
use trunkline_store::StoreError;

use super::{
    ending::Ending,
    index,
    owner::Owner,
    record::{End, Said, TaskRecord},
    records::Changed,
};
use crate::{
    error::Refusal,
    registry::{Outcome, read_answer},
    session::{
        Core,
        serve::{Context, Incoming},
    },
};

/// The outcome of a request about tasks that is answered at once.
///
/// # Errors
/// Why it is not answered.
pub(in crate::session) async fn answer(
    core: &Arc<Core>,
    context: &Context,
    method: Method,
    incoming: &Incoming<'_>,
) -> Result<Outcome, Refusal> {
    let revision = context.caller.revision;
    let owner = Owner::of(&context.caller).ok_or_else(|| unserved(method, revision))?;
    if owner.dialect() == TaskDialect::Extension && !super::takes_tasks(context) {
        return Ok(Outcome::Error(super::missing_extension()));
    }
    if method == Method::TasksList {
        let cursor = incoming.params.cursor.as_ref().map(|cursor| &*cursor.0);
        return list(core, &owner, revision, cursor).await;
    }
    let Some(id) = own_id(core, &owner, method, revision, incoming)? else { return Ok(unknown()) };
    match method {
        Method::TasksUpdate => update(core, &owner, revision, id, incoming.params.input_responses).await,
        Method::TasksCancel => cancel(core, &owner, revision, id).await,
        _ => get(core, &owner, revision, id).await,
    }
}

/// The id that a request names, if it is one of the caller's.
///
/// # Errors
/// If it names none, or nothing here runs as a task.
pub(super) fn own_id<'a>(
    core: &Core,
    owner: &Owner,
    method: Method,
    revision: Revision,
    incoming: &'a Incoming<'_>,
) -> Result<Option<&'a str>, Refusal> {
    let id = incoming.params.task_id.as_ref();
    let id = id.ok_or_else(|| Refusal::InvalidParams("`taskId` is missing".to_owned()))?;
    if owner.minted(&core.services.keys, &id.0) {
        return Ok(Some(&*id.0));
    }
    // A task that began when there was a tool for it can still be asked for.
    if core.registry.catalog().has_tasks() { Ok(None) } else { Err(unserved(method, revision)) }
}

/// The answer to whoever names a task that is not, or is not his.
pub(super) fn unknown() -> Outcome {
    Outcome::Error(RpcError::invalid_params("the task is unknown or has expired"))
}

/// A task of this owner, if it is there. If it is still running on a replica that is gone, it is ended first.
pub(super) async fn find(core: &Core, owner: &Owner, id: &str) -> Result<Option<TaskRecord>, StoreError> {
    let tasks = &core.tasks;
    let Some(task) = tasks.records.load(id).await?.filter(|task| task.belongs_to(owner)) else {
        return Ok(None);
    };
    if task.state.is_terminal() || !tasks.leases.is_gone(&task.replica).await? {
        return Ok(Some(task));
    }
    tracing::warn!("a task is given up, since the replica that ran it is gone");
    let gone = RpcError::internal("the replica that ran the task is gone; what came of the call is unknown");
    match tasks.records.end(id, task.ttl, &Ending::failed(&gone)).await? {
        Changed::Yes(task) => {
            tasks.announce(id).await;
            Ok(Some(*task))
        }
        Changed::No(task) => Ok(Some(*task)),
        Changed::Gone => Ok(None),
    }
}

/// The error that a failed task ended in; `None` if it has expired.
pub(super) fn read_error(payload: &[u8]) -> RpcError {
    serde_json::from_slice(payload).unwrap_or_else(|_| RpcError::internal("the task failed"))
}

async fn get(core: &Core, owner: &Owner, revision: Revision, id: &str) -> Result<Outcome, Refusal> {
    let Some(task) = find(core, owner, id).await? else { return Ok(unknown()) };
    let detail = match owner.dialect() {
        // Fetched by `tasks/result`.
        TaskDialect::Core => TaskDetail::None,
        TaskDialect::Extension => match detail(core, id, &task).await? {
            Some(detail) => detail,
            None => return Ok(unknown()),
        },
    };
    let catalog = core.registry.catalog();
    let mut written = Ok(());
    let result = super::encoded(|out| {
        let server = catalog.server(revision);
        written = revision.write_get_task_result(out, &task.to_model(id), &detail, server);
    });
    Ok(match written {
        Ok(()) => Outcome::Encoded(result),
        Err(error) => Outcome::Error(RpcError::internal(error.to_string())),
    })
}

/// What a task carries beside its status; `None` if its result has expired just now.
async fn detail(core: &Core, id: &str, task: &TaskRecord) -> Result<Option<TaskDetail>, StoreError> {
    let Some(name) = &task.state.payload else { return Ok(Some(task.state.detail())) };
    let Some(payload) = core.tasks.records.blob(id, name).await? else { return Ok(None) };
    if task.state.status == TaskStatus::Failed {
        return Ok(Some(TaskDetail::Error(read_error(&payload))));
    }
    let result = serde_json::from_slice::<Box<RawValue>>(&payload);
    Ok(result.ok().map(TaskDetail::Result))
}

async fn cancel(core: &Core, owner: &Owner, revision: Revision, id: &str) -> Result<Outcome, Refusal> {
    if find(core, owner, id).await?.is_none() {
        return Ok(unknown());
    }
    let changed = core.tasks.records.change(id, |state| state.end(End::cancelled())).await?;
    let task = match changed {
        Changed::Gone => return Ok(unknown()),
        Changed::No(_) if owner.dialect() == TaskDialect::Core => {
            let ended = "the task has ended already and cannot be cancelled";
            return Ok(Outcome::Error(RpcError::invalid_params(ended)));
        }
        Changed::No(task) => task,
        Changed::Yes(task) => {
            core.tasks.announce(id).await;
            task
        }
    };
    let catalog = core.registry.catalog();
    Ok(Outcome::Encoded(super::encoded(|out| {
        revision.write_cancel_task_result(out, &task.to_model(id), catalog.server(revision));
    })))
}

/// Takes answers. One that does not fit its question refuses the whole update, so that the client can mend it.
async fn update(
    core: &Core,
    owner: &Owner,
    revision: Revision,
    id: &str,
    responses: Option<&RawValue>,
) -> Result<Outcome, Refusal> {
    let responses =
        responses.ok_or_else(|| Refusal::InvalidParams("`inputResponses` is missing".to_owned()))?;
    let mut responses: BTreeMap<String, Box<RawValue>> =
        read(responses, "inputResponses").map_err(Refusal::InvalidParams)?;
    let Some(task) = find(core, owner, id).await? else { return Ok(unknown()) };
    let mut said = Vec::new();
    for (key, question) in task.state.questions().iter() {
        let Some(answer) = responses.remove(key) else { continue };
        read_answer(revision, question, &answer)
            .map_err(|reason| Refusal::InvalidParams(format!("the answer to {key:?}: {reason}")))?;
        said.push((key.to_owned(), Said::Answer(answer)));
    }
    if !said.is_empty() && core.tasks.records.give(id, task.ttl, &said).await? {
        core.tasks.announce(id).await;
    }
    Ok(Outcome::Empty)
}

async fn list(
    core: &Core,
    owner: &Owner,
    revision: Revision,
    cursor: Option<&str>,
) -> Result<Outcome, Refusal> {
    // Who is told from nobody must not see what others do (*Task Isolation and Access Control*).
    if !owner.is_known() || !core.registry.catalog().has_tasks() {
        return Err(unserved(Method::TasksList, revision));
    }
    let Some(after) = cursor.map_or(Some(0), |cursor| read_cursor(core, owner, cursor)) else {
        return Ok(Outcome::Error(RpcError::invalid_params("the cursor was not issued for this list")));
    };
    let (page, more) = index::page(&*core.services.store, owner, after).await?;
    let next = page.last().filter(|_| more).map(|(place, _)| write_cursor(core, owner, *place));
    let found = try_join_all(page.iter().map(|(place, id)| async move {
        let task = find(core, owner, id).await?;
        if task.is_none() {
            index::forget(&*core.services.store, owner, *place).await;
        }
        Ok::<_, StoreError>(task.map(|task| task.to_model(id)))
    }))
    .await?;
    let tasks: Vec<Task> = found.into_iter().flatten().collect();
    Ok(Outcome::Encoded(super::encoded(|out| revision.write_tasks_list(out, &tasks, next.as_deref()))))
}

fn unserved(method: Method, revision: Revision) -> Refusal {
    let modern = revision.era() == trunkline_protocol::revision::Era::Modern;
    Refusal::MethodNotFound { method: method.name().to_owned(), modern }
}

// === cursors: a task's place in the list, and a tag that any replica with the same keys verifies ===

fn write_cursor(core: &Core, owner: &Owner, place: index::Place) -> String {
    let place = place.to_string();
    let tag = owner.sign_place(&core.services.keys, &place);
    format!("{place}.{tag}")
}

fn read_cursor(core: &Core, owner: &Owner, cursor: &str) -> Option<index::Place> {
    let (place, tag) = cursor.split_once('.')?;
    owner.issued_place(&core.services.keys, place, tag).then(|| place.parse().ok()).flatten()
}
