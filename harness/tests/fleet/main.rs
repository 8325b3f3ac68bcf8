//! The fleet itself: it finds nothing where nothing is wrong, and counts exactly what is done to it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod meddler;

use std::time::Duration;

use trunkline_harness::{
    binary,
    cluster::Cluster,
    cut::Cut,
    fleet::{Count, Fleet, Mix, Report},
};
use trunkline_protocol::Revision;

use crate::meddler::{Meddler, Meddling};

const CLIENTS: u32 = 40;

const WORK: Duration = Duration::from_secs(4);

async fn server() -> Cluster {
    Cluster::builder(binary::trunkline().unwrap()).start().await.unwrap()
}

async fn work(url: &str, mix: Mix) -> Report {
    let fleet = Fleet::builder(format!("{url}/mcp")).clients(CLIENTS).seed(3).mix(mix).start().await;
    let fleet = fleet.unwrap_or_else(|error| panic!("{error}"));
    fleet.run_for(WORK).await;
    fleet.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nothing_is_wrong_with_a_server_that_is_left_alone() {
    let cluster = server().await;
    let report = work(&cluster.url(), Mix::default()).await;
    assert_eq!(report.violations(&[]), [], "{report}");
    let broken = Count::ALL.into_iter().find(|count| count.is_breakage() && report.count(*count) > 0);
    assert_eq!(broken, None, "{report}");
    // And it has been looked at.
    for count in [Count::Calls, Count::Answers, Count::Events] {
        assert!(report.count(count) >= u64::from(CLIENTS), "{report}");
    }
}

/// Also the one that knows nothing of the endpoint it is served at.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn each_revision_is_spoken_alone() {
    let cluster = server().await;
    for revision in Revision::ALL {
        let report = work(&cluster.url(), Mix::only(revision)).await;
        assert_eq!(report.violations(&[]), [], "{revision:?}\n{report}");
        assert!(report.count(Count::Events) >= u64::from(CLIENTS), "{revision:?}\n{report}");
    }
}

/// Does something to one message in eight, and returns how often it was done and what the fleet says.
async fn meddled(meddling: Meddling) -> (u64, Report) {
    let cluster = server().await;
    let meddler = Meddler::start(cluster.address(), meddling).await;
    let report = work(&format!("http://{}", meddler.address()), Mix::default()).await;
    (meddler.done(), report)
}

/// The only violation is this one, and it is counted as often as it was committed.
#[track_caller]
fn exactly(count: Count, done: u64, report: &Report) {
    assert!(done > 0, "nothing was done");
    assert_eq!(report.violations(&[count]), [], "{report}");
    assert_eq!(report.count(count), done, "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn changes_that_are_dropped_are_counted() {
    let (done, report) = meddled(Meddling::drop("notifications/resources/updated")).await;
    exactly(Count::EventsLost, done, &report);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn changes_that_are_repeated_are_counted() {
    let (done, report) = meddled(Meddling::repeat("notifications/resources/updated")).await;
    exactly(Count::EventsDuplicated, done, &report);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn progress_that_is_dropped_is_counted() {
    let (done, report) = meddled(Meddling::drop("notifications/progress")).await;
    exactly(Count::EventsLost, done, &report);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn progress_that_is_repeated_is_counted() {
    let (done, report) = meddled(Meddling::repeat("notifications/progress")).await;
    exactly(Count::EventsDuplicated, done, &report);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn answers_that_are_repeated_are_counted() {
    let (done, report) = meddled(Meddling::repeat("\"result\":{\"content\"")).await;
    exactly(Count::AnswersDuplicated, done, &report);
}

/// A client that can come back for an answer gets it, and one that cannot makes the call again if it may.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn answers_that_are_dropped_are_fetched() {
    let (done, report) = meddled(Meddling::drop("\"result\":{\"content\"")).await;
    assert!(done > 0);
    assert_eq!(report.violations(&[]), [], "{report}");
    assert_eq!(report.count(Count::Resumptions) + report.count(Count::CutForGood), done, "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn values_that_are_changed_are_counted() {
    let (done, report) = meddled(Meddling::replace("\"value\":", "\"value\":7")).await;
    assert!(done > 0);
    assert_eq!(report.violations(&[Count::WrongValues]), [], "{report}");
    assert!(report.count(Count::WrongValues) > 0, "{report}");
}

/// Every connection is cut again and again: what cannot be resumed is made again or accounted for, and nothing is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn connections_that_break_lose_nothing() {
    let cluster = server().await;
    let cut = Cut::start(cluster.address()).await.unwrap();
    let fleet = Fleet::builder(format!("http://{}/mcp", cut.address())).clients(CLIENTS).seed(5);
    let fleet = fleet.start().await.unwrap_or_else(|error| panic!("{error}"));
    for _ in 0..8 {
        fleet.run_for(WORK / 8).await;
        cut.reset();
    }
    let report = fleet.stop().await;
    assert_eq!(report.violations(&[]), [], "{report}");
    for count in [Count::ListenersResumed, Count::Resumptions] {
        assert!(report.count(count) > 0, "{report}");
    }
}
