//! Broadcasts as one listener gets them: filtered by what it asked for, in the words of its revision.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use trunkline_hub::{Delivery, Entry, HubError, Position};
use trunkline_protocol::{
    RequestId, Revision,
    model::ListenFilter,
    revision::{ListKind, Related},
};

use crate::{
    error::Refusal,
    following::{Following, Life},
    registry::{Broadcast, Catalog, Services},
    session::{Core, LiveSession},
};

/// What one listener wants.
pub(crate) enum Wanted {
    /// What a session has subscribed to, and every list.
    Session(Arc<LiveSession>),
    /// What a `subscriptions/listen` names; everything is marked with its id.
    Filter {
        /// The request.
        listen: RequestId,
        /// What it named.
        filter: ListenFilter,
    },
}

/// The broadcasts of all replicas, as one listener gets them.
pub(crate) struct Broadcasts {
    core: Arc<Core>,
    revision: Revision,
    wanted: Wanted,
    log: Following,
    /// Read, and not yet delivered or passed over.
    pending: Option<Entry>,
}

/// What a listener gets.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A message, and the place in the log of broadcasts after which to go on.
    Message(Position, Bytes),
    /// Some were missed.
    Gap,
    /// The session is over.
    SessionOver,
}

/// The part of a filter that will be delivered: of what there is.
///
/// # Errors
/// If it names more than `most` resources.
pub(super) fn granted(catalog: &Catalog, asked: ListenFilter, most: usize) -> Result<ListenFilter, Refusal> {
    if asked.resource_subscriptions.len() > most {
        let reason = format!("at most {most} resources can be named (limits.listen_subscriptions)");
        return Err(Refusal::InvalidParams(reason));
    }
    let resources = catalog.has_resources();
    Ok(ListenFilter {
        tools_list_changed: asked.tools_list_changed && catalog.has_tools(),
        prompts_list_changed: asked.prompts_list_changed && catalog.has_prompts(),
        resources_list_changed: asked.resources_list_changed && resources,
        resource_subscriptions: if resources { asked.resource_subscriptions } else { Vec::new() },
        task_ids: Vec::new(),
    })
}

// === impl Broadcasts ===

impl Broadcasts {
    /// Listens from a place on, or from now.
    ///
    /// # Errors
    /// That the hub cannot be reached.
    pub(crate) async fn after(
        core: Arc<Core>,
        revision: Revision,
        wanted: Wanted,
        after: Option<Position>,
    ) -> Result<Self, HubError> {
        let topic = Services::broadcast_topic();
        let after = match after {
            Some(after) => after,
            None => core.services.hub.position(&topic).await?,
        };
        let log = Following::open(core.services.hub.clone(), topic, after, Life::Renewed).await?;
        Ok(Self { core, revision, wanted, log, pending: None })
    }

    /// The next that this listener wants. Nothing is lost if the future is dropped before it is done.
    pub(crate) async fn next(&mut self) -> Heard {
        loop {
            if let Some(heard) = self.deliver().await {
                return heard;
            }
            match self.log.next().await {
                Some(Delivery::Entry(entry)) => self.pending = Some(entry),
                Some(Delivery::Gap) => {
                    self.core.services.metrics.gap();
                    return Heard::Gap;
                }
                // It never ends: one that expires begins again.
                Some(Delivery::Gone) | None => {}
            }
        }
    }

    /// What was read last, if it is wanted.
    async fn deliver(&mut self) -> Option<Heard> {
        let entry = self.pending.as_ref()?;
        let position = entry.position;
        let heard = match serde_json::from_slice(&entry.payload) {
            Err(_) => None,
            Ok(broadcast) => match self.wants(&broadcast).await {
                Some(true) => Some(Heard::Message(position, self.write(&broadcast))),
                Some(false) => None,
                None => Some(Heard::SessionOver),
            },
        };
        self.pending = None;
        heard
    }

    /// Whether the listener wants it; `None` if its session is over.
    async fn wants(&mut self, broadcast: &Broadcast) -> Option<bool> {
        /// How long a store that is away is left alone.
        const PAUSE: Duration = Duration::from_millis(500);
        match &self.wanted {
            Wanted::Filter { filter, .. } => Some(match broadcast {
                Broadcast::Tools => filter.tools_list_changed,
                Broadcast::Prompts => filter.prompts_list_changed,
                Broadcast::Resources => filter.resources_list_changed,
                Broadcast::Resource(uri) => {
                    filter.resource_subscriptions.iter().any(|wanted| **wanted == **uri)
                }
            }),
            Wanted::Session(session) => {
                let Broadcast::Resource(uri) = broadcast else { return Some(true) };
                // The subscription may have been made on another replica.
                let principal = session.record().principal.clone();
                loop {
                    match self.core.directory.find(session.id(), &principal).await {
                        Ok(session) => return Some(session.record().subscriptions.contains(uri)),
                        Err(Refusal::SessionUnknown) => return None,
                        // The stream stays open meanwhile, and catches up.
                        Err(_) => tokio::time::sleep(PAUSE).await,
                    }
                }
            }
        }
    }

    fn write(&self, broadcast: &Broadcast) -> Bytes {
        let related = match &self.wanted {
            Wanted::Session(_) => Related::default(),
            Wanted::Filter { listen, .. } => Related { subscription: Some(listen), task: None },
        };
        let mut out = Vec::with_capacity(160);
        let list = |kind, out: &mut Vec<u8>| self.revision.write_list_changed(out, kind, related);
        match broadcast {
            Broadcast::Tools => list(ListKind::Tools, &mut out),
            Broadcast::Prompts => list(ListKind::Prompts, &mut out),
            Broadcast::Resources => list(ListKind::Resources, &mut out),
            Broadcast::Resource(uri) => self.revision.write_resource_updated(&mut out, uri, related),
        }
        out.into()
    }
}
