//! One follower.
//!
//! It takes from the tail that all followers of its log here share, and reads the log while it is behind that. It waits
//! for what comes, and for Redis while it is away; it fails only when Redis refuses to be read.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::{
    core::{Core, backoff},
    logs::{Portion, StepError},
    place::{Next, Place, Taken},
    seats::{Hold, Trail},
};
use crate::{Delivery, HubError, Operation, Position, Topic};

/// What a follower that is behind reads at a time. Beside the entry that it hands on at once, it keeps so much until it is asked
/// again, however slow it is.
const PAGE: Portion = Portion { entries: 32, bytes: 16 * 1024 };

/// The same while many such followers hold much.
const SMALL_PAGE: Portion = Portion { entries: 1, bytes: 0 };

/// How long [`crate::Hub::follow`] and [`crate::Hub::listen`] wait for Redis to confirm: a reconnection after a lost connection
/// fits, and who asked is not kept waiting while Redis is away.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Reader {
    core: Arc<Core>,
    hold: Hold,
    place: Place,
}

// === impl Reader ===

impl Reader {
    /// Follows; `None` if there is nothing to follow.
    pub(super) async fn begin(
        core: &Arc<Core>,
        topic: &Topic,
        after: Position,
    ) -> Result<Option<Self>, HubError> {
        let name = core.names.log(topic).channel;
        let node = core.client.node_of(name.as_bytes());
        let hold = core.seats.hold(&name, node, || core.trail(topic))?;
        let place = Place::new(after, &mut trail_of(&hold).tail.lock());
        core.followers.fetch_add(1, Ordering::Relaxed);
        let mut reader = Self { core: Arc::clone(core), hold, place };
        let begun = tokio::time::timeout(PATIENCE, reader.begun()).await;
        let exists = begun.unwrap_or_else(|elapsed| {
            Err(HubError::Unavailable { operation: Operation::Follow, source: Box::new(elapsed) })
        })?;
        Ok(exists.then_some(reader))
    }

    /// Whether there is something to follow.
    async fn begun(&mut self) -> Result<bool, HubError> {
        let confirmed = self.hold.seat.confirmed().await;
        confirmed.map_err(|failure| StepError::from(failure).during(Operation::Follow))?;
        let unavailable = |error: StepError| error.during(Operation::Follow);
        if self.is_covered() {
            // What is known may be from a moment ago, and the log deleted or longer since.
            self.core.look(&self.hold.seat, trail_of(&self.hold)).await.map_err(unavailable)?;
            if self.is_covered() {
                return Ok(true);
            }
        }
        // Again if it was overtaken by news of another log of that name.
        while self.read(true).await.map_err(unavailable)? == Taken::Stale {}
        Ok(!self.place.is_dead(&trail_of(&self.hold).tail.lock()))
    }

    fn is_covered(&mut self) -> bool {
        self.place.begins(&trail_of(&self.hold).tail.lock())
    }

    /// The next delivery; `None` when nothing can follow any more.
    pub(super) async fn next(&mut self) -> Option<Result<Delivery, HubError>> {
        // A long past is always ready: others get their turn all the same.
        tokio::task::consume_budget().await;
        let seat = Arc::clone(&self.hold.seat);
        let trail = seat.trail()?;
        let mut waits = 0;
        loop {
            // Made before looking, so that it is told of whatever comes after.
            let news = trail.news.notified();
            if self.core.is_closed() {
                return Some(Err(closed()));
            }
            match self.look(trail) {
                Next::Entry(entry) => return Some(Ok(Delivery::Entry(entry))),
                Next::Gap => {
                    self.core.counts.gaps.fetch_add(1, Ordering::Relaxed);
                    return Some(Ok(Delivery::Gap));
                }
                Next::Gone => return Some(Ok(Delivery::Gone)),
                Next::End => return None,
                Next::Wait => news.await,
                // Boxed, so that one that waits is small.
                Next::Read => match Box::pin(self.read(false)).await {
                    Ok(Taken::Something | Taken::Stale) => waits = 0,
                    Err(error) if !error.passes() => {
                        return Some(Err(error.during(Operation::Follow)));
                    }
                    // Redis is away, or has lost what is known here.
                    Ok(Taken::Nothing) | Err(_) => {
                        waits += 1;
                        let _ = tokio::time::timeout(backoff(waits), news).await;
                    }
                },
            }
        }
    }

    fn look(&mut self, trail: &Trail) -> Next {
        let mut tail = trail.tail.lock();
        let next = self.place.next(&mut tail);
        if tail.is_taken() {
            trail.taken.notify_waiters();
        }
        next
    }

    /// Reads a page after its place.
    async fn read(&mut self, first: bool) -> Result<Taken, StepError> {
        let seat = Arc::clone(&self.hold.seat);
        let trail = trail_of(&self.hold);
        let after = self.place.position();
        let asked = trail.tail.lock().ask_after(after);
        let portion = if self.core.held.is_full() { SMALL_PAGE } else { PAGE };
        let reading = {
            let _permit = self.core.reads.acquire().await;
            self.core.logs.read(&trail.names, after, portion).await?
        };
        let (taken, news) = self.place.take(&mut trail.tail.lock(), asked, reading, first);
        self.core.spread(&seat, trail, news);
        Ok(taken)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.core.followers.fetch_sub(1, Ordering::Relaxed);
        if let Some(trail) = self.hold.seat.trail() {
            self.place.leave(&mut trail.tail.lock());
            trail.taken.notify_waiters();
        }
    }
}

/// The hub is gone, and the log is not.
fn closed() -> HubError {
    HubError::Unavailable { operation: Operation::Follow, source: "the hub was closed".into() }
}

fn trail_of(hold: &Hold) -> &Trail {
    hold.seat.trail().expect("invariant: logs and signals have no names in common")
}
