//! When the fleet was again as it had been before a fault, read from the run's timeline.
//!
//! What "recovered" means here. The seconds before the fault give a level: the share of requests that failed, the worst
//! p99 of one second, and how many requests ended well per second. A second is well when it is at that level, with some
//! room for noise (see the constants). The fleet has recovered at the beginning of the first second from which on all are
//! well, and that many in a row that it is no accident, the fault itself being over.
//!
//! What it cannot say: nothing finer than the timeline's seconds; and a request that is still waiting is in no second
//! yet, so that a fault which makes a few requests hang is seen when they end, or by fewer of them ending.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    report::Recovery,
    tally::{Second, Sketch},
    units::Span,
};

/// Seconds in a row that have to be well: one may be luck.
const IN_A_ROW: u32 = 3;

/// The most seconds before a fault that make its level.
const BEFORE: u32 = 10;

/// The fewest seconds that make a level.
const LEAST_BEFORE: usize = 3;

/// How much larger the share of failures may be than before: one request in a thousand.
const MORE_FAILURES: f64 = 0.001;

/// How many times the worst p99 of a second before is still as before; a p99 of a second is noisy.
const SLOWER: f64 = 1.5;

/// And how much longer at least: below this, scheduling of a busy machine is all that is seen.
const SLOWER_BY: Duration = Duration::from_millis(10);

/// The share of the throughput before that has to be back.
const THROUGHPUT: f64 = 0.5;

/// When a fault was done. Times are from the beginning of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// When it began.
    pub begun: Duration,
    /// When it was over: what was stopped went on, what was killed was back.
    pub over: Duration,
}

/// What is usual.
#[derive(Clone, Copy, Debug)]
struct Level {
    failures: f64,
    p99: Duration,
    throughput: f64,
}

/// The timeline as far as it tells anything.
#[derive(Clone, Copy, Debug)]
struct Timeline<'a> {
    seconds: &'a BTreeMap<u32, Second>,
    /// How long one entry is.
    slot: Duration,
    /// The first entry that counts: the earlier ones belong to the warm-up.
    from: u32,
    /// The first entry that does not: the last one of a run is rarely whole.
    to: u32,
}

/// What became of the fleet after each fault. The faults are in the order in which they began; `warm_up` is what is left
/// out at the beginning, and `length` how long the run was.
#[must_use]
pub fn recoveries(
    seconds: &BTreeMap<u32, Second>,
    slot_seconds: u32,
    warm_up: Duration,
    length: Duration,
    faults: &[Done],
) -> Vec<Recovery> {
    let slot = Duration::from_secs(slot_seconds.max(1).into());
    // Everybody arrives in the first second, which is never usual.
    let from = number(warm_up, slot).saturating_add(1).max(1);
    let timeline = Timeline { seconds, slot, from, to: number(length, slot) };
    let mut level = None;
    let mut usable_from = timeline.from;
    let mut found = Vec::new();
    for (index, fault) in faults.iter().enumerate() {
        level = timeline.level(usable_from, fault.begun).or(level);
        let next = faults.get(index + 1).map(|next| next.begun);
        let recovery = match level {
            None => Recovery::Unknown {
                why: format!(
                    "fewer than {LEAST_BEFORE} seconds after the warm-up and before the fault to compare with"
                ),
            },
            Some(level) => timeline.recovery(level, *fault, next),
        };
        usable_from = match recovery {
            Recovery::NotFelt => usable_from,
            Recovery::After { after } => number_after(fault.begun + after.get(), slot),
            // Until the next recovery nothing is usual.
            Recovery::Not { .. } | Recovery::Unknown { .. } => timeline.to,
        };
        found.push(recovery);
    }
    found
}

// === impl Timeline ===

impl Timeline<'_> {
    /// What was usual in the last whole seconds from `from` on and before `until`.
    fn level(&self, from: u32, until: Duration) -> Option<Level> {
        let until = number(until, self.slot).min(self.to);
        let from = from.max(self.from).max(until.saturating_sub(BEFORE));
        let seconds: Vec<&Second> =
            self.seconds.range(from..until.max(from)).map(|(_, second)| second).collect();
        if seconds.len() < LEAST_BEFORE {
            return None;
        }
        let succeeded: u64 = seconds.iter().map(|second| second.succeeded).sum();
        let failed: u64 = seconds.iter().map(|second| second.failures()).sum();
        // A level at which nothing succeeds is none.
        (succeeded > 0).then(|| Level {
            failures: failed as f64 / (succeeded + failed) as f64,
            p99: seconds.iter().map(|second| p99(&second.latency)).max().unwrap_or_default(),
            throughput: succeeded as f64 / f64::from(until - from),
        })
    }

    fn recovery(&self, level: Level, fault: Done, next: Option<Duration>) -> Recovery {
        let first = number(fault.begun, self.slot);
        // The second in which the next one begins is its own.
        let end = next.map_or(self.to, |next| number(next, self.slot)).min(self.to);
        let well = |second: u32| self.seconds.get(&second).is_some_and(|second| level.holds_in(second));
        let over = number(fault.over, self.slot);
        let run = (over..end).find(|start| {
            let whole = start.checked_add(IN_A_ROW).is_some_and(|stop| stop <= end);
            whole && (*start..start + IN_A_ROW).all(well)
        });
        let Some(run) = run else {
            let watched = (self.slot * end).saturating_sub(fault.begun);
            return if watched < self.slot * IN_A_ROW || over >= end {
                let why =
                    if next.is_some() { "the next fault came too soon" } else { "the run ended too soon" };
                Recovery::Unknown { why: format!("{why} after it") }
            } else {
                Recovery::Not { watched: Span(watched) }
            };
        };
        // It may have recovered before the fault was over, such as when a killed replica is not missed.
        let mut since = run;
        while since > first && well(since - 1) {
            since -= 1;
        }
        if since == first {
            Recovery::NotFelt
        } else {
            Recovery::After { after: Span((self.slot * since).saturating_sub(fault.begun)) }
        }
    }
}

// === impl Level ===

impl Level {
    fn holds_in(&self, second: &Second) -> bool {
        let ended = second.succeeded + second.failures();
        let failures = second.failures() as f64 / ended.max(1) as f64;
        let slowest = self.p99.mul_f64(SLOWER).max(self.p99 + SLOWER_BY);
        failures <= self.failures + MORE_FAILURES
            && second.succeeded as f64 >= self.throughput * THROUGHPUT
            && p99(&second.latency) <= slowest
    }
}

fn p99(latency: &Sketch) -> Duration {
    latency.percentile(99.0)
}

/// The entry that has this time in it.
fn number(time: Duration, slot: Duration) -> u32 {
    u32::try_from(time.as_nanos() / slot.as_nanos()).unwrap_or(u32::MAX)
}

/// The first entry that begins at this time or later.
fn number_after(time: Duration, slot: Duration) -> u32 {
    u32::try_from(time.as_nanos().div_ceil(slot.as_nanos())).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
