//! A run that never was, for the tests of this module.

use std::time::{Duration, UNIX_EPOCH};

use super::model::{FaultMark, Recovery, Report, Run, Timing};
use super::provenance::{Machine, Provenance};
use crate::{
    plan::{Arrival, Plan, RevisionChoice, Scenario},
    tally::{Check, ErrorKind, Example, Operation, Tally, Thread},
    units::{Rate, Span},
};

/// Seconds: warm-up and what is measured.
const WARMUP: u32 = 2;
const MEASURED: u32 = 10;

pub(super) fn plan() -> Plan {
    let seconds = |seconds: u32| Span(Duration::from_secs(seconds.into()));
    Plan {
        clients: 12,
        warmup: seconds(WARMUP),
        duration: seconds(MEASURED),
        arrival: Arrival::Poisson { rate: Rate(500.0) },
        revisions: vec![(RevisionChoice::V2025_11_25, 2), (RevisionChoice::V2026_07_28, 1)],
        slos: ["p99<50ms", "errors<0.1%"].map(|slo| slo.parse().unwrap()).into(),
        scenario: Scenario { name: "steady".to_owned(), ..Scenario::default() },
        ..Plan::new("http://user:hunter2@127.0.0.1:8080/mcp?token=hunter2")
    }
}

/// What is counted in one second: 20 calls of `add` and 10 of `echo`, a little slower each second.
pub(super) fn second(number: u32) -> Tally {
    let mut tally = Tally::default();
    let slot = tally.timeline.entry(number).or_default();
    (slot.started, slot.succeeded, slot.sessions_open, slot.streams_open) = (30, 30, 12, 3);
    for request in 0..30u64 {
        slot.latency.record_micros(1000 + 40 * request + 10 * u64::from(number));
    }
    if number >= WARMUP {
        for (name, times) in [("add", 20u64), ("echo", 10)] {
            let of = tally.operations.entry(Operation::tool(name)).or_default();
            (of.started, of.succeeded) = (times, times);
            for request in 0..times {
                let micros = 1000 + 60 * request + 10 * u64::from(number);
                of.latency.record_micros(micros);
                of.service.record_micros(micros - 50);
            }
        }
        tally.replicas.add("r0", 15);
        tally.replicas.add("r1", 15);
        tally.replicas.moved += 14;
        tally.arrivals.intended = 30;
        tally.arrivals.lateness.record_micros(40);
    }
    tally.checked.insert(Check::Swapped, 30);
    tally.traffic.sent = 3000;
    let thread =
        Thread { process: "0 of 1".to_owned(), thread: 0, cpu_seconds: 0.3, wall_seconds: 1.0, busiest: 0.4 };
    tally.threads.push(thread);
    tally
}

/// A whole run without trouble.
pub(super) fn run() -> Run {
    let mut tally = Tally::default();
    (0..WARMUP + MEASURED).for_each(|number| tally.merge(&second(number)));
    tally.sessions.opened = 12;
    tally.add_server("demo 1.0", 12);
    let timing =
        Timing { started: UNIX_EPOCH + Duration::from_secs(1_796_077_620), length: Duration::from_secs(12) };
    Run::of(&plan(), "name = \"steady\"\n", timing, tally)
}

/// One with an error, a wrong answer, a lost session and a fault.
pub(super) fn troubled() -> Run {
    let mut run = run();
    let add = run.tally.operations.get_mut(&Operation::tool("add")).unwrap();
    add.errors.insert(ErrorKind::Status(503), 7);
    run.tally.timeline.get_mut(&6).unwrap().errors.insert(ErrorKind::Status(503), 7);
    let text = "<script>alert(1)</script>\u{1b}[2J\u{202e} no".to_owned();
    let example = Example {
        at_ms: 6200,
        client: 3,
        revision: "2025-11-25".to_owned(),
        operation: Operation::tool("add"),
        text,
    };
    run.tally.examples.entry(ErrorKind::Status(503)).or_default().add(example);
    run.tally.findings.insert(Check::Counter, 1);
    run.tally.sessions.lost = 1;
    let second = |seconds: u64| Span(Duration::from_secs(seconds));
    run.faults.push(FaultMark {
        label: "kill-replica:1".to_owned(),
        begun: second(6),
        over: second(6),
        recovery: Recovery::After { after: second(2) },
    });
    run
}

pub(super) fn report(runs: Vec<Run>) -> Report {
    let machine = Machine {
        process: "0 of 1".to_owned(),
        cpu: Some("Fast 9000".to_owned()),
        cpus: Some(2),
        ..Machine::default()
    };
    let command = ["trunkline-loadtest", "run"].map(str::to_owned).into();
    Report::new(
        Provenance { version: "1.2.3".to_owned(), command, machines: vec![machine], ..Provenance::default() },
        runs,
    )
}
