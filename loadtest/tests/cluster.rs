//! A cluster on this machine: faults that nobody notices in the answers, and nothing left of it afterwards.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    fs,
    io::{BufRead, BufReader},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use trunkline_harness::binary;
use trunkline_loadtest::{
    cluster::{
        run::Job,
        setup::{LoadBalancer, Setup, Store},
    },
    plan::Plan,
    report::{Notes, Report},
    tally::Tally,
    units::Span,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_trunkline-loadtest");

/// How long what is killed may take to be gone.
const DEADLINE: Duration = Duration::from_secs(30);

/// The program, whose servers live in a folder of the test's own.
struct Run {
    folder: TempDir,
    command: Command,
}

impl Run {
    fn of(line: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("servers")).unwrap();
        let mut command = Command::new(PROGRAM);
        command.arg("cluster").args(line.split_whitespace());
        command.arg("--json").arg(folder.path().join("report.json"));
        command
            .env("TMPDIR", folder.path().join("servers"))
            .env("TRUNKLINE_BIN", binary::trunkline().unwrap());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Self { folder, command }
    }

    /// Starts it, and returns when its clients have begun.
    fn begun(&mut self) -> Child {
        let mut child = self.command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.contains("sessions ")), "it never began");
        // Nobody reads the rest, and it does not end for that.
        child
    }

    fn report(&self) -> Report {
        Report::read(&self.folder.path().join("report.json")).unwrap()
    }

    /// That its servers and their folders are gone, now or soon.
    #[expect(clippy::disallowed_methods, reason = "a test without a runtime has nobody to keep waiting")]
    fn leaves_nothing(&self) {
        let servers = self.folder.path().join("servers");
        let end = Instant::now() + DEADLINE;
        let left = || (processes_in(&servers), fs::read_dir(&servers).unwrap().count());
        while left() != (Vec::new(), 0) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(left(), (Vec::new(), 0));
    }
}

/// The processes whose folder for temporary files this is, or whose command line names it.
fn processes_in(folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let all = fs::read_dir("/proc").unwrap().flatten();
    let of_folder = all.filter(|process| {
        let text = |file| {
            String::from_utf8_lossy(&fs::read(process.path().join(file)).unwrap_or_default()).into_owned()
        };
        ["cmdline", "environ"].map(text).iter().any(|text| text.contains(&folder))
    });
    of_folder.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

/// The servers that this very process has started.
fn own_servers() -> usize {
    let status = |process: fs::DirEntry| fs::read_to_string(process.path().join("status")).ok();
    let parent = format!("PPid:\t{}", std::process::id());
    let ours = |status: &String| {
        let name = status.lines().next().unwrap_or_default().trim_start_matches("Name:\t").to_owned();
        ["haproxy", "redis-server", "trunkline"].contains(&name.as_str())
            && status.lines().any(|line| line == parent)
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(status).filter(ours).count()
}

#[test]
fn a_killed_replica_and_a_restarted_redis_cost_no_session_and_no_wrong_answer() {
    // Redis is away for two seconds, which nobody can overlook; and there is time to recover on a machine that is busy.
    let mut run = Run::of(
        "--replicas 3 --lb haproxy --store redis --clients 300 --rate 150 --revision 2025-11-25 --warmup 2s \
         --settle 16s --fault kill-replica@7s+1s --fault stop-redis@12s+2s",
    );
    let output = run.command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    run.leaves_nothing();

    let report = run.report();
    let found = &report.runs[0];
    let tally = &found.tally;
    assert_eq!((tally.wrong(), tally.hung(), tally.sessions.lost), (0, 0, 0), "{:?}", tally.examples);
    assert_eq!(tally.sessions.opened, 300);
    assert!(tally.checked.values().sum::<u64>() > 1000, "{:?}", tally.checked);
    assert!(tally.replicas.answered.len() >= 3, "{:?}", tally.replicas);
    let labels: Vec<&str> = found.faults.iter().map(|fault| fault.label.as_str()).collect();
    assert_eq!(labels, ["kill-replica:0", "stop-redis"]);
    let away = &found.faults[1];
    assert!(away.over.get() >= away.begun.get() + Duration::from_secs(2), "{away:?}");
    let seconds: Vec<_> = tally.timeline.values().map(|second| (second.succeeded, &second.latency)).collect();
    assert!(
        away.recovered_after().is_some_and(|after| after >= Duration::from_secs(1)),
        "{away:?}: {seconds:?}"
    );
    assert_eq!(
        found.conditions.topology.as_deref(),
        Some("3 replicas behind HAProxy, sessions in one Redis")
    );
    assert!(said.contains("kill-replica:0: begun") && said.contains("stop-redis: done"), "{said}");
}

#[test]
fn policies_stand_side_by_side() {
    let mut run = Run::of(
        "--replicas 2 --lb nginx --store redis --clients 20 --rate 60 --arrival poisson --revision 2025-11-25 --warmup 1s --duration 2s --policy \
         round-robin --policy least-conn --policy sticky",
    );
    let output = run.command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    run.leaves_nothing();
    let report = run.report();
    let names: Vec<&str> = report.runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(names, ["round-robin", "least-conn", "sticky"]);
    let moved: Vec<u64> = report.runs.iter().map(|run| run.tally.replicas.moved).collect();
    assert!(moved[0] > 0, "without affinity answers come from everywhere: {moved:?}");
    assert_eq!(moved[2], 0, "a session stays where it is");
}

#[test]
fn an_interrupt_ends_it_in_order_with_a_report() {
    let mut run = Run::of("--replicas 2 --clients 5 --rate 20 --warmup 0 --duration 29s");
    let mut child = run.begun();
    assert!(!processes_in(&run.folder.path().join("servers")).is_empty(), "the servers can be found");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    run.leaves_nothing();
    let report = run.report();
    assert!(report.runs[0].length.get() < Duration::from_secs(25), "{:?}", report.runs[0].length);
}

#[test]
fn nothing_is_left_of_one_that_was_killed() {
    let mut run = Run::of("--replicas 2 --clients 5 --rate 20 --warmup 0 --duration 29s");
    let mut child = run.begun();
    child.kill().unwrap();
    child.wait().unwrap();
    run.leaves_nothing();
}

#[test]
fn nothing_is_left_after_a_panic() {
    let mut setup = Setup {
        replicas: 1,
        balancer: LoadBalancer::Haproxy,
        store: Store::Redis,
        policies: vec!["round-robin".parse().unwrap()],
        faults: Vec::new(),
        settle: Duration::ZERO,
        binary: Some(binary::trunkline().unwrap()),
        settings: Vec::new(),
    };
    let plan =
        Plan { clients: 1, duration: Span(Duration::from_secs(600)), ..Plan::new("http://127.0.0.1/mcp") };
    setup.check(&plan).unwrap();
    let mut servers = 0;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let job = Job { setup: &setup, plan: &plan, scenario: "", runtime: &runtime };
        let mut observer = |_: &Tally| {
            servers = own_servers();
            std::panic::panic_any("on purpose");
        };
        job.run(&setup.policies[0], &mut observer, &Notes::default(), &CancellationToken::new()).map(drop)
    }));
    assert!(panicked.is_err());
    assert_eq!((servers, own_servers()), (3, 0));
}

#[test]
fn bad_input_is_told_line_by_line_and_starts_nothing() {
    for (line, expected) in [
        ("--fault reboot@5s", &["--fault \"reboot@5s\": there is no fault \"reboot\""][..]),
        (
            "--lb none --replicas 1 --fault kill-connections@5s --policy odd",
            &["needs --lb", "there is no policy \"odd\""],
        ),
        ("--binary /nowhere/trunkline", &["/nowhere/trunkline"]),
        ("--set x", &["--set: \"x\" is no setting; write SECTION.KEY=VALUE"]),
    ] {
        let mut run = Run::of(line);
        let output = run.command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), expected.len()), "{line}: {said}");
        assert!(expected.iter().all(|words| said.contains(words)), "{line}: {said}");
        run.leaves_nothing();
    }
}
