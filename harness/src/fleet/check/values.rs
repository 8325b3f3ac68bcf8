//! What the server keeps for a client: the counter, and what was remembered.

use std::collections::{BTreeSet, HashMap};

use super::super::{
    history::{Answer, End, History, Kind, What},
    report::{Count, Report},
};

/// What is known of the values of one session or handle.
#[derive(Default)]
struct Known {
    /// The sum of what was added and acknowledged.
    counted: i64,
    /// The sum of what may have been added besides.
    unsure: i64,
    /// The counter as it was last seen.
    seen: i64,
    /// What may be remembered: the last that was acknowledged, and all whose outcome is unknown.
    remembered: BTreeSet<i64>,
    unsure_remembered: BTreeSet<i64>,
}

/// Checks the values of one client.
///
/// Each counter must stand at what was acknowledged, or at more by at most what may have been added: less is a call that
/// was not run though it was acknowledged, more is one that was run twice.
pub(super) fn check(report: &mut Report, history: &History) {
    let mut open: HashMap<u32, Kind> = HashMap::new();
    let mut known: HashMap<u32, Known> = HashMap::new();
    for event in &history.events {
        match event.what {
            What::Called { call, kind } => {
                open.insert(call, kind);
            }
            What::Answered { call, answer: Answer::Value(value) } => {
                let Some(kind) = open.remove(&call) else { continue };
                let wrong = match kind {
                    Kind::Count { session, by } => known.entry(session).or_default().counts(by, value),
                    Kind::Remember { session, value } => {
                        known.entry(session).or_default().remembers(value);
                        None
                    }
                    Kind::Recall { session } => known.entry(session).or_default().recalls(value),
                    _ => None,
                };
                if let Some(note) = wrong {
                    report.find(Count::WrongValues, history, event.at, 1, (Some(call), note));
                }
            }
            // Answered with an error, or not at all: it may have been run.
            What::Over { call, end: End::Done | End::Unknown | End::TimedOut } => {
                let Some(kind) = open.remove(&call) else { continue };
                match kind {
                    Kind::Count { session, by } => known.entry(session).or_default().unsure += by,
                    Kind::Remember { session, value } => {
                        known.entry(session).or_default().unsure_remembered.insert(value);
                    }
                    _ => {}
                }
            }
            What::Over { call, .. } => {
                open.remove(&call);
            }
            _ => {}
        }
    }
}

// === impl Known ===

impl Known {
    fn counts(&mut self, by: i64, value: i64) -> Option<String> {
        self.counted += by;
        let (least, most) = (self.counted.max(self.seen + by), self.counted + self.unsure);
        self.seen = value;
        (value < least || value > most)
            .then(|| format!("the counter is at {value}, and not in {least}..={most}"))
    }

    fn remembers(&mut self, value: i64) {
        self.remembered = BTreeSet::from([value]);
    }

    fn recalls(&self, value: i64) -> Option<String> {
        let right = self.remembered.contains(&value) || self.unsure_remembered.contains(&value);
        (!right).then(|| format!("{value} is remembered, and not {:?}", self.remembered))
    }
}
