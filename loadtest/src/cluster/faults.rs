//! Faults on a timeline: `KIND[:INDEX|key=value]@TIME[+DURATION]`, as `kill-replica:1@10s+5s`.

mod parse;

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::units::Span;

pub use self::parse::{FaultError, parse};

/// What is done to the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A replica is killed (SIGKILL), and started again after the duration if one is given.
    KillReplica,
    /// A replica is asked to end (SIGTERM), its end awaited, and it is started again, after the duration if one is given.
    DrainReplica,
    /// Every replica in turn is drained and started again: a rolling update. The duration is the pause between two.
    Roll,
    /// A replica stands still (SIGSTOP) for the duration; its connections stay open.
    StopReplica,
    /// A replica's way to Redis is cut for the duration.
    CutReplica,
    /// Redis is killed and started again with its data.
    RestartRedis,
    /// Redis is killed and started again with nothing in it: every session is gone.
    FlushRedis,
    /// Redis is killed, and started again with its data after the duration.
    StopRedis,
    /// The primary is killed; the sentinels have the replica take its place. It is started again once they have, and not
    /// before the duration is over.
    KillPrimary,
    /// The balancer is killed and started again: every connection through it breaks.
    KillConnections,
}

/// How a replica's way to Redis is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// Connections stay open and carry nothing: the network is gone.
    #[default]
    Frozen,
    /// Connections are reset and new ones refused.
    Refused,
}

/// One fault of the timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What is done.
    pub kind: Kind,
    /// To which replica, from 0, for the kinds that hurt one.
    pub replica: Option<usize>,
    /// For [`Kind::CutReplica`].
    pub how: How,
    /// When, from the beginning of the run.
    pub at: Span,
    /// For how long, where the kind has a duration.
    pub lasts: Option<Span>,
}

// === impl Kind ===

impl Kind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::KillReplica,
        Self::DrainReplica,
        Self::Roll,
        Self::StopReplica,
        Self::CutReplica,
        Self::RestartRedis,
        Self::FlushRedis,
        Self::StopRedis,
        Self::KillPrimary,
        Self::KillConnections,
    ];

    /// Its name on the command line and in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::KillReplica => "kill-replica",
            Self::DrainReplica => "drain-replica",
            Self::Roll => "roll",
            Self::StopReplica => "stop-replica",
            Self::CutReplica => "cut-replica",
            Self::RestartRedis => "restart-redis",
            Self::FlushRedis => "flush-redis",
            Self::StopRedis => "stop-redis",
            Self::KillPrimary => "kill-primary",
            Self::KillConnections => "kill-connections",
        }
    }

    /// Whether it hurts one replica.
    #[must_use]
    pub const fn hurts_a_replica(self) -> bool {
        matches!(self, Self::KillReplica | Self::DrainReplica | Self::StopReplica | Self::CutReplica)
    }

    /// Whether it hurts Redis, or the way to it.
    #[must_use]
    pub const fn needs_redis(self) -> bool {
        matches!(
            self,
            Self::CutReplica | Self::RestartRedis | Self::FlushRedis | Self::StopRedis | Self::KillPrimary
        )
    }

    /// Whether it makes no sense without a duration.
    #[must_use]
    pub const fn needs_a_duration(self) -> bool {
        matches!(self, Self::StopReplica | Self::CutReplica | Self::StopRedis)
    }

    /// Whether it may have a duration.
    #[must_use]
    pub const fn may_have_a_duration(self) -> bool {
        !matches!(self, Self::RestartRedis | Self::FlushRedis | Self::KillConnections)
    }
}

// === impl Fault ===

impl Fault {
    /// What is done, without its time: `kill-replica:1`.
    #[must_use]
    pub fn label(&self) -> String {
        match self.replica {
            Some(replica) => format!("{}:{replica}", self.kind.as_str()),
            None => self.kind.as_str().to_owned(),
        }
    }

    /// The earliest end of it: what it takes beyond that is known only afterwards.
    #[must_use]
    pub fn ends(&self) -> Duration {
        self.at.get() + self.lasts.unwrap_or_default().get()
    }
}

/// As it is written on the command line.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.as_str())?;
        if let Some(replica) = self.replica {
            write!(f, ":{replica}")?;
        }
        if self.how == How::Refused {
            f.write_str(if self.replica.is_some() { ",how=refused" } else { ":how=refused" })?;
        }
        write!(f, "@{}", self.at)?;
        match self.lasts {
            Some(lasts) => write!(f, "+{lasts}"),
            None => Ok(()),
        }
    }
}

/// Gives a replica to each fault that hurts one and names none: the next in turn, from the first on, by time. Sorts them.
pub fn assign(faults: &mut [Fault], replicas: usize) {
    faults.sort_by_key(|fault| fault.at);
    let mut next = 0;
    for fault in faults.iter_mut().filter(|fault| fault.kind.hurts_a_replica()) {
        let replica = *fault.replica.get_or_insert(next % replicas.max(1));
        next = replica + 1;
    }
}

/// The run's least length: until `settle` after the end of the last fault.
#[must_use]
pub fn least_duration(faults: &[Fault], settle: Duration) -> Duration {
    faults.iter().map(Fault::ends).max().map_or(Duration::ZERO, |end| end + settle)
}

#[cfg(test)]
mod tests;
