//! Changes of resources: what each listener heard, beside what was made.
//!
//! The resources of a ring are changed by one client, one after the other, the next when the last was acknowledged. So a
//! listener's next is known. Whether a change was made at all may be unknown; then it may be heard or not, sooner or later.

use std::collections::{BTreeSet, HashMap};

use super::super::{
    history::{Answer, At, End, History, Kind, What},
    plan::SLOTS,
    report::{Count, Report},
};

/// How far behind the newest a change may be heard and still be told from one that is ahead by most of a ring.
const BEHIND: usize = 6;

/// One change that was made, or may have been.
#[derive(Clone, Copy, Debug)]
struct Touch {
    began: At,
    /// When it was over for the client that made it.
    over: At,
    /// Whether it was acknowledged.
    sure: bool,
}

/// One stream that listens, over all connections on which it went on where it was.
#[derive(Debug, Default)]
struct Epoch {
    call: u32,
    /// When the request was sent that opened it: of what was over before, nothing is heard.
    opened: At,
    /// Whether it has begun.
    open: bool,
    /// From when on everything is heard; `None` if it never came to that.
    from: Option<At>,
    heard: HashMap<u16, Vec<(At, u16)>>,
    /// Whether it lasted until everything was made, so that nothing may be missing at its end.
    whole: bool,
}

/// What one listener misses of one ring.
#[derive(Debug, Default, PartialEq, Eq)]
struct Finding {
    lost: u64,
    duplicated: u64,
    out_of_order: u64,
    misplaced: u64,
}

/// Checks what all listeners heard.
pub(super) fn check(report: &mut Report, histories: &[History]) {
    let mut rings: HashMap<u16, Vec<Touch>> = HashMap::new();
    for history in histories {
        made(history, &mut rings);
    }
    for history in histories {
        for epoch in epochs(history) {
            for ring in &history.rings {
                let touches = rings.get(ring).map_or(&[][..], Vec::as_slice);
                let heard = epoch.heard.get(ring).map_or(&[][..], Vec::as_slice);
                report.add(Count::Events, epoch.opened, heard.len() as u64);
                one(report, history, &epoch, *ring, touches, heard);
            }
        }
    }
}

fn one(
    report: &mut Report,
    history: &History,
    epoch: &Epoch,
    ring: u16,
    touches: &[Touch],
    heard: &[(At, u16)],
) {
    let found = compare(touches, heard, epoch);
    let at = heard.last().map_or(epoch.opened, |(at, _)| *at);
    let note = |what: &str| {
        let note = format!("{what} in ring {ring}, listened to since {}", epoch.opened);
        (Some(epoch.call), note)
    };
    report.find(Count::EventsLost, history, at, found.lost, note("lost"));
    report.find(Count::EventsDuplicated, history, at, found.duplicated, note("heard again"));
    report.find(Count::EventsOutOfOrder, history, at, found.out_of_order, note("heard late"));
    report.find(Count::Misplaced, history, at, found.misplaced, note("heard and never made"));
}

/// The changes that a client made.
fn made(history: &History, rings: &mut HashMap<u16, Vec<Touch>>) {
    let mut open: HashMap<u32, (At, u16, bool)> = HashMap::new();
    for event in &history.events {
        match event.what {
            What::Called { call, kind: Kind::Touch { ring, .. } } => {
                open.insert(call, (event.at, ring, false));
            }
            What::Answered { call, answer: Answer::Value(_) } => {
                if let Some((_, _, sure)) = open.get_mut(&call) {
                    *sure = true;
                }
            }
            What::Over { call, end } => {
                let Some((began, ring, sure)) = open.remove(&call) else { continue };
                if !matches!(end, End::SessionLost | End::Refused | End::Closing) {
                    rings.entry(ring).or_default().push(Touch { began, over: event.at, sure });
                }
            }
            _ => {}
        }
    }
    // One without an end may have been made.
    for (began, ring, sure) in open.into_values() {
        rings.entry(ring).or_default().push(Touch { began, over: At(u64::MAX), sure });
    }
}

/// The streams on which a client listened.
fn epochs(history: &History) -> Vec<Epoch> {
    let mut epochs: Vec<Epoch> = Vec::new();
    for event in &history.events {
        if let What::Called { call, kind: Kind::Listen } = event.what {
            epochs.push(Epoch { call, opened: event.at, ..Epoch::default() });
        }
        let Some(epoch) = epochs.last_mut() else { continue };
        match event.what {
            What::Sent { call } if call == epoch.call && !epoch.open => epoch.opened = event.at,
            What::Streaming { call } if call == epoch.call => epoch.open = true,
            What::Listening { call, .. } if call == epoch.call => {
                epoch.from.get_or_insert(event.at);
            }
            What::Heard { ring, slot } => epoch.heard.entry(ring).or_default().push((event.at, slot)),
            _ => {}
        }
    }
    // The last one goes on to the end, whether the client heard of the end or not.
    if let Some(last) = epochs.last_mut() {
        last.whole = true;
    }
    epochs
}

/// Compares what was heard with what was made. What a listener that stopped early has not heard yet is not missing, for
/// it was told that its stream is over.
fn compare(touches: &[Touch], heard: &[(At, u16)], epoch: &Epoch) -> Finding {
    let mut found = Finding::default();
    // Those under way when the stream was opened may be heard.
    let mut next = touches.partition_point(|touch| touch.over < epoch.opened);
    // And those of which nobody knows: they may be made later than their client waited for.
    let mut missing: BTreeSet<usize> = (0..next).filter(|place| !touches[*place].sure).collect();
    for (at, slot) in heard {
        match place(touches, next, *slot, *at) {
            Some(place) if place >= next => {
                missing.extend(next..place);
                next = place + 1;
            }
            // One that may not have been made was made late, by a replica that slept meanwhile.
            Some(place) if missing.remove(&place) => found.out_of_order += u64::from(touches[place].sure),
            Some(_) => found.duplicated += 1,
            None => found.misplaced += 1,
        }
    }
    if epoch.whole {
        missing.extend(next..touches.len());
    }
    let is_due = |touch: &Touch| touch.sure && epoch.from.is_some_and(|from| touch.began >= from);
    found.lost = missing.into_iter().filter(|place| is_due(&touches[*place])).count() as u64;
    found
}

/// Which change a slot stands for: the one nearest to the next that can have been heard at that time.
fn place(touches: &[Touch], next: usize, slot: u16, at: At) -> Option<usize> {
    let slots = usize::from(SLOTS);
    let ahead = (usize::from(slot) + slots - next % slots) % slots;
    let forward = next + ahead;
    let can_be = |place: usize| touches.get(place).is_some_and(|touch| touch.began <= at);
    let behind = forward.checked_sub(slots);
    if ahead >= slots - BEHIND {
        return behind.filter(|place| can_be(*place)).or(Some(forward).filter(|place| can_be(*place)));
    }
    Some(forward).filter(|place| can_be(*place)).or(behind.filter(|place| can_be(*place)))
}
