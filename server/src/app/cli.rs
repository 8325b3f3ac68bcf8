//! The command line.

use std::{
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand};
use tracing_subscriber::{filter::LevelFilter, fmt::MakeWriter};

use super::{build::App, run, server::Server};
use crate::config::{Config, Faults, LogFormat, LogLevel, Overrides, ProcessEnvironment, TelemetryConfig};

/// The configuration, the command line, or what is declared is at fault.
const USAGE: u8 = 2;

/// A shared MCP endpoint: five protocol revisions over HTTP and stdio.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve over HTTP.
    Serve(Serve),
    /// Serve one client over standard input and output.
    Stdio(Common),
    /// Check the configuration, and say everything that is wrong with it.
    Check {
        /// The configuration file.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

#[derive(Args, Debug)]
struct Common {
    /// The configuration file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Serve the demonstration, too.
    #[arg(long)]
    demo: bool,
}

#[derive(Args, Debug)]
struct Serve {
    #[command(flatten)]
    common: Common,
    /// Where clients connect [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<String>,
    /// Where health and metrics are served [default: 127.0.0.1:9090].
    #[arg(long, value_name = "ADDRESS")]
    admin_bind: Option<String>,
    /// Where sessions live: memory, or redis://… [default: memory].
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

/// Runs a server as the command line says.
pub(super) fn run(server: Server) -> ExitCode {
    match Cli::parse().command {
        Command::Check { config } => check(config.as_deref()),
        Command::Serve(serve) => {
            let flags = Overrides { bind: serve.bind, admin_bind: serve.admin_bind, store: serve.store };
            start(server, &serve.common, &flags, run::http)
        }
        Command::Stdio(common) => start(server, &common, &Overrides::default(), run::stdio),
    }
}

fn check(path: Option<&Path>) -> ExitCode {
    match Config::load(path, &ProcessEnvironment, &Overrides::default()) {
        Ok(_) => {
            say("the configuration is valid");
            ExitCode::SUCCESS
        }
        Err(faults) => refuse(&faults),
    }
}

fn start(
    server: Server,
    common: &Common,
    flags: &Overrides,
    run: impl FnOnce(App) -> std::io::Result<()>,
) -> ExitCode {
    let config = match Config::load(common.config.as_deref(), &ProcessEnvironment, flags) {
        Ok(config) => config,
        Err(faults) => return refuse(&faults),
    };
    log(&config.telemetry);
    let server = if common.demo { server.demo() } else { server };
    match App::new(server, config) {
        Ok(app) => finish(run(app)),
        Err(error) => {
            complain(&error);
            ExitCode::from(USAGE)
        }
    }
}

fn finish(result: std::io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn refuse(faults: &Faults) -> ExitCode {
    complain(faults);
    ExitCode::from(USAGE)
}

fn say(text: &str) {
    // Nobody is left to tell if this fails.
    let _written = writeln!(std::io::stdout(), "{text}");
}

/// An error with its causes, on one line.
fn complain(error: &dyn std::error::Error) {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    let _written = writeln!(std::io::stderr(), "{text}");
}

/// Logs go to standard error: standard output belongs to the client of stdio.
fn log(telemetry: &TelemetryConfig) {
    let level = match telemetry.log_level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let stderr = std::io::stderr;
    let plain = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(stderr.make_writer().is_terminal())
        .with_writer(stderr);
    // A second server in one process logs where the first does.
    let _set = match telemetry.log_format {
        LogFormat::Text => plain.try_init(),
        LogFormat::Json => plain.json().try_init(),
    };
}
