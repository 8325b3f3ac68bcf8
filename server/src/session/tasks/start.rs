//! How a call becomes a task: at once, or when its handler says so.

use std::{
    pin::pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use serde_json::value::RawValue;
use trunkline_protocol::{RpcError, error::code, revision::TaskDialect};

use super::{Changes, ledger::Place, live::LiveTask, owner::Owner};
use crate::{
    cancel::Cancel,
    error::Refusal,
    outbox::{Carrier, Outbox},
    registry::{Asked, Asking, Becoming, Begun, Exchange, Outcome, Running},
    session::{
        Core,
        serve::{Entered, Incoming},
    },
    telemetry::{Gauge, Held},
};

/// A call that may yet become a task.
struct CallFirst {
    entered: Entered,
    tool: Box<str>,
    becoming: Arc<Becoming>,
    /// Fires when the connection closes, which stops a call and not a task.
    closed: Cancel,
    /// Stops the handler.
    cancel: Cancel,
}

/// A call that has just become a task.
struct Begin {
    task: Arc<LiveTask>,
    /// What the client is told.
    answer: Bytes,
    changes: Changes,
    held: Held,
}

/// Begins a call as a task that is kept for `ttl`, and answers the request with it.
///
/// # Errors
/// Why there is no task. Nothing of it is left behind then: the handler has not begun.
pub(in crate::session) async fn start(
    mut entered: Entered,
    asked: Asked,
    incoming: &Incoming<'_>,
    ttl: Duration,
) -> Result<(), Refusal> {
    let core = entered.core.clone();
    let caller = entered.context.caller.clone();
    let owner = owner(&entered)?;
    let dialect = owner.dialect();
    let principal = owner.principal().clone();
    let (place, held) = admit(&core, &principal, ttl)?;
    let task = Arc::new(LiveTask::new(&core, owner, caller.revision, &asked.target, ttl));
    // There is no stream for what a task says on its way.
    let asked = Asked { progress: None, log_level: None, ..asked };
    let outbox = Arc::new(Outbox::new(Carrier::Json, 1));
    let asking = task.asking(entered.context.session.is_some());
    let cancel = Cancel::default();
    let exchange = Exchange::new(core.services.clone(), caller, asked, asking, outbox, cancel.clone());
    let catalog = Arc::clone(&core.registry.catalog());
    match catalog.begin(exchange, incoming.params, incoming.request.params.map(RawValue::get)) {
        Begun::Done(outcome) => entered.leave(&catalog, &without_task(dialect, outcome)).await,
        Begun::Running(running) => {
            let (created, changes) = task.create().await?;
            place.keep();
            tokio::spawn(async move { task.run(cancel.token(), running.finish(), changes, held).await });
            entered.leave(&catalog, &Outcome::Encoded(created)).await;
        }
    }
    Ok(())
}

/// Begins a call whose handler says when it is a task.
///
/// # Errors
/// Why the call does not begin.
pub(in crate::session) async fn start_as_call(
    entered: Entered,
    asked: Asked,
    incoming: &Incoming<'_>,
    closed: &Cancel,
) -> Result<(), Refusal> {
    let core = entered.core.clone();
    let mut call = CallFirst {
        tool: asked.target.clone(),
        becoming: Arc::new(Becoming::new()),
        closed: closed.clone(),
        cancel: Cancel::default(),
        entered,
    };
    let exchange = Exchange::new(
        core.services.clone(),
        call.entered.context.caller.clone(),
        asked,
        Asking::BeforeTask(OnceLock::new(), call.becoming.clone()),
        call.entered.outbox.clone(),
        call.cancel.clone(),
    );
    let catalog = Arc::clone(&core.registry.catalog());
    match catalog.begin(exchange, incoming.params, incoming.request.params.map(RawValue::get)) {
        Begun::Done(outcome) => call.entered.leave(&catalog, &outcome).await,
        Begun::Running(mut running) => match running.first_poll().await {
            Some(outcome) => call.entered.leave(&catalog, &outcome).await,
            None => drop(tokio::spawn(call.go_on(running))),
        },
    }
    Ok(())
}

fn owner(entered: &Entered) -> Result<Owner, Refusal> {
    // Only callers with tasks get here.
    Owner::of(&entered.context.caller)
        .ok_or_else(|| Refusal::InvalidParams("this revision has no tasks".to_owned()))
}

/// A place for one more task.
fn admit<'a>(
    core: &'a Core,
    principal: &'a crate::principal::Principal,
    ttl: Duration,
) -> Result<(Place<'a>, Held), Refusal> {
    let metrics = &core.services.metrics;
    let most = i64::try_from(core.services.limits.in_flight).unwrap_or(i64::MAX);
    if metrics.now(Gauge::Tasks) >= most {
        return Err(Refusal::TooMany("tasks running on this replica (limits.in_flight)"));
    }
    let place = core.tasks.ledger.admit(principal, ttl);
    let place = place.ok_or(Refusal::TooMany("tasks of this principal (limits.tasks_per_principal)"))?;
    Ok((place, metrics.hold(Gauge::Tasks)))
}

/// The answer to a call that was over before it could be a task: its arguments do not fit, or its handler panicked at once.
/// Who asked for a task expects one or an error.
fn without_task(dialect: TaskDialect, outcome: Outcome) -> Outcome {
    match (dialect, outcome) {
        (TaskDialect::Core, Outcome::Tool(result)) => {
            let said = result.content.iter().find_map(|block| block.as_text());
            let reason = said.unwrap_or("the call did not begin").to_owned();
            Outcome::Error(RpcError::new(code::INVALID_PARAMS, reason))
        }
        (_, outcome) => outcome,
    }
}

// === impl CallFirst ===

impl CallFirst {
    async fn go_on(self, running: Running) {
        let exchange = running.exchange().clone();
        let heartbeat = self.entered.core.heartbeat;
        let mut handler = pin!(running.finish());
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut handler => break outcome,
                () = self.closed.token().cancelled(), if !self.cancel.is_cancelled() => self.cancel.cancel(),
                () = self.becoming.wanted() => match self.begin().await {
                    Ok(begun) => {
                        self.becoming.begun(begun.task.clone());
                        self.leave(&Outcome::Encoded(begun.answer)).await;
                        let cancel = exchange.cancellation();
                        return begun.task.run(cancel, handler, begun.changes, begun.held).await;
                    }
                    Err(refusal) => self.becoming.refused(refusal.answer().error.message),
                },
                () = tokio::time::sleep(heartbeat) => exchange.heartbeat().await,
            }
        };
        self.leave(&outcome).await;
    }

    async fn begin(&self) -> Result<Begin, Refusal> {
        let core = &self.entered.core;
        let owner = owner(&self.entered)?;
        let principal = owner.principal().clone();
        let ttl = core.services.limits.task_ttl;
        let (place, held) = admit(core, &principal, ttl)?;
        let revision = self.entered.context.caller.revision;
        let task = Arc::new(LiveTask::new(core, owner, revision, &self.tool, ttl));
        let (answer, changes) = task.create().await?;
        place.keep();
        Ok(Begin { task, answer, changes, held })
    }

    async fn leave(mut self, outcome: &Outcome) {
        let catalog = Arc::clone(&self.entered.core.registry.catalog());
        self.entered.leave(&catalog, outcome).await;
    }
}
