//! What a suite found: tables of rows, each with the figures of every round.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, Serialize};

use super::BenchError;
use crate::report::Provenance;

/// A quantity that is measured. Its unit belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Calls per second, by the wall clock.
    CallsPerSecond,
    /// Half of the calls were answered within so many microseconds.
    P50Us,
    /// 99 of 100 were.
    P99Us,
    /// 999 of 1000 were.
    P999Us,
    /// Microseconds on a processor per call, user and system, of all threads and children of the process that is measured.
    CpuUs,
    /// Resident memory at the end of the round, in bytes.
    ResidentBytes,
    /// Bytes of the answer's body.
    AnswerBytes,
    /// Instructions per request outside the kernel, as callgrind counts them.
    Instructions,
    /// How many times the committed count the count is.
    OfBaseline,
    /// Calls for each second on a processor of all replicas together.
    CallsPerCpuSecond,
    /// Commands that Redis executed for one, beside those of idle replicas; those within scripts count, too.
    RedisCommands,
    /// Resident memory of the replica, in bytes for each.
    ReplicaBytes,
    /// Memory that Redis uses, in bytes for each.
    RedisBytes,
}

/// The figures of one round.
pub(super) type Figures = BTreeMap<Metric, f64>;

/// What a suite comes back with: its tables, and the versions of what it found here.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) tables: Vec<Table>,
    pub(super) checks: Vec<Check>,
    /// By name.
    pub(super) versions: BTreeMap<String, String>,
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// It was measured: one entry a round, in their order.
    Measured {
        /// The figures of each round.
        rounds: Vec<Figures>,
    },
    /// It is not on this machine, or does not do this.
    Absent {
        /// Why, for a reader.
        reason: String,
    },
    /// It answered wrongly, so that its figures would mean nothing.
    Wrong {
        /// What was seen.
        seen: String,
    },
}

/// A row: one server or client, doing one thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Who, as "Trunkline, memory".
    pub name: String,
    /// The revision, where the row speaks one.
    pub revision: Option<String>,
    /// The name of the row that is the floor of this one's own stack.
    pub floor: Option<String>,
    /// Whether it is ours.
    pub ours: bool,
    /// What was found.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Rows that can be compared: they did the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What they did, as "tools/call add, 32 in flight".
    pub title: String,
    /// The rows.
    pub rows: Vec<Row>,
}

/// Under which conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// When the run began, in UTC.
    pub began: String,
    /// Program, command and machine.
    pub provenance: Provenance,
    /// How many rounds.
    pub rounds: u32,
    /// Whether servers and generator were kept on cores of their own.
    pub pinned: bool,
    /// A short run that says whether everything answers, and nothing about speed.
    pub quick: bool,
    /// Versions of what was measured.
    pub versions: BTreeMap<String, String>,
}

/// All that a suite found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SuiteResult {
    /// The suite's name.
    pub suite: String,
    /// Where, when and how.
    pub conditions: Conditions,
    /// The tables.
    pub tables: Vec<Table>,
    /// What has to hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

/// Something that has to hold for what was aimed at, with what was found. It is told, and ends no run: a machine that is
/// busy with something else makes it fail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// What, in words.
    pub what: String,
    /// What was found.
    pub value: f64,
    /// The most that it may be.
    pub at_most: f64,
    /// Whether it is.
    pub held: bool,
}

/// The middle of the rounds, and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median. Of an even number of rounds, the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

// === impl Check ===

impl Check {
    /// Of a value that may be no more than that.
    #[must_use]
    pub fn of(what: &str, value: f64, at_most: f64) -> Self {
        Self { what: what.to_owned(), value, at_most, held: value <= at_most }
    }
}

// === impl Metric ===

impl Metric {
    /// All, in the order of a table's columns.
    pub const ALL: [Self; 13] = [
        Self::CallsPerSecond,
        Self::P50Us,
        Self::P99Us,
        Self::P999Us,
        Self::CpuUs,
        Self::CallsPerCpuSecond,
        Self::RedisCommands,
        Self::ReplicaBytes,
        Self::RedisBytes,
        Self::ResidentBytes,
        Self::AnswerBytes,
        Self::Instructions,
        Self::OfBaseline,
    ];

    /// As the head of a column.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::CallsPerSecond => "calls/s",
            Self::P50Us => "p50 us",
            Self::P99Us => "p99 us",
            Self::P999Us => "p99.9 us",
            Self::CpuUs => "CPU us/call",
            Self::ResidentBytes => "resident MB",
            Self::AnswerBytes => "answer B",
            Self::Instructions => "instructions",
            Self::OfBaseline => "of the baseline",
            Self::CallsPerCpuSecond => "calls per CPU second",
            Self::RedisCommands => "Redis commands/call",
            Self::ReplicaBytes => "B each, replica",
            Self::RedisBytes => "B each, Redis",
        }
    }

    /// A value in the unit of the title.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Self::CpuUs => format!("{value:.1}"),
            Self::ResidentBytes => format!("{:.1}", value / 1e6),
            Self::OfBaseline => format!("{value:.3}"),
            Self::RedisCommands => format!("{value:.2}"),
            _ => thousands(value),
        }
    }
}

// === impl Row ===

impl Row {
    /// The rounds' values of a quantity, put together.
    #[must_use]
    pub fn spread(&self, metric: Metric) -> Option<Spread> {
        let Outcome::Measured { rounds } = &self.outcome else { return None };
        Spread::of(rounds.iter().filter_map(|round| round.get(&metric).copied()))
    }
}

// === impl Spread ===

impl Spread {
    /// That of these values; `None` of none.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (least, greatest) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        };
        Some(Self { median, least, greatest })
    }
}

// === impl Table ===

impl Table {
    /// Puts a row into the table of this title, which is made with its first.
    pub(super) fn put(tables: &mut Vec<Self>, title: String, row: Row) {
        match tables.iter_mut().find(|table| table.title == title) {
            Some(table) => table.rows.push(row),
            None => tables.push(Self { title, rows: vec![row] }),
        }
    }

    /// The row of this name and revision; of the name alone where the row has no revision of its own.
    #[must_use]
    pub fn row(&self, name: &str, revision: Option<&str>) -> Option<&Row> {
        let fits =
            |row: &&Row| row.name == name && (row.revision.is_none() || row.revision.as_deref() == revision);
        self.rows.iter().find(fits)
    }

    /// How many times its floor's a row's median is.
    #[must_use]
    pub fn share(&self, row: &Row, metric: Metric) -> Option<f64> {
        let floor = self.row(row.floor.as_deref()?, row.revision.as_deref())?;
        Some(row.spread(metric)?.median / floor.spread(metric)?.median)
    }
}

// === impl SuiteResult ===

impl SuiteResult {
    /// Rows that answered wrongly, as a reader is told.
    #[must_use]
    pub fn wrong(&self) -> Vec<String> {
        let rows = self.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)));
        rows.filter_map(|(table, row)| match &row.outcome {
            Outcome::Wrong { seen } => Some(format!("{}: {}: {seen}", table.title, row.name)),
            _ => None,
        })
        .collect()
    }

    /// Writes it as JSON.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), BenchError> {
        let failed = |reason: String| BenchError::Files { path: path.to_owned(), reason };
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(error.to_string()))?;
        fs::write(path, text + "\n").map_err(|error| failed(error.to_string()))
    }

    /// Reads one back.
    ///
    /// # Errors
    /// If there is no such file, or it is of another kind.
    pub fn read(path: &Path) -> Result<Self, BenchError> {
        let failed = |reason: String| BenchError::Files { path: path.to_owned(), reason };
        let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| failed(error.to_string()))
    }
}

/// A whole number with separators, as 12,345.
pub(super) fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (sign, digits) = digits.strip_prefix('-').map_or(("", &*digits), |rest| ("-", rest));
    let mut told = String::from(sign);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            told.push(',');
        }
        told.push(digit);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, floor: Option<&str>, values: &[f64]) -> Row {
        let rounds = values.iter().map(|value| Figures::from([(Metric::CpuUs, *value)])).collect();
        Row {
            name: name.into(),
            revision: None,
            floor: floor.map(Into::into),
            ours: false,
            outcome: Outcome::Measured { rounds },
        }
    }

    #[test]
    fn the_middle_and_the_ends() {
        let spread = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some(Spread { median: 2.0, least: 1.0, greatest: 3.0 }));
        assert_eq!(spread(&[4.0, 1.0]), Some(Spread { median: 2.5, least: 1.0, greatest: 4.0 }));
    }

    #[test]
    fn a_share_is_of_the_floor_of_ones_own() {
        let rows = vec![
            row("floor", None, &[10.0, 12.0, 11.0]),
            row("ours", Some("floor"), &[22.0]),
            row("x", None, &[1.0]),
        ];
        let table = Table { title: "t".into(), rows };
        assert_eq!(table.share(&table.rows[1], Metric::CpuUs), Some(2.0));
        assert_eq!(table.share(&table.rows[1], Metric::P50Us), None);
        assert_eq!(table.share(&table.rows[2], Metric::CpuUs), None);
    }

    #[test]
    fn numbers_are_told_with_separators() {
        for (value, told) in [(0.4, "0"), (999.0, "999"), (1000.0, "1,000"), (-12_345_678.0, "-12,345,678")] {
            assert_eq!(thousands(value), told);
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.json");
        let mut rows = vec![row("ours", None, &[1.5])];
        rows.push(Row { outcome: Outcome::Absent { reason: "not installed".into() }, ..rows[0].clone() });
        rows.push(Row { outcome: Outcome::Wrong { seen: "5".into() }, ..rows[0].clone() });
        let tables = vec![Table { title: "t".into(), rows }];
        let result = SuiteResult {
            suite: "server".into(),
            conditions: Conditions::default(),
            tables,
            checks: vec![Check::of("c", 1.5, 1.0)],
        };
        assert!(!result.checks[0].held);
        result.write(&path).unwrap();
        assert_eq!(SuiteResult::read(&path).unwrap(), result);
        assert_eq!(result.wrong(), ["t: ours: 5"]);
    }
}
