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
    registry::{Broadcast, Catalog, Services, Share},
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
    /// What is handed out here.
    share: Share,
    /// What was said before that: read from the log.
    past: Option<Following>,
    /// The last place that was looked at.
    place: Position,
    /// Read, and not yet delivered or passed over.
    pending: Option<(Position, Arc<Broadcast>)>,
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

/// How long a store or a hub that is away is left alone.
const PAUSE: Duration = Duration::from_millis(500);

/// Whether a filter names what has changed.
fn names(filter: &ListenFilter, broadcast: &Broadcast) -> bool {
    match broadcast {
        Broadcast::Tools => filter.tools_list_changed,
        Broadcast::Prompts => filter.prompts_list_changed,
        Broadcast::Resources => filter.resources_list_changed,
        Broadcast::Resource(uri) => filter.resource_subscriptions.iter().any(|wanted| **wanted == **uri),
    }
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

// === impl Wanted ===

impl Wanted {
    /// A share of what is handed out here: what this listener may want.
    async fn join(&self, services: &Services) -> Result<Share, HubError> {
        match self {
            Self::Filter { filter, .. } => {
                let filter = filter.clone();
                services.fanout.join(move |broadcast| names(&filter, broadcast)).await
            }
            Self::Session(session) => {
                let session = session.clone();
                let may_want = move |broadcast: &Broadcast| match broadcast {
                    Broadcast::Resource(uri) => session.may_have_subscribed(uri),
                    _ => true,
                };
                services.fanout.join(may_want).await
            }
        }
    }
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
        let place = match after {
            Some(after) => after,
            None => core.services.hub.position(&topic).await?,
        };
        let share = wanted.join(&core.services).await?;
        let past = match place < share.from() {
            true => Some(Following::open(core.services.hub.clone(), topic, place, Life::Once).await?),
            false => None,
        };
        Ok(Self { core, revision, wanted, share, past, place, pending: None })
    }

    /// The next that this listener wants. Nothing is lost if the future is dropped before it is done.
    pub(crate) async fn next(&mut self) -> Heard {
        loop {
            if let Some(heard) = self.deliver().await {
                return heard;
            }
            if let Some(past) = &mut self.past {
                let delivery = past.next().await;
                if self.read(delivery) {
                    self.core.services.metrics.gap();
                    return Heard::Gap;
                }
                continue;
            }
            match self.share.next().await {
                // Read from the log already, or before this listener's time.
                Ok((position, _)) if position <= self.place => {}
                Ok((position, broadcast)) => {
                    self.place = position;
                    self.pending = Some((position, broadcast));
                }
                Err(place) => self.rejoin(place).await,
            }
        }
    }

    /// Takes a delivery of the log. Whether some were missed.
    fn read(&mut self, delivery: Option<Delivery>) -> bool {
        match delivery {
            Some(Delivery::Entry(Entry { position, payload, .. })) => {
                self.place = position;
                // What cannot be read is passed over.
                self.pending = serde_json::from_slice(&payload).ok().map(|read| (position, Arc::new(read)));
                if position >= self.share.from() {
                    self.past = None;
                }
                false
            }
            Some(Delivery::Gap) => true,
            // The log has expired since: what is said next begins another one, and is handed out.
            Some(Delivery::Gone) | None => {
                self.past = None;
                false
            }
        }
    }

    /// Goes on after this listener was let go, which missed nothing up to `place`.
    async fn rejoin(&mut self, place: Position) {
        let share = loop {
            match self.wanted.join(&self.core.services).await {
                Ok(share) => break share,
                Err(error) => {
                    tracing::debug!(%error, "a stream waits for broadcasts");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        };
        self.place = self.place.max(place);
        if self.place < share.from() {
            let hub = self.core.services.hub.clone();
            self.past = Some(Following::new(hub, Services::broadcast_topic(), self.place, Life::Once));
        }
        self.share = share;
    }

    /// What was read last, if it is wanted.
    async fn deliver(&mut self) -> Option<Heard> {
        let (position, broadcast) = self.pending.clone()?;
        let heard = match self.wants(&broadcast).await {
            Some(true) => Some(Heard::Message(position, self.write(&broadcast))),
            Some(false) => None,
            None => Some(Heard::SessionOver),
        };
        self.pending = None;
        heard
    }

    /// Whether the listener wants it; `None` if its session is over.
    async fn wants(&mut self, broadcast: &Broadcast) -> Option<bool> {
        match &self.wanted {
            Wanted::Filter { filter, .. } => Some(names(filter, broadcast)),
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
