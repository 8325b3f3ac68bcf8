//! What the page's script draws: few enough numbers, and no text that could be taken for markup.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    report::{
        compare::Comparison,
        format::clean,
        model::{FaultMark, Recovery, Run},
    },
    tally::{Durations, Latencies, Operation, OperationTally, Second},
};

/// Points of a timeline at most: more than a screen has room for. Seconds are put together until there are no more.
const POINTS: usize = 600;

/// Points of a percentile curve per factor of ten.
const PER_DECADE: u32 = 12;

/// Bars of a histogram.
const BARS: usize = 48;

/// Everything that is drawn.
#[derive(Serialize)]
struct Data {
    runs: Vec<RunData>,
}

#[derive(Serialize)]
struct RunData {
    name: String,
    /// Seconds: the length of the run, and where what was measured begins and ends.
    length: f64,
    from: f64,
    until: f64,
    time: TimeData,
    faults: Vec<FaultData>,
    operations: Vec<OperationData>,
}

/// The timeline, one number per point and line. Latencies are in microseconds; `None` where there is none.
#[derive(Default, Serialize)]
struct TimeData {
    /// Seconds that one point stands for.
    slot: f64,
    /// The middle of each point's time, in seconds.
    at: Vec<f64>,
    p50: Vec<Option<u64>>,
    p90: Vec<Option<u64>>,
    p99: Vec<Option<u64>>,
    p999: Vec<Option<u64>>,
    max: Vec<Option<u64>>,
    /// Per second, as the others up to `errors`. `None` for a last point that is too short to say.
    started: Vec<Option<f64>>,
    succeeded: Vec<Option<f64>>,
    failed: Vec<Option<f64>>,
    events: Vec<Option<f64>>,
    dropped: Vec<Option<f64>>,
    moved: Vec<Option<f64>>,
    /// By kind, in the point's whole time.
    errors: BTreeMap<String, Vec<u64>>,
    sessions: Vec<u64>,
    streams: Vec<u64>,
}

#[derive(Serialize)]
struct FaultData {
    label: String,
    text: String,
    /// Seconds.
    begun: f64,
    /// When it was as before, as long as it was watched, or when the fault was over.
    until: f64,
    /// Whether the fleet came back; nothing where that is not known.
    recovered: Option<bool>,
}

#[derive(Serialize)]
struct OperationData {
    name: String,
    count: u64,
    /// Latency from the intended start, and from sending: each `[p, microseconds]`, where p is 0.0 to 1.0.
    latency: Vec<(f64, u64)>,
    service: Vec<(f64, u64)>,
    /// Of the first: `[from, to, count]`, in microseconds.
    bars: Vec<(f64, f64, u64)>,
}

/// All of it as JSON that is safe within a script element.
pub(super) fn json(comparison: &Comparison<'_>) -> String {
    let runs = comparison.runs().iter().map(|compared| RunData::of(&compared.label, compared.run)).collect();
    let json =
        serde_json::to_string(&Data { runs }).expect("invariant: keys are strings and numbers are finite");
    // JSON has these only within strings. Without `<` no element can be ended or begun.
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Whether several operations can be chosen from.
pub(super) fn operations(run: &Run) -> Vec<(String, OperationTally)> {
    let mut operations: Vec<(String, OperationTally)> = run
        .tally
        .operations
        .iter()
        .map(|(operation, tally)| (clean(operation.as_str()), tally.clone()))
        .collect();
    if run.tally.operations.keys().filter(|operation| Operation::is_request(operation)).count() != 1 {
        operations.insert(0, ("all requests".to_owned(), run.tally.overall()));
    }
    operations
}

// === impl RunData ===

impl RunData {
    fn of(label: &str, run: &Run) -> Self {
        let from = run.conditions.warmup.get();
        let operations = operations(run).into_iter().map(|(name, tally)| OperationData::of(name, &tally));
        Self {
            name: clean(label),
            length: run.length.get().as_secs_f64(),
            from: from.as_secs_f64(),
            until: (from + run.measured.get()).as_secs_f64(),
            time: TimeData::of(run),
            faults: run.faults.iter().map(FaultData::of).collect(),
            operations: operations.collect(),
        }
    }
}

// === impl TimeData ===

impl TimeData {
    fn of(run: &Run) -> Self {
        let (timeline, slot) = (&run.tally.timeline, f64::from(run.tally.slot_seconds.max(1)));
        let length = run.length.get().as_secs_f64();
        let slots = timeline.keys().next_back().map_or(0, |last| *last as usize + 1);
        let group = slots.div_ceil(POINTS).max(1);
        let mut data = Self { slot: slot * group as f64, ..Self::default() };
        for kind in timeline.values().flat_map(|second| second.errors.keys()) {
            data.errors.entry(kind.to_string()).or_default();
        }
        for first in (0..slots).step_by(group) {
            let begin = first as f64 * slot;
            let covered = (length - begin).clamp(0.0, data.slot);
            let keys =
                u32::try_from(first).unwrap_or(u32::MAX)..u32::try_from(first + group).unwrap_or(u32::MAX);
            let mut sum = Second::default();
            let (mut sessions, mut streams) = (0, 0);
            for (_, second) in timeline.range(keys) {
                sum.merge(second);
                (sessions, streams) = (second.sessions_open, second.streams_open);
            }
            (sum.sessions_open, sum.streams_open) = (sessions, streams);
            data.push(begin + data.slot / 2.0, &sum, covered);
        }
        data
    }

    fn push(&mut self, at: f64, sum: &Second, covered: f64) {
        self.at.push(at);
        let percentile = |percent| (!sum.latency.is_empty()).then(|| micros(&sum.latency, percent));
        self.p50.push(percentile(50.0));
        self.p90.push(percentile(90.0));
        self.p99.push(percentile(99.0));
        self.p999.push(percentile(99.9));
        self.max.push(percentile(100.0));
        let whole = covered >= self.slot / 2.0;
        let rate = |times: u64| whole.then(|| round(times as f64 / covered));
        self.started.push(rate(sum.started));
        self.succeeded.push(rate(sum.succeeded));
        self.failed.push(rate(sum.failures()));
        self.events.push(rate(sum.events));
        self.dropped.push(rate(sum.dropped));
        self.moved.push(rate(sum.moved));
        for (kind, errors) in &mut self.errors {
            let of_kind = sum.errors.iter().find(|(other, _)| other.to_string() == *kind);
            errors.push(of_kind.map_or(0, |(_, times)| *times));
        }
        self.sessions.push(sum.sessions_open);
        self.streams.push(sum.streams_open);
    }
}

// === impl FaultData ===

impl FaultData {
    fn of(fault: &FaultMark) -> Self {
        let begun = fault.begun.get();
        let (until, recovered) = match fault.recovery {
            Recovery::NotFelt => (begun, Some(true)),
            Recovery::After { after } => (begun + after.get(), Some(true)),
            Recovery::Not { watched } => (begun + watched.get(), Some(false)),
            Recovery::Unknown { .. } => (fault.over.get(), None),
        };
        Self {
            label: clean(&fault.label),
            text: clean(&fault.recovery.to_string()),
            begun: begun.as_secs_f64(),
            until: until.as_secs_f64(),
            recovered,
        }
    }
}

// === impl OperationData ===

impl OperationData {
    fn of(name: String, tally: &OperationTally) -> Self {
        Self {
            name,
            count: tally.latency.len(),
            latency: curve(&tally.latency),
            service: curve(&tally.service),
            bars: bars(&tally.latency),
        }
    }
}

/// The percentiles, evenly spaced in how rare what exceeds them is, up to the longest.
fn curve(latencies: &Latencies) -> Vec<(f64, u64)> {
    if latencies.is_empty() {
        return Vec::new();
    }
    let steps = ((latencies.len() as f64).log10() * f64::from(PER_DECADE)).floor() as u32;
    let rarity = (0..=steps).map(|step| 10f64.powf(-f64::from(step) / f64::from(PER_DECADE)));
    let mut curve: Vec<(f64, u64)> =
        rarity.map(|rarity| (1.0 - rarity, micros(latencies, (1.0 - rarity) * 100.0))).collect();
    curve.push((1.0, micros(latencies, 100.0)));
    curve
}

/// Counts in bars that are equally wide on a logarithmic axis.
fn bars(latencies: &Latencies) -> Vec<(f64, f64, u64)> {
    if latencies.is_empty() {
        return Vec::new();
    }
    let least = latencies.min().as_micros().max(1) as f64 * 0.98;
    let most = (latencies.max().as_micros() as f64 * 1.02).max(least * 1.5);
    let step = (most / least).ln() / BARS as f64;
    let edge = |bar: usize| least * (step * bar as f64).exp();
    let mut bars: Vec<(f64, f64, u64)> =
        (0..BARS).map(|bar| (round(edge(bar)), round(edge(bar + 1)), 0)).collect();
    let histogram = latencies.histogram();
    for bucket in histogram.iter_recorded() {
        let middle = histogram.median_equivalent(bucket.value_iterated_to()).max(1) as f64;
        let bar = ((middle / least).ln() / step).max(0.0) as usize;
        bars[bar.min(BARS - 1)].2 += bucket.count_at_value();
    }
    bars
}

/// At least 1: a logarithmic axis has no 0, and nothing shorter is told apart.
fn micros<const DIGITS: u8>(durations: &Durations<DIGITS>, percent: f64) -> u64 {
    u64::try_from(durations.percentile(percent).as_micros()).unwrap_or(u64::MAX).max(1)
}

/// Two places are enough for a picture.
fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tally::Sketch;

    #[test]
    fn a_long_run_has_few_points_and_all_its_counts() {
        let mut run = crate::report::testing::run();
        run.length = crate::units::Span(Duration::from_secs(5000));
        run.tally.timeline.clear();
        for second in 0..5000 {
            let mut latency = Sketch::default();
            latency.record_micros(u64::from(second) + 1);
            run.tally.timeline.insert(second, Second { succeeded: 3, latency, ..Second::default() });
        }
        let time = TimeData::of(&run);
        assert!(time.at.len() <= POINTS && time.at.len() > POINTS / 2, "{}", time.at.len());
        let all: f64 = time.succeeded.iter().flatten().map(|rate| rate * time.slot).sum();
        assert!((all - 15_000.0).abs() < 50.0, "{all}");
        assert!(time.max.iter().flatten().is_sorted());
    }

    #[test]
    fn seconds_without_anything_are_gaps_and_no_zeroes() {
        let mut run = crate::report::testing::run();
        run.length = crate::units::Span(Duration::from_secs(3));
        run.tally.timeline =
            [(0, Second::default()), (2, Second { succeeded: 1, ..Second::default() })].into();
        let time = TimeData::of(&run);
        assert_eq!((time.p99[1], time.succeeded[1]), (None, Some(0.0)));
    }

    #[test]
    fn bars_hold_every_latency() {
        let mut latencies = Latencies::default();
        (1..10_000u64).for_each(|micros| latencies.record_micros(micros * micros % 77_777 + 1));
        assert_eq!(bars(&latencies).iter().map(|(_, _, count)| count).sum::<u64>(), 9_999);
        let mut one = Latencies::default();
        one.record_micros(5);
        assert_eq!(bars(&one).iter().map(|(_, _, count)| count).sum::<u64>(), 1);
        assert_eq!(curve(&one), [(0.0, 5), (1.0, 5)]);
    }
}
