use std::time::Duration;

use super::*;

fn example(at_ms: u64, client: u32) -> Example {
    let (operation, text) = (Operation::tool("add"), "1 and not 2".to_owned());
    Example { at_ms, client, revision: "2025-11-25".to_owned(), operation, text }
}

/// A tally in which everything is counted, and differs with `n`.
fn tally(n: u64) -> Tally {
    let mut tally = Tally::default();
    for (name, errors) in [("add", ErrorKind::Tool), ("echo", ErrorKind::Rpc(-32603))] {
        let of = tally.operations.entry(Operation::tool(name)).or_default();
        (of.started, of.succeeded) = (n + 3, n + 1);
        of.errors.insert(errors, 2);
        of.latency.record(Duration::from_millis(n + 1));
        of.service.record(Duration::from_micros(n + 10));
        of.failed.record(Duration::from_secs(n));
    }
    tally.operations.entry(Operation::new(Operation::DELIVERY)).or_default().succeeded = 1000;
    let second = tally.timeline.entry(u32::try_from(n % 3).unwrap()).or_default();
    (second.started, second.succeeded, second.sessions_open) = (n, 1, 7);
    second.errors.insert(ErrorKind::Hung, 1);
    second.latency.record(Duration::from_millis(n));
    tally.replicas.add(&format!("r{}", n % 2), 4);
    tally.replicas.moved = 1;
    tally.sessions.lost = n;
    (tally.arrivals.intended, tally.arrivals.dropped) = (9, n);
    tally.arrivals.lateness.record(Duration::from_micros(50));
    tally.traffic.sent = 100;
    tally.examples.entry(ErrorKind::Tool).or_default().add(example(n, 1));
    tally.findings.insert(Check::Swapped, 1);
    tally.checked.insert(Check::Swapped, 100);
    let process = format!("{n} of 3");
    tally.threads.push(Thread { process, thread: 0, cpu_seconds: 0.5, wall_seconds: 1.0, busiest: 0.75 });
    tally.add_server("demo 1", 1);
    tally
}

#[test]
fn a_sum_does_not_depend_on_the_order() {
    let (a, b, c) = (tally(1), tally(2), tally(3));
    let sum = |parts: [&Tally; 3]| {
        let mut sum = Tally::default();
        parts.into_iter().for_each(|part| sum.merge(part));
        sum.threads.sort_by(|a, b| a.process.cmp(&b.process));
        sum
    };
    assert_eq!(sum([&a, &b, &c]), sum([&c, &a, &b]));
    assert_eq!(sum([&a, &b, &c]).overall().started, 2 * (4 + 5 + 6));
    assert_eq!(sum([&a, &b, &c]).overall().failures(), 12);
}

#[test]
fn it_comes_back_from_json_as_it_was() {
    let tally = tally(5);
    let json = serde_json::to_string(&tally).unwrap();
    assert_eq!(serde_json::from_str::<Tally>(&json).unwrap(), tally);
}

#[test]
fn a_name_means_an_operation_or_all_of_its_method() {
    let tally = tally(1);
    assert_eq!(tally.operation("tools/call").unwrap().started, 8);
    assert_eq!(tally.operation("tools/call add").unwrap().started, 4);
    assert_eq!(tally.operation("tools/ca"), None);
    assert_eq!(tally.overall().succeeded, 4, "deliveries are no requests");
}

#[test]
fn examples_are_few_short_and_the_first() {
    let mut examples = Examples::default();
    (0..20).rev().for_each(|at| examples.add(example(at, 3)));
    assert_eq!(examples.iter().map(|example| example.at_ms).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!(!examples.wants(9) && examples.wants(2));
    let long = Example { text: "é".repeat(5000), ..example(0, 0) }.shortened();
    assert!(long.text.len() < 500 && long.text.ends_with('…'));
}

#[test]
fn the_parts_of_one_thread_are_one_thread() {
    let mut sum = tally(1);
    sum.merge(&tally(1));
    assert_eq!(sum.threads.len(), 1);
    assert!((sum.threads[0].load() - 0.5).abs() < 1e-9);
}

#[test]
fn replicas_beyond_the_bound_are_counted_together() {
    let mut replicas = Replicas::default();
    (0..1000).for_each(|n| replicas.add(&format!("r{n}"), 1));
    assert!(replicas.answered.len() <= 257);
    assert_eq!(replicas.answered.values().sum::<u64>(), 1000);
}
