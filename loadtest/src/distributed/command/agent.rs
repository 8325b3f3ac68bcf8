//! The verb `agent`.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use super::runtime;
use crate::{
    cli::{Mistakes, refuse},
    distributed::{
        Address,
        agent::{self, AgentError, Options},
        secret::Secret,
    },
    run::stop_on_interrupt,
    units::Span,
};

/// The options of `agent`.
#[derive(Clone, Debug, clap::Args)]
pub struct AgentArguments {
    /// The coordinator's host and port, as tcp://10.0.0.5:7411
    #[arg(long, value_name = "ADDRESS")]
    join: String,
    /// A file with the secret that the coordinator has too; otherwise it is in TRUNKLINE_LOADTEST_SECRET
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// What it is called in the report; by default its process id
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// How long it tries to reach the coordinator
    #[arg(long, default_value = "30s", value_name = "TIME")]
    patience: String,
    /// Show nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

// === impl AgentArguments ===

impl AgentArguments {
    fn read(&self) -> Result<Options, Vec<String>> {
        let mut found = Mistakes::default();
        let coordinator = found.maybe("--join", self.join.parse::<Address>());
        let patience: Span = found.read("--patience", self.patience.parse());
        let mut lines = Vec::new();
        let secret =
            Secret::read(self.secret_file.clone()).map_err(|error| lines.push(error.to_string())).ok();
        if let Err(mistakes) = found.or(()) {
            lines.extend(mistakes.iter().map(ToString::to_string));
        }
        let name = self.name.clone().unwrap_or_else(|| std::process::id().to_string());
        match (coordinator, secret) {
            (Some(coordinator), Some(secret)) if lines.is_empty() => {
                Ok(Options { coordinator, secret, name, patience: patience.get() })
            }
            _ => Err(lines),
        }
    }
}

/// Runs the verb: 0 where the share was done, 1 where it was cut short, 2 where nothing could be done.
#[must_use]
pub fn agent(arguments: &AgentArguments) -> ExitCode {
    let options = match arguments.read() {
        Ok(options) => options,
        Err(lines) => return refuse(lines),
    };
    let (runtime, stop) = match runtime().and_then(|runtime| Ok((runtime, stop_on_interrupt()?))) {
        Ok(both) => both,
        Err(error) => return refuse([format!("cannot start: {error}")]),
    };
    let say = |text: &str| {
        if !arguments.quiet {
            // Without a standard error there is nobody to tell.
            let _unseen = writeln!(io::stderr(), "{text}");
        }
    };
    match runtime.block_on(agent::run(&options, &stop, &say)) {
        Ok(()) => {
            say("done");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let begun = matches!(error, AgentError::Gone(_) | AgentError::Ended);
            let refused = refuse([error]);
            if begun { ExitCode::FAILURE } else { refused }
        }
    }
}
