//! A replica that stands still for longer than its leases last, and goes on.

use std::time::Duration;

use trunkline_harness::fleet::Count;

use crate::stage::{AFTER, Stage, plain, replicas};

/// Longer than a lease, shorter than what is called hanging.
const ASLEEP: Duration = Duration::from_secs(8);

/// How long a stream is silent before its client comes back for the rest: others take its call over while it sleeps.
const STALL: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_replica_that_slept_past_its_lease_changes_nothing_when_it_wakes() {
    let cluster = replicas(plain()).key("server", "stream_keep_alive", "1s");
    let mut stage = Stage::with("SIGSTOP past the lease", cluster, |fleet| fleet.stall(STALL)).await;
    let slept = stage.fleet.now();
    stage.cluster.replica(0).stop().unwrap();
    stage.fleet.run_for(ASLEEP).await;
    stage.cluster.replica(0).resume().unwrap();
    stage.fleet.run_for(AFTER).await;
    let seen = stage.end().await;

    seen.violates_only(&[]);
    // Calls on streams go on elsewhere. Nobody knows of a plain one more than that it has not been answered yet. What waited
    // for Redis when the replica was stopped has waited too long when it wakes: 503, try again.
    seen.broke_only(&[
        Count::CutForGood,
        Count::Reruns,
        Count::Resumptions,
        Count::FailedInFlight,
        Count::Refusals,
    ]);
    seen.recovered_within(ASLEEP + Duration::from_secs(3));
    assert!(seen.count(Count::ListenersResumed) > 0, "{}", seen.report);
    assert!(seen.report.tally(Count::Resumptions).first > slept, "{}", seen.report);
}
