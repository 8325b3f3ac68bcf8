//! Redis away for a while: with what it knew, and without.

use std::time::Duration;

use trunkline_harness::fleet::{Count, Report};

use crate::stage::{AFTER, BEFORE, Stage, durable, later, plain, replicas};

/// How long it is away.
const AWAY: Duration = Duration::from_secs(4);

/// How long the replicas may take to notice that it is back.
const BACK: Duration = Duration::from_secs(3);

/// How many sessions each replica opens in a second when all are lost: far fewer than clients that come at once.
const RATE: usize = 15;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn redis_that_comes_back_with_its_data_is_a_pause_and_no_loss() {
    let mut stage = Stage::new("Redis restarted with its data", replicas(durable())).await;
    let gone = stage.fleet.now();
    let redis = stage.cluster.redis().unwrap().standalone().unwrap();
    redis.kill();
    stage.fleet.run_for(AWAY).await;
    let redis = stage.cluster.redis().unwrap().standalone().unwrap();
    redis.restart_with_data().await.unwrap();
    let back = stage.fleet.now();
    stage.fleet.run_for(AFTER).await;
    let seen = stage.end().await;

    // A tool that was at work when it went away says that it failed; everything else is told to come back.
    seen.violates_only(&[Count::ErrorAnswers]);
    seen.broke_only(&[Count::Refusals, Count::UnknownOutcomes, Count::Resumptions, Count::Reruns]);
    for count in [Count::ErrorAnswers, Count::Refusals] {
        seen.only_within(count, gone, later(back, BACK));
    }
    assert!(seen.count(Count::Refusals) > 0, "{}", seen.report);
    seen.recovered_within(AWAY + BACK + Duration::from_secs(3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn redis_that_comes_back_empty_has_the_fleet_begin_anew_in_good_order() {
    let bounded = replicas(plain()).key("store", "recovery_rate", &RATE.to_string());
    let mut stage = Stage::new("Redis restarted empty", bounded).await;
    let gone = stage.fleet.now();
    stage.cluster.redis().unwrap().standalone().unwrap().restart_empty().await.unwrap();
    stage.fleet.run_for(AFTER + BEFORE).await;
    let seen = stage.end().await;

    // Progress that was on its way when Redis went is gone with the log that it was in: the stream shows a gap.
    seen.violates_only(&[Count::ErrorAnswers, Count::SessionsLost, Count::HandlesLost, Count::EventsLost]);
    seen.only_within(Count::EventsLost, gone, later(gone, BACK));
    seen.only_within(Count::SessionsLost, gone, later(gone, AFTER));
    // Each that lost a session has a new one.
    let lost = seen.count(Count::SessionsLost) + seen.count(Count::HandlesLost);
    assert!(seen.count(Count::SessionsLost) > 0, "{}", seen.report);
    assert!(seen.count(Count::Sessions) >= lost + seen.report.clients as u64, "{}", seen.report);
    // Three replicas, each of which may have saved up a second's worth.
    let most = most_in_a_second(&seen.report, gone.0);
    println!("most sessions opened in a second, after that: {most} of {RATE} a replica");
    assert!(most <= 3 * 2 * RATE, "{most} sessions were opened within a second\n{}", seen.report);
    assert!(seen.count(Count::Refusals) > 0, "nobody was told to wait\n{}", seen.report);
    seen.recovered_within(AFTER + BEFORE);
}

/// The most sessions that were opened within any second.
fn most_in_a_second(report: &Report, after: u64) -> usize {
    let opened: Vec<u64> = report.opened.iter().map(|at| at.0).filter(|at| *at > after).collect();
    let ends = opened.iter().map(|from| opened.partition_point(|at| *at < from + 1_000_000));
    ends.enumerate().map(|(from, end)| end - from).max().unwrap_or(0)
}
