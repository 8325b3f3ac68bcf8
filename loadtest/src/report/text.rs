//! What a person reads at the end of a run.

use std::{
    env,
    io::{self, IsTerminal},
};

use super::{
    compare::{Comparison, Row},
    format::{bytes, clean, count, duration, percent, plural, rate},
    judge::Outcome,
    model::{Recovery, Report, Run},
    table::{Ink, Table},
};
use crate::tally::{Arrivals, Operation, OperationTally};

/// How many characters wide the bars of replicas are at most.
const BAR: f64 = 24.0;

/// Examples that are shown of each kind of error. The report's file has all that were kept.
const EXAMPLES: usize = 2;

/// Whether colours are used. They only repeat what the words say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    color: bool,
}

/// The report as text, with a line feed after each line.
#[must_use]
pub fn text(report: &Report, style: Style) -> String {
    Comparison::alone(report).text(style)
}

// === impl Style ===

impl Style {
    /// Without colours.
    pub const PLAIN: Self = Self { color: false };
    /// With colours.
    pub const COLOR: Self = Self { color: true };

    /// What fits this process's standard output: colours if it is a terminal, and `NO_COLOR` is not set.
    #[must_use]
    pub fn of_stdout() -> Self {
        Self::of(io::stdout().is_terminal())
    }

    /// The same for standard error.
    #[must_use]
    pub fn of_stderr() -> Self {
        Self::of(io::stderr().is_terminal())
    }

    fn of(terminal: bool) -> Self {
        let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { color: terminal && !refused && !dumb }
    }

    pub(super) fn ink(self, text: &str, ink: Ink) -> String {
        let code = match ink {
            Ink::Good => "32",
            Ink::Bad => "1;31",
            Ink::Caution => "33",
            Ink::Dim => "2",
            Ink::Strong => "1",
            Ink::Plain => "",
        };
        if self.color && !code.is_empty() && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

// === impl Comparison ===

impl Comparison<'_> {
    /// All of it as text: the comparison, where there are several runs, and each run.
    #[must_use]
    pub fn text(&self, style: Style) -> String {
        let mut page = Page { style, lines: Vec::new() };
        if self.runs().len() > 1 {
            page.comparison(self);
        }
        for compared in self.runs() {
            if self.runs().len() > 1 {
                page.lines.push(String::new());
                page.lines.push(style.ink(&format!("=== {} ===", clean(&compared.label)), Ink::Strong));
            }
            page.run(compared.run);
        }
        let mut text = page.lines.join("\n");
        text.push('\n');
        text
    }
}

/// Lines so far.
struct Page {
    style: Style,
    lines: Vec<String>,
}

// === impl Page ===

impl Page {
    fn run(&mut self, run: &Run) {
        self.verdict(run);
        self.thresholds(run);
        self.requests(run);
        self.errors(run);
        self.checks(run);
        self.faults(run);
        self.replicas(run);
        self.sessions(run);
        self.generator(run);
    }

    fn heading(&mut self, text: &str) {
        self.lines.push(String::new());
        self.lines.push(self.style.ink(text, Ink::Strong));
    }

    fn line(&mut self, text: &str, ink: Ink) {
        self.lines.push(format!("  {}", self.style.ink(text, ink)));
    }

    fn table(&mut self, table: &Table) {
        self.lines.extend(table.lines(self.style));
    }

    fn verdict(&mut self, run: &Run) {
        let outcome = run.outcome();
        let ink = match outcome {
            Outcome::Held => Ink::Good,
            Outcome::Troubled => Ink::Caution,
            Outcome::Failed => Ink::Bad,
        };
        let conditions = &run.conditions;
        let what = format!("{}, {}, {}", conditions.scenario, conditions.arrival, conditions.url);
        self.lines.push(format!("{}: {}", self.style.ink(outcome.words(), ink), clean(&what)));
        self.line(&run.summary(), Ink::Plain);
        self.line(&clean(&run.soundness()), Ink::Plain);
        for failure in run.failures() {
            self.line(&clean(&format!("- {failure}")), Ink::Bad);
        }
        for trouble in run.troubles() {
            self.line(&format!("- {trouble}"), Ink::Caution);
        }
        for warning in &run.warnings {
            // It may quote a log.
            for (index, line) in warning.text.lines().enumerate() {
                let mark = if index == 0 { "! " } else { "    " };
                self.line(&clean(&format!("{mark}{line}")), if index == 0 { Ink::Caution } else { Ink::Dim });
            }
        }
    }

    fn thresholds(&mut self, run: &Run) {
        if run.verdicts.is_empty() {
            return;
        }
        self.heading("Thresholds");
        let mut table = Table::new(&["", "threshold", "measured"]).left(1).left(2);
        for verdict in &run.verdicts {
            let (word, ink) = if verdict.held { ("held", Ink::Good) } else { ("MISSED", Ink::Bad) };
            table.row(vec![
                (word.to_owned(), ink),
                (clean(&verdict.slo), Ink::Plain),
                (clean(&verdict.measured), Ink::Plain),
            ]);
        }
        self.table(&table);
    }

    fn requests(&mut self, run: &Run) {
        self.heading("Requests");
        let heading = ["", "count", "rate", "p50", "p90", "p99", "p99.9", "max", "errors"];
        let mut table = Table::new(&heading);
        for (operation, tally) in &run.tally.operations {
            table.row(operation_row(run, &clean(operation.as_str()), tally, Ink::Plain));
        }
        let requests = run.tally.operations.keys().filter(|operation| operation.is_request()).count();
        if requests != 1 {
            table.row(operation_row(run, "all requests", &run.tally.overall(), Ink::Strong));
        }
        self.table(&table);
        if run.tally.operations.keys().any(|operation| operation.as_str() == Operation::DELIVERY) {
            self.line(
                "delivery: from what caused an event to its arrival; no request, and not in the last row",
                Ink::Dim,
            );
        }
    }

    fn errors(&mut self, run: &Run) {
        let errors = run.tally.errors();
        if errors.is_empty() && run.tally.examples.is_empty() {
            return;
        }
        self.heading("Errors");
        let ended: u64 = run.tally.operations.values().map(OperationTally::ended).sum();
        let kinds = errors.keys().chain(run.tally.examples.keys()).collect::<std::collections::BTreeSet<_>>();
        for kind in kinds {
            let times = errors.get(kind).copied().unwrap_or(0);
            let share = percent(times as f64 / ended.max(1) as f64);
            let ink = if kind.is_wrong() { Ink::Bad } else { Ink::Caution };
            let name = self.style.ink(&format!("{:<22}", kind.to_string()), ink);
            self.lines.push(format!("  {name} {:>12}  {share}", count(times)));
            let examples = run.tally.examples.get(kind);
            for example in examples.iter().flat_map(|examples| examples.iter()).take(EXAMPLES) {
                let text = format!(
                    "    at {} client {} ({}) {}: {}",
                    duration(example.at()),
                    example.client,
                    example.revision,
                    example.operation,
                    example.text
                );
                self.line(&clean(&text), Ink::Dim);
            }
        }
    }

    fn checks(&mut self, run: &Run) {
        let tally = &run.tally;
        self.heading("Checks");
        if tally.checked.is_empty() && tally.findings.is_empty() {
            self.line("none was made", Ink::Caution);
            return;
        }
        let mut table = Table::new(&["", "made", "found", ""]).left(3);
        let checks =
            tally.checked.keys().chain(tally.findings.keys()).collect::<std::collections::BTreeSet<_>>();
        for check in checks {
            let (made, found) = (tally.checked.get(check).copied(), tally.findings.get(check).copied());
            let found = found.unwrap_or(0);
            let ink = if found > 0 { Ink::Bad } else { Ink::Good };
            let meaning = if found > 0 { check.meaning() } else { "" };
            table.row(vec![
                (check.as_str().to_owned(), Ink::Plain),
                (count(made.unwrap_or(0)), Ink::Plain),
                (count(found), ink),
                (meaning.to_owned(), ink),
            ]);
        }
        self.table(&table);
    }

    fn faults(&mut self, run: &Run) {
        if run.faults.is_empty() {
            return;
        }
        self.heading("Faults");
        let mut table = Table::new(&["", "at", "over at", ""]).left(3);
        for fault in &run.faults {
            let ink = match fault.recovery {
                Recovery::NotFelt | Recovery::After { .. } => Ink::Good,
                Recovery::Not { .. } => Ink::Bad,
                Recovery::Unknown { .. } => Ink::Caution,
            };
            table.row(vec![
                (clean(&fault.label), Ink::Plain),
                (duration(fault.begun.get()), Ink::Plain),
                (duration(fault.over.get()), Ink::Plain),
                (clean(&fault.recovery.to_string()), ink),
            ]);
        }
        self.table(&table);
    }

    fn replicas(&mut self, run: &Run) {
        let replicas = &run.tally.replicas;
        if replicas.answered.is_empty() {
            return;
        }
        self.heading("Replicas");
        let named: u64 = replicas.answered.values().sum();
        let most = replicas.answered.values().copied().max().unwrap_or(1).max(1);
        let mut table = Table::new(&["", "answers", "share", ""]).left(3);
        for (replica, answers) in &replicas.answered {
            let bar = "█".repeat((*answers as f64 / most as f64 * BAR).round() as usize);
            let share = percent(*answers as f64 / named.max(1) as f64);
            table.plain(vec![clean(replica), count(*answers), share, bar]);
        }
        self.table(&table);
        let moved = percent(replicas.moved_rate());
        self.line(
            &format!("{moved} of answers came from another replica than the client's one before"),
            Ink::Plain,
        );
        if replicas.unnamed > 0 {
            self.line(
                &format!("{} did not say whose they are", plural(replicas.unnamed, "answer")),
                Ink::Dim,
            );
        }
    }

    fn sessions(&mut self, run: &Run) {
        self.heading("Sessions and streams");
        for (name, times, bad) in session_counts(run) {
            if times > 0 || bad {
                let ink = if bad && times > 0 { Ink::Bad } else { Ink::Plain };
                let times = self.style.ink(&format!("{:>12}", count(times)), ink);
                self.lines.push(format!("  {name:<34} {times}"));
            }
        }
        let traffic = run.tally.traffic;
        self.line(&format!("{} sent, {} received", bytes(traffic.sent), bytes(traffic.received)), Ink::Plain);
    }

    fn generator(&mut self, run: &Run) {
        let tally = &run.tally;
        if tally.threads.is_empty() && tally.arrivals == Arrivals::default() {
            return;
        }
        self.heading("Generator");
        let load = |pick: fn(f64, f64) -> f64, from| {
            tally.threads.iter().map(crate::tally::Thread::load).fold(from, pick)
        };
        if !tally.threads.is_empty() {
            let busiest = tally.threads.iter().map(|thread| thread.busiest).fold(0.0, f64::max);
            self.line(
                &format!(
                    "{}: {} to {} of a core over the run, {} in the busiest second",
                    plural(tally.threads.len() as u64, "thread"),
                    percent(load(f64::min, f64::INFINITY)),
                    percent(load(f64::max, 0.0)),
                    percent(busiest),
                ),
                Ink::Plain,
            );
        }
        let lateness = &tally.arrivals.lateness;
        if !lateness.is_empty() {
            let at = |percent| duration(lateness.percentile(percent));
            let text = format!(
                "lateness of starts: p50 {}, p99 {}, max {}",
                at(50.0),
                at(99.0),
                duration(lateness.max())
            );
            self.line(&text, Ink::Plain);
        }
        let arrivals = &tally.arrivals;
        if arrivals.waited + arrivals.dropped > 0 {
            let text = format!(
                "{} starts were due, {} waited for their client, {} were given up",
                count(arrivals.intended),
                count(arrivals.waited),
                count(arrivals.dropped),
            );
            self.line(&text, Ink::Plain);
        }
    }

    fn comparison(&mut self, comparison: &Comparison<'_>) {
        let labels: Vec<String> = comparison.runs().iter().map(|compared| clean(&compared.label)).collect();
        self.lines.push(
            self.style.ink(&format!("{} side by side", plural(labels.len() as u64, "run")), Ink::Strong),
        );
        for difference in comparison.differences() {
            let ink = if difference.unfair { Ink::Caution } else { Ink::Dim };
            let mark = if difference.unfair { "!" } else { "-" };
            self.line(&clean(&format!("{mark} {difference}")), ink);
        }
        self.line("One run each: a few per cent are noise. Ratios are to the first.", Ink::Dim);
        for (title, rows) in comparison.sections() {
            self.heading(&clean(&title));
            let mut heading = vec![""];
            heading.extend(labels.iter().map(String::as_str).flat_map(|label| [label, ""]));
            let mut table = Table::new(&heading);
            rows.iter().for_each(|row| table.row(comparison_row(row)));
            self.table(&table);
        }
    }
}

/// What became of sessions and streams: a name, how often, and whether it ought to be 0.
pub(super) fn session_counts(run: &Run) -> [(&'static str, u64, bool); 14] {
    let sessions = &run.tally.sessions;
    [
        ("sessions opened", sessions.opened, false),
        ("sessions lost", sessions.lost, true),
        ("handles lost", sessions.handles_lost, false),
        ("sessions deleted", sessions.deleted, false),
        ("sessions abandoned", sessions.abandoned, false),
        ("listening streams opened", sessions.streams_opened, false),
        ("listening streams opened again", sessions.streams_reopened, false),
        ("of these resumed after an event", sessions.streams_resumed, false),
        ("calls answered on a resumed stream", sessions.calls_resumed, false),
        ("requests sent again when asked to", sessions.retried, false),
        ("questions answered", sessions.questions, false),
        ("calls cancelled", sessions.cancelled, false),
        ("progress messages", sessions.progress, false),
        ("connections cut on purpose", sessions.cut, false),
    ]
}

fn operation_row(run: &Run, name: &str, tally: &OperationTally, ink: Ink) -> Vec<(String, Ink)> {
    let at = |percent| {
        if tally.latency.is_empty() { "–".to_owned() } else { duration(tally.latency.percentile(percent)) }
    };
    let mut row: Vec<(String, Ink)> =
        [name.to_owned(), count(tally.ended()), rate(run.per_second(tally.succeeded))]
            .map(|cell| (cell, ink))
            .into();
    row.extend([50.0, 90.0, 99.0, 99.9, 100.0].map(|percent| (at(percent), ink)));
    let errors = if tally.failures() > 0 { Ink::Caution } else { ink };
    row.push((percent(tally.error_rate()), errors));
    row
}

fn comparison_row(row: &Row) -> Vec<(String, Ink)> {
    let mut cells = vec![(clean(&row.name), Ink::Plain)];
    for cell in &row.cells {
        cells.push((cell.shown.clone(), Ink::Plain));
        let ink = match cell.better {
            Some(true) => Ink::Good,
            Some(false) => Ink::Bad,
            None => Ink::Dim,
        };
        cells.push((cell.ratio.clone(), ink));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing;

    fn shown(runs: Vec<Run>) -> String {
        text(&testing::report(runs), Style::PLAIN)
    }

    #[test]
    fn a_run_that_held_says_so_first() {
        let text = shown(vec![testing::run()]);
        assert!(
            text.starts_with(
                "It held: steady, poisson, 500/s, http://(hidden)@127.0.0.1:8080/mcp?(hidden)\n"
            ),
            "{text}"
        );
        assert!(text.contains("12 clients of 2 replicas, 300 requests in 10.0 s: 30.0/s"), "{text}");
        assert!(text.contains("0 wrong in 360 checks, 0 hung, 0 sessions lost."), "{text}");
        assert!(text.lines().any(|line| line.starts_with("  held") && line.contains("p99<50ms")), "{text}");
        assert!(
            text.lines().any(|line| line.starts_with("  all requests") && line.contains("300")),
            "{text}"
        );
        assert!(!text.contains("Errors") && !text.contains("Faults"), "{text}");
        assert!(text.lines().all(|line| line.trim_end() == line), "no line ends in spaces");
    }

    #[test]
    fn trouble_is_told_with_examples_and_recovery() {
        let text = shown(vec![testing::troubled()]);
        assert!(text.starts_with("It did not hold"), "{text}");
        for line in [
            "- 1 time: a counter did not go up by exactly what its only client added",
            "- 1 session lost",
            "1 fault, the longest recovery took 2.0 s (kill-replica:1).",
            "at 6.20 s client 3 (2025-11-25) tools/call add: <script>alert(1)</script>\\u{1b}[2J\\u{202e} no",
            "recovered after 2.0 s",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn a_log_that_a_warning_quotes_stays_in_lines() {
        let mut run = testing::run();
        run.warn(crate::report::WarningKind::Other, "r1 ended by itself:\nfirst\nsecond");
        assert!(shown(vec![run]).contains("  ! r1 ended by itself:\n      first\n      second\n"));
    }

    #[test]
    fn colours_only_repeat_what_the_words_say() {
        let report = testing::report(vec![testing::troubled(), testing::run()]);
        let mut colored = text(&report, Style::COLOR);
        assert!(colored.contains("\u{1b}[1;31m"));
        for code in ["32", "1;31", "33", "2", "1", "0"] {
            colored = colored.replace(&format!("\u{1b}[{code}m"), "");
        }
        assert_eq!(colored, text(&report, Style::PLAIN));
    }
}
