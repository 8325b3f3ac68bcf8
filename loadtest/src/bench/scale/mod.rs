//! The suite `scale`: replicas on one Redis, behind HAProxy.
//!
//! - `contenders`, `fleet`: who is measured, and its replicas with everything around them
//! - `redis`: what Redis says it has done and holds
//! - `caller`: one connection, and the requests and questions that go over it
//! - `calls`, `sessions`, `questions`, `broadcast`, `memory`: what is measured, a table or more each
//! - `verdict`: what has to hold

mod broadcast;
mod caller;
mod calls;
mod contenders;
mod fleet;
mod memory;
mod questions;
mod redis;
mod sessions;
mod verdict;

use trunkline_harness::HarnessError;

use self::contenders::{Contender, Field, field};
use super::{
    BenchError,
    model::{Figures, Found, Outcome, Row, Table, thousands},
    replay::ReplyError,
    request::Request,
};
use crate::limits::Allowed;

/// How many replicas a fleet has.
const REPLICAS: [usize; 3] = [1, 2, 4];

/// What all parts of the suite share.
struct Rig<'a> {
    request: &'a Request,
    contenders: Vec<Contender>,
    /// Told what is done at the moment.
    say: &'a dyn Fn(&str),
}

/// Why a row has no figures.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    /// It does not do this, or not so much of it.
    #[error("{0}")]
    Cannot(String),
    /// It answered wrongly, or lost something.
    #[error("{0}")]
    Wrong(String),
    /// It is not there, or says that it is not ready: wrong, but for one that is being started.
    #[error("{0}")]
    Away(String),
    /// What is around it failed.
    #[error("{0}")]
    Around(#[from] BenchError),
}

/// A row that grows by a round at a time.
struct Cell {
    title: String,
    row: Row,
}

/// Runs the suite. `say` is told what is done at the moment.
pub(super) async fn run(request: &Request, say: &dyn Fn(&str)) -> Result<Found, BenchError> {
    // Before the servers start: they inherit the limit.
    let raised = Allowed::raised();
    let allowed =
        raised.map_err(|source| BenchError::Io { what: "raising the limit of file descriptors", source })?;
    let Field { mut contenders, versions } = field(&request.peers)?;
    contenders.retain(|contender| request.wants(&contender.name));
    if contenders.is_empty() {
        return Err(BenchError::Input("--only: no row has any of these names".into()));
    }
    let rig = Rig { request, contenders, say };
    let mut tables = Vec::new();
    calls::measure(&rig, &mut tables).await?;
    sessions::measure(&rig, &mut tables).await?;
    questions::measure(&rig, &mut tables).await?;
    broadcast::measure(&rig, &mut tables).await?;
    memory::measure(&rig, &allowed, &mut tables).await?;
    let checks = verdict::checks(&tables);
    Ok(Found { tables, checks, versions })
}

// === impl Rig ===

impl Rig<'_> {
    fn say(&self, round: u32, what: &str) {
        (self.say)(&format!("round {} of {}: {what}", round + 1, self.request.rounds()));
    }

    /// The most calls in flight that were asked for.
    fn in_flight(&self) -> u32 {
        self.request.in_flight.iter().copied().max().unwrap_or(1)
    }
}

// === impl Trouble ===

impl From<ReplyError> for Trouble {
    fn from(error: ReplyError) -> Self {
        match error {
            ReplyError::Io(_) => Self::Away(error.to_string()),
            _ => Self::Wrong(error.to_string()),
        }
    }
}

impl From<HarnessError> for Trouble {
    fn from(error: HarnessError) -> Self {
        Self::Around(error.into())
    }
}

// === impl Cell ===

impl Cell {
    /// An empty row of a contender.
    fn new(title: String, contender: &Contender, name: String, revision: Option<&str>) -> Self {
        let outcome = match &contender.absent {
            Some(reason) => Outcome::Absent { reason: reason.clone() },
            None => Outcome::Measured { rounds: Vec::new() },
        };
        let revision = revision.map(str::to_owned);
        Self { title, row: Row { name, revision, floor: None, ours: contender.ours, outcome } }
    }

    /// Compares it with the row of that name.
    fn beside(mut self, floor: String) -> Self {
        self.row.floor = Some(floor).filter(|floor| *floor != self.row.name);
        self
    }

    /// Whether it has nothing against another round.
    fn goes_on(&self) -> bool {
        matches!(self.row.outcome, Outcome::Measured { .. })
    }

    /// Adds a round to it, or says why there are none. What failed around it ends the suite.
    fn add(&mut self, round: Result<Figures, Trouble>) -> Result<(), BenchError> {
        match (round, &mut self.row.outcome) {
            (Ok(figures), Outcome::Measured { rounds }) => rounds.push(figures),
            (Err(Trouble::Around(error)), _) => return Err(error),
            (Err(Trouble::Cannot(reason)), outcome) => *outcome = Outcome::Absent { reason },
            (Err(Trouble::Wrong(seen) | Trouble::Away(seen)), outcome) => *outcome = Outcome::Wrong { seen },
            (Ok(_), _) => {}
        }
        Ok(())
    }

    /// Puts it into its table. What was left out since something else failed has no row.
    fn put(self, tables: &mut Vec<Table>) {
        if matches!(&self.row.outcome, Outcome::Measured { rounds } if rounds.is_empty()) {
            return;
        }
        Table::put(tables, self.title, self.row);
    }
}

/// `4 replicas`.
fn many(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{} {one}s", thousands(exact(count as u64))) }
}

/// Counts and bytes of a run fit into a `f64` without loss.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn exact(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_told() {
        assert_eq!(
            [many(1, "replica"), many(4, "replica"), many(10_000, "stream")],
            ["1 replica", "4 replicas", "10,000 streams"]
        );
    }
}
