//! Where the answer to a request goes.

use trunkline_protocol::header::Acceptable;

use super::{
    Endpoint,
    event_id::{EventIds, call_topic, stream_name},
};
use crate::{
    outbox::{Carrier, LogCarrier},
    session::Context,
};

/// Where the answer to a request goes.
pub(super) struct Place {
    /// What carries it.
    pub(super) carrier: Carrier,
    /// Writes the ids of its events, where it can be resumed.
    pub(super) ids: Option<EventIds>,
}

// === impl Place ===

impl Place {
    /// The place of an answer on the MCP endpoint. Nothing is made in the hub before it is needed.
    pub(super) fn of(endpoint: &Endpoint, context: &Context, accept: Acceptable) -> Self {
        let services = &endpoint.core.services;
        match &context.session {
            _ if !accept.sse => Self { carrier: Carrier::Json, ids: None },
            Some(session) if context.caller.revision.features().resumable => {
                let stream = stream_name();
                let log = LogCarrier {
                    hub: services.hub.clone(),
                    topic: call_topic(session.id(), &stream),
                    retention: services.retention(),
                };
                let ids = EventIds::of_call(&services.keys, session.id(), &stream);
                Self { carrier: Carrier::Log(log), ids: Some(ids) }
            }
            _ => Self { carrier: Carrier::Direct, ids: None },
        }
    }
}
