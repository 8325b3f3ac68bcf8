//! Each thing that a server may do wrong is caught, and named.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod fake;

use fake::{Fake, Fault};
use tokio_util::sync::CancellationToken;
use trunkline_loadtest::{
    driver,
    plan::{Action, Begin, Listen, Plan, RevisionChoice, Scenario, Share, Step},
    tally::{Check, ErrorKind, Tally},
    units::Span,
};

use std::time::Duration;

fn plan(fake: &Fake, actions: Vec<Action>, ring: u16) -> Plan {
    let mut plan = Plan::new(&fake.url());
    plan.revisions = vec![(RevisionChoice::V2025_11_25, 1)];
    plan.clients = if ring > 0 { 1 } else { 4 };
    plan.duration = Span(Duration::from_millis(1200));
    plan.timeout = Span(Duration::from_millis(400));
    plan.scenario = Scenario {
        begin: Begin::AtOnce,
        think: Span(Duration::from_millis(20)),
        steps: actions.into_iter().map(|action| Step { weight: 1, action }).collect(),
        listen: (ring > 0).then(|| Listen {
            ring,
            uri: "loadtest://{client}/{slot}".to_owned(),
            tool: "touch".to_owned(),
            every: Span(Duration::from_millis(20)),
        }),
        ..Scenario::default()
    };
    plan
}

fn run(fault: Fault, actions: Vec<Action>, ring: u16) -> Tally {
    run_on(&Fake::start(fault, None), fault, actions, ring)
}

fn run_on(fake: &Fake, fault: Fault, actions: Vec<Action>, ring: u16) -> Tally {
    let plan = plan(fake, actions, ring);
    let tally = driver::run(&plan, Share::WHOLE, &mut |_: &Tally| {}, &CancellationToken::new()).unwrap();
    assert!(fault == Fault::Nothing || fake.planted() > 0, "nothing was planted");
    tally
}

/// Nothing but this was found, and an example says where.
fn only(tally: &Tally, check: Check) {
    assert!(tally.findings.keys().all(|found| *found == check), "{:?}", tally.findings);
    assert!(tally.findings[&check] > 0);
    let examples = &tally.examples[&ErrorKind::Wrong(check)];
    assert!(examples.iter().next().is_some_and(|example| !example.text.is_empty()));
}

/// Nothing but this went wrong.
fn only_errors(tally: &Tally, kind: ErrorKind) {
    let errors = tally.errors();
    assert!(errors.contains_key(&kind) && errors.len() == 1, "{errors:?}");
    assert_eq!(tally.wrong(), 0);
}

#[test]
fn a_server_that_does_its_work_is_not_accused() {
    let tally = run(Fault::Nothing, vec![Action::Add, Action::Counter], 4);
    assert_eq!((tally.wrong(), tally.overall().failures()), (0, 0), "{:?}", tally.examples);
    assert!(tally.overall().succeeded > 10);
    for check in [Check::Value, Check::Swapped, Check::Counter, Check::EventLost, Check::EventLeaked] {
        assert!(tally.checked[&check] > 0, "{check:?}");
    }
}

#[test]
fn a_wrong_sum() {
    only(&run(Fault::WrongSum, vec![Action::Add], 0), Check::Value);
}

#[test]
fn a_swapped_answer() {
    only(&run(Fault::Swapped, vec![Action::Add], 0), Check::Swapped);
}

#[test]
fn a_counter_that_is_off() {
    only(&run(Fault::CounterOff, vec![Action::Counter], 0), Check::Counter);
}

#[test]
fn a_lost_event() {
    only(&run(Fault::LostEvent, Vec::new(), 4), Check::EventLost);
}

#[test]
fn a_duplicate_event() {
    only(&run(Fault::DuplicateEvent, Vec::new(), 4), Check::EventDuplicated);
}

#[test]
fn an_event_after_a_later_one() {
    let fake = Fake::start(Fault::ReorderedEvent, None);
    let mut tally = run_on(&fake, Fault::ReorderedEvent, Vec::new(), 4);
    let lost = tally.findings.remove(&Check::EventLost).unwrap_or(0);
    assert!(lost <= u64::from(fake.withholds()), "{lost} events lost");
    only(&tally, Check::EventReordered);
}

#[test]
fn a_leaked_event() {
    only(&run(Fault::LeakedEvent, Vec::new(), 4), Check::EventLeaked);
}

#[test]
fn an_error_inside_a_200() {
    only_errors(&run(Fault::ErrorInside200, vec![Action::Add], 0), ErrorKind::Rpc(-32050));
}

#[test]
fn a_status() {
    only_errors(&run(Fault::Status(500), vec![Action::Add], 0), ErrorKind::Status(500));
}

#[test]
fn a_tool_that_says_it_failed() {
    only_errors(&run(Fault::ToolError, vec![Action::Add], 0), ErrorKind::Tool);
}

#[test]
fn a_hang() {
    only_errors(&run(Fault::Hang, vec![Action::Add], 0), ErrorKind::Hung);
}

#[test]
fn a_404_after_a_restart() {
    let tally = run(Fault::Forgets, vec![Action::Add, Action::Counter], 0);
    assert_eq!(tally.wrong(), 0, "{:?}", tally.examples);
    assert!((1..=4).contains(&tally.sessions.lost), "{:?}", tally.sessions);
}
