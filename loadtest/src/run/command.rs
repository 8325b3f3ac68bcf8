//! The verb `run`: one plan against one endpoint, from this process; and the verb `scenario`.

use std::{
    io::{self, Write},
    process::ExitCode,
    time::{Instant, SystemTime},
};

use tokio_util::sync::CancellationToken;

use super::stop_on_interrupt;
use crate::{
    cli::{Load, refuse},
    driver::{self, Observer},
    limits::Allowed,
    plan::{Plan, Share},
    report::{Live, Provenance, Report, Run, Terminal, Timing},
    scenario,
    tally::Tally,
};

/// The options of `run`.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// The MCP endpoint, as http://127.0.0.1:8080/mcp
    #[arg(long, value_name = "URL")]
    pub url: String,
    /// The load.
    #[command(flatten)]
    pub load: Load,
}

/// The options of `scenario`.
#[derive(Clone, Debug, clap::Args)]
pub struct ScenarioArguments {
    /// Which one: a name, or a file to be looked through; without it all that are built in are listed
    #[arg(value_name = "NAME|FILE")]
    name: Option<String>,
}

/// Notes when a run begins, and passes on what it tells.
struct Timed<'a> {
    live: &'a mut Live,
    start: Option<(Instant, SystemTime)>,
}

// === impl Timed ===

impl Observer for Timed<'_> {
    fn begin(&mut self) {
        self.live.begin();
        self.start = Some((Instant::now(), SystemTime::now()));
    }

    fn progress(&mut self, delta: &Tally) {
        self.live.progress(delta);
    }
}

/// Runs the verb `run`: 0 where everything held, 1 where something did not, 2 where there was no run.
#[must_use]
pub fn run(arguments: &Arguments) -> ExitCode {
    let load = &arguments.load;
    let plan = match load.plan(&arguments.url) {
        Ok(plan) => plan,
        Err(mistakes) => return refuse(mistakes),
    };
    if let Err(error) = load.outputs.check() {
        return refuse([error]);
    }
    let allowed = match Allowed::raised() {
        Ok(allowed) => allowed,
        Err(error) => return refuse([format!("cannot raise the limit of file descriptors: {error}")]),
    };
    if let Err(errors) = allowed.suffices(&plan, Share::WHOLE) {
        return refuse(errors);
    }
    let stop = match stop_on_interrupt() {
        Ok(stop) => stop,
        Err(error) => return refuse([format!("cannot take signals: {error}")]),
    };
    match measure(&plan, load, &stop) {
        Ok(Some(run)) => {
            let report = Report::new(Provenance::here(std::env::args()), vec![run]);
            match load.outputs.deliver(&report) {
                Ok(()) => report.exit_code(),
                Err(error) => refuse([error]),
            }
        }
        Ok(None) => refuse(["ended before the start"]),
        Err(error) => refuse([error]),
    }
}

fn measure(plan: &Plan, load: &Load, stop: &CancellationToken) -> Result<Option<Run>, driver::RunError> {
    // As it is now: somebody may go on writing while it runs.
    let scenario = load.scenario_text();
    let mut live = Live::new(plan, Terminal::of_stderr(load.outputs.quiet));
    let mut timed = Timed { live: &mut live, start: None };
    let ran = driver::run(plan, Share::WHOLE, &mut timed, stop);
    let start = timed.start;
    live.finish();
    let tally = ran?;
    Ok(start.map(|(begun, started)| {
        let timing = Timing { started, length: begun.elapsed() };
        Run::of(plan, &scenario, timing, tally)
    }))
}

/// Runs the verb `scenario`: prints one if it is right, or lists those that are built in.
#[must_use]
pub fn print_scenario(arguments: &ScenarioArguments) -> ExitCode {
    let text = match &arguments.name {
        None => Ok(list()),
        Some(name) => scenario::load(name).map(|(_, text)| text),
    };
    let written = match text {
        Ok(text) => io::stdout().write_all(text.as_bytes()),
        Err(mistakes) => {
            // A mistake in finding it is in the only thing that was asked for.
            let told = mistakes.iter().map(|mistake| match mistake.place.as_str() {
                scenario::OPTION => mistake.text.clone(),
                _ => mistake.to_string(),
            });
            return refuse(told);
        }
    };
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => refuse([format!("cannot write: {error}")]),
        _ => ExitCode::SUCCESS,
    }
}

/// The built-in scenarios, a line each.
fn list() -> String {
    let described = |(name, text)| match scenario::parse(name, text) {
        Ok(scenario) => format!("{name:<12}{}\n", scenario.description),
        Err(_) => format!("{name}\n"),
    };
    scenario::BUILT_IN.map(described).concat()
}
