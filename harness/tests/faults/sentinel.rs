//! A primary that dies, and its replica that takes its place.

use std::time::Duration;

use trunkline_harness::{
    fleet::Count,
    redis::{Redis, Topology},
};

use crate::stage::{AFTER, Stage, later, replicas};

/// How long the replicas may take to find the new primary.
const BACK: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_failover_keeps_the_sessions_that_were_acknowledged() {
    let mut stage = Stage::new("Sentinel failover", replicas(Topology::Sentinel)).await;
    let killed = stage.fleet.now();
    let Some(Redis::Sentinel(sentinel)) = stage.cluster.redis() else { panic!("no sentinels") };
    sentinel.kill_primary();
    let took = sentinel.await_failover(Duration::from_secs(60)).await.unwrap();
    let back = stage.fleet.now();
    println!("failover in {took:?}");
    stage.fleet.run_for(AFTER).await;
    let seen = stage.end().await;

    // What was written in the last moments before may be lost with the old primary: calls and events, but no session of
    // before. Whoever waits for an answer meanwhile waits for as long as the failover takes.
    seen.violates_only(&[Count::ErrorAnswers, Count::EventsLost, Count::WrongValues, Count::Hung]);
    for count in [Count::ErrorAnswers, Count::Refusals] {
        seen.only_within(count, killed, later(back, BACK));
    }
    seen.only_within(Count::Hung, killed, later(back, BACK));
    assert!(seen.count(Count::Refusals) > 0, "{}", seen.report);
    seen.recovered_within(took + BACK + Duration::from_secs(3));
}
