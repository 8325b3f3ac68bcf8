//! The program itself: one clear line, its exit code, and nothing left behind.

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    path::Path,
    process::{Child, ChildStderr, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use trunkline_loadtest::report::{Report, WarningKind};

use crate::{
    server::Server,
    stage::{DEADLINE, SECRET},
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_trunkline-loadtest");

fn program(words: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(words).env("TRUNKLINE_LOADTEST_SECRET", SECRET).stdin(Stdio::null());
    command
}

/// Its exit code and what it said on standard error.
fn ended(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// A coordinator that waits for its agents, and where.
fn coordinator(url: &str, words: &[&str]) -> (Child, BufReader<ChildStderr>, String) {
    let mut command = program(&["coordinator", "--url", url, "--bind", "127.0.0.1:0"]);
    let mut child = command.args(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let address = line.split_whitespace().find(|word| word.starts_with("tcp://")).unwrap();
    (child, lines, address.trim_end_matches(',').to_owned())
}

fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

#[test]
fn nobody_there_is_one_line() {
    // Nothing listens at a port that was just given back.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (code, said) = ended(program(&["agent", "--join", &address, "--patience", "300ms"]));
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains(&format!("no coordinator at tcp://{address} within 300ms")), "{said}");
    assert!(said.contains("start it, or mend --join"), "{said}");
}

#[test]
fn every_mistake_in_the_options_is_told() {
    let mut command =
        program(&["agent", "--join", "here", "--patience", "9", "--secret-file", "/nowhere/at/all"]);
    command.env_remove("TRUNKLINE_LOADTEST_SECRET");
    let (code, said) = ended(command);
    assert_eq!((code, said.lines().count()), (Some(2), 3), "{said}");
    for words in ["--join", "--patience", "/nowhere/at/all"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_wrong_secret_is_one_line_and_an_interrupt_ends_a_coordinator_that_waits() {
    let (mut waiting, mut lines, address) = coordinator("http://127.0.0.1:1/mcp", &["--agents", "1"]);
    let mut stranger = program(&["agent", "--join", &address, "--name", "stranger"]);
    stranger.env("TRUNKLINE_LOADTEST_SECRET", "another secret than that one");
    let (code, said) = ended(stranger);
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("the coordinator has another secret: use the same one on both sides"), "{said}");
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.contains("agent stranger") && line.contains("turned away"), "{line}");

    interrupt(&waiting);
    assert_eq!(waiting.wait().unwrap().code(), Some(2));
    line.clear();
    lines.read_line(&mut line).unwrap();
    assert!(line.contains("ended before the start: 0 of 1 agents were ready"), "{line}");
}

#[test]
fn an_endpoint_that_no_agent_can_reach_ends_everybody() {
    let (mut waiting, mut lines, address) = coordinator("http://127.0.0.1:1/mcp", &["--agents", "1"]);
    let (code, said) = ended(program(&["agent", "--join", &address, "--name", "one"]));
    assert_eq!(code, Some(2), "{said}");
    assert_eq!(waiting.wait().unwrap().code(), Some(2));
    let mut rest = String::new();
    while lines.read_line(&mut rest).unwrap() > 0 {}
    assert!(rest.contains("http://127.0.0.1:1/mcp cannot be reached"), "{rest}");
}

#[expect(clippy::disallowed_methods, reason = "a test without a runtime has nobody to keep waiting")]
fn pause() {
    thread::sleep(Duration::from_millis(10));
}

/// Two agents at work for ten minutes, their coordinator, and what it said until then.
fn two_at_work(server: &Server, json: &Path) -> (Child, BufReader<ChildStderr>, [Child; 2]) {
    let json = json.to_str().unwrap();
    let words =
        "--agents 2 --clients 10 --rate 20 --revision 2025-11-25 --warmup 0 --duration 10m --scenario";
    let folder = Path::new(json).parent().unwrap().join("add.toml");
    std::fs::write(&folder, "name = \"add\"\n[[step]]\ndo = \"add\"\n").unwrap();
    let mut words: Vec<&str> = words.split(' ').collect();
    words.extend([folder.to_str().unwrap(), "--json", json]);
    let (child, lines, address) = coordinator(&server.url(), &words);
    let agents = ["first", "second"].map(|name| {
        let mut agent = program(&["agent", "--join", &address, "--name", name]);
        agent.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
    });
    let end = Instant::now() + DEADLINE;
    while server.sums.lock().len() < 10 {
        assert!(Instant::now() < end, "nobody asks");
        pause();
    }
    (child, lines, agents)
}

/// Reads until a line has this in it.
fn until(lines: &mut BufReader<ChildStderr>, words: &str) {
    let mut seen = String::new();
    while !seen.contains(words) {
        assert!(lines.read_line(&mut seen).unwrap() > 0, "nobody said {words:?}: {seen}");
    }
}

#[test]
fn an_interrupt_ends_all_agents_and_what_they_counted_is_reported() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let json = folder.path().join("report.json");
    let (mut coordinator, _lines, agents) = two_at_work(&server, &json);
    interrupt(&coordinator);
    assert_eq!(coordinator.wait().unwrap().code(), Some(0));
    for mut agent in agents {
        assert_eq!(agent.wait().unwrap().code(), Some(0));
    }
    let report = Report::read(&json).unwrap();
    let tally = &report.runs[0].tally;
    assert!(tally.overall().succeeded > 0 && tally.wrong() == 0, "{:?}", tally.examples);
    assert_eq!((tally.sessions.opened, report.provenance.machines.len()), (10, 2));
}

#[test]
fn an_agent_that_is_killed_is_missed_in_the_report() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let json = folder.path().join("report.json");
    let (mut coordinator, mut lines, [mut first, mut second]) = two_at_work(&server, &json);
    first.kill().unwrap();
    first.wait().unwrap();
    until(&mut lines, "lost agent first");
    interrupt(&coordinator);
    coordinator.wait().unwrap();
    assert_eq!(second.wait().unwrap().code(), Some(0));
    let report = Report::read(&json).unwrap();
    let lost = report.runs[0].warnings.iter().filter(|warning| warning.kind == WarningKind::AgentLost);
    let texts: Vec<&str> = lost.map(|warning| warning.text.as_str()).collect();
    assert!(
        texts.len() == 1 && texts[0].contains("agent first") && texts[0].contains("its 5 clients"),
        "{texts:?}"
    );
}

#[test]
fn agents_end_when_their_coordinator_is_gone() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let (mut coordinator, _lines, agents) = two_at_work(&server, &folder.path().join("report.json"));
    coordinator.kill().unwrap();
    coordinator.wait().unwrap();
    for mut agent in agents {
        assert_eq!(agent.wait().unwrap().code(), Some(1));
    }
}
