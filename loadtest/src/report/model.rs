//! A report as data.

use std::{
    collections::BTreeMap,
    fmt,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use super::{
    judge,
    provenance::{Provenance, utc},
    redact::{Secrets, redact_scenario, redact_url},
};
use crate::{
    plan::{Arrival, Plan, Verdict},
    tally::Tally,
    units::Span,
};

/// The form of a report in JSON. It goes up when a reader of the old form would misread the new one; fields that are
/// only added leave it.
pub const SCHEMA: u32 = 1;

/// What a command ran and found: one run, or several that differ in one thing, such as the balancer's policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Where the figures are from.
    pub provenance: Provenance,
    /// At least one.
    pub runs: Vec<Run>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What tells it from the others of its report: the policy, or the scenario.
    pub name: String,
    /// What was asked for.
    pub conditions: Conditions,
    /// When it began, in UTC, as `2026-11-30T22:27:00Z`.
    pub started: String,
    /// How long it was from the beginning to the last client's end.
    pub length: Span,
    /// How much of that the figures are of: without the warm-up and the clients' last answers.
    pub measured: Span,
    /// Whether the thresholds held.
    #[serde(default)]
    pub verdicts: Vec<Verdict>,
    /// What a reader has to know before using the figures.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// What was done to the fleet, by time.
    #[serde(default)]
    pub faults: Vec<FaultMark>,
    /// Everything that was counted.
    pub tally: Tally,
}

/// What was asked for, without secrets. The texts are for reading; they compare as equal where the conditions are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// The endpoint, without user, password and query.
    pub url: String,
    /// What is behind the endpoint, where that is known: `3 replicas behind haproxy, sessions in redis`.
    #[serde(default)]
    pub topology: Option<String>,
    /// The scenario's name.
    pub scenario: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// All of it, as TOML.
    #[serde(default)]
    pub scenario_toml: String,
    /// Virtual clients, over all processes.
    pub clients: u32,
    /// Clients by revision.
    #[serde(default)]
    pub revisions: BTreeMap<String, u32>,
    /// Threads of each process.
    pub threads: u32,
    /// TCP connections of each client for its calls, at most.
    pub connections: u32,
    /// What every random choice comes from.
    pub seed: u64,
    /// When requests are sent, as `poisson, 500/s`.
    pub arrival: String,
    /// How long was to be measured.
    pub duration: Span,
    /// How long clients work before anything is measured.
    pub warmup: Span,
    /// A request that has no answer after this is hung.
    pub timeout: Span,
}

/// When a run began, and how long it was from then to its last client's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// By the machine's clock.
    pub started: SystemTime,
    /// By a steady one.
    pub length: Duration,
}

/// Something a reader has to know before using the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Which kind.
    pub kind: WarningKind,
    /// A sentence for people: what is the matter, and what to do.
    pub text: String,
}

/// The kinds of warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// The generator had no CPU left: the figures are its own.
    GeneratorBusy,
    /// The generator sent requests later than they were due.
    GeneratorLate,
    /// Starts were given up, since clients had too many waiting.
    StartsDropped,
    /// An agent was lost, and its clients with it.
    AgentLost,
    /// The run ended within the warm-up, or soon after.
    WarmupCut,
    /// The run was stopped before its end.
    StoppedEarly,
    /// Whatever else, or a kind of a later version.
    #[serde(other)]
    Other,
}

/// A fault that was done to the fleet. Times are from the beginning of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultMark {
    /// What was done, short: `kill-replica:1`.
    pub label: String,
    /// When it began.
    pub begun: Span,
    /// When it was over: what was stopped went on, what was killed was back. The same as `begun` for what takes no time.
    pub over: Span,
    /// What became of the fleet.
    pub recovery: Recovery,
}

/// What became of the fleet after a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Recovery {
    /// No second stood out.
    NotFelt,
    /// It was as before.
    After {
        /// How long after the fault had begun.
        after: Span,
    },
    /// It was not as before as long as it was watched.
    Not {
        /// How long it was watched after the fault had begun.
        watched: Span,
    },
    /// It cannot be told.
    Unknown {
        /// Why.
        why: String,
    },
}

// === impl Report ===

impl Report {
    /// A report of these runs, of which there is at least one.
    #[must_use]
    pub const fn new(provenance: Provenance, runs: Vec<Run>) -> Self {
        Self { schema: SCHEMA, provenance, runs }
    }

    /// Whether all thresholds and checks of all runs held: what an exit code says.
    #[must_use]
    pub fn held(&self) -> bool {
        self.runs.iter().all(Run::held)
    }
}

// === impl Run ===

impl Run {
    /// Judges what a plan's run counted. `scenario` is the scenario's text; what was written for it where it was read from
    /// a file.
    #[must_use]
    pub fn of(plan: &Plan, scenario: &str, timing: Timing, mut tally: Tally) -> Self {
        Secrets::of(plan).hide_in(&mut tally.examples);
        let conditions = Conditions::of(plan, scenario);
        let measured = timing.length.saturating_sub(plan.warmup.get()).min(plan.duration.get());
        let verdicts = plan.slos.iter().map(|slo| slo.judge(&tally, measured)).collect();
        let mut run = Self {
            name: conditions.scenario.clone(),
            conditions,
            started: utc(timing.started),
            length: Span(timing.length),
            measured: Span(measured),
            verdicts,
            warnings: Vec::new(),
            faults: Vec::new(),
            tally,
        };
        run.warnings = judge::warnings(&run);
        run
    }

    /// The same under another name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// The same, with what is behind its endpoint.
    #[must_use]
    pub fn behind(mut self, topology: &str) -> Self {
        self.conditions.topology = Some(topology.to_owned());
        self
    }

    /// Adds a warning.
    pub fn warn(&mut self, kind: WarningKind, text: &str) {
        self.warnings.push(Warning { kind, text: text.to_owned() });
    }

    /// Requests that ended well, per second of the measured time.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.per_second(self.tally.overall().succeeded)
    }

    /// Something counted over the measured time, per second.
    #[must_use]
    pub fn per_second(&self, times: u64) -> f64 {
        let seconds = self.measured.get().as_secs_f64();
        if seconds > 0.0 { times as f64 / seconds } else { 0.0 }
    }
}

// === impl Conditions ===

impl Conditions {
    /// Those of a plan.
    #[must_use]
    pub fn of(plan: &Plan, scenario: &str) -> Self {
        let revisions = plan.clients_by_revision().into_iter();
        Self {
            url: redact_url(&plan.url),
            topology: None,
            scenario: plan.scenario.name.clone(),
            description: plan.scenario.description.clone(),
            scenario_toml: redact_scenario(scenario),
            clients: plan.clients,
            revisions: revisions.map(|(revision, clients)| (revision.as_str().to_owned(), clients)).collect(),
            threads: plan.threads,
            connections: plan.connections,
            seed: plan.seed,
            arrival: arrival(plan.arrival),
            duration: plan.duration,
            warmup: plan.warmup,
            timeout: plan.timeout,
        }
    }
}

// === impl FaultMark ===

impl FaultMark {
    /// How long the fleet took to be as before, where it did.
    #[must_use]
    pub const fn recovered_after(&self) -> Option<Duration> {
        match self.recovery {
            Recovery::After { after } => Some(after.get()),
            _ => None,
        }
    }
}

// === impl Recovery ===

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFelt => f.write_str("not felt: no second stood out"),
            Self::After { after } => write!(f, "recovered after {:.1} s", after.get().as_secs_f64()),
            Self::Not { watched } => write!(f, "not recovered within {:.1} s", watched.get().as_secs_f64()),
            Self::Unknown { why } => write!(f, "recovery unknown: {why}"),
        }
    }
}

pub(super) fn arrival(arrival: Arrival) -> String {
    let name = arrival.as_str();
    match arrival {
        Arrival::Closed => "closed loop".to_owned(),
        Arrival::Constant { rate } | Arrival::Poisson { rate } => format!("{name}, {rate}"),
        Arrival::Ramp { from, to } => format!("{name}, {from} to {to}"),
        Arrival::Step { from, to, steps } => format!("{name}, {from} to {to} in {steps} steps"),
        Arrival::Spike { rate, peak, at, length } => format!("{name}, {rate}, {peak} at {at} for {length}"),
    }
}
