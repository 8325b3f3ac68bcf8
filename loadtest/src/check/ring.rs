//! Events that a client caused itself, one after the other on resources in turn, so that it knows which one is next.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use crate::tally::Check;

/// Changes that are still expected, and those that were passed over.
#[derive(Debug)]
pub(crate) struct Ring {
    slots: u16,
    next: u16,
    expected: VecDeque<Change>,
    /// Changes that a later one overtook: late if they still come, lost if not.
    passed: Vec<Change>,
}

/// A change of a resource.
#[derive(Clone, Copy, Debug)]
struct Change {
    slot: u16,
    begun: Instant,
    /// When the server said that it had announced it; `None` while it has not, or has not said.
    announced: Option<Instant>,
    /// Whether it need not be heard of: the stream was away, or the request failed.
    excused: bool,
}

/// What an event comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The one that was due, after so long a time.
    Due(Duration),
    /// Not the one that was due.
    Wrong(Check),
}

// === impl Ring ===

impl Ring {
    pub(crate) const fn new(slots: u16) -> Self {
        Self { slots, next: 0, expected: VecDeque::new(), passed: Vec::new() }
    }

    /// The slot to change now; `None` while so many are outstanding that two would be of the same resource.
    pub(crate) fn begin(&mut self, now: Instant) -> Option<u16> {
        let slot = self.next;
        if self.expected.iter().chain(&self.passed).any(|change| change.slot == slot) {
            return None;
        }
        self.next = (slot + 1) % self.slots.max(1);
        self.expected.push_back(Change { slot, begun: now, announced: None, excused: false });
        Some(slot)
    }

    /// The server announced the change, so that it has to be heard of.
    pub(crate) fn announced(&mut self, slot: u16, now: Instant) {
        self.each(slot, |change| change.announced = Some(now));
    }

    /// Whether it was announced is not known: it may be heard of.
    pub(crate) fn unknown(&mut self, slot: u16, now: Instant) {
        self.each(slot, |change| (change.announced, change.excused) = (Some(now), true));
    }

    /// The stream was away and did not go on where it was: what was changed until now need not be heard of.
    pub(crate) fn excuse(&mut self) {
        self.expected.iter_mut().chain(&mut self.passed).for_each(|change| change.excused = true);
    }

    /// An event of the resource in this slot came.
    pub(crate) fn heard(&mut self, slot: u16, now: Instant) -> Heard {
        if let Some(at) = self.expected.iter().position(|change| change.slot == slot) {
            let passed: Vec<Change> = self.expected.drain(..at).filter(|change| !change.excused).collect();
            self.passed.extend(passed);
            let begun = self.expected.pop_front().map_or(now, |change| change.begun);
            return Heard::Due(now.saturating_duration_since(begun));
        }
        if let Some(at) = self.passed.iter().position(|change| change.slot == slot) {
            self.passed.remove(at);
            return Heard::Wrong(Check::EventReordered);
        }
        Heard::Wrong(Check::EventDuplicated)
    }

    /// Gives up what was announced so long ago that it will not come; returns how many were lost.
    pub(crate) fn overdue(&mut self, now: Instant, patience: Duration) -> u64 {
        let is_over = |change: &Change| {
            change.announced.is_some_and(|announced| now.saturating_duration_since(announced) >= patience)
        };
        let mut lost = 0;
        let mut keep = |change: &Change| {
            let over = is_over(change);
            lost += u64::from(over && !change.excused);
            !over
        };
        self.expected.retain(&mut keep);
        self.passed.retain(&mut keep);
        lost
    }

    /// Whether something is still expected.
    pub(crate) fn is_waiting(&self) -> bool {
        self.expected.iter().chain(&self.passed).any(|change| !change.excused)
    }

    fn each(&mut self, slot: u16, act: impl Fn(&mut Change)) {
        self.expected.iter_mut().chain(&mut self.passed).filter(|change| change.slot == slot).for_each(act);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(5);

    fn ring(changes: usize) -> (Ring, Instant) {
        let (mut ring, now) = (Ring::new(4), Instant::now());
        for _ in 0..changes {
            let slot = ring.begin(now).unwrap();
            ring.announced(slot, now);
        }
        (ring, now)
    }

    #[test]
    fn each_event_comes_once_and_in_order() {
        let (mut ring, now) = ring(4);
        assert_eq!(ring.begin(now), None, "two of one resource could not be told apart");
        for slot in 0..4 {
            assert_eq!(ring.heard(slot, now + LONG), Heard::Due(LONG));
        }
        assert_eq!(ring.heard(3, now), Heard::Wrong(Check::EventDuplicated));
        assert!(!ring.is_waiting() && ring.overdue(now + LONG, LONG) == 0);
    }

    #[test]
    fn one_that_does_not_come_is_lost_and_one_that_comes_late_is_reordered() {
        let (mut ring, now) = ring(3);
        assert_eq!(ring.heard(2, now), Heard::Due(Duration::ZERO));
        assert_eq!(ring.heard(0, now), Heard::Wrong(Check::EventReordered));
        assert_eq!(ring.overdue(now + LONG, LONG), 1);
        assert!(!ring.is_waiting());
    }

    #[test]
    fn what_nobody_could_hear_is_not_lost() {
        let (mut ring, now) = ring(2);
        ring.excuse();
        let slot = ring.begin(now).unwrap();
        ring.unknown(slot, now);
        assert!(!ring.is_waiting());
        assert_eq!(ring.heard(1, now), Heard::Due(Duration::ZERO), "and may be heard");
        assert_eq!(ring.overdue(now + LONG, LONG), 0);
    }

    #[test]
    fn an_event_may_be_faster_than_the_answer() {
        let (mut ring, now) = (Ring::new(1), Instant::now());
        let slot = ring.begin(now).unwrap();
        assert_eq!(ring.heard(slot, now), Heard::Due(Duration::ZERO));
        ring.announced(slot, now);
        assert!(!ring.is_waiting() && ring.begin(now).is_some());
    }
}
