//! A log that is read through whatever happens to the hub: while it is away, and where the log expires and begins again.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use trunkline_hub::{Delivery, Follower, Hub, HubError, Position, Topic};

/// The pause before a log that could not be read is tried again.
const PAUSE: Duration = Duration::from_millis(250);

/// What the end of a log's life means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// It is gone, and nothing follows.
    Once,
    /// Nothing was said for long. It begins again with what is said next.
    Renewed,
}

/// A log, read from a place on.
pub(crate) struct Following {
    hub: Arc<dyn Hub>,
    topic: Topic,
    life: Life,
    /// After this is read on.
    place: Position,
    /// `None` until the hub could be reached.
    follower: Option<Follower>,
    over: bool,
}

// === impl Following ===

impl Following {
    /// The log after a place. The hub is first asked by [`Following::next`].
    pub(crate) fn new(hub: Arc<dyn Hub>, topic: Topic, place: Position, life: Life) -> Self {
        Self { hub, topic, life, place, follower: None, over: false }
    }

    /// The same, once nothing can be missed that is appended from now on.
    ///
    /// # Errors
    /// That the hub cannot be reached.
    pub(crate) async fn open(
        hub: Arc<dyn Hub>,
        topic: Topic,
        place: Position,
        life: Life,
    ) -> Result<Self, HubError> {
        let mut following = Self::new(hub, topic, place, life);
        following.reach().await?;
        Ok(following)
    }

    /// The same, or as soon as the hub can be reached.
    pub(crate) async fn begin(hub: Arc<dyn Hub>, topic: Topic, place: Position, life: Life) -> Self {
        let mut following = Self::new(hub, topic, place, life);
        if let Err(error) = following.reach().await {
            tracing::debug!(%error, "a log cannot be followed yet");
        }
        following
    }

    async fn reach(&mut self) -> Result<(), HubError> {
        self.follower = Some(self.hub.follow(&self.topic, self.place).await?);
        Ok(())
    }

    /// What comes next, once each and in order; `None` after the end. Waits for a hub that is away. Nothing is lost if the
    /// future is dropped before it is done.
    pub(crate) async fn next(&mut self) -> Option<Delivery> {
        while !self.over {
            let Some(follower) = &mut self.follower else {
                if let Err(error) = self.reach().await {
                    tracing::debug!(%error, "a log cannot be followed; trying again");
                    tokio::time::sleep(PAUSE).await;
                }
                continue;
            };
            match (follower.next().await, self.life) {
                (Some(Ok(Delivery::Entry(entry))), life) => {
                    self.place = entry.position;
                    self.over = entry.last && life == Life::Once;
                    return Some(Delivery::Entry(entry));
                }
                (Some(Ok(Delivery::Gap)), _) => return Some(Delivery::Gap),
                (Some(Ok(Delivery::Gone)), Life::Once) => {
                    self.over = true;
                    return Some(Delivery::Gone);
                }
                (None, Life::Once) => self.over = true,
                (Some(Ok(Delivery::Gone)) | None, Life::Renewed) => {
                    self.place = Position::default();
                    self.follower = None;
                }
                (Some(Err(error)), _) => {
                    tracing::warn!(%error, "a log cannot be read; trying again");
                    self.follower = None;
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        None
    }
}
