//! The suite `client`: the server held constant, and clients that do the same work against it.

mod contenders;

use serde::Deserialize;
use tokio::process::Command;
use trunkline_harness::scratch::Scratch;
use trunkline_protocol::Revision;

use self::contenders::{Contender, Field, field};
use super::{
    BenchError,
    model::{Figures, Found, Metric, Outcome, Row, Table},
    process::{CLIENT_CORE, Server},
    request::Request,
    rotation,
    server::ours,
};

/// Calls of a quick run, and the fewest of any.
const QUICK: u32 = 40;

/// What a client prints.
#[derive(Deserialize)]
struct Printed {
    calls: u64,
    wrong: u64,
    seconds: f64,
    cpu_seconds: f64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
}

/// A row that grows by a round at a time.
struct Cell {
    contender: usize,
    revision: Revision,
    in_flight: u32,
    /// Calls of a round: as many as fit into the time that a row has, by what the first run of it took.
    calls: u32,
    outcome: Outcome,
}

/// Runs the suite. `say` is told what is done at the moment.
pub(super) async fn run(request: &Request, say: &dyn Fn(&str)) -> Result<Found, BenchError> {
    let scratch = Scratch::new()?;
    let Field { mut contenders, versions } = field(&request.peers)?;
    contenders.retain(|contender| request.wants(&contender.name));
    if contenders.is_empty() {
        return Err(BenchError::Input("--only: no row has any of these names".into()));
    }
    let mut cells = cells(request, &contenders);
    for round in 0..request.rounds() {
        // A server that has served one round's clients is not the one of the next.
        let program = ours(&scratch)?;
        let server = Server::start(&scratch, request.pinned, program).await?;
        let url = format!("http://{}/mcp", server.address());
        for index in rotation::order(contenders.len(), round) {
            let contender = &contenders[index];
            say(&format!("round {} of {}: {}", round + 1, request.rounds(), contender.name));
            for cell in cells.iter_mut().filter(|cell| cell.contender == index) {
                cell.round(request, contender, &url).await;
            }
        }
    }
    Ok(Found { tables: tables(request, &contenders, cells), checks: Vec::new(), versions })
}

fn cells(request: &Request, contenders: &[Contender]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for in_flight in request.in_flight.iter().copied() {
        for (index, contender) in contenders.iter().enumerate() {
            for revision in contender.revisions.iter().copied() {
                let outcome = match &contender.absent {
                    Some(reason) => Outcome::Absent { reason: reason.clone() },
                    None => Outcome::Measured { rounds: Vec::new() },
                };
                cells.push(Cell { contender: index, revision, in_flight, calls: 0, outcome });
            }
        }
    }
    cells
}

fn tables(request: &Request, contenders: &[Contender], cells: Vec<Cell>) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for cell in cells {
        let contender = &contenders[cell.contender];
        let title = format!("clients: tools/call add, {} in flight", cell.in_flight);
        let row = Row {
            name: contender.name.clone(),
            revision: Some(cell.revision.to_string()),
            floor: contender.floor.clone().filter(|floor| request.wants(floor)),
            ours: contender.ours,
            outcome: cell.outcome,
        };
        Table::put(&mut tables, title, row);
    }
    tables
}

// === impl Cell ===

impl Cell {
    async fn round(&mut self, request: &Request, contender: &Contender, url: &str) {
        let Outcome::Measured { rounds } = &mut self.outcome else { return };
        if self.calls == 0 {
            match calls(request, contender, url, self.revision, self.in_flight).await {
                Ok(calls) => self.calls = calls,
                Err(outcome) => return self.outcome = outcome,
            }
        }
        match ask(request, contender, url, self.revision, self.in_flight, self.calls).await {
            Ok(printed) => rounds.push(figures(&printed)),
            Err(outcome) => self.outcome = outcome,
        }
    }
}

/// How many calls fit into the time that a row has.
async fn calls(
    request: &Request,
    contender: &Contender,
    url: &str,
    revision: Revision,
    in_flight: u32,
) -> Result<u32, Outcome> {
    if request.quick {
        return Ok(QUICK);
    }
    let tried = ask(request, contender, url, revision, in_flight, 400).await?;
    let fit = request.measured.as_secs_f64() / tried.seconds.max(1e-6) * 400.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the bounds")]
    Ok(fit.clamp(f64::from(QUICK), 10_000_000.0) as u32)
}

/// Has a client make so many calls. What it cannot is the row's outcome.
async fn ask(
    request: &Request,
    contender: &Contender,
    url: &str,
    revision: Revision,
    in_flight: u32,
    calls: u32,
) -> Result<Printed, Outcome> {
    let mut words = contender.command.clone();
    words.extend(["http", url, revision.as_str()].map(str::to_owned));
    words.extend([calls.to_string(), in_flight.to_string()]);
    let mut command = if request.pinned {
        let mut command = Command::new("taskset");
        command.args(["-c", &CLIENT_CORE.to_string()]).args(&words);
        command
    } else {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    };
    let wrong = |seen: String| Outcome::Wrong { seen };
    let output = command.kill_on_drop(true).output().await;
    let output = output.map_err(|error| wrong(format!("{} cannot be run: {error}", words[0])))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it failed without a word");
        return Err(wrong(last.to_owned()));
    }
    let printed: Printed =
        serde_json::from_slice(&output.stdout).map_err(|error| wrong(format!("what it printed: {error}")))?;
    if printed.wrong > 0 || printed.calls == 0 {
        return Err(wrong(format!("{} of {} sums were wrong", printed.wrong, printed.calls)));
    }
    Ok(printed)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn figures(printed: &Printed) -> Figures {
    let calls = printed.calls as f64;
    Figures::from([
        (Metric::CallsPerSecond, calls / printed.seconds.max(1e-9)),
        (Metric::P50Us, printed.p50_us),
        (Metric::P99Us, printed.p99_us),
        (Metric::P999Us, printed.p999_us),
        (Metric::CpuUs, printed.cpu_seconds * 1e6 / calls),
    ])
}
