//! The verb `bench`.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, SystemTime},
};

use super::{
    BenchError, client, dispatch, docs,
    model::{Conditions, Found, SuiteResult},
    page,
    process::CLIENT_CORE,
    request::Request,
    scale, server, text,
};
use crate::{
    cli,
    report::{Provenance, utc},
    units::Span,
};

/// What the program ends with when a row answered wrongly, or a count has left its baseline.
const WRONG: u8 = 1;

/// The options of `bench`.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum What {
    /// One recorded request, replayed against our server, its floors, and the servers of others
    Server(Options),
    /// Clients that do the same work against one server: ours, a loop written by hand, and those of others
    Client(Options),
    /// Replicas on one Redis behind a balancer: calls, new sessions, questions, broadcasts, memory
    Scale(Options),
    /// Requests with no socket under them, in instructions, held against the counts that are committed
    Dispatch(DispatchOptions),
    /// Put the tables of earlier runs into a page of the documentation
    Docs(Docs),
}

/// The options of a suite.
#[derive(Clone, Debug, clap::Args)]
struct Options {
    /// A few calls of everything: whether each row answers rightly, and nothing about speed
    #[arg(long)]
    quick: bool,
    /// Rounds, in each of which every row has a turn
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100), value_name = "N")]
    rounds: u32,
    /// Calls in flight, a table for each
    #[arg(long, default_values_t = [1, 32], value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024), value_name = "N")]
    concurrency: Vec<u32>,
    /// How long a row is measured in a round
    #[arg(long, default_value = "3s", value_name = "TIME")]
    measure: Span,
    /// Keep servers on one core and the generator on another
    #[arg(long)]
    pin: bool,
    /// Only rows whose name has one of these in it
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    only: Vec<String>,
    /// Where the peers are
    #[arg(long, default_value = "bench/peers", value_name = "DIR")]
    peers: PathBuf,
    /// Write SUITE.json and SUITE.html to this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The options of `dispatch`.
#[derive(Clone, Debug, clap::Args)]
struct DispatchOptions {
    /// A few calls of everything: whether each is answered rightly, with counts that are not exact and held against nothing
    #[arg(long)]
    quick: bool,
    /// The counts that are held to: 3 % above or below fails
    #[arg(long, default_value = "bench/dispatch/baseline.json", value_name = "FILE")]
    baseline: PathBuf,
    /// Make the new counts the ones that are held to
    #[arg(long, conflicts_with = "quick")]
    update: bool,
    /// Write dispatch.json and dispatch.html to this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The options of `docs`.
#[derive(Clone, Debug, clap::Args)]
struct Docs {
    /// The folder with the JSON files of suites
    #[arg(long, default_value = "bench/results", value_name = "DIR")]
    from: PathBuf,
    /// The page
    #[arg(long, default_value = "docs/benchmarks.md", value_name = "FILE")]
    to: PathBuf,
}

/// Runs the verb.
#[must_use]
pub fn run(arguments: &Arguments) -> ExitCode {
    let done = match &arguments.what {
        What::Server(options) => {
            measure("server", options, async move |request| server::run(&request, &say).await)
        }
        What::Client(options) => {
            measure("client", options, async move |request| client::run(&request, &say).await)
        }
        What::Scale(options) => {
            measure("scale", options, async move |request| scale::run(&request, &say).await)
        }
        What::Dispatch(options) => count(options),
        What::Docs(options) => write_docs(options).map(|()| Vec::new()),
    };
    match done {
        Err(error) => cli::refuse([error]),
        Ok(wrong) if wrong.is_empty() => ExitCode::SUCCESS,
        Ok(wrong) => {
            wrong.iter().for_each(|row| say(row));
            ExitCode::from(WRONG)
        }
    }
}

/// Runs a suite, and shows and keeps what it found. The rows that answered wrongly.
fn measure<W>(suite: &str, options: &Options, work: W) -> Result<Vec<String>, BenchError>
where
    W: AsyncFnOnce(Request) -> Result<Found, BenchError> + Send + 'static,
{
    let began = utc(SystemTime::now());
    let request = request(options);
    let Found { tables, checks, versions } = on_a_thread(options.pin, async move || work(request).await)?;
    let conditions = Conditions { pinned: options.pin, versions, ..conditions(began, options.quick) };
    let rounds = if options.quick { 1 } else { options.rounds };
    let conditions = Conditions { rounds, ..conditions };
    let result = SuiteResult { suite: suite.to_owned(), conditions, tables, checks };
    show(&result, options.out.as_deref())?;
    Ok(result.wrong())
}

fn request(options: &Options) -> Request {
    Request {
        rounds: options.rounds,
        in_flight: options.concurrency.clone(),
        measured: options.measure.get().max(Duration::from_millis(1)),
        quick: options.quick,
        pinned: options.pin,
        only: options.only.clone(),
        peers: options.peers.clone(),
    }
}

/// The generator has one thread, which may have a core of its own; what starts servers is not on it, nor are they.
fn on_a_thread<W>(pinned: bool, work: W) -> Result<Found, BenchError>
where
    W: AsyncFnOnce() -> Result<Found, BenchError> + Send + 'static,
{
    let failed = |what| move |source| BenchError::Io { what, source };
    let thread = std::thread::Builder::new().name("generator".into()).spawn(move || {
        if pinned {
            let mut cores = rustix::thread::CpuSet::new();
            cores.set(CLIENT_CORE);
            rustix::thread::sched_setaffinity(None, &cores)
                .map_err(|error| failed("keeping the generator on a core")(error.into()))?;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(failed("making a runtime"))?.block_on(work())
    });
    let gone = || BenchError::Input("the generator's thread panicked".into());
    thread.map_err(failed("making a thread"))?.join().map_err(|_panic| gone())?
}

/// Counts instructions, and holds them against the baseline. What has left it.
fn count(options: &DispatchOptions) -> Result<Vec<String>, BenchError> {
    let began = utc(SystemTime::now());
    let baseline = dispatch::read(&options.baseline)?;
    let dispatch::Counted { tables, counts } = dispatch::run(options.quick, &baseline, &say)?;
    let conditions = conditions(began, options.quick);
    let result = SuiteResult { suite: "dispatch".into(), conditions, tables, checks: Vec::new() };
    show(&result, options.out.as_deref())?;
    if options.update {
        dispatch::write(&options.baseline, &counts)?;
        return Ok(Vec::new());
    }
    let mut moved = if options.quick { Vec::new() } else { dispatch::moved(&counts, &baseline) };
    if !moved.is_empty() {
        moved.push("if that is on purpose, make these the counts that are held to: --update".into());
    }
    Ok(moved)
}

fn conditions(began: String, quick: bool) -> Conditions {
    Conditions {
        began,
        provenance: Provenance::here(std::env::args()),
        rounds: 1,
        pinned: false,
        quick,
        versions: BTreeMap::new(),
    }
}

/// Shows what was found, and keeps it where that is wanted.
fn show(result: &SuiteResult, folder: Option<&Path>) -> Result<(), BenchError> {
    // Without a standard output there is nobody to show it to.
    let _unseen = writeln!(io::stdout(), "{}", text::suite(result));
    folder.map_or(Ok(()), |folder| keep(result, folder))
}

fn keep(result: &SuiteResult, folder: &Path) -> Result<(), BenchError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| BenchError::Files { path, reason: error.to_string() }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    result.write(&folder.join(format!("{}.json", result.suite)))?;
    let page = folder.join(format!("{}.html", result.suite));
    fs::write(&page, page::html(result)).map_err(failed(&page))
}

fn write_docs(options: &Docs) -> Result<(), BenchError> {
    let failed = |path: &Path, error: &io::Error| BenchError::Files {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let mut page = fs::read_to_string(&options.to).map_err(|error| failed(&options.to, &error))?;
    let entries = fs::read_dir(&options.from).map_err(|error| failed(&options.from, &error))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    for file in files {
        let result = SuiteResult::read(&file)?;
        if result.conditions.quick {
            return Err(BenchError::Input(format!(
                "{}: a quick run is not for the documentation",
                file.display()
            )));
        }
        page = docs::put(&page, &result)?;
    }
    fs::write(&options.to, page).map_err(|error| failed(&options.to, &error))
}

fn say(line: &str) {
    // Without a standard error there is nobody to tell.
    let _unseen = writeln!(io::stderr(), "trunkline-loadtest: {line}");
}
