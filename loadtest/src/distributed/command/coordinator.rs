//! The verb `coordinator`.

use std::{path::PathBuf, process::ExitCode};

use tokio_util::sync::CancellationToken;

use super::runtime;
use crate::{
    cli::{Load, refuse},
    distributed::{
        coordinator::{AGENTS, Coordinator, CoordinatorError, Options, Outcome, Watcher},
        secret::Secret,
    },
    driver::Observer,
    plan::Plan,
    report::{Live, Provenance, Report, Run, Terminal, Timing, WarningKind},
    run::stop_on_interrupt,
    tally::Tally,
    units::Span,
};

/// The options of `coordinator`.
#[derive(Clone, Debug, clap::Args)]
pub struct CoordinatorArguments {
    /// The MCP endpoint, as each agent reaches it, as http://10.0.0.9:8080/mcp
    #[arg(long, value_name = "URL")]
    url: String,
    /// How many agents share the clients; the run begins when all are there
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(AGENTS)))]
    agents: u32,
    /// Where it listens for agents, as 0.0.0.0:7411 for those on other machines; what they say to each other is proved,
    /// and not encrypted
    #[arg(long, default_value = "127.0.0.1:7411", value_name = "ADDRESS")]
    bind: String,
    /// A file with the secret that the agents have too; otherwise it is in TRUNKLINE_LOADTEST_SECRET
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// The load, of all agents together.
    #[command(flatten)]
    load: Load,
}

/// Shows how a run of several agents goes on.
struct Shown(Live);

// === impl CoordinatorArguments ===

impl CoordinatorArguments {
    fn read(&self) -> Result<Options, Vec<String>> {
        let plan = self.load.plan(&self.url);
        let secret = Secret::read(self.secret_file.clone());
        match (plan, secret) {
            (Ok(plan), Ok(secret)) => Ok(Options { agents: self.agents, secret, plan }),
            (plan, secret) => {
                let mistakes = plan.err().unwrap_or_default();
                let lines = mistakes.iter().map(ToString::to_string);
                Err(lines.chain(secret.err().map(|error| error.to_string())).collect())
            }
        }
    }
}

// === impl Outcome ===

impl Outcome {
    /// What it comes to, as a report. `scenario` is the scenario's text.
    #[must_use]
    pub fn report(self, plan: &Plan, scenario: &str, command: impl IntoIterator<Item = String>) -> Report {
        let Self { tally, started, length, agents, .. } = self;
        let mut run = Run::of(plan, scenario, Timing { started, length }, tally);
        for agent in &agents {
            let Some((at, why)) = &agent.lost else { continue };
            let clients = agent.share.clients(plan.clients).count();
            let text = format!(
                "{} was lost after {:.1} s with its {clients} clients: {why}. What it had counted until then is in the \
                 figures",
                agent.name,
                at.as_secs_f64()
            );
            run.warn(WarningKind::AgentLost, &text);
        }
        let mut provenance = Provenance::here(command);
        provenance.machines = agents.into_iter().map(|agent| agent.machine).collect();
        Report::new(provenance, vec![run])
    }
}

// === impl Shown ===

impl Observer for Shown {
    fn begin(&mut self) {
        self.0.begin();
    }

    fn progress(&mut self, delta: &Tally) {
        self.0.progress(delta);
    }
}

impl Watcher for Shown {
    fn notice(&mut self, text: &str) {
        self.0.notice(text);
    }
}

/// Runs the verb: 0 where everything held, 1 where something did not, 2 where there was no run.
#[must_use]
pub fn coordinator(arguments: &CoordinatorArguments) -> ExitCode {
    let load = &arguments.load;
    let options = match arguments.read() {
        Ok(options) => options,
        Err(lines) => return refuse(lines),
    };
    if let Err(error) = load.outputs.check() {
        return refuse([error]);
    }
    let (runtime, stop) = match runtime().and_then(|runtime| Ok((runtime, stop_on_interrupt()?))) {
        Ok(both) => both,
        Err(error) => return refuse([format!("cannot start: {error}")]),
    };
    let plan = options.plan.clone();
    let mut shown = Shown(Live::new(&plan, Terminal::of_stderr(load.outputs.quiet)));
    let came = runtime.block_on(coordinate(&arguments.bind, options, &mut shown, &stop));
    shown.0.finish();
    match came {
        Ok(outcome) => {
            let report = outcome.report(&plan, &load.scenario_text(), std::env::args());
            match load.outputs.deliver(&report) {
                Ok(()) => report.exit_code(),
                Err(error) => refuse([error]),
            }
        }
        Err(error) => refuse([error]),
    }
}

async fn coordinate(
    bind: &str,
    options: Options,
    shown: &mut Shown,
    stop: &CancellationToken,
) -> Result<Outcome, CoordinatorError> {
    let agents = options.agents;
    let wait = Span(options.plan.warmup.get() + options.plan.duration.get());
    let coordinator = Coordinator::bind(bind, options).await?;
    if let Ok(address) = coordinator.address() {
        shown.notice(&format!("waiting for {agents} agents at tcp://{address}, for a run of {wait}"));
    }
    coordinator.run(shown, stop).await
}
