//! A replica that loses its way to Redis, while the others have theirs.

use std::time::Duration;

use trunkline_harness::{cut::Severed, fleet::Count, wait::Wait};

use crate::stage::{AFTER, Stage, later, plain, replicas};

/// How long it is cut off.
const CUT: Duration = Duration::from_secs(6);

/// How long the replica may take to say that it is not ready, and that it is again.
const NOTICE: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_replica_without_redis_refuses_leaves_and_returns() {
    let mut stage = Stage::new("one replica cut off from Redis", replicas(plain()).cut(true)).await;
    let from = stage.fleet.now();
    stage.cluster.cut(0).unwrap().sever(Severed::Refused).await;
    let readiness = Wait::new("the replica leaves", NOTICE);
    loop {
        match stage.cluster.replica(0).readiness().await.unwrap().status {
            503 => break,
            status => readiness.again(&status).await.unwrap(),
        }
    }
    assert_eq!(stage.cluster.replica(0).liveness().await.unwrap().status, 200);
    stage.fleet.run_for(CUT).await;
    stage.cluster.cut(0).unwrap().heal().await.unwrap();
    stage.cluster.replica(0).await_ready(NOTICE).await.unwrap();
    let to = stage.fleet.now();
    stage.fleet.run_for(AFTER).await;
    let seen = stage.end().await;

    // A tool that was at work on it says that it failed.
    seen.violates_only(&[Count::ErrorAnswers]);
    for count in [Count::ErrorAnswers, Count::Refusals] {
        seen.only_within(count, from, later(to, NOTICE));
    }
    seen.broke_only(&[Count::Refusals, Count::UnknownOutcomes, Count::Resumptions, Count::Reruns]);
    seen.recovered_within(NOTICE + Duration::from_secs(3));
}
