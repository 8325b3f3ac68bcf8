//! `trunkline-loadtest`.

use std::process::ExitCode;

use clap::{Parser, Subcommand, error::ErrorKind};
use trunkline_loadtest::{bench, cli, cluster, distributed, report, run};

/// A fleet of independent MCP clients: load, checks, faults, reports
#[derive(Parser)]
#[command(name = "trunkline-loadtest", version)]
struct Line {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Put load on an MCP endpoint, check every answer, and report
    Run(run::command::Arguments),
    /// Bring servers up on this machine, put load on them, do faults to them, and report
    Cluster(cluster::command::Arguments),
    /// Have several agents run one load, and report what they counted together
    Coordinator(distributed::command::CoordinatorArguments),
    /// Run a share of a coordinator's load
    Agent(distributed::command::AgentArguments),
    /// List the built-in scenarios, print one to write one's own from, or look a file through
    Scenario(run::command::ScenarioArguments),
    /// Show reports that were written earlier, or put them side by side
    Report(report::command::Arguments),
    /// Measure our software beside its floors and its peers
    Bench(bench::command::Arguments),
}

fn main() -> ExitCode {
    let line = match Line::try_parse() {
        Ok(line) => line,
        Err(error) => return misread(&error),
    };
    match line.verb {
        Verb::Run(arguments) => run::command::run(&arguments),
        Verb::Cluster(arguments) => cluster::command::run(&arguments),
        Verb::Coordinator(arguments) => distributed::command::coordinator(&arguments),
        Verb::Agent(arguments) => distributed::command::agent(&arguments),
        Verb::Scenario(arguments) => run::command::print_scenario(&arguments),
        Verb::Report(arguments) => report::command::run(&arguments),
        Verb::Bench(arguments) => bench::command::run(&arguments),
    }
}

/// Shows the help that was asked for, or tells in a line what cannot be read.
fn misread(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => cli::refuse([cli::one_line(&error.render().to_string())]),
    }
}
