//! Ten thousand streams that listen, on three replicas and one Redis.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests, whose figures are to be read")]

use std::time::{Duration, Instant};

use trunkline_harness::{
    binary,
    cluster::Cluster,
    fleet::crowd::Crowd,
    redis::{Options, Topology},
};

/// Each takes a socket here and one of a replica; a process may have 20 000.
const STREAMS: usize = 10_000;

/// How many are open before it is counted what the replicas need by themselves.
const FIRST: usize = 30;

/// How long a broadcast may take to the last. Far above what it takes on a busy machine without optimisation.
const LIMIT: Duration = Duration::from_secs(30);

const BROADCASTS: u16 = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn streams_take_no_connection_to_redis_and_a_broadcast_reaches_each_once() {
    let mut cluster = Cluster::builder(binary::trunkline().unwrap())
        .replicas(3)
        .redis(Topology::Standalone(Options::default()))
        .start()
        .await
        .unwrap();
    let urls: Vec<String> =
        cluster.replicas().iter().map(|replica| format!("{}/mcp", replica.url())).collect();
    // Whatever is made when it is first used is there after this.
    let mut few = Crowd::open(&urls, FIRST, 1).await.unwrap();
    let reach = few.broadcast(LIMIT).await.unwrap();
    assert_eq!((reach.times.len(), reach.missed, reach.again), (FIRST, 0, 0));
    drop(few);
    let before = connections(&mut cluster).await;

    let began = Instant::now();
    let mut crowd = Crowd::open(&urls, STREAMS, BROADCASTS).await.unwrap();
    println!("{STREAMS} streams opened in {:.1?}", began.elapsed());
    assert_eq!(connections(&mut cluster).await, before);
    for round in 0..BROADCASTS {
        let reach = crowd.broadcast(LIMIT).await.unwrap();
        println!(
            "broadcast {round} reached {}: p50 {:.1?}, p99 {:.1?}, all {:.1?}",
            reach.times.len(),
            reach.quantile(0.5),
            reach.quantile(0.99),
            reach.quantile(1.0)
        );
        assert_eq!((reach.times.len(), reach.missed, reach.again), (STREAMS, 0, 0));
    }
    assert_eq!(crowd.ended(), (0, None));
    assert_eq!(connections(&mut cluster).await, before);
    for replica in cluster.replicas() {
        let (rss, files) = (replica.rss().unwrap_or(0), replica.open_fds().unwrap_or(0));
        println!("{}: {} MiB, {files} files", replica.name(), rss >> 20);
    }
}

/// The connections to Redis.
async fn connections(cluster: &mut Cluster) -> i64 {
    let redis = cluster.redis().unwrap().standalone().unwrap();
    let clients = redis.command(&["INFO", "clients"]).await.unwrap().text().unwrap();
    let connected = clients.lines().find_map(|line| line.strip_prefix("connected_clients:"));
    connected.unwrap().trim().parse().unwrap()
}
