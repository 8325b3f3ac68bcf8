//! What is hurt, and who watches.

use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};
use trunkline_harness::{
    balancer::Kind,
    binary,
    cluster::{Builder, Cluster},
    fleet::{Count, Fleet, FleetBuilder, Report, history::At},
    redis::{Options, Topology},
};

/// How many clients watch.
pub(crate) const CLIENTS: u32 = 200;

/// How long everything goes well before something goes wrong.
pub(crate) const BEFORE: Duration = Duration::from_secs(5);

/// How long it goes on afterwards.
pub(crate) const AFTER: Duration = Duration::from_secs(12);

/// One at a time: each measures, and there are few processors.
static TURN: Mutex<()> = Mutex::const_new(());

/// A cluster and its clients.
pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    pub(crate) fleet: Fleet,
    name: &'static str,
    _turn: MutexGuard<'static, ()>,
}

/// What came of it.
pub(crate) struct Seen {
    pub(crate) report: Report,
}

/// A Redis that keeps nothing on disk.
pub(crate) fn plain() -> Topology {
    Topology::Standalone(Options::default())
}

/// A Redis that keeps what it acknowledged.
pub(crate) fn durable() -> Topology {
    Topology::Standalone(Options { appendonly: true, ..Options::default() })
}

/// Three replicas behind HAProxy.
pub(crate) fn replicas(redis: Topology) -> Builder {
    Cluster::builder(binary::trunkline().unwrap())
        .replicas(3)
        .balancer(Kind::Haproxy)
        .redis(redis)
        // Longer than the balancer takes to see that a replica leaves.
        .key("server", "drain_delay", "3s")
        .key("server", "drain_grace", "20s")
}

// === impl Stage ===

impl Stage {
    /// Starts the servers and the usual clients, and lets them go on for a while.
    pub(crate) async fn new(name: &'static str, cluster: Builder) -> Self {
        Self::with(name, cluster, |fleet| fleet).await
    }

    /// The same with other clients.
    pub(crate) async fn with(
        name: &'static str,
        cluster: Builder,
        clients: impl FnOnce(FleetBuilder) -> FleetBuilder,
    ) -> Self {
        let turn = TURN.lock().await;
        let cluster = cluster.start().await.unwrap();
        let fleet = Fleet::builder(format!("{}/mcp", cluster.url())).clients(CLIENTS).seed(7);
        let fleet = clients(fleet).start().await.unwrap_or_else(|error| panic!("{error}"));
        fleet.run_for(BEFORE).await;
        Self { cluster, fleet, name, _turn: turn }
    }

    /// Ends the clients, and reads what they noted.
    pub(crate) async fn end(mut self) -> Seen {
        let report = self.fleet.stop().await;
        println!("{}\n{report}", self.name);
        if !report.violations(&[]).is_empty() {
            for replica in self.cluster.replicas() {
                println!("{}:\n{}", replica.name(), replica.logs_tail());
            }
        }
        Seen { report }
    }
}

// === impl Seen ===

impl Seen {
    pub(crate) fn count(&self, count: Count) -> u64 {
        self.report.count(count)
    }

    /// Nothing was violated, apart from these.
    #[track_caller]
    pub(crate) fn violates_only(&self, expected: &[Count]) {
        let violations = self.report.violations(expected);
        assert!(violations.is_empty(), "{violations:?}\n{}", self.report);
    }

    /// Nothing broke under a call, apart from these.
    #[track_caller]
    pub(crate) fn broke_only(&self, expected: &[Count]) {
        let broken = Count::ALL.into_iter().filter(|count| count.is_breakage() && self.count(*count) > 0);
        let broken: Vec<Count> = broken.filter(|count| !expected.contains(count)).collect();
        assert!(broken.is_empty(), "{broken:?}\n{}", self.report);
    }

    /// This happened only between two times, if at all.
    #[track_caller]
    pub(crate) fn only_within(&self, count: Count, from: At, to: At) {
        let tally = self.report.tally(count);
        let within = tally.times == 0 || (tally.first >= from && tally.last <= to);
        assert!(within, "{count:?} not between {from} and {to}, but {tally:?}\n{}", self.report);
    }

    /// No client was without a success for longer.
    #[track_caller]
    pub(crate) fn recovered_within(&self, limit: Duration) {
        assert!(self.report.longest_silence <= limit, "{limit:?}\n{}", self.report);
    }
}

/// A time a little later.
pub(crate) fn later(at: At, by: Duration) -> At {
    At(at.0 + u64::try_from(by.as_micros()).unwrap())
}
