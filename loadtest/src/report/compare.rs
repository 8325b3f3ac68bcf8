//! Runs side by side.

use std::{collections::BTreeSet, fmt};

use super::{
    format::{count, duration, percent, rate, ratio},
    model::{FaultMark, Report, Run},
};
use crate::tally::{Latencies, Operation, OperationTally};

/// The least difference to the first run that is called better or worse: below it, two runs of the same differ as much.
const NOTEWORTHY: f64 = 0.1;

/// Runs of one report or of several, in order. The first is what the others are compared with.
#[derive(Debug)]
pub struct Comparison<'a> {
    runs: Vec<Compared<'a>>,
}

/// A run, and what it is called here.
#[derive(Debug)]
pub(super) struct Compared<'a> {
    pub(super) label: String,
    pub(super) report: &'a Report,
    pub(super) run: &'a Run,
}

/// Something in which the conditions differ.
#[derive(Debug)]
pub(super) struct Difference {
    what: &'static str,
    /// By run: its label and what it has.
    values: Vec<(String, String)>,
    /// Whether it makes the comparison unfair. What is often compared, such as versions of the server, does not.
    pub(super) unfair: bool,
}

/// One measure of all runs.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) cells: Vec<Cell>,
}

/// One measure of one run.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) shown: String,
    /// To the first run's; empty for the first, and where there is nothing to compare.
    pub(super) ratio: String,
    /// Whether it is better than the first run's, if it is better or worse at all.
    pub(super) better: Option<bool>,
}

/// A measure: what it is, whether less of it is better, and its value.
struct Measure {
    name: String,
    less_is_better: bool,
    show: fn(f64) -> String,
    values: Vec<Option<f64>>,
}

// === impl Comparison ===

impl<'a> Comparison<'a> {
    /// One report: its runs beside each other, if there are several.
    #[must_use]
    pub fn alone(report: &'a Report) -> Self {
        Self::of(&[("", report)])
    }

    /// Several reports, each with a name, such as its file's.
    #[must_use]
    pub fn of(reports: &[(&str, &'a Report)]) -> Self {
        let runs = reports.iter().flat_map(|(name, report)| {
            report.runs.iter().map(move |run| {
                let label = match (name.is_empty(), report.runs.len()) {
                    (true, _) => run.name.clone(),
                    (false, 1) => (*name).to_owned(),
                    (false, _) => format!("{name} {}", run.name),
                };
                Compared { label, report, run }
            })
        });
        Self { runs: runs.collect() }
    }

    pub(super) fn runs(&self) -> &[Compared<'a>] {
        &self.runs
    }

    /// In what the conditions differ; the unfair ones first.
    pub(super) fn differences(&self) -> Vec<Difference> {
        let machine = |compared: &Compared<'_>| {
            let machines = compared.report.provenance.machines.iter().map(|machine| {
                let cpus = machine.cpus.map_or_else(String::new, |cpus| format!("{cpus} × "));
                format!("{cpus}{}", machine.cpu.as_deref().unwrap_or("unknown"))
            });
            machines.collect::<Vec<_>>().join(", ")
        };
        let kernel = |compared: &Compared<'_>| {
            let kernels =
                compared.report.provenance.machines.iter().filter_map(|machine| machine.kernel.clone());
            kernels.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
        };
        let revisions = |compared: &Compared<'_>| {
            let revisions = compared.run.conditions.revisions.iter();
            revisions
                .map(|(revision, clients)| format!("{revision} × {clients}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let servers = |compared: &Compared<'_>| {
            compared.run.tally.servers.keys().cloned().collect::<Vec<_>>().join(", ")
        };
        let scenario = |compared: &Compared<'_>| {
            let conditions = &compared.run.conditions;
            let first = self.runs.first().map(|first| &first.run.conditions);
            let same_name = first.is_some_and(|first| {
                first.scenario == conditions.scenario && first.scenario_toml != conditions.scenario_toml
            });
            if same_name { format!("another {}", conditions.scenario) } else { conditions.scenario.clone() }
        };
        let found = [
            self.difference("scenario", true, scenario),
            self.difference("number of clients", true, |compared| {
                compared.run.conditions.clients.to_string()
            }),
            self.difference("arrival", true, |compared| compared.run.conditions.arrival.clone()),
            self.difference("mix of revisions", true, revisions),
            self.difference("seed", true, |compared| compared.run.conditions.seed.to_string()),
            self.difference("duration", true, |compared| compared.run.conditions.duration.to_string()),
            self.difference("warm-up", true, |compared| compared.run.conditions.warmup.to_string()),
            self.difference("number of connections", true, |compared| {
                compared.run.conditions.connections.to_string()
            }),
            self.difference("number of threads", true, |compared| {
                compared.run.conditions.threads.to_string()
            }),
            self.difference("machine", true, machine),
            self.difference("kernel", true, kernel),
            self.difference("version of the generator", true, |compared| {
                compared.report.provenance.version.clone()
            }),
            self.difference("server", false, servers),
            self.difference("topology", false, |compared| {
                compared.run.conditions.topology.clone().unwrap_or_else(|| "unknown".to_owned())
            }),
            self.difference("endpoint", false, |compared| {
                // One that was brought up for the run is somewhere else each time.
                let conditions = &compared.run.conditions;
                if conditions.topology.is_some() { "this machine".to_owned() } else { conditions.url.clone() }
            }),
        ];
        found.into_iter().flatten().collect()
    }

    fn difference(
        &self,
        what: &'static str,
        unfair: bool,
        value: impl Fn(&Compared<'_>) -> String,
    ) -> Option<Difference> {
        let values: Vec<(String, String)> =
            self.runs.iter().map(|compared| (compared.label.clone(), value(compared))).collect();
        let (_, first) = values.first()?;
        values.iter().any(|(_, value)| value != first).then_some(Difference { what, values, unfair })
    }

    /// Tables of measures, each with its title.
    pub(super) fn sections(&self) -> Vec<(String, Vec<Row>)> {
        let mut sections = vec![("All requests".to_owned(), self.rows(self.overall()))];
        let operations: BTreeSet<&Operation> =
            self.runs.iter().flat_map(|compared| compared.run.tally.operations.keys()).collect();
        // One operation is all requests.
        if operations.len() > 1 {
            for operation in operations {
                let measures = self.latencies(|run| run.tally.operations.get(operation).cloned());
                sections.push((operation.to_string(), self.rows(measures)));
            }
        }
        sections
    }

    fn rows(&self, measures: Vec<Measure>) -> Vec<Row> {
        measures.into_iter().map(Measure::row).collect()
    }

    fn overall(&self) -> Vec<Measure> {
        let mut measures = self.latencies(|run| Some(run.tally.overall()));
        let mut add = |name: &str, show, value: fn(&Run) -> f64| {
            let values = self.runs.iter().map(|compared| Some(value(compared.run))).collect();
            measures.push(Measure { name: name.to_owned(), less_is_better: true, show, values });
        };
        let whole: fn(f64) -> String = |value| count(value as u64);
        add("wrong", whole, |run| run.tally.wrong() as f64);
        add("hung", whole, |run| run.tally.hung() as f64);
        add("sessions lost", whole, |run| (run.tally.sessions.lost + run.tally.sessions.handles_lost) as f64);
        if self.runs.iter().any(|compared| !compared.run.tally.replicas.answered.is_empty()) {
            add("moved to another replica", percent, |run| run.tally.replicas.moved_rate());
        }
        add("generator's busiest thread", percent, |run| {
            run.tally.threads.iter().map(crate::tally::Thread::load).fold(0.0, f64::max)
        });
        if self.runs.iter().any(|compared| !compared.run.faults.is_empty()) {
            measures.push(self.recovery());
        }
        measures
    }

    /// How long the fleets took to be as before; nothing where no fault was felt, or where they never were.
    fn recovery(&self) -> Measure {
        let longest = |compared: &Compared<'_>| {
            let recovered = compared.run.faults.iter().filter_map(FaultMark::recovered_after).max();
            recovered.map(|after| after.as_secs_f64())
        };
        let values = self.runs.iter().map(longest).collect();
        let show = |value| format!("{value:.1} s");
        Measure { name: "longest recovery".to_owned(), less_is_better: true, show, values }
    }

    /// Rate, latencies and errors of something.
    fn latencies(&self, of: impl Fn(&Run) -> Option<OperationTally>) -> Vec<Measure> {
        let tallies: Vec<Option<OperationTally>> =
            self.runs.iter().map(|compared| of(compared.run)).collect();
        let measure =
            |name: &str, less_is_better, show, value: &dyn Fn(&Run, &OperationTally) -> Option<f64>| {
                let both = self.runs.iter().zip(&tallies);
                let values =
                    both.map(|(compared, tally)| tally.as_ref().and_then(|tally| value(compared.run, tally)));
                Measure { name: name.to_owned(), less_is_better, show, values: values.collect() }
            };
        let seconds: fn(f64) -> String = |value| duration(std::time::Duration::from_secs_f64(value));
        let mut measures =
            vec![measure("rate", false, rate, &|run, tally| Some(run.per_second(tally.succeeded)))];
        for (name, percentile) in
            [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9), ("max", 100.0)]
        {
            measures.push(measure(name, true, seconds, &|_, tally| at(&tally.latency, percentile)));
        }
        measures.push(measure("errors", true, percent, &|_, tally| Some(tally.error_rate())));
        measures
    }
}

// === impl Measure ===

impl Measure {
    fn row(self) -> Row {
        let base = self.values.first().copied().flatten();
        let cells = self.values.iter().enumerate().map(|(index, value)| {
            let Some(value) = *value else {
                return Cell { shown: "–".to_owned(), ratio: String::new(), better: None };
            };
            let compared = base.filter(|_| index > 0);
            let noteworthy = compared.is_some_and(|base| (value - base).abs() > NOTEWORTHY * base.abs());
            let better = compared.filter(|_| noteworthy).map(|base| (value < base) == self.less_is_better);
            let ratio = compared.map_or_else(String::new, |base| ratio(value, base));
            Cell { shown: (self.show)(value), ratio, better }
        });
        Row { cells: cells.collect(), name: self.name }
    }
}

// === impl Difference ===

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} is not the same: ", self.what)?;
        let values = self.values.iter().map(|(label, value)| {
            let value = if value.is_empty() { "unknown" } else { value };
            format!("{value} ({label})")
        });
        f.write_str(&values.collect::<Vec<_>>().join(", "))
    }
}

fn at(latency: &Latencies, percent: f64) -> Option<f64> {
    (!latency.is_empty()).then(|| latency.percentile(percent).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Recovery, testing};

    fn row<'a>(rows: &'a [Row], name: &str) -> &'a Row {
        rows.iter().find(|row| row.name == name).unwrap()
    }

    #[test]
    fn ratios_are_to_the_first_and_noise_is_neither_better_nor_worse() {
        let (first, mut second) = (testing::run(), testing::run());
        for tally in second.tally.operations.values_mut() {
            tally.succeeded *= 2;
            // A little faster than all others: by less than a run differs from the next.
            tally.latency.record_micros(900);
        }
        let report = testing::report(vec![first.named("a"), second.named("b")]);
        let sections = Comparison::alone(&report).sections();
        let rate = &row(&sections[0].1, "rate").cells;
        assert_eq!((rate[0].better, rate[0].ratio.as_str()), (None, ""));
        assert_eq!((rate[1].better, rate[1].ratio.as_str()), (Some(true), "×2.00"));
        assert_eq!(row(&sections[0].1, "p50").cells[1].better, None);
    }

    #[test]
    fn what_one_of_them_lacks_is_a_dash() {
        let (first, mut second) = (testing::run(), testing::run());
        second.tally.operations.remove(&Operation::tool("echo"));
        let report = testing::report(vec![first, second]);
        let sections = Comparison::alone(&report).sections();
        let (_, echo) = sections.iter().find(|(title, _)| title == "tools/call echo").unwrap();
        assert_eq!(row(echo, "p99").cells[1].shown, "–");
    }

    #[test]
    fn a_fault_that_was_not_felt_has_no_recovery_to_compare() {
        let (first, mut second) = (testing::troubled(), testing::troubled());
        second.faults[0].recovery = Recovery::NotFelt;
        let report = testing::report(vec![first, second]);
        let cells = &Comparison::alone(&report).sections().remove(0).1;
        let cells = &row(cells, "longest recovery").cells;
        assert_eq!((cells[0].shown.as_str(), cells[1].shown.as_str()), ("2.0 s", "–"));
        assert_eq!((cells[1].ratio.as_str(), cells[1].better), ("", None));
    }

    #[test]
    fn fleets_that_were_brought_up_for_it_are_each_somewhere_else() {
        let fleet = |url: &str| {
            let mut run = testing::run().behind("3 replicas");
            url.clone_into(&mut run.conditions.url);
            run
        };
        let report = testing::report(vec![fleet("http://127.0.0.1:1/mcp"), fleet("http://127.0.0.1:2/mcp")]);
        assert!(Comparison::alone(&report).differences().is_empty());
    }

    #[test]
    fn unfair_differences_are_told() {
        let (first, mut second) = (testing::run(), testing::run());
        second.conditions.clients = 24;
        second.conditions.seed = 9;
        second.tally.servers.clear();
        let (first, mut second) = (testing::report(vec![first]), testing::report(vec![second]));
        second.provenance.machines[0].cpus = Some(64);
        let comparison = Comparison::of(&[("old", &first), ("new", &second)]);
        let told: Vec<(String, bool)> = comparison
            .differences()
            .iter()
            .map(|difference| (difference.to_string(), difference.unfair))
            .collect();
        for expected in [
            ("the number of clients is not the same: 12 (old), 24 (new)", true),
            ("the seed is not the same: 1 (old), 9 (new)", true),
            ("the machine is not the same: 2 × Fast 9000 (old), 64 × Fast 9000 (new)", true),
            ("the server is not the same: demo 1.0 (old), unknown (new)", false),
        ] {
            assert!(
                told.iter().any(|(text, unfair)| (text.as_str(), *unfair) == expected),
                "{expected:?}: {told:#?}"
            );
        }
        assert_eq!(told.len(), 4, "{told:#?}");
    }
}
