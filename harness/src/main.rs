//! Starts a cluster, runs a command against it, and tears it down.
//!
//! ```text
//! trunkline-harness run --replicas 3 --balancer haproxy --store standalone -- scripts/conformance.sh {url}/mcp
//! ```

use std::{
    fmt::Write as _,
    io::Write as _,
    path::PathBuf,
    process::{ExitCode, ExitStatus},
    time::Duration,
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use tokio::{
    process::{Child, Command},
    signal::unix::{Signal, SignalKind, signal},
};
use trunkline_harness::{
    HarnessError, balancer, binary,
    cluster::Cluster,
    redis::{Options, Topology},
};

/// The command line is at fault, or the cluster does not start.
const NO_CLUSTER: u8 = 2;

/// What a shell says of a command that was ended by a signal, plus the signal's number.
const SIGNALLED: i32 = 128;

/// How long the replicas may take to end when the command is done. Above the longest default drain.
const DRAIN: Duration = Duration::from_secs(45);

/// Private clusters of the server, for tests.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start a cluster, run a command against it, and tear it down. Ends with the command's status; 2 if there is no cluster.
    Run(Run),
}

#[derive(Args, Debug)]
struct Run {
    /// How many replicas.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=32))]
    replicas: u8,
    /// What balances between them.
    #[arg(long, value_enum, default_value_t = BalancerKind::None)]
    balancer: BalancerKind,
    /// Where their sessions live.
    #[arg(long, value_enum, default_value_t = StoreKind::Memory)]
    store: StoreKind,
    /// The server's binary [default: TRUNKLINE_BIN, or the `trunkline` beside this program].
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// The server's arguments, divided by spaces.
    #[arg(long, default_value = "serve --demo")]
    arguments: String,
    /// A key of the configuration, as `server.drain_delay=1s`. May come often.
    #[arg(long, value_name = "SECTION.KEY=VALUE", value_parser = setting)]
    set: Vec<Setting>,
    /// At the end ask every replica to end, and fail if one does so with another status than 0.
    #[arg(long)]
    drain: bool,
    /// The command and its arguments. `{url}` in them is the cluster's URL, as `http://127.0.0.1:8080`. It has the variables
    /// TRUNKLINE_URL, with that URL, and TRUNKLINE_REPLICAS, with the URLs of the replicas, divided by spaces.
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum BalancerKind {
    /// None: the URL is the first replica's.
    None,
    /// HAProxy.
    Haproxy,
    /// nginx.
    Nginx,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StoreKind {
    /// In each replica's memory: they share nothing.
    Memory,
    /// One Redis.
    Standalone,
    /// A Redis with a replica and three sentinels.
    Sentinel,
    /// A Redis cluster.
    Cluster,
}

#[derive(Clone, Debug)]
struct Setting {
    section: String,
    key: String,
    value: String,
}

/// What ends this program before its command has ended.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Verb::Run(run) = Cli::parse().verb;
    match carry_out(run).await {
        Ok(code) => code,
        Err(error) => {
            say(&chain(&error));
            ExitCode::from(NO_CLUSTER)
        }
    }
}

// === impl Signals ===

impl Signals {
    fn new() -> std::io::Result<Self> {
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        Ok(Self { interrupt: signal(interrupt)?, terminate: signal(terminate)? })
    }

    async fn any(&mut self) -> SignalKind {
        tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
        }
    }
}

async fn carry_out(run: Run) -> Result<ExitCode, HarnessError> {
    let spawn = |program: &str| {
        let program = program.to_owned();
        move |source| HarnessError::Spawn { program, source }
    };
    // From here on: a signal while the cluster starts ends it in good order, too.
    let mut signals = Signals::new().map_err(spawn("the receiver of signals"))?;
    let mut cluster = tokio::select! {
        cluster = start(&run) => cluster?,
        signal = signals.any() => return Ok(code(SIGNALLED + signal.as_raw_value())),
    };
    say(&format!("cluster: {} ({})", cluster.url(), describe(&run)));
    let command = command(&run, &mut cluster).spawn().map_err(spawn(&run.command[0]))?;
    let status = run_to_its_end(command, &mut signals).await.map_err(spawn(&run.command[0]))?;
    if run.drain && status == 0 {
        return Ok(if drained(&mut cluster).await { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if status != 0 {
        for replica in cluster.replicas() {
            say(&format!("--- {}, last lines\n{}", replica.name(), replica.logs_tail()));
        }
    }
    Ok(code(status))
}

async fn start(run: &Run) -> Result<Cluster, HarnessError> {
    let binary = match &run.binary {
        Some(path) => {
            path.canonicalize().map_err(|source| HarnessError::Files { path: path.clone(), source })?
        }
        None => binary::trunkline()?,
    };
    let arguments: Vec<&str> = run.arguments.split_ascii_whitespace().collect();
    let mut builder = Cluster::builder(binary).replicas(run.replicas.into()).arguments(&arguments);
    for Setting { section, key, value } in &run.set {
        builder = builder.key(section, key, value);
    }
    builder = match run.balancer {
        BalancerKind::None => builder,
        BalancerKind::Haproxy => builder.balancer(balancer::Kind::Haproxy),
        BalancerKind::Nginx => builder.balancer(balancer::Kind::Nginx),
    };
    builder = match run.store {
        StoreKind::Memory => builder,
        StoreKind::Standalone => builder.redis(Topology::Standalone(Options::default())),
        StoreKind::Sentinel => builder.redis(Topology::Sentinel),
        StoreKind::Cluster => builder.redis(Topology::Cluster),
    };
    builder.start().await
}

fn command(run: &Run, cluster: &mut Cluster) -> Command {
    let url = cluster.url();
    let replicas: Vec<String> = cluster.replicas().iter().map(|replica| replica.url()).collect();
    let mut command = Command::new(&run.command[0]);
    command
        .args(run.command[1..].iter().map(|argument| argument.replace("{url}", &url)))
        .env("TRUNKLINE_URL", url)
        .env("TRUNKLINE_REPLICAS", replicas.join(" "))
        .kill_on_drop(true);
    command
}

/// The command's status as a shell has it. A signal is passed on, and the command's end awaited.
async fn run_to_its_end(mut command: Child, signals: &mut Signals) -> std::io::Result<i32> {
    loop {
        tokio::select! {
            status = command.wait() => return Ok(status_code(status?)),
            signal = signals.any() => pass_on(&command, signal),
        }
    }
}

fn pass_on(command: &Child, signal: SignalKind) {
    let id = command.id().and_then(|id| rustix::process::Pid::from_raw(id.try_into().ok()?));
    let signal = rustix::process::Signal::from_named_raw(signal.as_raw_value());
    if let (Some(id), Some(signal)) = (id, signal) {
        // One that has ended meanwhile needs none.
        let _sent = rustix::process::kill_process(id, signal);
    }
}

/// Whether every replica ends with status 0 when it is asked to.
async fn drained(cluster: &mut Cluster) -> bool {
    let mut well = true;
    for replica in cluster.replicas() {
        let outcome = match replica.drain(DRAIN).await {
            Ok((status, _)) if status.success() => continue,
            Ok((status, _)) => status.to_string(),
            Err(error) => chain(&error),
        };
        say(&format!("{} did not end well: {outcome}\n{}", replica.name(), replica.logs_tail()));
        well = false;
    }
    well
}

fn describe(run: &Run) -> String {
    let Run { replicas, balancer, store, .. } = run;
    format!("{replicas} replicas, balancer {balancer:?}, store {store:?}").to_lowercase()
}

fn setting(text: &str) -> Result<Setting, String> {
    let parts = text.split_once('=').and_then(|(name, value)| Some((name.split_once('.')?, value)));
    let ((section, key), value) = parts.ok_or("write SECTION.KEY=VALUE")?;
    Ok(Setting { section: section.to_owned(), key: key.to_owned(), value: value.to_owned() })
}

fn status_code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| Some(SIGNALLED + status.signal()?)).unwrap_or(1)
}

fn code(status: i32) -> ExitCode {
    u8::try_from(status).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// An error with its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let _written = write!(text, ": {next}");
        cause = next.source();
    }
    text
}

/// Standard output is the command's.
fn say(text: &str) {
    // Nobody is left to tell if this fails.
    let _written = writeln!(std::io::stderr(), "{text}");
}
