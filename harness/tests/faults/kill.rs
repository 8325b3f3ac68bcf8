//! A replica that is killed.

use std::time::Duration;

use trunkline_harness::fleet::Count;

use crate::stage::{AFTER, BEFORE, CLIENTS, Stage, later, plain, replicas};

/// How long it may take until each client has its next success.
const RECOVERY: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_killed_replica_takes_nothing_with_it_but_the_plain_calls_in_flight() {
    let mut stage = Stage::new("kill -9 of one replica of three", replicas(plain())).await;
    let killed = stage.fleet.now();
    stage.cluster.replica(0).kill();
    stage.fleet.run_for(AFTER).await;
    stage.cluster.replica(0).restart().await.unwrap();
    stage.fleet.run_for(BEFORE).await;
    let seen = stage.end().await;

    seen.violates_only(&[]);
    seen.broke_only(&[
        Count::FailedInFlight,
        Count::CutForGood,
        Count::UnknownOutcomes,
        Count::Reruns,
        Count::Resumptions,
    ]);
    // What was in flight broke at once, and nothing later.
    for count in [Count::FailedInFlight, Count::CutForGood, Count::UnknownOutcomes] {
        seen.only_within(count, killed, later(killed, RECOVERY));
        assert!(seen.count(count) <= u64::from(CLIENTS), "{}", seen.report);
    }
    // A third of all streams were on it.
    assert!(seen.count(Count::ListenersResumed) > 0, "{}", seen.report);
    seen.recovered_within(RECOVERY);
}
