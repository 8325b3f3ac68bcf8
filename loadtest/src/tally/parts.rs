//! The parts of a tally.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::{ErrorKind, Latencies, Sketch, add_all};

/// Replicas that are told apart; one more is counted with the others.
const REPLICAS: usize = 256;

/// Examples of one kind of error: enough to find the cause.
const EXAMPLES: usize = 5;

/// The longest text of an example, in bytes.
const EXAMPLE_BYTES: usize = 400;

/// What was done: a method and, for a tool, its name, as `tools/call add`; `question` for the answer to a server's
/// question; `delivery` for an event from what caused it to its arrival.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Operation(String);

/// What became of one operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationTally {
    /// How many were begun.
    pub started: u64,
    /// How many ended well.
    pub succeeded: u64,
    /// How many ended otherwise, by kind. Each is counted once, by the first thing that is wrong with it.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// Those that ended well, from the intended start to the end.
    pub latency: Latencies,
    /// The same ones, from when the request was sent to the end.
    pub service: Latencies,
    /// Those that did not, from the intended start to the end.
    pub failed: Latencies,
}

/// One second of the run, or one of more than that in a very long one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Requests that were begun.
    pub started: u64,
    /// Requests that ended well.
    pub succeeded: u64,
    /// Requests that ended otherwise, and failed checks of events, by kind.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// Latencies, from the intended start, of requests that ended well in this second.
    pub latency: Sketch,
    /// Events that were delivered.
    pub events: u64,
    /// Sessions that were open at the end of the second; for revisions without sessions, clients that are at work.
    pub sessions_open: u64,
    /// Streams that listened at its end.
    pub streams_open: u64,
    /// Requests that were answered by another replica than the client's one before.
    pub moved: u64,
    /// Starts that were due and given up, since too many of that client waited already.
    pub dropped: u64,
}

/// Which replicas answered, where the endpoint says so in `x-trunkline-replica`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replicas {
    /// Answers of each.
    pub answered: BTreeMap<String, u64>,
    /// Answers that did not say whose they are.
    pub unnamed: u64,
    /// Answers of another replica than the same client's one before.
    pub moved: u64,
}

/// What became of sessions and streams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sessions {
    /// Sessions that were opened; for revisions without sessions, clients that came to work.
    pub opened: u64,
    /// Those that the client ended with DELETE.
    pub deleted: u64,
    /// Those that the client left without a word.
    pub abandoned: u64,
    /// Those that the server did not know any more (404) although nobody had ended them.
    pub lost: u64,
    /// Handles that the server did not know any more although they had not expired.
    pub handles_lost: u64,
    /// Streams that listened.
    pub streams_opened: u64,
    /// Streams that broke or were ended by the server, and were opened again.
    pub streams_reopened: u64,
    /// Of those, the ones that went on after the last event (Last-Event-ID).
    pub streams_resumed: u64,
    /// Calls whose answer came on a resumed stream.
    pub calls_resumed: u64,
    /// Requests that were sent again, since the server had asked for it.
    pub retried: u64,
    /// Questions that were answered.
    pub questions: u64,
    /// Calls that the client cancelled.
    pub cancelled: u64,
    /// Messages about progress.
    pub progress: u64,
    /// TCP connections that the client broke on purpose.
    pub cut: u64,
}

/// How punctual the generator was. When it is not, it is the bottleneck, and the figures are its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Starts that were due.
    pub intended: u64,
    /// Of those, how many found their client busy with an earlier one and waited for it.
    pub waited: u64,
    /// How many were given up, since as many as a client may queue waited already. They are in no latency.
    pub dropped: u64,
    /// How long after it was due a start was noticed by the generator. A client that is busy is not in it: that is the
    /// server's time.
    pub lateness: Latencies,
}

/// What went over the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Bytes of requests, without HTTP headers.
    pub sent: u64,
    /// Bytes of answers and events, without HTTP headers.
    pub received: u64,
}

/// A thread of the generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// Which process it belongs to: its share of the clients, as `0 of 1`.
    pub process: String,
    /// Its number in the process, from 0.
    pub thread: u32,
    /// CPU time that it used, in seconds.
    pub cpu_seconds: f64,
    /// How long it ran, in seconds.
    pub wall_seconds: f64,
    /// The largest share of a second that it was busy, 0.0 to 1.0. Near 1.0 it had no time to be punctual.
    pub busiest: f64,
}

/// One error.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Example {
    /// When, in milliseconds since the beginning of the run.
    pub at_ms: u64,
    /// Which client, of all.
    pub client: u32,
    /// Its revision.
    pub revision: String,
    /// What it did.
    pub operation: Operation,
    /// What was wrong, in a line. May hold what the server sent.
    pub text: String,
}

/// The first few examples, by time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examples(Vec<Example>);

// === impl Operation ===

impl Operation {
    /// The answer to a server's question.
    pub const QUESTION: &str = "question";
    /// An event, from what caused it to its arrival.
    pub const DELIVERY: &str = "delivery";

    /// A method, or one of the two above.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// A call of a tool.
    #[must_use]
    pub fn tool(name: &str) -> Self {
        Self(format!("tools/call {name}"))
    }

    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is something that the client asks for, and not something that comes by itself.
    #[must_use]
    pub fn is_request(&self) -> bool {
        self.0 != Self::QUESTION && self.0 != Self::DELIVERY
    }

    /// Whether this name means it: its own, or its method's.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.0.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl OperationTally ===

impl OperationTally {
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        self.started += other.started;
        self.succeeded += other.succeeded;
        add_all(&mut self.errors, &other.errors);
        self.latency.add(&other.latency);
        self.service.add(&other.service);
        self.failed.add(&other.failed);
    }

    /// How many did not end well.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.errors.values().sum()
    }

    /// How many ended.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.succeeded + self.failures()
    }

    /// The share of those that ended that did not end well, 0.0 to 1.0.
    #[must_use]
    pub fn error_rate(&self) -> f64 {
        let ended = self.ended();
        if ended == 0 { 0.0 } else { self.failures() as f64 / ended as f64 }
    }
}

// === impl Second ===

impl Second {
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        self.started += other.started;
        self.succeeded += other.succeeded;
        add_all(&mut self.errors, &other.errors);
        self.latency.add(&other.latency);
        self.events += other.events;
        self.sessions_open += other.sessions_open;
        self.streams_open += other.streams_open;
        self.moved += other.moved;
        self.dropped += other.dropped;
    }

    /// How many requests did not end well.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.errors.values().sum()
    }
}

// === impl Replicas ===

impl Replicas {
    /// Counts answers of a replica.
    pub fn add(&mut self, replica: &str, times: u64) {
        if let Some(known) = self.answered.get_mut(replica) {
            *known += times;
        } else {
            let name = if self.answered.len() < REPLICAS { replica } else { "other" };
            *self.answered.entry(name.to_owned()).or_default() += times;
        }
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        other.answered.iter().for_each(|(replica, times)| self.add(replica, *times));
        self.unnamed += other.unnamed;
        self.moved += other.moved;
    }

    /// The share of answers that moved, of those that say whose they are, 0.0 to 1.0.
    #[must_use]
    pub fn moved_rate(&self) -> f64 {
        let named: u64 = self.answered.values().sum();
        if named == 0 { 0.0 } else { self.moved as f64 / named as f64 }
    }
}

// === impl Sessions ===

impl Sessions {
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        self.opened += other.opened;
        self.deleted += other.deleted;
        self.abandoned += other.abandoned;
        self.lost += other.lost;
        self.handles_lost += other.handles_lost;
        self.streams_opened += other.streams_opened;
        self.streams_reopened += other.streams_reopened;
        self.streams_resumed += other.streams_resumed;
        self.calls_resumed += other.calls_resumed;
        self.retried += other.retried;
        self.questions += other.questions;
        self.cancelled += other.cancelled;
        self.progress += other.progress;
        self.cut += other.cut;
    }
}

// === impl Arrivals ===

impl Arrivals {
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        self.intended += other.intended;
        self.waited += other.waited;
        self.dropped += other.dropped;
        self.lateness.add(&other.lateness);
    }
}

// === impl Traffic ===

impl Traffic {
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.received += other.received;
    }
}

// === impl Thread ===

impl Thread {
    /// Adds a later part of the same thread.
    pub fn merge(&mut self, other: &Self) {
        self.cpu_seconds += other.cpu_seconds;
        self.wall_seconds += other.wall_seconds;
        self.busiest = self.busiest.max(other.busiest);
    }

    /// The share of its time that it was busy, 0.0 to 1.0.
    #[must_use]
    pub fn load(&self) -> f64 {
        if self.wall_seconds > 0.0 { self.cpu_seconds / self.wall_seconds } else { 0.0 }
    }
}

// === impl Example ===

impl Example {
    /// Shortens the text to what is kept of it.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        let end = (0..=EXAMPLE_BYTES.min(self.text.len())).rev().find(|at| self.text.is_char_boundary(*at));
        let end = end.unwrap_or(0);
        if end < self.text.len() {
            self.text.truncate(end);
            self.text.push('…');
        }
        self
    }

    /// When it happened.
    #[must_use]
    pub const fn at(&self) -> Duration {
        Duration::from_millis(self.at_ms)
    }
}

// === impl Examples ===

impl Examples {
    /// Keeps an example if it is among the first ones.
    pub fn add(&mut self, example: Example) {
        let place = self.0.partition_point(|other| *other <= example);
        if place < EXAMPLES {
            self.0.insert(place, example.shortened());
            self.0.truncate(EXAMPLES);
        }
    }

    /// Adds another's examples.
    pub fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|example| self.add(example.clone()));
    }

    /// Whether one of this time would be kept.
    #[must_use]
    pub fn wants(&self, at_ms: u64) -> bool {
        self.0.len() < EXAMPLES || self.0.last().is_some_and(|last| at_ms < last.at_ms)
    }

    /// The examples, by time.
    pub fn iter(&self) -> impl Iterator<Item = &Example> {
        self.0.iter()
    }
}
