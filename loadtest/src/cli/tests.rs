use clap::Parser;

use super::*;
use crate::{
    plan::{Arrival, RevisionChoice},
    units::Rate,
};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    load: Load,
}

fn plan(words: &[&str]) -> Result<Plan, Vec<String>> {
    let line = Line::try_parse_from(std::iter::once(&"x").chain(words)).unwrap();
    line.load
        .plan("http://localhost/mcp")
        .map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect())
}

#[test]
fn options_become_a_plan() {
    let words = ["--clients", "20", "--rate", "100..500", "--arrival", "step:5", "--slo", "p99<50ms"];
    let read = plan(&words).unwrap();
    assert_eq!(read.arrival, Arrival::Step { from: Rate(100.0), to: Rate(500.0), steps: 5 });
    assert_eq!((read.clients, read.slos.len(), read.scenario.name.as_str()), (20, 1, "steady"));
    let spike = plan(&["--rate", "10", "--arrival", "spike:1k/s@10s+5s"]).unwrap().arrival;
    assert!(matches!(spike, Arrival::Spike { peak: Rate(1000.0), .. }));
    assert_eq!(plan(&["--rate", "500", "--backlog", "9"]).unwrap().backlog, 9);
    assert_eq!(plan(&["--rate", "500"]).unwrap().arrival, Arrival::Constant { rate: Rate(500.0) });
    assert_eq!(
        plan(&[]).unwrap(),
        Plan {
            warmup: "2s".parse().unwrap(),
            scenario: scenario::load("steady").unwrap().0,
            ..Plan::new("http://localhost/mcp")
        }
    );
    let mixed = plan(&["--revision", "2025-11-25=3,2026-07-28"]).unwrap();
    let repeated = plan(&["--revision", "2025-11-25=3", "--revision", "2026-07-28"]).unwrap();
    assert_eq!(mixed.revisions, repeated.revisions);
    assert_eq!(mixed.revisions, [(RevisionChoice::V2025_11_25, 3), (RevisionChoice::V2026_07_28, 1)]);
}

#[test]
fn every_mistake_is_told_at_once() {
    let words = [
        "--clients",
        "none",
        "--duration",
        "5",
        "--rate",
        "0",
        "--revision",
        "2024",
        "--slo",
        "p99",
        "--scenario",
        "weather",
        "--header",
        "secret",
    ];
    let mistakes = plan(&words).unwrap_err();
    for place in ["--clients", "--duration", "--rate", "--revision", "--slo", "--scenario", "--header"] {
        let of_place = mistakes.iter().filter(|mistake| mistake.starts_with(place)).count();
        assert_eq!(of_place, 1, "{place} in {mistakes:#?}");
    }
    assert!(!mistakes.iter().any(|mistake| mistake.contains("secret")));
}

#[test]
fn an_arrival_needs_its_rate() {
    for words in [
        &["--arrival", "poisson"][..],
        &["--arrival", "ramp", "--rate", "5"],
        &["--rate", "5", "--arrival", "closed"],
    ] {
        assert!(plan(words).unwrap_err()[0].starts_with("--rate: "), "{words:?}");
    }
}

/// The only mistake in these options.
fn mistake(words: &[&str]) -> String {
    let mistakes = plan(words).unwrap_err();
    assert_eq!(mistakes.len(), 1, "{words:?}: {mistakes:#?}");
    mistakes[0].clone()
}

#[test]
fn a_mistake_is_told_with_its_place_and_what_to_write() {
    for (words, expected) in [
        ("--scenario stedy", "--scenario: there is no \"stedy\"; did you mean steady?"),
        ("--scenario ./nowhere.toml", "--scenario: cannot read ./nowhere.toml"),
        ("--revision 2025-11-26", "--revision: there is no \"2025-11-26\"; did you mean 2025-11-25?"),
        ("--revision auto=0", "--revision: the share of auto is a whole number from 1"),
        ("--arrival poison --rate 5", "--arrival: there is no \"poison\"; did you mean poisson?"),
        (
            "--arrival constant:500 --rate 500",
            "--arrival: constant stands alone; the rate is written as --rate 500",
        ),
        ("--rate 5..9", "--rate: 5..9 is two rates; write one, or add --arrival ramp"),
        ("--rate 5..x --arrival ramp", "--rate: \"x\" is not a rate"),
        ("--rate 0..0 --arrival ramp", "--rate: one of the two must be above 0"),
        ("--rate 5..9 --arrival step:1", "--arrival: step needs its number of steps"),
        ("--rate 5 --arrival spike", "--arrival: spike needs a rate, when it begins"),
        ("--rate 5 --arrival spike:50@12s+1s", "--arrival: the spike begins at 12s, and the run ends at 12s"),
        ("--rate 5 --scenario listeners", "--rate: listeners has no steps"),
        ("--rate 5 --think 1s", "--think: clients think in a closed loop only"),
        ("--duration 0", "--duration: must be longer than 0"),
        ("--timeout 30", "--timeout: \"30\" is not a duration; write a number and a unit"),
        ("--backlog 0", "--backlog: \"0\" will not do; write a whole number from 1"),
        ("--seed -1", "--seed: \"-1\" will not do; write a whole number"),
        ("--header accept:x", "--header: accept is written by each client itself"),
        ("--bearer-file /nowhere", "--bearer-file: cannot read /nowhere"),
    ] {
        let told = mistake(&words.split(' ').collect::<Vec<_>>());
        assert!(told.starts_with(expected) && !told.contains('\n'), "{words}: {told}");
    }
}

#[test]
fn a_url_is_looked_at_with_everything_else() {
    let line = Line::try_parse_from(["x", "--clients", "0"]).unwrap();
    for url in ["localhost", "ftp://localhost/", "http://", "unix:/tmp/socket"] {
        let mistakes = line.load.plan(url).unwrap_err();
        assert_eq!((mistakes.len(), mistakes[0].place.as_str()), (2, "--url"), "{url}: {mistakes:?}");
    }
    let secret = line.load.plan("ftp://user:hunter2@host/?key=hunter3").unwrap_err();
    assert!(!secret[0].text.contains("hunter"), "{secret:?}");
}

#[test]
fn tokens_are_read_from_a_file_and_never_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens");
    let with = |text: &str, more: &[&str]| {
        std::fs::write(&file, text).unwrap();
        plan(&[&["--bearer-file", file.to_str().unwrap()], more].concat())
    };
    assert_eq!(with("one\n\n  two \n", &[]).unwrap().bearers, ["one", "two"]);
    let wrong = with("one\nhunter 2\n", &[]).unwrap_err();
    assert!(wrong[0].contains("line 2 of") && !wrong[0].contains("hunter"), "{wrong:?}");
    assert!(with("\n", &[]).unwrap_err()[0].contains("has no token in it"));
    let both = with("one", &["--header", "Authorization: Basic hunter3"]).unwrap_err();
    assert!(both[0].contains("leave out one of the two") && !both[0].contains("hunter"), "{both:?}");
}

#[test]
fn a_paragraph_becomes_a_line() {
    let error = Line::try_parse_from(["x", "--clents", "5"]).err().unwrap();
    assert_eq!(
        one_line(&error.render().to_string()),
        "unexpected argument '--clents' found; a similar argument exists: '--clients'"
    );
}
