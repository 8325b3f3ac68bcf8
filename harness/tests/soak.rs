//! A fleet at work for minutes, and what is left of it afterwards.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests, whose figures are to be read")]

use std::time::Duration;

use tokio::time::sleep;
use trunkline_harness::{
    balancer::Kind,
    binary,
    cluster::Cluster,
    fleet::Fleet,
    redis::{Options, Topology},
    wait::Wait,
};

/// How long the fleet works; `SOAK_SECONDS` says otherwise.
const MINUTES: Duration = Duration::from_secs(600);

/// How long a first fleet works, for what is made once and kept.
const FIRST: Duration = Duration::from_secs(60);

/// How long whatever is kept for a while may be kept: logs, records, and a session's place on a replica.
const FORGET: Duration = Duration::from_secs(300);

/// How much a replica may have grown. What an allocator keeps for the next time varies with the hour.
const GROWN: f64 = 1.25;

/// Counts what [`Use`] says of keys.
const COUNT: &str = r"
local cursor, keys, immortal = '0', 0, 0
repeat
    local page = redis.call('SCAN', cursor, 'COUNT', 1000)
    cursor = page[1]
    for _, key in ipairs(page[2]) do
        local kept = string.find(key, ':nonce:', 1, true) or string.sub(key, -5) == ':meta'
        if not kept then keys = keys + 1 end
        if redis.call('PTTL', key) == -1 then immortal = immortal + 1 end
    end
until cursor == '0'
return {keys, immortal}";

/// What is in use.
#[derive(Clone, Debug, PartialEq)]
struct Use {
    /// Open files of each replica.
    files: Vec<usize>,
    /// Keys in Redis, but for those that are kept for many minutes whatever happens: where a log that has expired ended, and
    /// which answers were used.
    keys: i64,
    /// Keys that never expire.
    immortal: i64,
    /// Channels that somebody subscribes to.
    channels: usize,
    /// Connections to Redis.
    connections: i64,
}

// === impl Use ===

impl Use {
    /// Whether nothing is more than it was.
    fn is_within(&self, base: &Self) -> bool {
        self.files.iter().zip(&base.files).all(|(now, base)| now <= base)
            && self.keys <= base.keys
            && self.immortal <= base.immortal
            && self.channels <= base.channels
            && self.connections <= base.connections
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "takes a quarter of an hour: make soak"]
async fn nothing_is_left_behind() {
    let seconds = std::env::var("SOAK_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let minutes = seconds.map_or(MINUTES, Duration::from_secs);
    let mut cluster = Cluster::builder(binary::trunkline().unwrap())
        .replicas(3)
        .balancer(Kind::Haproxy)
        .redis(Topology::Standalone(Options::default()))
        .key("limits", "log_age", "20s")
        .key("store", "session_ttl", "60s")
        .start()
        .await
        .unwrap();
    work(&cluster, FIRST.min(minutes)).await;
    let base = settled(&mut cluster).await;
    let memory = memory(&mut cluster);
    println!("before: {base:?}, {memory:?} MiB");

    work(&cluster, minutes).await;
    let wait = Wait::new("everything is as before", FORGET);
    loop {
        let now = used(&mut cluster).await;
        if now.is_within(&base) {
            break;
        }
        wait.again(&(&now, &base)).await.unwrap();
        sleep(Duration::from_secs(1)).await;
    }
    let after = self::memory(&mut cluster);
    println!("after: {base:?}, {after:?} MiB");
    for (before, after) in memory.iter().zip(&after) {
        assert!(*after as f64 <= *before as f64 * GROWN, "from {before} MiB to {after} MiB");
    }
}

/// Lets a fleet work, which has to be without a fault.
async fn work(cluster: &Cluster, time: Duration) {
    let fleet = Fleet::builder(format!("{}/mcp", cluster.url())).clients(200).seed(11).start().await;
    let fleet = fleet.unwrap();
    fleet.run_for(time).await;
    let report = fleet.stop().await;
    println!("{report}");
    assert_eq!(report.violations(&[]), [], "{report}");
}

/// What is in use when nothing changes any more.
async fn settled(cluster: &mut Cluster) -> Use {
    // Longer than anything is kept that nobody uses.
    const STEADY: u32 = 75;
    let wait = Wait::new("nothing changes any more", FORGET);
    let (mut last, mut steady) = (used(cluster).await, 0);
    while steady < STEADY {
        sleep(Duration::from_secs(1)).await;
        let now = used(cluster).await;
        steady = if now == last { steady + 1 } else { 0 };
        wait.again(&now).await.unwrap();
        last = now;
    }
    last
}

async fn used(cluster: &mut Cluster) -> Use {
    let files = cluster.replicas().iter().map(|replica| replica.open_fds().unwrap_or(0)).collect();
    let redis = cluster.redis().unwrap().standalone().unwrap();
    let clients = redis.command(&["INFO", "clients"]).await.unwrap().text().unwrap();
    let connected = clients.lines().find_map(|line| line.strip_prefix("connected_clients:"));
    let counted = redis.command(&["EVAL", COUNT, "0"]).await.unwrap();
    let [keys, immortal] = [0, 1].map(|at: usize| counted.list()[at].integer().unwrap());
    Use {
        files,
        keys,
        immortal,
        channels: redis.command(&["PUBSUB", "CHANNELS"]).await.unwrap().list().len(),
        connections: connected.unwrap().trim().parse().unwrap(),
    }
}

/// What each replica occupies, in MiB.
fn memory(cluster: &mut Cluster) -> Vec<u64> {
    cluster.replicas().iter().map(|replica| replica.rss().unwrap_or(0) >> 20).collect()
}
