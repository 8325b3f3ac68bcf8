//! The connections that carry wake-ups and signals, closed under the replicas.

use std::time::Duration;

use trunkline_harness::fleet::Count;

use crate::stage::{AFTER, Stage, plain, replicas};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn subscriptions_that_are_cut_again_and_again_lose_no_event() {
    let mut stage = Stage::new("CLIENT KILL of all Pub/Sub connections, five times", replicas(plain())).await;
    for _ in 0..5 {
        stage.cluster.redis().unwrap().client_kill_pubsub().await.unwrap();
        stage.fleet.run_for(Duration::from_secs(2)).await;
    }
    stage.fleet.run_for(AFTER / 2).await;
    let seen = stage.end().await;

    seen.violates_only(&[]);
    seen.broke_only(&[Count::Resumptions, Count::Refusals]);
    seen.recovered_within(Duration::from_secs(3));
}
