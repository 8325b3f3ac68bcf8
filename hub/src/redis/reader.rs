//! One follower.
//!
//! It takes from the tail that all followers of its log here share, and reads the log while it is behind that. It waits
//! for what comes, and for Redis while it is away; it fails only when Redis refuses to be read.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::{
    core::{Core, backoff},
    logs::{Portion, StepError},
    message::Reading,
    seats::{Hold, Trail},
    tail::{Next, Place, cost},
};
use crate::{Delivery, Entry, HubError, Operation, Position, Topic};

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
    /// Read and not taken yet.
    page: VecDeque<Entry>,
    /// What was missing lies before the page.
    gap: bool,
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
        let place = trail_of(&hold).tail.lock().join(after);
        core.followers.fetch_add(1, Ordering::Relaxed);
        let mut reader = Self { core: Arc::clone(core), hold, place, page: VecDeque::new(), gap: false };
        let begun = tokio::time::timeout(PATIENCE, reader.begun(after)).await;
        let exists = begun.unwrap_or_else(|elapsed| {
            Err(HubError::Unavailable { operation: Operation::Follow, source: Box::new(elapsed) })
        })?;
        Ok(exists.then_some(reader))
    }

    /// Whether there is something to follow.
    async fn begun(&mut self, after: Position) -> Result<bool, HubError> {
        let confirmed = self.hold.seat.confirmed().await;
        confirmed.map_err(|failure| StepError::from(failure).during(Operation::Follow))?;
        let unavailable = |error: StepError| error.during(Operation::Follow);
        if self.is_covered(after) {
            // Unless the log was deleted a moment ago, and that has not been told yet.
            self.core.look(&self.hold.seat, trail_of(&self.hold)).await.map_err(unavailable)?;
            if self.is_covered(after) {
                return Ok(true);
            }
        }
        // Again if it was overtaken by news of another log of that name.
        while !self.read(true).await.map_err(unavailable)? {}
        Ok(!trail_of(&self.hold).tail.lock().is_dead(&self.place))
    }

    /// Whether nothing has to be read. What died before is of no concern then.
    fn is_covered(&mut self, after: Position) -> bool {
        let subscription = self.hold.seat.subscription();
        let tail = trail_of(&self.hold).tail.lock();
        tail.restart(&mut self.place);
        tail.covers(after, subscription)
    }

    /// The next delivery; `None` when nothing can follow any more.
    pub(super) async fn next(&mut self) -> Option<Result<Delivery, HubError>> {
        // A long past is always ready: others get their turn all the same.
        tokio::task::consume_budget().await;
        let seat = Arc::clone(&self.hold.seat);
        let trail = seat.trail()?;
        let mut failures = 0;
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
                    Ok(_) => failures = 0,
                    Err(error) if error.passes() => {
                        failures += 1;
                        let _ = tokio::time::timeout(backoff(failures), news).await;
                    }
                    Err(error) => return Some(Err(error.during(Operation::Follow))),
                },
            }
        }
    }

    fn look(&mut self, trail: &Trail) -> Next {
        let mut tail = trail.tail.lock();
        if tail.is_dead(&self.place) {
            return Next::Gone;
        }
        if std::mem::take(&mut self.gap) {
            return Next::Gap;
        }
        if let Some(entry) = self.page.pop_front() {
            self.core.held.remove(cost(&entry));
            self.place.position = entry.position;
            return Next::Entry(entry);
        }
        let next = tail.next(&mut self.place);
        if tail.is_taken() {
            trail.taken.notify_waiters();
        }
        next
    }

    /// Reads a page after its place. Whether what was read still holds.
    async fn read(&mut self, first: bool) -> Result<bool, StepError> {
        let seat = Arc::clone(&self.hold.seat);
        let Some(trail) = seat.trail() else { return Ok(true) };
        let after = self.place.position;
        let asked = trail.tail.lock().ask_after(after, seat.subscription());
        let portion = if self.core.held.is_full() { SMALL_PAGE } else { PAGE };
        let reading = {
            let _permit = self.core.reads.acquire().await;
            self.core.logs.read(&trail.names, after, portion).await?
        };
        let mut tail = trail.tail.lock();
        if tail.is_stale(asked, &reading) {
            return Ok(false);
        }
        let news = tail.learn(asked, &reading);
        if first {
            // What died before was not followed yet.
            tail.restart(&mut self.place);
        }
        match reading {
            Reading::Gone(_) if after != Position::default() => tail.bury(&mut self.place),
            Reading::Alive(page) if !tail.is_dead(&self.place) => {
                self.core.held.add(page.entries.iter().map(cost).sum());
                self.gap = page.gap;
                if page.gap {
                    self.place.position = page.trimmed;
                }
                self.page = page.entries.into();
            }
            _ => {}
        }
        drop(tail);
        self.core.spread(&seat, trail, news);
        Ok(true)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.core.held.remove(self.page.iter().map(cost).sum());
        self.core.followers.fetch_sub(1, Ordering::Relaxed);
        if let Some(trail) = self.hold.seat.trail() {
            trail.tail.lock().leave(&self.place);
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
