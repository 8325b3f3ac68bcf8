//! The options of a load, the same for every verb that runs one, and the plan they come to.

mod arrival;
mod endpoint;
mod mistake;
mod near;

use std::{path::PathBuf, process::ExitCode};

pub use self::{
    mistake::{Mistake, Mistakes},
    near::{nearest, no_such},
};
use crate::{
    plan::{Arrival, Plan, Slo},
    report::Outputs,
    scenario,
    units::Span,
};

/// What a program ends with that was asked for something it cannot do.
pub const BAD_INPUT: u8 = 2;

/// The most clients: the number of a client is part of what tells its requests from those of others.
const CLIENTS: u32 = 1 << 20;

/// The most starts that may wait in one client: whoever is so far behind does not catch up.
const BACKLOG: u32 = 1 << 16;

/// The options of a load. Texts are read by [`Load::plan`], which tells every mistake in them at once.
#[derive(Clone, Debug, clap::Args)]
pub struct Load {
    /// Virtual clients, each with its own connections, session, identity and random stream
    #[arg(long, default_value = "10", value_name = "N")]
    pub clients: String,
    /// How long is measured, as 30s or 5m
    #[arg(long, default_value = "10s", value_name = "TIME")]
    pub duration: String,
    /// How long clients work before anything is measured
    #[arg(long, default_value = "2s", value_name = "TIME")]
    pub warmup: String,
    /// Requests per second of all clients together, as 500/s; for ramp and step from one to another, as 100..1000
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// When requests are sent: closed, constant, poisson, ramp, step:N or spike:PEAK@TIME+TIME; constant where there is a
    /// rate, and closed otherwise
    #[arg(long, value_name = "KIND")]
    pub arrival: Option<String>,
    /// A built-in scenario (steady, churn, storm, listeners, questions, mixed), or a file
    #[arg(long, default_value = "steady", value_name = "NAME|FILE")]
    pub scenario: String,
    /// How long clients think between an answer and the next request, in a closed loop; instead of the scenario's
    #[arg(long, value_name = "TIME")]
    pub think: Option<String>,
    /// What every random choice comes from
    #[arg(long, default_value = "1", value_name = "N", allow_negative_numbers = true)]
    pub seed: String,
    /// What has to hold, as 'p99<50ms', 'errors<0.1%' or 'tools/call:rate>1000/s'; may be given several times
    #[arg(long, value_name = "SLO")]
    pub slo: Vec<String>,
    /// A request without an answer after this is hung
    #[arg(long, default_value = "30s", value_name = "TIME")]
    pub timeout: String,
    /// The protocol's revision, or shares of several as 2025-11-25=3,2026-07-28=1; auto is what the server offers; may be
    /// given several times
    #[arg(long, default_value = "auto", value_name = "REVISION")]
    pub revision: Vec<String>,
    /// A header of every request, as 'name: value'; may be given several times
    #[arg(long, value_name = "HEADER")]
    pub header: Vec<String>,
    /// A file with bearer tokens, one in a line, dealt to the clients one after the other
    #[arg(long, value_name = "FILE")]
    pub bearer_file: Option<PathBuf>,
    /// TCP connections of each client for its calls: so many calls at the same time
    #[arg(long, default_value = "1", value_name = "N")]
    pub connections: String,
    /// Requests that may wait in one client while it is busy, where there is a rate; more are given up, and told
    #[arg(long, default_value = "64", value_name = "N")]
    pub backlog: String,
    /// Threads of each process; a thread uses one core at most
    #[arg(long, default_value = "1", value_name = "N")]
    pub threads: String,
    /// Where the report goes.
    #[command(flatten)]
    pub outputs: Outputs,
}

// === impl Load ===

impl Load {
    /// The plan that the options come to, against this endpoint.
    ///
    /// # Errors
    /// Every mistake in them, and in the scenario's file.
    pub fn plan(&self, url: &str) -> Result<Plan, Vec<Mistake>> {
        let mut found = Mistakes::default();
        let mut plan = Plan::new(url);
        found.url(url);
        plan.clients = found.number("--clients", &self.clients, 1..=CLIENTS);
        plan.threads = found.number("--threads", &self.threads, 1..=256);
        plan.connections = found.number("--connections", &self.connections, 1..=64);
        plan.backlog = found.number("--backlog", &self.backlog, 1..=BACKLOG);
        let seed = self.seed.parse::<u64>();
        plan.seed = found
            .read("--seed", seed.map_err(|_| format!("{:?} will not do; write a whole number", self.seed)));
        plan.duration = found.read("--duration", self.duration.parse());
        plan.warmup = found.read("--warmup", self.warmup.parse());
        plan.timeout = found.read("--timeout", self.timeout.parse());
        for (name, span) in [("--duration", plan.duration), ("--timeout", plan.timeout)] {
            if span == Span::default() && !found.has(name) {
                found.add(name, "must be longer than 0, as 30s");
            }
        }
        plan.arrival = found.arrival(self.arrival.as_deref(), self.rate.as_deref());
        plan.revisions = found.revisions(&self.revision);
        plan.slos = self.slo.iter().filter_map(|slo| found.maybe("--slo", slo.parse::<Slo>())).collect();
        plan.headers = found.headers(&self.header);
        if let Some(path) = &self.bearer_file {
            plan.bearers = found.bearers(path, &plan.headers);
        }
        match scenario::load(&self.scenario) {
            Ok((scenario, _text)) => {
                plan.scenario = scenario;
                found.at_odds(&plan);
            }
            Err(mistakes) => found.extend(mistakes),
        }
        if let Some(think) = &self.think {
            plan.scenario.think = found.read("--think", think.parse());
            if plan.arrival != Arrival::Closed {
                found.add(
                    "--think",
                    "clients think in a closed loop only; leave it out, or --rate and --arrival",
                );
            }
        }
        found.or(plan)
    }

    /// The scenario as it is written, for a report; empty where it cannot be read.
    #[must_use]
    pub fn scenario_text(&self) -> String {
        scenario::load(&self.scenario).map(|(_, text)| text).unwrap_or_default()
    }
}

// === impl Mistakes ===

impl Mistakes {
    fn number(&mut self, name: &str, text: &str, range: std::ops::RangeInclusive<u32>) -> u32 {
        let number = text.parse::<u32>().ok().filter(|number| range.contains(number));
        if number.is_none() {
            let (least, most) = range.into_inner();
            self.add(name, format!("{text:?} will not do; write a whole number from {least} to {most}"));
        }
        number.unwrap_or(1)
    }

    /// What is right by itself, and not together.
    fn at_odds(&mut self, plan: &Plan) {
        let length = plan.warmup.get() + plan.duration.get();
        match plan.arrival {
            Arrival::Closed => {}
            _ if plan.scenario.steps.is_empty() => {
                let name = &plan.scenario.name;
                self.add("--rate", format!("{name} has no steps to do at a rate; leave it out"));
            }
            Arrival::Spike { at, .. } if at.get() >= length && !self.has("--duration") => {
                let length = Span(length);
                self.add(
                    "--arrival",
                    format!("the spike begins at {at}, and the run ends at {length}; let it begin before"),
                );
            }
            _ => {}
        }
    }
}

/// What the reader of options says in a paragraph, in a line: what is wrong, and its tips, without the usage.
#[must_use]
pub fn one_line(paragraph: &str) -> String {
    let lines = paragraph.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let said = lines.filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    let mut told = String::new();
    for line in said {
        let line = line.strip_prefix("error: ").unwrap_or(line);
        let (between, line) = match line.strip_prefix("tip: ") {
            Some(tip) => ("; ", tip),
            None if told.is_empty() => ("", line),
            None => (" ", line),
        };
        told.push_str(between);
        told.push_str(line);
    }
    told
}

/// Tells what is wrong, a line each, on standard error, and that there was no run.
pub fn refuse(lines: impl IntoIterator<Item = impl std::fmt::Display>) -> ExitCode {
    use std::io::Write;
    let mut out = std::io::stderr().lock();
    for line in lines {
        // Without a standard error there is nobody to tell.
        let _unseen = writeln!(out, "trunkline-loadtest: {line}");
    }
    ExitCode::from(BAD_INPUT)
}

#[cfg(test)]
mod tests;
