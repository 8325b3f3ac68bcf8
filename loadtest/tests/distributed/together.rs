//! Real agents with real clients: two of them measure what one process measures.
//!
//! What is compared is time, so that both need the real clock. What the server does takes as long as the request says, and
//! each percentile that is compared lies in the middle of those that take the same: a busy machine shifts it little.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use trunkline_loadtest::{
    distributed::{agent, coordinator::Outcome},
    driver,
    plan::{Arrival, Begin, Plan, RevisionChoice, Scenario, Share},
    tally::{OperationTally, Tally},
    units::{Rate, Span},
};

use crate::{
    server::{LEVELS, Server},
    stage::Stage,
};

/// How far two measurements of the same may be apart: what timers of a busy machine are off by, and the histogram's 0.1 %.
const APART: f64 = 0.03;

fn plan(server: &Server) -> Plan {
    Plan {
        clients: 80,
        revisions: vec![(RevisionChoice::V2025_11_25, 1)],
        arrival: Arrival::Constant { rate: Rate(100.0) },
        warmup: Span(Duration::from_secs(1)),
        duration: Span(Duration::from_secs(4)),
        seed: 7,
        scenario: Scenario { begin: Begin::Spread(Span(Duration::from_millis(500))), ..Scenario::default() },
        ..Plan::new(&server.url())
    }
}

/// Calls of each level.
fn levels(measured: &OperationTally) -> Vec<u64> {
    let histogram = measured.latency.histogram();
    let within = |millis: u64| histogram.count_between(millis * 950, millis * 1700);
    LEVELS.iter().map(|(millis, _)| within(*millis)).collect()
}

/// What two agents come to.
async fn two_agents(plan: &Plan) -> Outcome {
    let stage = Stage::of(2, plan).await;
    let agents = ["first", "second"].map(|name| {
        let options = stage.agent(name);
        tokio::spawn(async move { agent::run(&options, &CancellationToken::new(), &|_| {}).await })
    });
    let outcome = stage.outcome().await.unwrap();
    for agent in agents {
        agent.await.unwrap().unwrap();
    }
    outcome
}

#[test]
fn two_agents_measure_what_one_process_measures() {
    let (alone, shared) = (Server::start(), Server::start());
    let mut nobody = |_: &Tally| {};
    let whole = driver::run(&plan(&alone), Share::WHOLE, &mut nobody, &CancellationToken::new()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let outcome = runtime.block_on(two_agents(&plan(&shared)));
    assert!(outcome.agents.iter().all(|agent| agent.lost.is_none()), "{:?}", outcome.agents);
    assert_eq!(outcome.tally.sessions.opened, 80);

    // The same seed asks for the same, however the clients are shared out; the last calls of the run are cut off anywhere.
    let (alone, shared) = (alone.sums.lock().clone(), shared.sums.lock().clone());
    assert!(
        alone.symmetric_difference(&shared).count() * 50 < alone.len(),
        "{} and {}",
        alone.len(),
        shared.len()
    );

    let (whole, together) = (whole.overall(), outcome.tally.overall());
    assert_eq!((whole.failures(), together.failures()), (0, 0));
    for (one, two) in levels(&whole).into_iter().zip(levels(&together)) {
        assert!(one.abs_diff(two) * 20 <= one, "{:?} and {:?}", levels(&whole), levels(&together));
    }
    // The middles of the levels.
    for (percent, (millis, _)) in [30.0, 75.0, 95.0].into_iter().zip(LEVELS) {
        let [one, two] =
            [&whole, &together].map(|measured| measured.latency.percentile(percent).as_secs_f64() * 1000.0);
        assert!((one / two - 1.0).abs() < APART, "p{percent}: {one} ms and {two} ms");
        assert!(
            (one / millis as f64 - 1.0).abs() < 0.1,
            "p{percent}: {one} ms, and the server took {millis}"
        );
    }
}
