//! What carries the answer to a request on the MCP endpoint.

use bytes::Bytes;
use trunkline_protocol::header::Acceptable;

use super::Endpoint;
use crate::{
    outbox::{Carrier, LogCarrier},
    session::Context,
};

/// What carries an answer: a log where the revision can resume streams and there is a session to resume in. Nothing is made
/// in the hub before it is needed.
pub(super) fn carrier(endpoint: &Endpoint, context: &Context, accept: Acceptable, body: &Bytes) -> Carrier {
    match &context.session {
        _ if !accept.sse => Carrier::Json,
        Some(session) if context.caller.revision.features().resumable => Carrier::Log(LogCarrier::of_call(
            endpoint.core.services.logs.clone(),
            session.id().clone(),
            body.clone(),
        )),
        _ => Carrier::Direct(endpoint.core.services.limits.outbox),
    }
}
