//! What is brought up, and whether what is to be done to it makes sense.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use trunkline_harness::{
    HarnessError,
    balancer::{self, Policy},
    binary,
    cluster::{self, Cluster},
    redis::{Options, Topology},
};

use super::faults::{self, Fault, Kind};
use crate::{limits, plan::Plan, units::Span};

/// The header of a session's requests.
const SESSION: &str = "Mcp-Session-Id";

/// What balances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LoadBalancer {
    /// HAProxy.
    Haproxy,
    /// nginx.
    Nginx,
    /// None: clients talk to the one replica.
    None,
}

/// Where sessions live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Store {
    /// One Redis, which keeps what it has answered when it is killed.
    Redis,
    /// In each replica's memory: they share nothing.
    Memory,
    /// A Redis with a replica and three sentinels.
    Sentinel,
    /// A Redis cluster of three primaries.
    Cluster,
}

/// A balancer's policy with the name it has in reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPolicy {
    /// As it is written on the command line.
    pub name: String,
    /// What it is.
    pub policy: Policy,
}

/// A key of every replica's configuration, read from `SECTION.KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    section: String,
    key: String,
    value: String,
}

/// A topology and what is done to it.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How many replicas.
    pub replicas: usize,
    /// What balances between them.
    pub balancer: LoadBalancer,
    /// Where sessions live.
    pub store: Store,
    /// How requests are balanced: one run for each. At least one.
    pub policies: Vec<NamedPolicy>,
    /// What is done, by time, every replica named.
    pub faults: Vec<Fault>,
    /// How long a run goes on after the last fault, at least.
    pub settle: Duration,
    /// The server's binary; absent to look for it.
    pub binary: Option<PathBuf>,
    /// Keys of every replica's configuration.
    pub settings: Vec<Setting>,
}

/// Something that makes no sense, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mistake(String);

// === impl LoadBalancer ===

impl LoadBalancer {
    const fn kind(self) -> Option<balancer::Kind> {
        match self {
            Self::Haproxy => Some(balancer::Kind::Haproxy),
            Self::Nginx => Some(balancer::Kind::Nginx),
            Self::None => None,
        }
    }
}

impl fmt::Display for LoadBalancer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Haproxy => "HAProxy",
            Self::Nginx => "nginx",
            Self::None => "no balancer",
        })
    }
}

// === impl Store ===

impl Store {
    fn topology(self) -> Option<Topology> {
        match self {
            // Every write is handed to the system before it is answered, which outlives the process; waiting for the disk
            // as well would measure the disk.
            Self::Redis => Some(Topology::Standalone(Options {
                appendonly: true,
                arguments: ["--appendfsync", "no"].map(str::to_owned).to_vec(),
                ..Options::default()
            })),
            Self::Memory => None,
            Self::Sentinel => Some(Topology::Sentinel),
            Self::Cluster => Some(Topology::Cluster),
        }
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redis => "one Redis",
            Self::Memory => "each replica's memory",
            Self::Sentinel => "Redis with sentinels",
            Self::Cluster => "a Redis cluster",
        })
    }
}

// === impl NamedPolicy ===

impl FromStr for NamedPolicy {
    type Err = Mistake;

    /// Reads `round-robin`, `least-conn`, `sticky` or `sticky:HEADER`.
    fn from_str(text: &str) -> Result<Self, Mistake> {
        let policy = match text.split_once(':') {
            None if text == "round-robin" => Policy::RoundRobin,
            None if text == "least-conn" => Policy::LeastConnections,
            None if text == "sticky" => Policy::Sticky { header: SESSION.to_owned() },
            Some(("sticky", header)) if is_header(header) => Policy::Sticky { header: header.to_owned() },
            _ => {
                return Err(Mistake(format!(
                    "there is no policy {text:?}; there are round-robin, least-conn, sticky (by {SESSION}) and \
                     sticky:HEADER"
                )));
            }
        };
        Ok(Self { name: text.to_owned(), policy })
    }
}

fn is_header(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

// === impl Setting ===

impl FromStr for Setting {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        let parts = text.split_once('=').and_then(|(name, value)| Some((name.split_once('.')?, value)));
        let Some(((section, key), value)) =
            parts.filter(|((section, key), _)| !section.is_empty() && !key.is_empty())
        else {
            return Err(Mistake(format!(
                "{text:?} is no setting; write SECTION.KEY=VALUE, as limits.streams=5000"
            )));
        };
        Ok(Self { section: section.to_owned(), key: key.to_owned(), value: value.to_owned() })
    }
}

// === impl Setup ===

impl Setup {
    /// What makes no sense, all of it. Names the replicas of faults that name none.
    ///
    /// # Errors
    /// Every mistake, with what to do instead.
    pub fn check(&mut self, plan: &Plan) -> Result<(), Vec<Mistake>> {
        faults::assign(&mut self.faults, self.replicas);
        let mut mistakes: Vec<String> = self.faults.iter().filter_map(|fault| self.mistake(fault)).collect();
        if self.balancer == LoadBalancer::None && self.replicas > 1 {
            mistakes.push(format!(
                "without a balancer clients talk to one replica: choose --lb haproxy or nginx, or --replicas 1 instead \
                 of {}",
                self.replicas
            ));
        }
        let plain = |named: &NamedPolicy| named.policy == Policy::RoundRobin;
        if self.balancer == LoadBalancer::None && !self.policies.iter().all(plain) {
            mistakes.push("a policy is a balancer's: choose --lb haproxy or nginx".to_owned());
        }
        let needed = u64::from(plan.clients) * u64::from(limits::sockets(plan));
        if self.balancer != LoadBalancer::None && needed > balancer::CONNECTIONS as u64 {
            mistakes.push(format!(
                "{} clients need {needed} connections and the balancer is set up for {}: take fewer --clients or \
                 --connections",
                plan.clients,
                balancer::CONNECTIONS
            ));
        }
        if mistakes.is_empty() { Ok(()) } else { Err(mistakes.into_iter().map(Mistake).collect()) }
    }

    /// How long a run is measured: as the plan says, or longer, so that the last fault has time to settle. Tells whether
    /// it is longer.
    #[must_use]
    pub fn lengthened(&self, plan: &Plan) -> Option<Span> {
        let least = faults::least_duration(&self.faults, self.settle).saturating_sub(plan.warmup.get());
        (least > plan.duration.get()).then_some(Span(least))
    }

    /// What brings it up, with this policy.
    ///
    /// # Errors
    /// [`HarnessError::Missing`] with what installs or builds the server.
    pub fn builder(&self, policy: &Policy) -> Result<cluster::Builder, HarnessError> {
        let binary = match &self.binary {
            Some(path) => path.canonicalize().map_err(|source| {
                let remedy = format!("mend --binary ({source})");
                HarnessError::Missing { program: path.display().to_string(), remedy }
            })?,
            None => trunkline()?,
        };
        // Longer than a balancer takes to see that a replica leaves, so that a drain costs nobody a call.
        let mut builder = Cluster::builder(binary).replicas(self.replicas).key("server", "drain_delay", "2s");
        if let Some(kind) = self.balancer.kind() {
            builder = builder.balancer(kind).policy(policy.clone());
        }
        if let Some(topology) = self.store.topology() {
            builder = builder.redis(topology);
        }
        if self.faults.iter().any(|fault| fault.kind == Kind::CutReplica) {
            builder = builder.cut(true);
        }
        Ok(self
            .settings
            .iter()
            .fold(builder, |builder, Setting { section, key, value }| builder.key(section, key, value)))
    }

    fn mistake(&self, fault: &Fault) -> Option<String> {
        let name = fault.kind.as_str();
        if let Some(replica) = fault.replica.filter(|replica| *replica >= self.replicas) {
            let last = self.replicas.saturating_sub(1);
            return Some(format!(
                "{fault}: there is no replica {replica}; they are numbered from 0 to {last}"
            ));
        }
        match fault.kind {
            Kind::KillPrimary if self.store != Store::Sentinel => {
                Some(format!("{fault}: {name} needs --store sentinel"))
            }
            Kind::CutReplica if self.store != Store::Redis => Some(format!(
                "{fault}: {name} needs --store redis, since sentinels and clusters tell clients their own addresses"
            )),
            kind if kind.needs_redis() && self.store == Store::Memory => {
                Some(format!("{fault}: {name} needs --store redis, sentinel or cluster"))
            }
            Kind::KillConnections if self.balancer == LoadBalancer::None => {
                Some(format!("{fault}: {name} needs --lb haproxy or nginx"))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let replicas =
            if self.replicas == 1 { "1 replica".to_owned() } else { format!("{} replicas", self.replicas) };
        write!(f, "{replicas} behind {}, sessions in {}", self.balancer, self.store)
    }
}

/// The server: what `TRUNKLINE_BIN` names, what is beside this program, or what is on the search path.
fn trunkline() -> Result<PathBuf, HarnessError> {
    match binary::trunkline() {
        Err(HarnessError::Missing { program, .. }) if std::env::var_os("TRUNKLINE_BIN").is_none() => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let found = std::env::split_paths(&path)
                .map(|folder| folder.join("trunkline"))
                .find(|path| path.is_file());
            found.ok_or_else(|| HarnessError::Missing {
                program,
                remedy: "put it beside this program or on the search path, or name it with --binary or TRUNKLINE_BIN \
                         (cargo build -p trunkline builds it)"
                    .to_owned(),
            })
        }
        found => found,
    }
}

#[cfg(test)]
mod tests;
