//! Runs that a page is rarely made of.

use std::time::{Duration, UNIX_EPOCH};

use trunkline_loadtest::{
    plan::Plan,
    report::{FaultMark, Recovery, Run, Timing, WarningKind},
    tally::{Check, ErrorKind, Example, Operation, Second, Tally, Transport},
    units::Span,
};

use crate::fixture::{self, LEAST, STICKY};

/// One in which nothing was counted.
pub(crate) fn nothing() -> Run {
    Run::of(&fixture::plan(), "", Timing { started: UNIX_EPOCH, length: Duration::ZERO }, Tally::default())
        .named("nothing")
}

/// One of a single request.
pub(crate) fn little() -> Run {
    let mut tally = Tally::default();
    let slot = tally.timeline.entry(0).or_default();
    (slot.started, slot.succeeded) = (1, 1);
    slot.latency.record_micros(0);
    let of = tally.operations.entry(Operation::new("ping")).or_default();
    (of.started, of.succeeded) = (1, 1);
    of.latency.record_micros(0);
    let plan = Plan { warmup: Span::default(), duration: Span(Duration::from_millis(1)), ..fixture::plan() };
    Run::of(&plan, "", Timing { started: UNIX_EPOCH, length: Duration::from_millis(1) }, tally)
        .named("little")
}

/// One of five hours, with many faults at once.
pub(crate) fn long() -> Run {
    let mut run = fixture::run(LEAST).named("long");
    let seconds: Vec<Second> = run.tally.timeline.values().cloned().collect();
    let hours = Duration::from_secs(5 * 3600);
    run.tally.slot_seconds = 3;
    run.tally.timeline =
        (0..6000).map(|slot| (slot, seconds[slot as usize % seconds.len()].clone())).collect();
    (run.length, run.measured) = (Span(hours), Span(hours));
    run.faults = (0..12)
        .map(|hour| FaultMark { begun: Span(Duration::from_secs(9000 + 60 * hour)), ..run.faults[0].clone() })
        .collect();
    run
}

/// One that went as badly as it can, and whose server sends markup wherever it may send a text.
pub(crate) fn hostile() -> Run {
    let text = "</script><script>pwned = 1</script><img src=x onerror='pwned=1'>\u{202e}\u{1b}[2J";
    let mut run = fixture::run(STICKY).named(text);
    run.tally.replicas.add(text, 300);
    run.tally.add_server(text, 1);
    let tool = run.tally.operations.entry(Operation::tool(text)).or_default();
    (tool.succeeded, tool.started) = (5, 5);
    (1..=5).for_each(|micros| tool.latency.record_micros(micros));
    run.tally.examples.entry(ErrorKind::Tool).or_default().add(Example {
        at_ms: 1,
        client: 1,
        revision: text.to_owned(),
        operation: Operation::tool(text),
        text: text.to_owned(),
    });
    for kind in Transport::ALL.map(ErrorKind::Transport).into_iter().chain((500..510).map(ErrorKind::Status))
    {
        run.tally.timeline.entry(30).or_default().errors.insert(kind, 7);
    }
    run.tally.findings.insert(Check::Swapped, 3);
    run.tally.sessions.lost = 12;
    run.conditions.description = text.to_owned();
    run.conditions.scenario_toml = text.to_owned();
    run.faults[0].label = text.to_owned();
    run.faults.push(FaultMark {
        label: "flush-redis".to_owned(),
        begun: Span(Duration::from_secs(60)),
        over: Span(Duration::from_secs(60)),
        recovery: Recovery::Not { watched: Span(Duration::from_secs(5)) },
    });
    run.warn(WarningKind::Other, &format!("r1 ended by itself:\n{text}\n{text}"));
    run
}
