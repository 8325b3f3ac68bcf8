//! Replicas that are replaced one after the other.

use std::time::Duration;

use trunkline_harness::fleet::Count;

use crate::stage::{BEFORE, Stage, plain, replicas};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_rolling_restart_fails_nothing() {
    let mut stage = Stage::new("rolling restart of three replicas", replicas(plain())).await;
    for replica in 0..3 {
        let (status, took) = stage.cluster.replica(replica).drain(Duration::from_secs(30)).await.unwrap();
        assert!(status.success(), "{status}: {}", stage.cluster.replica(replica).logs_tail());
        println!("replica {replica} drained in {took:?}");
        stage.cluster.replica(replica).restart().await.unwrap();
        stage.fleet.run_for(BEFORE).await;
    }
    let seen = stage.end().await;

    seen.violates_only(&[]);
    // A call whose client comes back for the rest of its stream does so without a loss.
    seen.broke_only(&[Count::Resumptions]);
    seen.recovered_within(Duration::from_secs(3));
    assert!(seen.count(Count::ListenersResumed) > 0, "{}", seen.report);
}
