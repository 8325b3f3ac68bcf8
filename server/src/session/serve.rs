//! One request: from its parameters to its answer in the outbox, now or by a task that goes on.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use serde_json::value::RawValue;
use trunkline_protocol::{
    Method, RequestId, Revision, RpcError,
    jsonrpc::Request,
    lifecycle::CallRefused,
    model::{LogLevel, SetLevelParams},
    params::{Params, read},
    revision::Era,
};

use super::{
    Core,
    encode::encode,
    live::LiveSession,
    messages::{SetLevel, Subscribe, Unsubscribe},
    tasks::{self, Plan},
};
use crate::{
    cancel::Cancel,
    error::Refusal,
    outbox::{Outbox, Reply},
    registry::{Asked, Asking, Begun, Caller, Catalog, Client, Exchange, Outcome, Running},
    telemetry::{Gauge, Held},
};

/// Who a request comes from, and in which session.
#[derive(Clone)]
pub(crate) struct Context {
    /// Who asks, in which revision.
    pub(crate) caller: Caller,
    /// The session, where there is one.
    pub(crate) session: Option<Arc<LiveSession>>,
}

/// A request with what was read of it. Its parts borrow from `body`.
pub(crate) struct Incoming<'a> {
    /// The request.
    pub(crate) request: &'a Request<'a>,
    /// Its method, if any revision has it.
    pub(crate) method: Option<Method>,
    /// Its parameters.
    pub(crate) params: &'a Params<'a>,
    /// What the request was read from.
    pub(crate) body: &'a Bytes,
}

/// A call that has been entered, until its answer is given. Dropped before, it is left without one.
pub(super) struct Entered {
    /// This replica.
    pub(super) core: Arc<Core>,
    /// Who calls.
    pub(super) context: Context,
    id: RequestId,
    /// Where the answer goes.
    pub(super) outbox: Arc<Outbox>,
    left: bool,
    _in_flight: Held,
}

/// Serves a request into its outbox. When this returns, the request is answered or goes on in a task of its own.
///
/// `cancel` stops it: the transport fires it where a closed connection means that.
///
/// # Errors
/// Why the request is not taken up at all; nothing of it is left behind then.
pub(crate) async fn serve(
    core: &Arc<Core>,
    context: &Context,
    incoming: &Incoming<'_>,
    outbox: &Arc<Outbox>,
    cancel: &Cancel,
) -> Result<(), Refusal> {
    let revision = context.caller.revision;
    let method = served(revision, incoming)?;
    if is_answered_at_once(method) {
        let outcome = Box::pin(answer_at_once(core, context, method, incoming)).await?;
        return answer(core, &core.registry.catalog(), revision, incoming, outbox, &outcome).await;
    }
    let catalog = core.registry.catalog();
    if let Some(page) = catalog.list(revision, method, incoming.params, &core.services.keys) {
        core.services.metrics.called();
        return answer(core, &catalog, revision, incoming, outbox, &page).await;
    }
    let planned = tasks::plan(&catalog, &core.services, context, method, incoming.params);
    let plan = match planned {
        Ok(plan) => plan,
        Err(error) => {
            return answer(core, &catalog, revision, incoming, outbox, &Outcome::Error(error)).await;
        }
    };
    let asked = asked(context, method, incoming)?;
    let entered = enter(core, context, incoming, outbox, cancel)?;
    match plan {
        Plan::Call if method == Method::TasksResult => {
            Box::pin(wait_for_task(entered, asked, incoming, cancel)).await
        }
        Plan::Call => {
            let exchange = exchange(&entered, asked, cancel);
            let begun = catalog.begin(exchange, incoming.params, incoming.request.params.map(RawValue::get));
            see_through(entered, &catalog, begun).await;
            Ok(())
        }
        Plan::Task(ttl) => Box::pin(tasks::start(entered, asked, incoming, ttl)).await,
        Plan::CallFirst => Box::pin(tasks::start_as_call(entered, asked, incoming, cancel)).await,
    }
}

/// Answers a request that no handler works on.
async fn answer(
    core: &Core,
    catalog: &Catalog,
    revision: Revision,
    incoming: &Incoming<'_>,
    outbox: &Arc<Outbox>,
    outcome: &Outcome,
) -> Result<(), Refusal> {
    let most = core.services.limits.result_bytes;
    let reply = encode(catalog, revision, &incoming.request.id, outcome, most);
    deliver(outbox, reply).await;
    Ok(())
}

/// Begins the call that waits for what a task brings, and sees it through.
async fn wait_for_task(
    entered: Entered,
    asked: Asked,
    incoming: &Incoming<'_>,
    cancel: &Cancel,
) -> Result<(), Refusal> {
    let exchange = exchange(&entered, asked, cancel);
    let begun = tasks::begin_result(&entered.core, &entered.context, exchange, incoming).await?;
    let catalog = entered.core.registry.catalog().clone();
    see_through(entered, &catalog, begun).await;
    Ok(())
}

/// What the handler of an ordinary call sees.
fn exchange(entered: &Entered, asked: Asked, cancel: &Cancel) -> Exchange {
    let Entered { core, context, outbox, .. } = entered;
    let asking = match (&context.session, context.caller.revision.era()) {
        (_, Era::Modern) => Asking::Rounds(OnceLock::new()),
        (Some(session), Era::Legacy) => Asking::During(session.clone()),
        (None, Era::Legacy) => Asking::Never,
    };
    let caller = context.caller.clone();
    Exchange::new(core.services.clone(), caller, asked, asking, outbox.clone(), cancel.clone())
}

/// Gives the answer of a call if it is there at once, and goes on with it in a task of its own otherwise.
async fn see_through(mut entered: Entered, catalog: &Catalog, begun: Begun) {
    let outcome = match begun {
        Begun::Done(outcome) => outcome,
        Begun::Running(mut running) => match running.first_poll().await {
            Some(outcome) => outcome,
            None => return Box::pin(detach(entered, running)).await,
        },
    };
    entered.leave(catalog, &outcome).await;
}

async fn detach(entered: Entered, running: Running) {
    if let Err(error) = entered.outbox.go_on().await {
        tracing::warn!(%error, "other replicas do not know of a call");
    }
    let pause = entered.core.heartbeat;
    drop(tokio::spawn(go_on(entered, running, pause)));
}

/// The method, if the caller's revision has it as a request.
fn served(revision: Revision, incoming: &Incoming<'_>) -> Result<Method, Refusal> {
    incoming.method.filter(|method| revision.features().requests.contains(method)).ok_or_else(|| {
        Refusal::MethodNotFound {
            method: incoming.request.method.clone().into_owned(),
            modern: revision.era() == Era::Modern,
        }
    })
}

/// Whether the session answers a request itself, without a handler.
fn is_answered_at_once(method: Method) -> bool {
    matches!(
        method,
        Method::Ping
            | Method::ServerDiscover
            | Method::LoggingSetLevel
            | Method::ResourcesSubscribe
            | Method::ResourcesUnsubscribe
            | Method::TasksGet
            | Method::TasksUpdate
            | Method::TasksCancel
            | Method::TasksList
    )
}

/// The outcome of a request that the session answers itself.
async fn answer_at_once(
    core: &Arc<Core>,
    context: &Context,
    method: Method,
    incoming: &Incoming<'_>,
) -> Result<Outcome, Refusal> {
    let outcome = match method {
        Method::Ping => Outcome::Empty,
        Method::ServerDiscover => Outcome::Encoded(core.registry.catalog().greeting(context.caller.revision)),
        Method::LoggingSetLevel => {
            let level = level(incoming)?;
            if let Some(session) = &context.session {
                session.actor().send(SetLevel(level)).await.map_err(gone)??;
            }
            Outcome::Empty
        }
        Method::ResourcesSubscribe => {
            let uri = uri(incoming)?;
            let session = context.session.as_ref().ok_or(Refusal::SessionRequired)?;
            session.actor().send(Subscribe(uri)).await.map_err(gone)??;
            Outcome::Empty
        }
        Method::ResourcesUnsubscribe => {
            let uri = uri(incoming)?;
            let session = context.session.as_ref().ok_or(Refusal::SessionRequired)?;
            session.actor().send(Unsubscribe(uri)).await.map_err(gone)??;
            Outcome::Empty
        }
        Method::TasksGet | Method::TasksUpdate | Method::TasksCancel | Method::TasksList => {
            tasks::answer(core, context, method, incoming).await?
        }
        method => Outcome::Error(RpcError::method_not_found(method.name())),
    };
    Ok(outcome)
}

/// An actor that has stopped: its session was let go of between two steps.
fn gone(_: actix::MailboxError) -> Refusal {
    Refusal::Draining
}

fn level(incoming: &Incoming<'_>) -> Result<LogLevel, Refusal> {
    let raw = incoming.request.params.ok_or_else(|| Refusal::InvalidParams("params are missing".into()))?;
    let params: SetLevelParams = read(raw, "params").map_err(Refusal::InvalidParams)?;
    Ok(params.level)
}

fn uri(incoming: &Incoming<'_>) -> Result<Box<str>, Refusal> {
    /// Longer ones than any server of ours would have, and short enough to keep.
    const LONGEST: usize = 2048;
    let uri = incoming.params.uri.as_ref().filter(|uri| uri.0.len() <= LONGEST);
    uri.map(|uri| uri.0.as_ref().into())
        .ok_or_else(|| Refusal::InvalidParams(format!("`uri` must be a string of at most {LONGEST} bytes")))
}

fn enter(
    core: &Arc<Core>,
    context: &Context,
    incoming: &Incoming<'_>,
    outbox: &Arc<Outbox>,
    cancel: &Cancel,
) -> Result<Entered, Refusal> {
    let metrics = &core.services.metrics;
    let most = i64::try_from(core.services.limits.in_flight).unwrap_or(i64::MAX);
    if metrics.now(Gauge::InFlight) >= most {
        return Err(Refusal::TooMany("requests in flight on this replica (limits.in_flight)"));
    }
    let id = incoming.request.id.clone();
    if let Some(session) = &context.session {
        session.begin_call(id.clone(), cancel.clone()).map_err(|refused| match refused {
            CallRefused::DuplicateId => Refusal::DuplicateId,
            CallRefused::TooManyInFlight { .. } => {
                Refusal::TooMany("requests in flight in this session (limits.in_flight_per_session)")
            }
            CallRefused::Draining => Refusal::Draining,
            CallRefused::Closed => Refusal::SessionUnknown,
        })?;
    }
    metrics.called();
    Ok(Entered {
        core: core.clone(),
        context: context.clone(),
        id,
        outbox: outbox.clone(),
        left: false,
        _in_flight: metrics.hold(Gauge::InFlight),
    })
}

fn asked(context: &Context, method: Method, incoming: &Incoming<'_>) -> Result<Asked, Refusal> {
    let Incoming { request, params, body, .. } = incoming;
    let target = params.name.as_ref().or(params.uri.as_ref()).map_or("", |text| &*text.0);
    let meta = params.meta.as_ref();
    Ok(Asked {
        id: request.id.clone(),
        method,
        target: target.into(),
        arguments: params.arguments.map(|raw| body.slice_ref(raw.get().as_bytes())),
        progress: meta.and_then(|meta| meta.progress_token.clone()),
        log_level: wanted_level(context, params)?,
    })
}

/// The least severe log message that the caller wants: what the session set, or what the request says.
fn wanted_level(context: &Context, params: &Params<'_>) -> Result<Option<LogLevel>, Refusal> {
    match &context.caller.client {
        // Until the client has said what it wants, the server decides (*Logging*).
        Client::Session { record, .. } => Ok(Some(record.log_level.unwrap_or(LogLevel::Info))),
        Client::Unknown => Ok(Some(LogLevel::Info)),
        Client::Request { .. } => match params.meta.as_ref().and_then(|meta| meta.log_level.as_ref()) {
            None => Ok(None),
            Some(name) => LogLevel::from_name(&name.0)
                .map(Some)
                .ok_or_else(|| Refusal::InvalidParams(format!("{:?} is no log level", name.0))),
        },
    }
}

/// Goes on with a handler that waits, and gives signs of life where the caller asked for progress.
async fn go_on(mut entered: Entered, running: Running, pause: Duration) {
    let exchange = running.exchange().clone();
    // Side by side: a sign of life waits for what the handler is about to say, and the handler must be able to say it.
    let signs_of_life = async {
        loop {
            tokio::time::sleep(pause).await;
            exchange.heartbeat().await;
        }
    };
    let outcome = tokio::select! {
        biased;
        outcome = running.finish() => outcome,
        never = signs_of_life => never,
    };
    let catalog = entered.core.registry.catalog().clone();
    entered.leave(&catalog, &outcome).await;
}

async fn deliver(outbox: &Arc<Outbox>, reply: Reply) {
    if let Err(error) = outbox.respond(reply).await {
        tracing::debug!(%error, "an answer was not delivered");
    }
}

// === impl Entered ===

impl Entered {
    /// Leaves the call and gives its answer, unless it was cancelled.
    pub(super) async fn leave(&mut self, catalog: &Catalog, outcome: &Outcome) {
        let wanted = self.end();
        let over = |session: &Arc<LiveSession>| session.closed().is_cancelled();
        if !wanted && self.context.session.as_ref().is_some_and(over) {
            // Not cancelled by the client: its session has ended, or this replica does.
            self.outbox.abandon();
            return;
        }
        let revision = self.context.caller.revision;
        let reply = if wanted {
            let most = self.core.services.limits.result_bytes;
            encode(catalog, revision, &self.id, outcome, most)
        } else {
            Reply { status: 202, body: Bytes::new() }
        };
        deliver(&self.outbox, reply).await;
    }

    /// Leaves the call. Whether its answer is wanted.
    fn end(&mut self) -> bool {
        self.left = true;
        self.context.session.as_ref().is_none_or(|session| session.end_call(&self.id))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if !self.left {
            let _unanswered = self.end();
        }
    }
}

// === impl Context ===

impl Context {
    /// The caller of a request in a session.
    pub(crate) fn of_session(session: Arc<LiveSession>) -> Self {
        let record = session.record();
        let caller = Caller {
            principal: record.principal.clone(),
            revision: record.revision,
            client: Client::Session { id: session.id().clone(), record },
        };
        Self { caller, session: Some(session) }
    }
}

/// The error that answers a request which was refused after its envelope was read.
pub(crate) fn refused(id: Option<&RequestId>, error: &RpcError, status: u16) -> Reply {
    let mut out = Vec::new();
    trunkline_protocol::jsonrpc::write_error(&mut out, id, error);
    Reply { status, body: out.into() }
}
