//! The suite `dispatch`: requests with no socket under them, in instructions.
//!
//! Instructions hardly differ between two runs, whatever else the machine does, so that they can be held against a baseline:
//! a count that has left it, up or down, fails. It is moved on purpose, with `--update`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use trunkline_harness::{binary, scratch::Scratch};
use trunkline_protocol::{Revision, revision::Era};

use super::{
    BenchError,
    model::{Figures, Metric, Outcome, Row, Table},
};

/// How far a count may be from its baseline, in percent: above what compilers and libraries of one version differ by between
/// machines.
const APART: u64 = 3;

/// Numbers of calls, of which the difference is counted: enough for what happens once in a thousand calls to be in it.
const CALLS: [u32; 2] = [500, 2500];
const QUICK: [u32; 2] = [50, 150];

const WHAT: [(&str, &str); 3] =
    [("call", "tools/call add"), ("list", "tools/list"), ("initialize", "initialize")];

/// The counts that are held to, by request and revision.
pub(super) type Baseline = BTreeMap<String, u64>;

/// What the suite found, and what has left the baseline.
pub(super) struct Counted {
    pub(super) tables: Vec<Table>,
    pub(super) counts: Baseline,
}

/// Counts every request in every revision that has it.
pub(super) fn run(quick: bool, baseline: &Baseline, say: &dyn Fn(&str)) -> Result<Counted, BenchError> {
    let binary = binary::find("bench-dispatch", "BENCH_DISPATCH_BIN")?;
    let scratch = Scratch::new()?;
    let (mut tables, mut counts) = (Vec::new(), Baseline::new());
    for (what, title) in WHAT {
        let mut rows = Vec::new();
        for revision in Revision::ALL {
            if what == "initialize" && revision.era() == Era::Modern {
                continue;
            }
            say(&format!("{title}, {revision}"));
            let count = per_call(&binary, &scratch, what, revision, if quick { QUICK } else { CALLS })?;
            let name = format!("{what} {revision}");
            rows.push(row(revision, count, baseline.get(&name).copied()));
            counts.insert(name, count);
        }
        tables.push(Table { title: title.to_owned(), rows });
    }
    Ok(Counted { tables, counts })
}

/// What has left the baseline, as a reader is told.
pub(super) fn moved(counts: &Baseline, baseline: &Baseline) -> Vec<String> {
    let told = |(name, count): (&String, &u64)| match baseline.get(name) {
        None => Some(format!("{name}: {count} instructions, and the baseline has no count")),
        Some(before) => {
            let share = share(*count, *before);
            let apart = count.abs_diff(*before) * 100 > before * APART;
            apart.then(|| format!("{name}: {count} instructions, {share:.3} of the baseline's {before}"))
        }
    };
    let gone = baseline.keys().filter(|name| !counts.contains_key(*name));
    counts.iter().filter_map(told).chain(gone.map(|name| format!("{name}: not counted any more"))).collect()
}

/// Reads a baseline. A file that is not there is an empty one.
pub(super) fn read(path: &Path) -> Result<Baseline, BenchError> {
    let failed = |reason: String| BenchError::Files { path: path.to_owned(), reason };
    match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Baseline::new()),
        Err(error) => Err(failed(error.to_string())),
        Ok(text) => serde_json::from_str(&text).map_err(|error| failed(error.to_string())),
    }
}

/// Writes one.
pub(super) fn write(path: &Path, counts: &Baseline) -> Result<(), BenchError> {
    let failed = |reason: String| BenchError::Files { path: path.to_owned(), reason };
    let text = serde_json::to_string_pretty(counts).map_err(|error| failed(error.to_string()))?;
    fs::write(path, text + "\n").map_err(|error| failed(error.to_string()))
}

fn row(revision: Revision, count: u64, before: Option<u64>) -> Row {
    let mut figures = Figures::from([(Metric::Instructions, exact(count))]);
    if let Some(before) = before {
        figures.insert(Metric::OfBaseline, share(count, before));
    }
    Row {
        name: "Trunkline".into(),
        revision: Some(revision.to_string()),
        floor: None,
        ours: true,
        outcome: Outcome::Measured { rounds: vec![figures] },
    }
}

fn per_call(
    binary: &Path,
    scratch: &Scratch,
    what: &str,
    revision: Revision,
    [few, many]: [u32; 2],
) -> Result<u64, BenchError> {
    let [least, most] = [few, many].map(|calls| count(binary, scratch, what, revision, calls));
    Ok(most?.saturating_sub(least?) / u64::from(many - few))
}

/// The instructions of one run.
fn count(
    binary: &Path,
    scratch: &Scratch,
    what: &str,
    revision: Revision,
    calls: u32,
) -> Result<u64, BenchError> {
    let out: PathBuf = scratch.path().join("callgrind.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", &format!("--callgrind-out-file={}", out.display())])
        .arg(binary)
        .args([what, revision.as_str(), &calls.to_string()])
        .output();
    let output = output.map_err(|error| {
        BenchError::Input(format!("valgrind cannot be run: {error}; install it (apt install valgrind)"))
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let tail: Vec<&str> = said.lines().rev().take(5).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        return Err(BenchError::Input(format!("{what} {revision} failed:\n{}", tail.join("\n"))));
    }
    let total = said.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, count)| count.trim());
    total
        .and_then(|count| count.parse().ok())
        .ok_or_else(|| BenchError::Input(format!("{what} {revision}: callgrind printed no count:\n{said}")))
}

fn share(count: u64, before: u64) -> f64 {
    exact(count) / exact(before.max(1))
}

#[expect(clippy::cast_precision_loss, reason = "instructions of one request are far below 2^52")]
fn exact(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(&str, u64)]) -> Baseline {
        of.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn three_percent_either_way_is_told() {
        let baseline = counts(&[("a", 1000), ("b", 1000), ("c", 1000), ("gone", 1)]);
        let moved = moved(&counts(&[("a", 1030), ("b", 1031), ("c", 969), ("new", 5)]), &baseline);
        assert_eq!(
            moved,
            [
                "b: 1031 instructions, 1.031 of the baseline's 1000",
                "c: 969 instructions, 0.969 of the baseline's 1000",
                "new: 5 instructions, and the baseline has no count",
                "gone: not counted any more",
            ]
        );
    }

    #[test]
    fn a_baseline_is_read_back_and_none_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("baseline.json");
        assert_eq!(read(&path).unwrap(), Baseline::new());
        write(&path, &counts(&[("a", 7)])).unwrap();
        assert_eq!(read(&path).unwrap(), counts(&[("a", 7)]));
        fs::write(&path, "no").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("baseline.json"));
    }
}
