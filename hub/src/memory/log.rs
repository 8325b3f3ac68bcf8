//! One log: what it holds, what it takes, and what a reader at some place gets. No locks, no waiting.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use tokio::time::Instant;

use crate::{Delivery, Entry, Fence, HubError, Position, Retention};

/// What an entry takes beside its payload, so that empty entries count too.
const ENTRY_BYTES: usize = size_of::<Entry>();

/// A longer age counts as this, so that no instant overflows.
const LONGEST_AGE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

#[derive(Debug)]
pub(super) struct Log {
    /// The major half of all its places. Later logs have higher ones.
    incarnation: u64,
    /// The minor half of the newest place. Entries count up from 1 without holes.
    newest: u64,
    entries: VecDeque<Entry>,
    /// Of all entries.
    bytes: usize,
    /// Zero until somebody claims the log.
    fence: Fence,
    ended: bool,
    expires: Instant,
}

/// What a reader gets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// This, and the place to read on from.
    Delivery(Delivery, Position),
    /// Nothing yet.
    Wait,
    /// Nothing, ever.
    End,
}

// === impl Log ===

impl Log {
    pub(super) fn new(incarnation: u64, retention: Retention, now: Instant) -> Self {
        Self {
            incarnation,
            newest: 0,
            entries: VecDeque::new(),
            bytes: 0,
            fence: Fence::default(),
            ended: false,
            expires: expiry(now, retention),
        }
    }

    pub(super) fn is_expired(&self, now: Instant) -> bool {
        self.expires <= now
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What an entry will add to [`Log::bytes`].
    pub(super) fn cost(payload: &Bytes) -> usize {
        ENTRY_BYTES + payload.len()
    }

    pub(super) fn claim(&mut self, fence: Fence, retention: Retention, now: Instant) -> Result<(), HubError> {
        if self.ended {
            return Err(HubError::Ended);
        }
        self.fence = fence;
        self.expires = expiry(now, retention);
        Ok(())
    }

    /// `None` until somebody claims the log.
    pub(super) fn fence(&self) -> Option<Fence> {
        (self.fence != Fence::default()).then_some(self.fence)
    }

    /// Whether an entry of this owner is taken.
    pub(super) fn admit(&self, fence: Option<Fence>) -> Result<(), HubError> {
        let fence = fence.unwrap_or_default();
        if fence > self.fence {
            // Fences only rise, so this one was given for an earlier log of the name.
            Err(HubError::Unknown)
        } else if fence < self.fence {
            Err(HubError::Fenced)
        } else if self.ended {
            Err(HubError::Ended)
        } else {
            Ok(())
        }
    }

    /// The newest entry, if it is the one that its owner appends once more.
    pub(super) fn repeated(&self, fence: Option<Fence>, previous: Option<Position>) -> Option<Position> {
        let follows = self.position() > previous?;
        (fence == Some(self.fence) && follows).then(|| self.position())
    }

    /// Takes an entry that was admitted, and lets go of the oldest beyond `retention` or `most_bytes`.
    pub(super) fn append(
        &mut self,
        payload: Bytes,
        last: bool,
        retention: Retention,
        most_bytes: usize,
        now: Instant,
    ) -> Position {
        self.newest += 1;
        let position = self.place(self.newest);
        self.bytes += Self::cost(&payload);
        self.entries.push_back(Entry { position, payload, last });
        self.ended = last;
        self.expires = expiry(now, retention);
        while self.entries.len() > 1 && (self.entries.len() > retention.entries || self.bytes > most_bytes) {
            let trimmed = self.entries.pop_front().expect("invariant: more than one entry");
            self.bytes -= Self::cost(&trimmed.payload);
        }
        if last {
            self.entries.shrink_to_fit();
        }
        position
    }

    /// The place of the newest entry, or the default.
    pub(super) fn position(&self) -> Position {
        if self.newest == 0 { Position::default() } else { self.place(self.newest) }
    }

    /// What follows a place.
    pub(super) fn read(&self, after: Position) -> Read {
        let seen = match after.major.cmp(&self.incarnation) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => after.minor,
            std::cmp::Ordering::Greater => u64::MAX,
        };
        // Before the oldest entry that is left: gone, or never there.
        let trimmed = self.newest - self.entries.len() as u64;
        let of_earlier_log = after.major < self.incarnation && after != Position::default();
        if seen < trimmed || of_earlier_log {
            return Read::Delivery(Delivery::Gap, self.place(trimmed));
        }
        match usize::try_from(seen - trimmed).ok().and_then(|index| self.entries.get(index)) {
            Some(entry) => Read::Delivery(Delivery::Entry(entry.clone()), entry.position),
            None if self.ended => Read::End,
            None => Read::Wait,
        }
    }

    fn place(&self, minor: u64) -> Position {
        Position { major: self.incarnation, minor }
    }
}

fn expiry(now: Instant, retention: Retention) -> Instant {
    now + retention.age.min(LONGEST_AGE)
}
