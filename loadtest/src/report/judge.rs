//! Did it hold, and can the figures be trusted?

use std::time::Duration;

use super::{
    format::{count, duration, percent, plural, rate},
    model::{Recovery, Run, Warning, WarningKind},
};

/// The share of its time from which on a thread of the generator has none left to be punctual.
const BUSY: f64 = 0.9;

/// Lateness that is looked at: timers of a busy machine are off by about this.
const LATE: Duration = Duration::from_millis(2);

/// The share of the p99 latency from which on lateness is a part of it that matters.
const LATE_SHARE: f64 = 0.1;

/// What a run comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Every threshold and every check held, and no request failed.
    Held,
    /// Every threshold and every check held, but requests failed, hung, or sessions were lost.
    Troubled,
    /// A threshold was missed, a check found something, or nothing worked at all.
    Failed,
}

// === impl Outcome ===

impl Outcome {
    /// In words.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Held => "It held",
            Self::Troubled => "It held, with trouble",
            Self::Failed => "It did not hold",
        }
    }
}

// === impl Run ===

impl Run {
    /// Whether all thresholds and checks held, and anything worked at all: what an exit code says.
    #[must_use]
    pub fn held(&self) -> bool {
        self.outcome() != Outcome::Failed
    }

    /// What it comes to.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        if !self.failures().is_empty() {
            Outcome::Failed
        } else if self.troubles().is_empty() {
            Outcome::Held
        } else {
            Outcome::Troubled
        }
    }

    /// Why it did not hold; empty where it did.
    pub(super) fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        let overall = self.tally.overall();
        if overall.succeeded == 0 && (overall.ended() > 0 || self.tally.sessions.opened == 0) {
            failures.push(
                if overall.ended() > 0 { "no request succeeded" } else { "nothing was measured" }.to_owned(),
            );
        }
        let missed = self.verdicts.iter().filter(|verdict| !verdict.held);
        failures.extend(missed.map(|verdict| format!("{} was missed: {}", verdict.slo, verdict.measured)));
        let findings = self.tally.findings.iter().filter(|(_, times)| **times > 0);
        failures.extend(
            findings.map(|(check, times)| format!("{}: {}", plural(*times, "time"), check.meaning())),
        );
        failures
    }

    /// What went wrong without being a failure.
    pub(super) fn troubles(&self) -> Vec<String> {
        let mut troubles = Vec::new();
        let overall = self.tally.overall();
        let sessions = &self.tally.sessions;
        let hung = self.tally.hung();
        let failed = overall.failures().saturating_sub(hung);
        let mut add = |times: u64, text: String| {
            if times > 0 {
                troubles.push(text);
            }
        };
        add(hung, format!("{} hung", plural(hung, "request")));
        add(failed, format!("{} of requests failed", percent(failed as f64 / overall.ended().max(1) as f64)));
        let lost = sessions.lost + sessions.handles_lost;
        add(lost, format!("{} lost", plural(lost, "session")));
        troubles
    }

    /// What was done and how fast it was, in a sentence.
    pub(super) fn summary(&self) -> String {
        let overall = self.tally.overall();
        let (clients, ended) = (plural(self.conditions.clients.into(), "client"), overall.ended());
        let answered = self.tally.replicas.answered.len();
        let by = if answered > 1 { format!(" of {answered} replicas") } else { String::new() };
        let measured = duration(self.measured.get());
        if overall.latency.is_empty() {
            return format!("{clients}{by}, {} in {measured}, none answered.", plural(ended, "request"));
        }
        let at = |percent| duration(overall.latency.percentile(percent));
        format!(
            "{clients}{by}, {} in {measured}: {}, half of them within {} and 99 % within {}.",
            plural(ended, "request"),
            rate(self.rate()),
            at(50.0),
            at(99.0),
        )
    }

    /// What was checked, what was found, and how the fleet came back from faults, in a sentence or two.
    pub(super) fn soundness(&self) -> String {
        let checked: u64 = self.tally.checked.values().sum();
        let sessions = &self.tally.sessions;
        let mut text = format!(
            "{} wrong in {} checks, {} hung, {} lost.",
            count(self.tally.wrong()),
            count(checked),
            count(self.tally.hung()),
            plural(sessions.lost + sessions.handles_lost, "session"),
        );
        if !self.faults.is_empty() {
            text.push(' ');
            text.push_str(&self.recovery());
        }
        text
    }

    /// How the fleet came back from its faults, in a sentence.
    fn recovery(&self) -> String {
        let faults = plural(self.faults.len() as u64, "fault");
        let not = self.faults.iter().filter(|fault| matches!(fault.recovery, Recovery::Not { .. })).count();
        let unknown =
            self.faults.iter().filter(|fault| matches!(fault.recovery, Recovery::Unknown { .. })).count();
        let slowest = self.faults.iter().filter_map(|fault| match &fault.recovery {
            Recovery::After { after } => Some((after.get(), &fault.label)),
            _ => None,
        });
        let slowest = slowest.max_by_key(|(after, _)| *after);
        match (not, unknown, slowest) {
            (1.., _, _) => format!("{faults}: no recovery from {not} of them."),
            (0, 1.., _) => format!("{faults}: recovery from {unknown} of them cannot be told."),
            (0, 0, Some((after, label))) => {
                format!("{faults}, the longest recovery took {:.1} s ({label}).", after.as_secs_f64())
            }
            (0, 0, None) => format!("{faults}, not felt."),
        }
    }
}

/// What the counts themselves say against their use.
pub(super) fn warnings(run: &Run) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |kind, text: String| warnings.push(Warning { kind, text });
    let tally = &run.tally;
    let busiest = tally.threads.iter().max_by(|a, b| a.load().total_cmp(&b.load()));
    if let Some(thread) = busiest.filter(|thread| thread.load() >= BUSY) {
        let busy = tally.threads.iter().filter(|thread| thread.load() >= BUSY).count();
        warn(
            WarningKind::GeneratorBusy,
            format!(
                "The generator was the bottleneck: {busy} of its {} had no time left (the busiest used its core for {} of \
                 the run). The figures are the generator's, not the server's. Give it more threads or agents, or less load.",
                plural(tally.threads.len() as u64, "thread"),
                percent(thread.load().min(1.0)),
            ),
        );
    }
    let late = tally.arrivals.lateness.percentile(99.0);
    let latency = tally.overall().latency.percentile(99.0);
    if late > LATE && late.as_secs_f64() > LATE_SHARE * latency.as_secs_f64() {
        warn(
            WarningKind::GeneratorLate,
            format!(
                "The generator was late: 1 % of its requests left {} or more after they were due, which is in the latencies \
                 (p99 {}). Give it more threads or agents, or leave it more of the machine.",
                duration(late),
                duration(latency),
            ),
        );
    }
    let arrivals = &tally.arrivals;
    if arrivals.dropped > 0 {
        warn(
            WarningKind::StartsDropped,
            format!(
                "{} of {} starts that were due were given up, since their clients had too many waiting: the server did not \
                 keep up with the rate that was asked for. They are in no latency.",
                count(arrivals.dropped),
                count(arrivals.intended),
            ),
        );
    }
    let wanted = run.conditions.duration.get();
    if run.measured.get().is_zero() && !wanted.is_zero() {
        warn(WarningKind::WarmupCut, "The run ended within its warm-up: nothing was measured.".to_owned());
    } else if run.measured.get() < wanted.mul_f64(0.99) {
        let measured = duration(run.measured.get());
        warn(
            WarningKind::StoppedEarly,
            format!("The run was stopped early: {measured} of {} were measured.", duration(wanted)),
        );
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{report::testing, tally::Check, units::Span};

    fn kinds(run: &Run) -> Vec<WarningKind> {
        warnings(run).into_iter().map(|warning| warning.kind).collect()
    }

    #[test]
    fn nothing_that_worked_is_a_failure() {
        let mut run = testing::run();
        assert_eq!((run.outcome(), run.failures().len()), (Outcome::Held, 0));
        run.tally.operations.clear();
        run.tally.sessions.opened = 0;
        run.verdicts.clear();
        assert_eq!(run.failures(), ["nothing was measured"]);
        // Clients that only listen measure nothing either, and did what they were to do.
        run.tally.sessions.opened = 5;
        assert_eq!(run.outcome(), Outcome::Held);
    }

    #[test]
    fn a_missed_threshold_or_a_finding_fails_it_and_an_error_does_not() {
        let mut run = testing::run();
        run.verdicts[0].held = false;
        assert!(!run.held() && run.failures()[0].starts_with("p99<50ms was missed: "));
        let mut run = testing::run();
        run.tally.findings.insert(Check::Swapped, 2);
        assert_eq!(run.failures(), ["2 times: an answer carried what another request had asked for"]);
        let mut run = testing::run();
        run.tally.sessions.lost = 3;
        assert_eq!(
            (run.outcome(), run.held(), run.troubles()),
            (Outcome::Troubled, true, vec!["3 sessions lost".to_owned()])
        );
    }

    #[test]
    fn a_generator_that_is_the_bottleneck_says_so() {
        let mut run = testing::run();
        assert_eq!(kinds(&run), []);
        run.tally.threads[0].cpu_seconds = run.tally.threads[0].wall_seconds * 0.97;
        (0..1000).for_each(|_| run.tally.arrivals.lateness.record(Duration::from_millis(30)));
        run.tally.arrivals.dropped = 10;
        assert_eq!(
            kinds(&run),
            [WarningKind::GeneratorBusy, WarningKind::GeneratorLate, WarningKind::StartsDropped]
        );
    }

    #[test]
    fn a_run_that_was_cut_short_says_so() {
        let mut run = testing::run();
        run.measured = Span(Duration::from_secs(4));
        assert_eq!(kinds(&run), [WarningKind::StoppedEarly]);
        run.measured = Span::default();
        assert_eq!(kinds(&run), [WarningKind::WarmupCut]);
    }

    #[test]
    fn the_worst_of_the_recoveries_is_told() {
        let mut run = testing::troubled();
        let fault = run.faults[0].clone();
        run.faults.push(super::super::FaultMark { recovery: Recovery::NotFelt, ..fault.clone() });
        assert!(run.soundness().ends_with("2 faults, the longest recovery took 2.0 s (kill-replica:1)."));
        run.faults.push(super::super::FaultMark {
            recovery: Recovery::Unknown { why: String::new() },
            ..fault.clone()
        });
        assert!(run.soundness().ends_with("3 faults: recovery from 1 of them cannot be told."));
        let watched = Span(Duration::from_secs(5));
        run.faults.push(super::super::FaultMark { recovery: Recovery::Not { watched }, ..fault });
        assert!(run.soundness().ends_with("4 faults: no recovery from 1 of them."));
    }
}
