//! Whether this machine has what a share of a plan needs, asked before the start: a run that ends at a limit half-way
//! measures the limit.

use std::{fs, io};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::plan::{Plan, Share};

/// File descriptors beside the clients' sockets: files, pipes, timers, each thread's own.
const BESIDE: u64 = 128;

/// The share of the ephemeral ports that may be in use: those of connections just closed are not free for a minute.
const PORTS_USED: f64 = 0.9;

/// Where Linux says which ports outgoing connections are given.
const PORT_RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// A limit that is too low, and how it is raised.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// Each connection needs a file descriptor.
    #[error(
        "{clients} clients need {needed} file descriptors and the limit is {limit}: raise it (ulimit -Hn {needed}), \
         take fewer clients, or share them out over more agents"
    )]
    Files {
        /// Clients of this process.
        clients: u64,
        /// What they need.
        needed: u64,
        /// What the process may have.
        limit: u64,
    },
    /// Each connection to one address needs a port.
    #[error(
        "{clients} clients need {needed} ports to one address and there are {ports} for outgoing connections: widen \
         the range (sysctl -w net.ipv4.ip_local_port_range='1024 65535'), take fewer clients, or share them out over \
         more machines"
    )]
    Ports {
        /// Clients of this process.
        clients: u64,
        /// What they need.
        needed: u64,
        /// How many there are.
        ports: u64,
    },
    /// Each thread counts as a process of the user.
    #[error(
        "{threads} threads are more than this user may have ({limit}): raise the limit (ulimit -u), or --threads lower"
    )]
    Threads {
        /// Threads of this process.
        threads: u64,
        /// What the user may have.
        limit: u64,
    },
}

/// What the system allows this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// File descriptors; `None` without a limit.
    pub files: Option<u64>,
    /// Threads and processes of the user; `None` without a limit.
    pub threads: Option<u64>,
    /// Ports for outgoing connections to one address; `None` where the system does not say.
    pub ports: Option<u64>,
}

// === impl Allowed ===

impl Allowed {
    /// What this process may have at most. Raises its limit of file descriptors to what an ordinary user may raise it to;
    /// programs that it starts inherit that.
    ///
    /// # Errors
    /// That the limit cannot be raised.
    pub fn raised() -> io::Result<Self> {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
        let ports = fs::read_to_string(PORT_RANGE).ok().and_then(|text| count_of_range(&text));
        Ok(Self { files: maximum, threads: getrlimit(Resource::Nproc).current, ports })
    }

    /// Whether that is enough for a share of a plan.
    ///
    /// # Errors
    /// Every limit that is too low.
    pub fn suffices(&self, plan: &Plan, share: Share) -> Result<(), Vec<LimitError>> {
        let clients = share.clients(plan.clients).count() as u64;
        let needed = clients * u64::from(sockets(plan));
        let mut errors = Vec::new();
        if let Some(limit) = self.files.filter(|limit| *limit < needed + BESIDE) {
            errors.push(LimitError::Files { clients, needed: needed + BESIDE, limit });
        }
        if let Some(ports) = self.ports.filter(|ports| (*ports as f64 * PORTS_USED) < needed as f64) {
            errors.push(LimitError::Ports { clients, needed, ports });
        }
        let threads = u64::from(plan.threads);
        if let Some(limit) = self.threads.filter(|limit| *limit < threads) {
            errors.push(LimitError::Threads { threads, limit });
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

/// Calls that one client has at the same time at most: those of its steps, and one that makes what it listens for.
#[must_use]
pub fn calls(plan: &Plan) -> u32 {
    let steps = if plan.scenario.steps.is_empty() { 0 } else { plan.connections };
    let changes = plan.scenario.listen.as_ref().is_some_and(|listen| listen.ring > 0);
    (steps + u32::from(changes)).max(1)
}

/// Sockets that one client has at most: for its calls, and one for what it listens to.
#[must_use]
pub fn sockets(plan: &Plan) -> u32 {
    calls(plan) + u32::from(plan.scenario.listen.is_some())
}

fn count_of_range(text: &str) -> Option<u64> {
    let mut ends = text.split_ascii_whitespace().map(str::parse::<u64>);
    let (low, high) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some((high + 1).saturating_sub(low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Listen, Scenario};

    const ALLOWED: Allowed = Allowed { files: Some(1024), threads: Some(100), ports: Some(1000) };

    fn plan(clients: u32) -> Plan {
        Plan { clients, ..Plan::new("http://127.0.0.1:1/mcp") }
    }

    fn listening(clients: u32) -> Plan {
        let listen =
            Listen { ring: 0, uri: String::new(), tool: String::new(), every: crate::units::Span::default() };
        Plan { scenario: Scenario { listen: Some(listen), ..Scenario::default() }, ..plan(clients) }
    }

    #[test]
    fn each_client_needs_its_sockets() {
        assert_eq!(ALLOWED.suffices(&plan(896), Share::WHOLE), Ok(()));
        let errors = ALLOWED.suffices(&plan(897), Share::WHOLE).unwrap_err();
        assert_eq!(errors, [LimitError::Files { clients: 897, needed: 1025, limit: 1024 }]);
        assert!(ALLOWED.suffices(&listening(449), Share::WHOLE).is_err());
        assert_eq!(ALLOWED.suffices(&listening(448), Share::WHOLE), Ok(()));
    }

    #[test]
    fn a_share_needs_its_share() {
        assert_eq!(ALLOWED.suffices(&plan(1700), Share { index: 1, of: 2 }), Ok(()));
    }

    #[test]
    fn every_limit_that_is_too_low_is_told() {
        let greedy = Plan { threads: 101, ..plan(1000) };
        let errors = ALLOWED.suffices(&greedy, Share::WHOLE).unwrap_err();
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        for (error, word) in errors.iter().zip(["ulimit -Hn", "ip_local_port_range", "ulimit -u"]) {
            assert!(error.contains(word), "{error}");
        }
        assert_eq!(errors.len(), 3);
        let unlimited = Allowed { files: None, threads: None, ports: None };
        assert_eq!(unlimited.suffices(&greedy, Share::WHOLE), Ok(()));
    }

    #[test]
    fn a_range_of_ports_is_counted() {
        assert_eq!(count_of_range("32768\t60999\n"), Some(28232));
        assert_eq!(count_of_range("nonsense"), None);
    }
}
