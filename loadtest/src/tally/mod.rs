//! Everything that is counted during a run.
//!
//! A [`Tally`] of a thread, a second, a process or a fleet of agents is one and the same type, and [`Tally::merge`] adds one
//! to another exactly: whatever is in it is a sum, a histogram, or a bounded choice of examples that does not depend on the
//! order. So what a coordinator shows is what one process would have shown.
//!
//! What is counted when: operations, errors, replicas and arrivals leave the warm-up out; the [timeline](Second) does not,
//! and what a check finds counts always.

mod histogram;
mod kind;
mod parts;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::{
    histogram::{Durations, Latencies, Sketch},
    kind::{Check, ErrorKind, Transport, UnknownKind},
    parts::{
        Arrivals, Example, Examples, Operation, OperationTally, Replicas, Second, Sessions, Thread, Traffic,
    },
};

/// The form of a tally in JSON. It goes up when a reader of the old form would misread the new one.
pub const SCHEMA: u32 = 1;

/// Names of servers that are told apart; one more is counted with the others.
const SERVERS: usize = 16;

/// Everything that is counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// [`SCHEMA`].
    pub schema: u32,
    /// By operation, after the warm-up.
    pub operations: BTreeMap<Operation, OperationTally>,
    /// From the beginning of the run, warm-up included: by second, or by as many as [`slot_seconds`](Self::slot_seconds).
    /// The key is the slot's number, from 0.
    pub timeline: BTreeMap<u32, Second>,
    /// How many seconds one entry of the timeline stands for; 1 unless the run is very long.
    pub slot_seconds: u32,
    /// Which replicas answered, after the warm-up.
    pub replicas: Replicas,
    /// What became of sessions and streams, warm-up included.
    pub sessions: Sessions,
    /// How punctually the generator was, after the warm-up.
    pub arrivals: Arrivals,
    /// What went over the network, warm-up included.
    pub traffic: Traffic,
    /// A few examples of each kind of error, warm-up included.
    pub examples: BTreeMap<ErrorKind, Examples>,
    /// What each check found, warm-up included: the number of violations, with those of requests that are also in `operations`.
    pub findings: BTreeMap<Check, u64>,
    /// How often each check was made, so that 0 findings can be told from a check that never ran.
    pub checked: BTreeMap<Check, u64>,
    /// The generator's own threads, one entry per thread of each process, in no particular order.
    pub threads: Vec<Thread>,
    /// Which servers answered `initialize` or `server/discover`, as `name version`, and how often.
    pub servers: BTreeMap<String, u64>,
}

// === impl Tally ===

impl Tally {
    /// Adds another's counts.
    ///
    /// # Panics
    /// When their timelines have entries of different length, which those of one plan never have.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.slot_seconds, other.slot_seconds, "tallies of one plan have one timeline");
        for (operation, tally) in &other.operations {
            self.operations.entry(operation.clone()).or_default().merge(tally);
        }
        for (slot, second) in &other.timeline {
            self.timeline.entry(*slot).or_default().merge(second);
        }
        self.replicas.merge(&other.replicas);
        self.sessions.merge(&other.sessions);
        self.arrivals.merge(&other.arrivals);
        self.traffic.merge(&other.traffic);
        for (kind, examples) in &other.examples {
            self.examples.entry(*kind).or_default().merge(examples);
        }
        add_all(&mut self.findings, &other.findings);
        add_all(&mut self.checked, &other.checked);
        self.merge_threads(&other.threads);
        for (server, times) in &other.servers {
            self.add_server(server, *times);
        }
    }

    /// Counts a server that introduced itself.
    pub fn add_server(&mut self, server: &str, times: u64) {
        let known = self.servers.contains_key(server) || self.servers.len() < SERVERS;
        *self.servers.entry(if known { server } else { "other" }.to_owned()).or_default() += times;
    }

    /// All operations as one: what requests of every kind had in common. Deliveries of events are no requests and not in it.
    #[must_use]
    pub fn overall(&self) -> OperationTally {
        self.sum(Operation::is_request)
    }

    /// The operations that a name stands for, as one: `tools/call` is all its tools, `tools/call add` one of them.
    /// `None` if there is none.
    #[must_use]
    pub fn operation(&self, name: &str) -> Option<OperationTally> {
        let named = |operation: &Operation| operation.is_named(name);
        self.operations.keys().any(named).then(|| self.sum(named))
    }

    /// How many checks failed.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.findings.values().sum()
    }

    /// How many requests got no answer in time.
    #[must_use]
    pub fn hung(&self) -> u64 {
        self.operations.values().filter_map(|tally| tally.errors.get(&ErrorKind::Hung)).sum()
    }

    /// Errors of all operations by kind.
    #[must_use]
    pub fn errors(&self) -> BTreeMap<ErrorKind, u64> {
        let mut errors = BTreeMap::new();
        self.operations.values().for_each(|tally| add_all(&mut errors, &tally.errors));
        errors
    }

    fn sum(&self, which: impl Fn(&Operation) -> bool) -> OperationTally {
        let mut sum = OperationTally::default();
        self.operations
            .iter()
            .filter(|(operation, _)| which(operation))
            .for_each(|(_, tally)| sum.merge(tally));
        sum
    }

    fn merge_threads(&mut self, others: &[Thread]) {
        for other in others {
            let same = |mine: &&mut Thread| mine.process == other.process && mine.thread == other.thread;
            match self.threads.iter_mut().find(same) {
                Some(mine) => mine.merge(other),
                None => self.threads.push(other.clone()),
            }
        }
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            schema: SCHEMA,
            operations: BTreeMap::new(),
            timeline: BTreeMap::new(),
            slot_seconds: 1,
            replicas: Replicas::default(),
            sessions: Sessions::default(),
            arrivals: Arrivals::default(),
            traffic: Traffic::default(),
            examples: BTreeMap::new(),
            findings: BTreeMap::new(),
            checked: BTreeMap::new(),
            threads: Vec::new(),
            servers: BTreeMap::new(),
        }
    }
}

/// Adds counts to counts, key by key.
fn add_all<K: Ord + Copy>(counts: &mut BTreeMap<K, u64>, others: &BTreeMap<K, u64>) {
    for (key, times) in others {
        *counts.entry(*key).or_default() += times;
    }
}

#[cfg(test)]
mod tests;
