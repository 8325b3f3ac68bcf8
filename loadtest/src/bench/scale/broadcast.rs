//! A change that open streams listen for: how soon each has it, and what it takes to say so.
//!
//! The streams are on two replicas, and a third one without any is told of the change. So its CPU is what publishing takes,
//! and not what handing it out does.

use std::time::Duration;

use trunkline_harness::fleet::crowd::{Crowd, CrowdError, Reach};

use super::{Cell, Rig, Trouble, contenders::Contender, exact, fleet::Fleet, many, thousands};
use crate::bench::{
    BenchError,
    model::{Figures, Metric, Table},
};

/// Open streams.
const STREAMS: [usize; 2] = [1_000, 10_000];
const QUICK: [usize; 2] = [10, 20];

/// Changes of which the cost is the mean: fewer than messages that may wait for one connection.
const TIMES: usize = 20;

/// The replica that is told of changes, and those with the streams.
const PUBLISHER: usize = 0;
const LISTENED: [usize; 2] = [1, 2];

/// How long a broadcast may take to the last.
const LIMIT: Duration = Duration::from_secs(60);

/// How long a fleet is looked at that nobody asks for anything.
const IDLE: Duration = Duration::from_secs(3);

/// What the rows of so many streams are called.
pub(super) fn name(contender: &str, streams: usize) -> String {
    format!("{contender}, {}", many(streams, "stream"))
}

/// The numbers of streams that are compared.
pub(super) fn counts(quick: bool) -> [usize; 2] {
    if quick { QUICK } else { STREAMS }
}

pub(super) async fn measure(rig: &Rig<'_>, tables: &mut Vec<Table>) -> Result<(), BenchError> {
    for contender in &rig.contenders {
        for streams in counts(rig.request.quick) {
            let title = TITLE.to_owned();
            let mut cell = Cell::new(title, contender, name(&contender.name, streams), None);
            if cell.goes_on() {
                (rig.say)(&format!("a broadcast: {}", cell.row.name));
                let found = rounds(rig, contender, streams).await;
                match found {
                    Ok(rounds) => rounds.into_iter().try_for_each(|round| cell.add(Ok(round)))?,
                    Err(trouble) => cell.add(Err(trouble))?,
                }
            }
            cell.put(tables);
        }
    }
    Ok(())
}

/// The title of the table.
pub(super) const TITLE: &str = "a broadcast: publish to delivery, and what a publication takes";

async fn rounds(rig: &Rig<'_>, contender: &Contender, streams: usize) -> Result<Vec<Figures>, Trouble> {
    let request = rig.request;
    let fleet = Fleet::start(contender, 1 + LISTENED.len(), false, request.pinned).await?;
    let url = |index: usize| format!("http://{}/mcp", fleet.replica(index).address());
    // Two in each round, and one before all.
    let broadcasts = 2 * request.rounds() + 1;
    let broadcasts = u16::try_from(broadcasts).unwrap_or(u16::MAX);
    let mut crowd = Crowd::open(&LISTENED.map(url), streams, broadcasts).await.map_err(cannot)?;
    crowd.publish_by(&url(PUBLISHER)).map_err(cannot)?;
    // What is made when it is first used is there after this.
    let first = crowd.broadcast(LIMIT).await.map_err(cannot)?;
    all_heard(&crowd, &first, streams)?;
    let idle = fleet.idle(if request.quick { IDLE / 30 } else { IDLE }).await?;
    let mut rounds = Vec::new();
    for _ in 0..request.rounds() {
        let reach = crowd.broadcast(LIMIT).await.map_err(cannot)?;
        all_heard(&crowd, &reach, streams)?;
        let (before, spent) = (fleet.mark().await?, fleet.replica(PUBLISHER).cpu());
        let round = crowd.announce(TIMES).await.map_err(cannot)?;
        let spent = fleet.replica(PUBLISHER).cpu().saturating_sub(spent);
        let (missed, again) = crowd.astray(round, TIMES, LIMIT).await;
        let used = fleet.mark().await?.since(before);
        if missed + again > 0 {
            let wrong =
                format!("of {TIMES} changes to {streams} streams {missed} were lost, {again} doubled");
            return Err(Trouble::Wrong(wrong));
        }
        rounds.push(figures(&reach, spent, used.commands(idle)));
    }
    Ok(rounds)
}

fn figures(reach: &Reach, spent: Duration, commands: f64) -> Figures {
    let micros = |share: f64| reach.quantile(share).as_secs_f64() * 1e6;
    let times = exact(TIMES as u64);
    Figures::from([
        (Metric::P50Us, micros(0.5)),
        (Metric::P99Us, micros(0.99)),
        (Metric::P999Us, micros(0.999)),
        (Metric::CpuUs, spent.as_secs_f64() * 1e6 / times),
        (Metric::RedisCommands, commands / times),
    ])
}

/// Each has heard of it, once.
fn all_heard(crowd: &Crowd, reach: &Reach, streams: usize) -> Result<(), Trouble> {
    match crowd.ended() {
        (0, _) if reach.times.len() == streams && reach.again == 0 => Ok(()),
        (0, _) => Err(Trouble::Wrong(format!(
            "{} of {streams} streams missed it, {} heard it again",
            reach.missed, reach.again
        ))),
        (ended, why) => Err(Trouble::Cannot(format!(
            "{} of {} ended: {}",
            thousands(exact(ended as u64)),
            many(streams, "stream"),
            why.unwrap_or_default()
        ))),
    }
}

/// A server that has no such streams, or not so many of them.
#[expect(clippy::needless_pass_by_value, reason = "what an error is mapped with")]
fn cannot(error: CrowdError) -> Trouble {
    Trouble::Cannot(error.to_string())
}
