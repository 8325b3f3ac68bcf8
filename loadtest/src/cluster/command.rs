//! The verb `cluster`: brings servers up on this machine, puts load on them, does the faults, and reports; once for each
//! policy.

use std::{path::PathBuf, process::ExitCode};

use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::{
    faults,
    run::{ClusterError, Job},
    setup::{LoadBalancer, NamedPolicy, Setting, Setup, Store},
};
use crate::{
    cli::{Load, Mistakes, refuse},
    plan::Plan,
    report::{Live, Provenance, Report, Run, Terminal},
    run::stop_on_interrupt,
    units::Span,
};

/// Stands for the URL, which is known when the servers are up.
const URL: &str = "http://127.0.0.1/mcp";

/// The options of `cluster`.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// Replicas of the server
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    replicas: u16,
    /// What balances between them
    #[arg(long, value_enum, default_value_t = LoadBalancer::Haproxy)]
    lb: LoadBalancer,
    /// Where sessions live
    #[arg(long, value_enum, default_value_t = Store::Redis)]
    store: Store,
    /// How the balancer chooses: round-robin, least-conn, sticky (by session) or sticky:HEADER; given several times, there
    /// is one run for each, side by side in one report
    #[arg(long, default_value = "round-robin", value_name = "POLICY")]
    policy: Vec<String>,
    /// What is done to the servers, and when after the beginning (the warm-up included), as kill-replica:1@10s,
    /// cut-replica@20s+5s or restart-redis@30s; may be given several times
    #[arg(long, value_name = "KIND@TIME[+TIME]")]
    fault: Vec<String>,
    /// How long a run goes on after the last fault, at least
    #[arg(long, default_value = "10s", value_name = "TIME")]
    settle: String,
    /// The server's binary; otherwise the one beside this program, or on the search path
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// A key of every replica's configuration, as limits.streams=5000; may be given several times
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    settings: Vec<String>,
    /// The load.
    #[command(flatten)]
    load: Load,
}

// === impl Arguments ===

impl Arguments {
    /// What is to be done, or everything that is wrong with it, a line each.
    fn read(&self) -> Result<(Setup, Plan), Vec<String>> {
        let mut found = Mistakes::default();
        let mut lines = Vec::new();
        let faults = faults::parse(&self.fault).unwrap_or_else(|errors| {
            lines.extend(errors.iter().map(ToString::to_string));
            Vec::new()
        });
        let policies =
            self.policy.iter().filter_map(|text| found.maybe("--policy", text.parse::<NamedPolicy>()));
        let policies = policies.collect();
        let settings = self.settings.iter().filter_map(|text| found.maybe("--set", text.parse::<Setting>()));
        let settings = settings.collect();
        let settle: Span = found.read("--settle", self.settle.parse());
        let plan = self.load.plan(URL).unwrap_or_else(|mistakes| {
            found.extend(mistakes);
            Plan::new(URL)
        });
        let mut setup = Setup {
            replicas: usize::from(self.replicas),
            balancer: self.lb,
            store: self.store,
            policies,
            faults,
            settle: settle.get(),
            binary: self.binary.clone(),
            settings,
        };
        if let Err(mistakes) = setup.check(&plan) {
            lines.extend(mistakes.iter().map(ToString::to_string));
        }
        if let Err(mistakes) = found.or(()) {
            lines.extend(mistakes.iter().map(ToString::to_string));
        }
        if lines.is_empty() { Ok((setup, plan)) } else { Err(lines) }
    }
}

/// Runs the verb: 0 where everything held, 1 where something did not, 2 where a run could not be made.
#[must_use]
pub fn run(arguments: &Arguments) -> ExitCode {
    let load = &arguments.load;
    let (setup, plan) = match arguments.read() {
        Ok(read) => read,
        Err(lines) => return refuse(lines),
    };
    if let Err(error) = load.outputs.check() {
        return refuse([error]);
    }
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return refuse([format!("cannot start the task that watches the servers: {error}")]),
    };
    let stop = match stop_on_interrupt() {
        Ok(stop) => stop,
        Err(error) => return refuse([format!("cannot take signals: {error}")]),
    };
    let scenario = load.scenario_text();
    let job = Job { setup: &setup, plan: &plan, scenario: &scenario, runtime: &runtime };
    let (runs, failed) = each_policy(job, Terminal::of_stderr(load.outputs.quiet), &stop);
    let failed = failed.map(|error| refuse([error]));
    if runs.is_empty() {
        return failed.unwrap_or_else(|| refuse(["ended before the start"]));
    }
    // What was measured before another policy could not be run is not thrown away.
    let report = Report::new(Provenance::here(std::env::args()), runs);
    match load.outputs.deliver(&report) {
        Ok(()) => failed.unwrap_or_else(|| report.exit_code()),
        Err(error) => refuse([error]),
    }
}

/// The runs that were made, and why there are no more.
fn each_policy(
    job: Job<'_>,
    terminal: Terminal,
    stop: &CancellationToken,
) -> (Vec<Run>, Option<ClusterError>) {
    let mut runs = Vec::new();
    for policy in &job.setup.policies {
        if stop.is_cancelled() {
            break;
        }
        let mut live = Live::new(&job.plan_for(""), terminal).named(&policy.name);
        if let Some(longer) = job.setup.lengthened(job.plan) {
            live.notice(&format!("{longer} are measured, so that the last fault can settle"));
        }
        let notes = live.notes();
        let ran = job.run(policy, &mut live, &notes, stop);
        live.finish();
        match ran {
            Ok(run) => runs.push(run),
            // Those that were made are shown.
            Err(ClusterError::Ended) if !runs.is_empty() => break,
            Err(error) => return (runs, Some(error)),
        }
    }
    (runs, None)
}

fn runtime() -> std::io::Result<Runtime> {
    // One thread beside the clients': it mostly waits.
    Builder::new_multi_thread().worker_threads(1).thread_name("servers").enable_all().build()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn read(words: &[&str]) -> Result<(Setup, Plan), Vec<String>> {
        Line::try_parse_from(std::iter::once(&"x").chain(words)).unwrap().arguments.read()
    }

    #[test]
    fn options_become_a_setup() {
        let words =
            ["--policy", "round-robin", "--policy", "sticky", "--fault", "kill-replica@10s", "--lb", "nginx"];
        let (setup, _) = read(&words).unwrap();
        let names: Vec<&str> = setup.policies.iter().map(|policy| policy.name.as_str()).collect();
        assert_eq!(names, ["round-robin", "sticky"]);
        assert_eq!(setup.faults[0].replica, Some(0));
        assert_eq!(setup.to_string(), "3 replicas behind nginx, sessions in one Redis");
        assert_eq!(read(&[]).unwrap().0.policies.len(), 1, "one by default");
    }

    #[test]
    fn every_mistake_is_told_at_once() {
        let words = [
            "--fault",
            "kil-replica@10s",
            "--fault",
            "kill-primary@5s",
            "--policy",
            "random",
            "--set",
            "x",
            "--settle",
            "9",
            "--clients",
            "none",
        ];
        let lines = read(&words).unwrap_err();
        for word in ["kil-replica", "--policy:", "--set:", "--settle:", "--clients"] {
            assert_eq!(lines.iter().filter(|line| line.contains(word)).count(), 1, "{word} in {lines:#?}");
        }
        assert_eq!(lines.len(), 5);
    }
}
