//! Runs that never were: what they would have counted, made of real types.

use std::time::{Duration, UNIX_EPOCH};

use trunkline_loadtest::{
    plan::{Arrival, Plan, RevisionChoice, Scenario},
    report::{FaultMark, Machine, Provenance, Recovery, Report, Run, Timing},
    tally::{Check, ErrorKind, Example, Operation, Second, Tally, Thread, Transport},
    units::{Rate, Span},
};

/// Seconds.
const WARMUP: u32 = 5;
const LENGTH: u32 = 65;

/// Clients, each with a stream that listens.
const CLIENTS: u64 = 2000;

/// What is different about a run.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// How slow it is, compared with others.
    pub(crate) slow: f64,
    /// Seconds of trouble after a replica was killed.
    pub(crate) trouble: u32,
    /// Shares of the replicas, in per cent.
    pub(crate) shares: [u64; 3],
}

pub(crate) const ROUND_ROBIN: Kind =
    Kind { name: "round-robin", slow: 1.0, trouble: 2, shares: [34, 33, 33] };
pub(crate) const LEAST: Kind = Kind { name: "least-conn", slow: 0.9, trouble: 1, shares: [28, 41, 31] };
pub(crate) const STICKY: Kind = Kind { name: "sticky", slow: 1.3, trouble: 6, shares: [22, 47, 31] };

/// Random numbers that are the same each time.
struct Dice(u64);

impl Dice {
    /// From 0.0 to 1.0.
    fn throw(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Around a middle, with a tail to the right.
    fn latency(&mut self, middle: f64) -> u64 {
        let bell = (0..6).map(|_| self.throw()).sum::<f64>() - 3.0;
        let tail = if self.throw() < 0.01 { 1.0 + 6.0 * self.throw() } else { 1.0 };
        (middle * (bell * 0.45).exp() * tail) as u64 + 90
    }
}

pub(crate) fn plan() -> Plan {
    let seconds = |seconds: u32| Span(Duration::from_secs(seconds.into()));
    Plan {
        clients: CLIENTS as u32,
        warmup: seconds(WARMUP),
        duration: seconds(LENGTH - WARMUP),
        arrival: Arrival::Poisson { rate: Rate(500.0) },
        revisions: vec![(RevisionChoice::V2025_11_25, 1), (RevisionChoice::V2026_07_28, 1)],
        slos: ["p99<50ms", "errors<1%"].map(|slo| slo.parse().unwrap()).into(),
        scenario: Scenario {
            name: "mixed".to_owned(),
            description: "A bit of everything".to_owned(),
            ..Scenario::default()
        },
        ..Plan::new("http://127.0.0.1:8080/mcp")
    }
}

/// A fleet of three replicas of which one is killed, and whose Redis is restarted later.
pub(crate) fn run(kind: Kind) -> Run {
    let mut dice = Dice(42);
    let mut tally = Tally::default();
    for second in 0..LENGTH {
        count(&mut tally, &mut dice, kind, second);
    }
    tally.sessions.opened = CLIENTS;
    (tally.sessions.streams_opened, tally.sessions.streams_reopened, tally.sessions.streams_resumed) =
        (2000, 655, 655);
    (tally.sessions.questions, tally.sessions.cancelled, tally.sessions.progress) = (911, 207, 5120);
    (tally.traffic.sent, tally.traffic.received) = (9_120_331, 31_822_017);
    for check in Check::ALL {
        tally.checked.insert(check, 30_000 / (1 + check as u64));
    }
    for thread in 0..2 {
        let (cpu_seconds, wall_seconds) = (20.0 + f64::from(thread), 65.0);
        tally.threads.push(Thread {
            process: "0 of 1".to_owned(),
            thread,
            cpu_seconds,
            wall_seconds,
            busiest: 0.61,
        });
    }
    tally.add_server("trunkline-demo 0.1.0", CLIENTS);
    tally.examples.entry(ErrorKind::Transport(Transport::Reset)).or_default().add(Example {
        at_ms: 20_013,
        client: 77,
        revision: "2025-11-25".to_owned(),
        operation: Operation::tool("add"),
        text: "connection reset by peer (os error 104) before the answer's first byte".to_owned(),
    });
    let timing = Timing {
        started: UNIX_EPOCH + Duration::from_secs(1_796_077_620),
        length: Duration::from_secs(LENGTH.into()),
    };
    let run = Run::of(&plan(), "name = \"mixed\"\nthink = \"0s\"\n", timing, tally).named(kind.name);
    let mut run = run.behind("3 replicas behind haproxy, sessions in redis");
    run.faults = faults(kind);
    run
}

fn count(tally: &mut Tally, dice: &mut Dice, kind: Kind, second: u32) {
    let after = |fault: u32, length: u32| second >= fault && second < fault + length;
    let (killed, restarted) = (after(20, kind.trouble), after(42, 1));
    let slow = if killed {
        9.0
    } else if restarted {
        25.0
    } else {
        1.0 + 0.1 * f64::from(second % 7)
    };
    let middle = 1800.0 * kind.slow * slow; // microseconds
    let failed = if killed { 23 } else { 0 };
    let mut slot = Second {
        started: 500,
        events: 180 + u64::from(second % 5) * 9,
        streams_open: CLIENTS,
        ..Second::default()
    };
    slot.sessions_open = CLIENTS.min(u64::from(second + 1) * 520);
    slot.streams_open = if killed { CLIENTS * 2 / 3 } else { slot.sessions_open };
    slot.moved = if kind.name == "sticky" { failed } else { 310 + u64::from(second % 3) * 8 };
    for (name, times, factor) in
        [("add", 250u64, 1.0), ("echo", 150, 1.1), ("list", 80, 1.6), ("confirm", 20, 6.0)]
    {
        let of = tally.operations.entry(Operation::tool(name)).or_default();
        for _ in 0..times {
            let micros = dice.latency(middle * factor);
            slot.latency.record_micros(micros);
            slot.succeeded += 1;
            if second >= WARMUP {
                (of.started, of.succeeded) = (of.started + 1, of.succeeded + 1);
                of.latency.record_micros(micros);
                of.service.record_micros(micros - 40);
            }
        }
        if failed > 0 && name == "add" {
            let kinds = [(ErrorKind::Transport(Transport::Reset), 15), (ErrorKind::Status(503), 8)];
            for (kind, times) in kinds {
                *slot.errors.entry(kind).or_default() += times;
                *of.errors.entry(kind).or_default() += times;
            }
        }
    }
    let delivery = tally.operations.entry(Operation::new(Operation::DELIVERY)).or_default();
    for _ in 0..slot.events {
        delivery.succeeded += 1;
        delivery.latency.record_micros(dice.latency(2500.0 * slow));
    }
    tally.replicas.moved += slot.moved;
    kind.shares.iter().zip(["r0", "r1", "r2"]).for_each(|(share, name)| tally.replicas.add(name, share * 5));
    tally.arrivals.intended += slot.started;
    (0..50).for_each(|_| tally.arrivals.lateness.record_micros(dice.latency(60.0)));
    tally.timeline.insert(second, slot);
}

fn faults(kind: Kind) -> Vec<FaultMark> {
    let seconds = |seconds: u32| Span(Duration::from_secs(seconds.into()));
    let after = |after: u32| Recovery::After { after: seconds(after) };
    vec![
        FaultMark {
            label: "kill-replica:1".to_owned(),
            begun: seconds(20),
            over: seconds(25),
            recovery: after(kind.trouble),
        },
        FaultMark {
            label: "restart-redis".to_owned(),
            begun: seconds(42),
            over: seconds(43),
            recovery: after(1),
        },
    ]
}

/// Where these runs would have been.
pub(crate) fn report(runs: Vec<Run>) -> Report {
    let machine = Machine {
        process: "0 of 1".to_owned(),
        kernel: Some("Linux 6.18.5".to_owned()),
        cpu: Some("Example CPU at 2.60 GHz".to_owned()),
        cpus: Some(2),
        memory_bytes: Some(8_210_000_000),
        fd_limit: Some(20_000),
    };
    let command =
        "trunkline-loadtest cluster --replicas 3 --lb haproxy --store redis --fault kill-replica:1@20s+5s";
    let provenance = Provenance {
        version: "0.1.0".to_owned(),
        commit: Some("0123456789ab".to_owned()),
        rustc: Some("rustc 1.95.0".to_owned()),
        command: command.split(' ').map(str::to_owned).collect(),
        machines: vec![machine],
    };
    Report::new(provenance, runs)
}
