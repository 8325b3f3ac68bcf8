//! What several agents count comes out as if one had counted it.

use std::time::Duration;

use trunkline_loadtest::{
    distributed::{coordinator::Outcome, wire::FromCoordinator},
    plan::{Plan, Share},
    report::WarningKind,
    tally::{Operation, Tally},
};

use crate::{
    scripted::Scripted,
    stage::{Stage, secret},
};

fn plan() -> Plan {
    let mut plan = Plan { clients: 20, ..Plan::new("http://127.0.0.1:1/mcp") };
    plan.headers.push(("x-key".to_owned(), "value".to_owned()));
    plan
}

/// What these clients would count in a second: each has a latency of its own.
fn counted(plan: &Plan, share: Share, second: u32) -> Tally {
    let mut tally = Tally { slot_seconds: plan.slot_seconds(), ..Tally::default() };
    for client in share.clients(plan.clients) {
        let latency = Duration::from_micros(u64::from(client * client * 137 + second * 11 + 50));
        let operation = tally.operations.entry(Operation::tool("add")).or_default();
        operation.started += 1;
        operation.succeeded += 1;
        operation.latency.record(latency);
        let entry = tally.timeline.entry(second).or_default();
        entry.succeeded += 1;
        entry.latency.record(latency);
        tally.sessions.opened += 1;
        tally.add_server("demo 1", 1);
    }
    tally
}

fn all(plan: &Plan, shares: &[Share], seconds: u32) -> Tally {
    let mut sum = Tally { slot_seconds: plan.slot_seconds(), ..Tally::default() };
    for second in 0..seconds {
        shares.iter().for_each(|share| sum.merge(&counted(plan, *share, second)));
    }
    sum
}

async fn two(stage: &Stage, plan: &Plan) -> [Scripted; 2] {
    let (first, told) = Scripted::ready(stage.address, &secret(), "first").await;
    assert_eq!(told, *plan, "the plan arrives as it is");
    let (second, _) = Scripted::ready(stage.address, &secret(), "second").await;
    assert_eq!([first.share, second.share].map(|share| share.to_string()), ["0 of 2", "1 of 2"]);
    let mut agents = [first, second];
    let [first, second] = &mut agents;
    tokio::join!(first.begin(), second.begin());
    agents
}

#[tokio::test]
async fn the_sum_is_what_one_process_would_have_counted() {
    let plan = plan();
    let stage = Stage::of(2, &plan).await;
    let [mut first, mut second] = two(&stage, &plan).await;
    for number in 0..3 {
        first.progress(&counted(&plan, first.share, number)).await;
        second.progress(&counted(&plan, second.share, number)).await;
    }
    tokio::join!(first.done(), second.done());
    let Outcome { tally, agents, stopped, .. } = stage.outcome().await.unwrap();
    let whole = all(&plan, &[Share::WHOLE], 3);
    assert_eq!(tally, whole, "to the last bucket");
    assert_eq!(tally.overall().latency.percentile(99.9), whole.overall().latency.percentile(99.9));
    assert!(!stopped && agents.iter().all(|agent| agent.lost.is_none()));
}

#[tokio::test]
async fn the_loss_of_an_agent_is_survived_and_told() {
    let plan = plan();
    let stage = Stage::of(2, &plan).await;
    let [mut first, mut second] = two(&stage, &plan).await;
    let (kept, gone) = (first.share, second.share);
    second.progress(&counted(&plan, gone, 0)).await;
    drop(second);
    stage.told.says("lost agent second").await;
    first.progress(&counted(&plan, kept, 0)).await;
    first.done().await;
    let outcome = stage.outcome().await.unwrap();
    assert_eq!(outcome.tally, all(&plan, &[kept, gone], 1), "what it had told is kept");
    let report = outcome.report(&plan, "", []);
    let run = &report.runs[0];
    let warning = run.warnings.iter().find(|warning| warning.kind == WarningKind::AgentLost).unwrap();
    for words in ["agent second", "its 10 clients", "the connection was closed"] {
        assert!(warning.text.contains(words), "{words}: {warning:?}");
    }
    let processes: Vec<&str> =
        report.provenance.machines.iter().map(|machine| machine.process.as_str()).collect();
    assert_eq!(processes, ["0 of 2", "1 of 2"]);
}

#[tokio::test]
async fn a_stop_reaches_every_agent_and_what_they_counted_is_kept() {
    let plan = plan();
    let stage = Stage::of(2, &plan).await;
    let agents = two(&stage, &plan).await;
    stage.stop.cancel();
    let mut shares = Vec::new();
    for mut agent in agents {
        shares.push(agent.share);
        agent.until(|message| matches!(message, FromCoordinator::Stop)).await;
        agent.progress(&counted(&plan, agent.share, 0)).await;
        tokio::spawn(agent.done());
    }
    let outcome = stage.outcome().await.unwrap();
    assert!(outcome.stopped);
    assert_eq!(outcome.tally, all(&plan, &shares, 1));
}

#[tokio::test]
async fn when_all_are_lost_there_is_no_run() {
    let plan = plan();
    let stage = Stage::of(2, &plan).await;
    drop(two(&stage, &plan).await);
    let error = stage.outcome().await.unwrap_err().to_string();
    assert!(error.contains("every agent was lost"), "{error}");
}

#[tokio::test]
async fn who_leaves_before_the_start_makes_room_for_another() {
    let plan = plan();
    let stage = Stage::of(1, &plan).await;
    let (early, _) = Scripted::ready(stage.address, &secret(), "early").await;
    drop(early);
    stage.told.says("is gone before the start").await;
    let (mut late, _) = Scripted::ready(stage.address, &secret(), "late").await;
    late.begin().await;
    late.progress(&counted(&plan, late.share, 0)).await;
    late.done().await;
    assert_eq!(stage.outcome().await.unwrap().tally, all(&plan, &[Share::WHOLE], 1));
}

#[tokio::test]
async fn what_counts_differently_is_not_added() {
    let plan = plan();
    let stage = Stage::of(2, &plan).await;
    let [mut first, mut second] = two(&stage, &plan).await;
    let kept = first.share;
    let mut strange = counted(&plan, second.share, 0);
    strange.slot_seconds += 1;
    second.progress(&strange).await;
    stage.told.says("it counts differently").await;
    first.progress(&counted(&plan, kept, 0)).await;
    first.done().await;
    assert_eq!(stage.outcome().await.unwrap().tally, all(&plan, &[kept], 1));
}
