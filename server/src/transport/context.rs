//! What transports have in common: who a message comes from, how `initialize` is answered, and what a notification does.

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline_protocol::{
    Method, RequestId, Revision,
    jsonrpc::write_result,
    model::{ClientCapabilities, ListenFilter, keys::TASKS_EXTENSION},
    params::Params,
};

use crate::{
    error::Refusal,
    outbox::Reply,
    principal::Principal,
    registry::{Caller, Client, missing_capability},
    session::{Context, Core},
};

/// The caller of a request that describes itself.
pub(crate) fn modern_context(
    revision: Revision,
    principal: Principal,
    params: &Params<'_>,
    body: &Bytes,
) -> Context {
    let slice = |raw: &RawValue| body.slice_ref(raw.get().as_bytes());
    let meta = params.meta.as_ref();
    let client = Client::Request {
        info: meta.and_then(|meta| meta.client_info).map(slice),
        capabilities: meta.and_then(|meta| meta.client_capabilities).map(slice).unwrap_or_default(),
    };
    Context { caller: Caller { principal, revision, client }, session: None }
}

/// The caller of a request of an older revision, where sessions are off.
pub(super) fn sessionless_context(revision: Revision, principal: &Principal) -> Context {
    let caller = Caller { principal: principal.clone(), revision, client: Client::Unknown };
    Context { caller, session: None }
}

/// The answer to `initialize`.
pub(crate) fn greet(core: &Core, revision: Revision, id: &RequestId) -> Reply {
    let greeting = core.registry.catalog().greeting(revision);
    let mut body = Vec::with_capacity(greeting.len() + 64);
    write_result(&mut body, id, |out| out.extend_from_slice(&greeting));
    Reply { status: 200, body: body.into() }
}

/// Whether the client may name tasks in `subscriptions/listen`: not without the extension that has them (*Task Status
/// Notifications*). That none is delivered is another matter, which the acknowledgement tells.
pub(super) fn check_task_filter(params: &Params<'_>, asked: &ListenFilter) -> Result<(), Refusal> {
    let declared = || {
        let raw = params.meta.as_ref()?.client_capabilities?;
        serde_json::from_str::<ClientCapabilities>(raw.get()).ok()
    };
    if asked.task_ids.is_empty() || declared().is_some_and(|declared| declared.supports_tasks_extension()) {
        return Ok(());
    }
    let needs = ClientCapabilities::default().with_extension(TASKS_EXTENSION);
    Err(Refusal::MissingCapability(missing_capability(&needs)))
}

/// Does what a notification asks for. Unknown ones, and those that cannot be read, are let pass (*Cancellation*, Error
/// Handling).
pub(super) async fn notified(
    core: &Arc<Core>,
    context: &Context,
    method: Option<Method>,
    params: Option<&RawValue>,
) -> Result<(), Refusal> {
    let (Some(Method::Cancelled), Some(session)) = (method, &context.session) else { return Ok(()) };
    match cancelled(params) {
        Some(call) => core.cancel(session, call).await,
        None => Ok(()),
    }
}

/// The request that `notifications/cancelled` names.
pub(super) fn cancelled(params: Option<&RawValue>) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct Cancelled {
        #[serde(rename = "requestId")]
        request_id: RequestId,
    }
    let cancelled: Cancelled = serde_json::from_str(params?.get()).ok()?;
    Some(cancelled.request_id)
}
