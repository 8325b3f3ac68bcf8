//! New sessions: how many a second, of clients that connect for it to replicas that have just begun, and on connections
//! that are there.

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use hdrhistogram::Histogram;
use trunkline_protocol::Revision;

use super::{
    Cell, Rig, Trouble,
    caller::Caller,
    contenders::Contender,
    exact,
    fleet::{Fleet, Idle, Used},
    many,
};
use crate::bench::{
    BenchError,
    model::{Figures, Metric, Table},
    replay::empty,
    rotation,
};

const REVISION: Revision = Revision::V2025_11_25;

/// Sessions of each client in a quick run.
const QUICK: usize = 3;

/// Of so many sessions one is called afterwards, to see that it is there on whatever replica.
const LOOKED_AT: usize = 50;

/// How long a fleet is looked at that nobody asks for anything.
const IDLE: Duration = Duration::from_secs(1);

/// What one contender does with one number of replicas.
struct Run {
    contender: usize,
    replicas: usize,
    cold: Cell,
    warm: Cell,
}

/// What some clients did.
struct Opened {
    sessions: Vec<String>,
    latencies: Histogram<u64>,
}

/// When clients stop.
#[derive(Clone, Copy)]
enum Until {
    Time(Instant),
    Sessions(usize),
}

pub(super) async fn measure(rig: &Rig<'_>, tables: &mut Vec<Table>) -> Result<(), BenchError> {
    let mut runs = runs(rig);
    for round in 0..rig.request.rounds() {
        for index in rotation::order(runs.len(), round) {
            let run = &mut runs[index];
            if run.cold.goes_on() && run.warm.goes_on() {
                rig.say(round, &format!("new sessions: {}", run.cold.row.name));
                run.round(rig, &rig.contenders[run.contender]).await?;
            }
        }
    }
    // Both tables whole, one after the other.
    let (cold, warm): (Vec<Cell>, Vec<Cell>) = runs.into_iter().map(|run| (run.cold, run.warm)).unzip();
    cold.into_iter().chain(warm).for_each(|cell| cell.put(tables));
    Ok(())
}

fn runs(rig: &Rig<'_>) -> Vec<Run> {
    let mut runs = Vec::new();
    for (index, contender) in rig.contenders.iter().enumerate() {
        for replicas in super::REPLICAS {
            let named = |replicas| format!("{}, {}", contender.name, many(replicas, "replica"));
            let cell = |kind: &str| {
                let title = format!("initialize, {kind}, {} in flight", rig.in_flight());
                Cell::new(title, contender, named(replicas), Some(REVISION.as_str())).beside(named(1))
            };
            runs.push(Run { contender: index, replicas, cold: cell("cold"), warm: cell("warm") });
        }
    }
    runs
}

// === impl Run ===

impl Run {
    async fn round(&mut self, rig: &Rig<'_>, contender: &Contender) -> Result<(), BenchError> {
        match Fleet::start(contender, self.replicas, true, rig.request.pinned).await {
            Err(trouble) => self.cold.add(Err(trouble)),
            Ok(fleet) => {
                // Nobody has asked it for anything else before.
                let cold = round(rig, &fleet, true).await;
                self.cold.add(cold)?;
                let warm = round(rig, &fleet, false).await;
                self.warm.add(warm)
            }
        }
    }
}

async fn round(rig: &Rig<'_>, fleet: &Fleet, cold: bool) -> Result<Figures, Trouble> {
    let quick = rig.request.quick;
    let idle = fleet.idle(if quick { IDLE / 10 } else { IDLE }).await?;
    let until =
        if quick { Until::Sessions(QUICK) } else { Until::Time(Instant::now() + rig.request.measured) };
    let before = fleet.mark().await?;
    let clients = (0..rig.in_flight()).map(|_| open(fleet, cold, until));
    let opened = try_join_all(clients).await?;
    let used = fleet.mark().await?.since(before);
    look(fleet, &opened).await?;
    Ok(figures(&opened, &used, idle))
}

/// One client after the other.
async fn open(fleet: &Fleet, cold: bool, until: Until) -> Result<Opened, Trouble> {
    let mut opened = Opened { sessions: Vec::new(), latencies: empty() };
    let mut kept = if cold { None } else { Some(Caller::open(fleet.address()).await?) };
    while until.goes_on(opened.sessions.len()) {
        let began = Instant::now();
        let mut caller = match kept.take() {
            Some(caller) => caller,
            None => Caller::open(fleet.address()).await?,
        };
        opened.sessions.push(caller.initialize(REVISION, 1).await?);
        opened.latencies.saturating_record(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        kept = Some(caller).filter(|_| !cold);
    }
    Ok(opened)
}

/// Looks whether sessions are there, some of them: on whatever replica the balancer takes.
async fn look(fleet: &Fleet, opened: &[Opened]) -> Result<(), Trouble> {
    let mut caller = Caller::open(fleet.address()).await?;
    for session in opened.iter().flat_map(|opened| &opened.sessions).step_by(LOOKED_AT) {
        caller.add(REVISION, session, 7).await?;
    }
    Ok(())
}

fn figures(opened: &[Opened], used: &Used, idle: Idle) -> Figures {
    let mut latencies = empty();
    for opened in opened {
        // Both count the same range.
        let _added = latencies.add(&opened.latencies);
    }
    let count = exact(latencies.len().max(1));
    let micros = |share: f64| exact(latencies.value_at_quantile(share)) / 1e3;
    let cpu = used.cpu(idle);
    Figures::from([
        (Metric::CallsPerSecond, count / used.took.as_secs_f64()),
        (Metric::P50Us, micros(0.5)),
        (Metric::P99Us, micros(0.99)),
        (Metric::CpuUs, cpu * 1e6 / count),
        (Metric::CallsPerCpuSecond, count / cpu.max(1e-9)),
        (Metric::RedisCommands, used.commands(idle) / count),
    ])
}

// === impl Until ===

impl Until {
    fn goes_on(self, done: usize) -> bool {
        match self {
            Self::Time(end) => Instant::now() < end,
            Self::Sessions(count) => done < count,
        }
    }
}
