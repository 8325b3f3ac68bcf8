//! The suite `server`: one recorded request, replayed against servers that do the same work.

mod contenders;

use std::time::Duration;

use trunkline_harness::{
    redis::{Options, Standalone},
    scratch::Scratch,
};
use trunkline_protocol::Revision;

pub(super) use self::contenders::ours;
use self::contenders::{Contender, Field, field};
use super::{
    BenchError,
    model::{Figures, Found, Metric, Outcome, Row, Table},
    process::Server,
    replay::{Amount, Operation, Replay, ReplayError, Replayed},
    request::Request,
    rotation,
};

/// What is asked of all; of the two newest revisions alone where it is not the plain call.
const OPERATIONS: [Operation; 4] = [Operation::Add, Operation::Text(1024), Operation::Order, Operation::List];

const NEWEST: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// A row that grows by a round at a time.
struct Cell {
    contender: usize,
    revision: Revision,
    operation: Operation,
    in_flight: u32,
    outcome: Outcome,
}

/// What all servers of the run share.
struct Rig<'a> {
    request: &'a Request,
    scratch: Scratch,
    redis: Standalone,
}

/// Runs the suite. `say` is told what is done at the moment.
pub(super) async fn run(request: &Request, say: &dyn Fn(&str)) -> Result<Found, BenchError> {
    let rig = Rig { request, scratch: Scratch::new()?, redis: Standalone::start(Options::default()).await? };
    let Field { mut contenders, versions } = field(&rig.scratch, &rig.redis.url(), &request.peers)?;
    contenders.retain(|contender| request.wants(&contender.name));
    if contenders.is_empty() {
        return Err(BenchError::Input("--only: no row has any of these names".into()));
    }
    let mut cells = cells(request, &contenders);
    for round in 0..request.rounds() {
        for index in rotation::order(contenders.len(), round) {
            say(&format!("round {} of {}: {}", round + 1, request.rounds(), contenders[index].name));
            for operation in OPERATIONS {
                rig.measure(&contenders[index], index, operation, &mut cells).await;
            }
        }
    }
    Ok(Found { tables: tables(request, &contenders, cells), checks: Vec::new(), versions })
}

/// The plain call is made with each number of calls in flight, the others with the greatest.
fn in_flight(request: &Request, operation: Operation) -> Vec<u32> {
    match operation {
        Operation::Add => request.in_flight.clone(),
        _ => request.in_flight.iter().copied().max().into_iter().collect(),
    }
}

fn amount(request: &Request) -> Amount {
    if request.quick {
        Amount::Calls(20)
    } else {
        Amount::Time { warm_up: request.measured / 4, measured: request.measured }
    }
}

fn cells(request: &Request, contenders: &[Contender]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for operation in OPERATIONS {
        for in_flight in in_flight(request, operation) {
            for (index, contender) in contenders.iter().enumerate() {
                for revision in contender.revisions(operation) {
                    let outcome = match &contender.absent {
                        Some(reason) => Outcome::Absent { reason: reason.clone() },
                        None => Outcome::Measured { rounds: Vec::new() },
                    };
                    cells.push(Cell { contender: index, revision, operation, in_flight, outcome });
                }
            }
        }
    }
    cells
}

fn tables(request: &Request, contenders: &[Contender], cells: Vec<Cell>) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for cell in cells {
        let contender = &contenders[cell.contender];
        let title = format!("{}, {} in flight", cell.operation.title(), cell.in_flight);
        let row = Row {
            name: contender.name.clone(),
            revision: (!contender.is_floor).then(|| cell.revision.to_string()),
            floor: contender.floor.clone().filter(|floor| request.wants(floor)),
            ours: contender.ours,
            outcome: cell.outcome,
        };
        Table::put(&mut tables, title, row);
    }
    tables
}

// === impl Rig ===

impl Rig<'_> {
    /// One round of a contender's cells of an operation, on a server that is started for them.
    async fn measure(&self, contender: &Contender, index: usize, operation: Operation, cells: &mut [Cell]) {
        let mine = |cell: &&mut Cell| {
            cell.contender == index
                && cell.operation == operation
                && matches!(cell.outcome, Outcome::Measured { .. })
        };
        let mut mine: Vec<&mut Cell> = cells.iter_mut().filter(mine).collect();
        if mine.is_empty() {
            return;
        }
        let started = Server::start(&self.scratch, self.request.pinned, |port| {
            contender.program(port, &self.redis.url())
        });
        match started.await {
            Err(error) => {
                let reason = error.to_string();
                mine.iter_mut().for_each(|cell| cell.outcome = Outcome::Absent { reason: reason.clone() });
            }
            Ok(server) => {
                for cell in mine {
                    self.round(&server, cell).await;
                }
            }
        }
    }

    async fn round(&self, server: &Server, cell: &mut Cell) {
        let replay = Replay {
            server: server.address(),
            revision: cell.revision,
            operation: cell.operation,
            in_flight: cell.in_flight,
            amount: amount(self.request),
        };
        match replay.run(|| server.cpu()).await {
            Ok((replayed, before, after)) => {
                let figures = figures(&replayed, after.saturating_sub(before), server.resident());
                if let Outcome::Measured { rounds } = &mut cell.outcome {
                    rounds.push(figures);
                }
            }
            Err(ReplayError::Refused(reason)) => cell.outcome = Outcome::Absent { reason },
            Err(ReplayError::Wrong(seen)) => cell.outcome = Outcome::Wrong { seen },
        }
    }
}

/// Calls of a run fit into a `f64` without loss.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn figures(replayed: &Replayed, cpu: Duration, resident: u64) -> Figures {
    let calls = replayed.calls.max(1) as f64;
    let quantile = |share: f64| replayed.latencies.value_at_quantile(share) as f64 / 1e3;
    Figures::from([
        (Metric::CallsPerSecond, calls / replayed.took.as_secs_f64().max(1e-9)),
        (Metric::P50Us, quantile(0.5)),
        (Metric::P99Us, quantile(0.99)),
        (Metric::P999Us, quantile(0.999)),
        (Metric::CpuUs, cpu.as_secs_f64() * 1e6 / calls),
        (Metric::ResidentBytes, resident as f64),
        (Metric::AnswerBytes, replayed.answer as f64),
    ])
}
