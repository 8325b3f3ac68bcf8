//! Independent clients in an open loop, through the balancer: what a call costs on one replica, and on several.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use trunkline_protocol::Revision;

use super::{
    Cell, Rig, Trouble,
    contenders::Contender,
    exact,
    fleet::{Fleet, Idle, Used},
    many,
};
use crate::{
    bench::{
        BenchError,
        model::{Figures, Metric, Table},
        rotation,
    },
    driver::{self, Observer, RunError},
    plan::{Arrival, Begin, Plan, RevisionChoice, Scenario, Share},
    tally::Tally,
    units::{Rate, Span},
};

/// Calls a second of all clients together: what a fleet of any of the servers can do on a machine of two cores, and more.
/// The servers of the peers are asked for the first alone.
const RATES: [u32; 2] = [300, 2000];
const QUICK_RATE: u32 = 100;

const CLIENTS: u32 = 50;

/// How long clients work before it counts: each session has been on each replica then.
const WARM_UP: Duration = Duration::from_secs(4);

/// How long a fleet is looked at that nobody asks for anything.
const IDLE: Duration = Duration::from_secs(3);

/// Clients that are still at work have answers this long after the end.
const TIMEOUT: Duration = Duration::from_secs(10);

const REVISIONS: [(Revision, RevisionChoice); 2] = [
    (Revision::V2025_11_25, RevisionChoice::V2025_11_25),
    (Revision::V2026_07_28, RevisionChoice::V2026_07_28),
];

/// A second of it stands where a call does in other tables.
const IDLE_TITLE: &str = "replicas that nobody asks anything: a second, as if it were a call";

const CALL: &str = "tools/call add";

/// What one row is.
struct Run {
    contender: usize,
    replicas: usize,
    rate: u32,
    revision: RevisionChoice,
    cell: Cell,
    /// The same fleet while nobody asks it anything.
    idle: Option<Cell>,
}

/// Tells when the clients begin.
struct Begun(Option<oneshot::Sender<()>>);

pub(super) async fn measure(rig: &Rig<'_>, tables: &mut Vec<Table>) -> Result<(), BenchError> {
    let mut runs = runs(rig);
    for round in 0..rig.request.rounds() {
        for index in rotation::order(runs.len(), round) {
            let run = &mut runs[index];
            if !run.cell.goes_on() {
                continue;
            }
            let row = &run.cell.row;
            rig.say(
                round,
                &format!("{}: {}, {}", run.cell.title, row.name, row.revision.as_deref().unwrap_or("")),
            );
            let found = run.round(rig, &rig.contenders[run.contender]).await;
            let (called, idle) =
                found.map_or_else(|trouble| (Err(trouble), None), |(called, idle)| (Ok(called), Some(idle)));
            run.cell.add(called)?;
            if let (Some(cell), Some(idle)) = (&mut run.idle, idle) {
                cell.add(Ok(a_second(idle)))?;
            }
        }
    }
    // Both tables whole, one after the other.
    let (called, idle): (Vec<Cell>, Vec<Option<Cell>>) =
        runs.into_iter().map(|run| (run.cell, run.idle)).unzip();
    called.into_iter().chain(idle.into_iter().flatten()).for_each(|cell| cell.put(tables));
    Ok(())
}

fn runs(rig: &Rig<'_>) -> Vec<Run> {
    let mut runs = Vec::new();
    let rates = if rig.request.quick { &[QUICK_RATE][..] } else { &RATES[..] };
    for rate in rates.iter().copied() {
        for (index, contender) in rig.contenders.iter().enumerate() {
            if !contender.ours && rate != rates[0] {
                continue;
            }
            for (revision, choice) in REVISIONS {
                for replicas in super::REPLICAS {
                    let title = format!("tools/call add, {rate} calls a second in all");
                    let named = |replicas| format!("{}, {}", contender.name, many(replicas, "replica"));
                    let cell = Cell::new(title, contender, named(replicas), Some(revision.as_str()));
                    let cell = cell.beside(named(1));
                    // A fleet that is idle is of no revision, and has no rate: one row of it is enough.
                    let first = rate == rates[0] && revision == REVISIONS[0].0;
                    let idle =
                        first.then(|| Cell::new(IDLE_TITLE.to_owned(), contender, named(replicas), None));
                    runs.push(Run { contender: index, replicas, rate, revision: choice, cell, idle });
                }
            }
        }
    }
    runs
}

// === impl Run ===

impl Run {
    async fn round(&self, rig: &Rig<'_>, contender: &Contender) -> Result<(Figures, Idle), Trouble> {
        let quick = rig.request.quick;
        let fleet = Fleet::start(contender, self.replicas, true, rig.request.pinned).await?;
        let idle = fleet.idle(if quick { IDLE / 20 } else { IDLE }).await?;
        let plan = self.plan(rig, &fleet);
        let (warm_up, measured) = (plan.warmup.get(), plan.duration.get());
        let (begun, begin) = oneshot::channel();
        let driving = tokio::task::spawn_blocking(move || {
            driver::run(&plan, Share::WHOLE, &mut Begun(Some(begun)), &CancellationToken::new())
        });
        // Where they cannot begin, the run below says why.
        let _begun = begin.await;
        tokio::time::sleep(warm_up).await;
        let before = fleet.mark().await?;
        tokio::time::sleep(measured).await;
        let used = fleet.mark().await?.since(before);
        let ran = driving.await.map_err(|_| Trouble::Wrong("the generator panicked".into()))?;
        let tally = ran.map_err(|error| not_begun(&error, &fleet))?;
        self.judge(contender, &tally)?;
        Ok((figures(&tally, &used, idle), idle))
    }

    fn plan(&self, rig: &Rig<'_>, fleet: &Fleet) -> Plan {
        let quick = rig.request.quick;
        let second = Duration::from_secs(1);
        let warm_up = if quick { second } else { WARM_UP };
        let spread = Begin::Spread(Span(warm_up / 4));
        Plan {
            clients: if quick { CLIENTS / 5 } else { CLIENTS },
            duration: Span(if quick { second } else { rig.request.measured }),
            warmup: Span(warm_up),
            timeout: Span(TIMEOUT),
            arrival: Arrival::Poisson { rate: Rate(f64::from(self.rate)) },
            revisions: vec![(self.revision, 1)],
            scenario: Scenario { begin: spread, ..Scenario::default() },
            ..Plan::new(&format!("http://{}/mcp", fleet.address()))
        }
    }

    /// Everything that was asked for has been answered rightly, by all replicas together.
    fn judge(&self, contender: &Contender, tally: &Tally) -> Result<(), Trouble> {
        let overall = tally.overall();
        let lost = lost(tally);
        if lost > 0 {
            let errors: Vec<String> =
                tally.errors().iter().map(|(kind, times)| format!("{times} x {kind}")).collect();
            return Err(Trouble::Wrong(format!(
                "{lost} lost or wrong of {}: {} wrong, {} sessions lost, {} not begun in time; {}",
                overall.started,
                tally.wrong(),
                tally.sessions.lost,
                tally.arrivals.dropped,
                errors.join(", ")
            )));
        }
        let answered = tally.replicas.answered.len();
        if contender.ours && answered != self.replicas {
            return Err(Trouble::Wrong(format!("{answered} of {} replicas answered", self.replicas)));
        }
        if tally.operation(CALL).is_none_or(|called| called.succeeded == 0) {
            Err(Trouble::Wrong("nothing was answered".into()))
        } else {
            Ok(())
        }
    }
}

/// What was begun and did not end well, and whatever else went missing.
fn lost(tally: &Tally) -> u64 {
    let overall = tally.overall();
    overall.started.saturating_sub(overall.succeeded)
        + tally.wrong()
        + tally.sessions.lost
        + tally.arrivals.dropped
}

fn not_begun(error: &RunError, fleet: &Fleet) -> Trouble {
    Trouble::Wrong(format!("{error}; the first replica said: {}", fleet.logs_tail()))
}

fn figures(tally: &Tally, used: &Used, idle: Idle) -> Figures {
    let called = tally.operation(CALL).unwrap_or_default();
    let calls = exact(called.succeeded.max(1));
    let micros = |percent: f64| called.latency.percentile(percent).as_secs_f64() * 1e6;
    let cpu = used.cpu(idle);
    Figures::from([
        (Metric::CallsPerSecond, calls / used.took.as_secs_f64()),
        (Metric::P50Us, micros(50.0)),
        (Metric::P99Us, micros(99.0)),
        (Metric::CpuUs, cpu * 1e6 / calls),
        (Metric::CallsPerCpuSecond, calls / cpu.max(1e-9)),
        (Metric::RedisCommands, used.commands(idle) / calls),
    ])
}

/// A second as if it were a call.
fn a_second(idle: Idle) -> Figures {
    Figures::from([(Metric::CpuUs, idle.cpu * 1e6), (Metric::RedisCommands, idle.commands)])
}

// === impl Begun ===

impl Observer for Begun {
    fn begin(&mut self) {
        if let Some(begun) = self.0.take() {
            // Who waits for it is there until the run is over.
            let _told = begun.send(());
        }
    }

    fn progress(&mut self, _: &Tally) {}
}
