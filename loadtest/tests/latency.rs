//! Latencies are what the server's own clock says they are. This needs the real clock on both sides: what is measured is time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod fake;

use std::time::Duration;

use fake::Fake;
use tokio_util::sync::CancellationToken;
use trunkline_loadtest::{
    driver,
    plan::{Arrival, Begin, Plan, RevisionChoice, Scenario, Share},
    tally::{Operation, OperationTally, Tally},
    units::{Rate, Span},
};

fn measure(fake: &Fake, clients: u32, rate: f64, seconds: u64) -> OperationTally {
    let mut plan = Plan::new(&fake.url());
    plan.revisions = vec![(RevisionChoice::V2025_11_25, 1)];
    plan.clients = clients;
    plan.arrival = Arrival::Constant { rate: Rate(rate) };
    plan.warmup = Span(Duration::from_secs(1));
    plan.duration = Span(Duration::from_secs(seconds));
    plan.scenario =
        Scenario { begin: Begin::Spread(Span(Duration::from_millis(500))), ..Scenario::default() };
    let tally = driver::run(&plan, Share::WHOLE, &mut |_: &Tally| {}, &CancellationToken::new()).unwrap();
    tally.operations[&Operation::tool("add")].clone()
}

fn at(sorted: &[Duration], percent: f64) -> Duration {
    let place = (sorted.len() as f64 * percent / 100.0).ceil() as usize;
    sorted[place.clamp(1, sorted.len()) - 1]
}

#[test]
fn known_latencies_are_measured() {
    // Half of all within 100 ms, 1 in 40 takes 500 ms, 1 in 200 a second: each percentile lies well inside one of them.
    let delay = |number: u64, _: Duration| {
        Duration::from_millis(if number.is_multiple_of(200) {
            1000
        } else if number.is_multiple_of(40) {
            500
        } else {
            100
        })
    };
    let fake = Fake::start(fake::Fault::Nothing, Some(Box::new(delay)));
    // So many clients that none is due while it still waits.
    let add = measure(&fake, 600, 300.0, 8);
    let took = fake.took();
    assert!(add.succeeded > 2000 && add.failures() == 0, "{add:?}");
    for percent in [50.0, 99.0, 99.9] {
        let (truth, measured) = (at(&took, percent), add.latency.percentile(percent));
        let off = (measured.as_secs_f64() / truth.as_secs_f64() - 1.0).abs();
        assert!(off < 0.02, "p{percent}: {truth:?} and {measured:?}");
    }
}

#[test]
fn a_server_that_stands_still_shows_in_the_tail() {
    // Whatever comes in the third second waits for its end.
    let delay = |_, now: Duration| {
        let (from, to) = (Duration::from_secs(3), Duration::from_secs(4));
        if now >= from { to.saturating_sub(now) } else { Duration::ZERO }
    };
    let fake = Fake::start(fake::Fault::Nothing, Some(Box::new(delay)));
    // Few clients: most of what is due meanwhile waits in the generator, where a closed loop would not have counted it.
    let add = measure(&fake, 5, 100.0, 4);
    let all = add.succeeded as f64;
    let slow = add.latency.histogram().count_between(300_000, 2_000_000) as f64;
    assert!(add.latency.max() > Duration::from_millis(900), "{add:?}");
    assert!(
        (0.10..0.30).contains(&(slow / all)),
        "a fifth of the time stood still for 0.3 s or more: {slow} of {all}"
    );
    assert!(add.service.percentile(90.0) < Duration::from_millis(300), "{add:?}");
    assert!(add.latency.percentile(90.0) > Duration::from_millis(300), "{add:?}");
}
