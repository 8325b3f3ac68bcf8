//! What has to hold for many replicas to be worth having, with what was found.

use super::broadcast;
use crate::bench::model::{Check, Metric, Outcome, Row, Table};

/// A call on four replicas costs no more than so many times what it costs on one.
const FOUR_REPLICAS: f64 = 1.15;

/// To say that something has changed costs ten times as many streams no more than so many times as much.
const MORE_STREAMS: f64 = 1.15;

/// All of them, of our own rows.
pub(super) fn checks(tables: &[Table]) -> Vec<Check> {
    let mut checks = Vec::new();
    for table in tables.iter().filter(|table| table.title.starts_with("tools/call")) {
        for row in table.rows.iter().filter(|row| row.ours && row.name.ends_with("4 replicas")) {
            let what = format!(
                "CPU of a call on four replicas, of one replica's: {}, {}",
                table.title,
                row.revision.as_deref().unwrap_or("")
            );
            checks
                .extend(table.share(row, Metric::CpuUs).map(|share| Check::of(&what, share, FOUR_REPLICAS)));
        }
    }
    let broadcasts = tables.iter().find(|table| table.title == broadcast::TITLE);
    let ours: Vec<&Row> = broadcasts.iter().flat_map(|table| &table.rows).filter(|row| row.ours).collect();
    if let [few, many] = ours[..] {
        for (metric, what) in
            [(Metric::RedisCommands, "Redis commands"), (Metric::CpuUs, "CPU of the replica")]
        {
            let what = format!("{what} to publish with {}, of that with {}", many.name, few.name);
            checks.extend(ratio(many, few, metric).map(|ratio| Check::of(&what, ratio, MORE_STREAMS)));
        }
    }
    let wrong = |row: &&Row| row.ours && matches!(row.outcome, Outcome::Wrong { .. });
    let wrong = tables.iter().flat_map(|table| &table.rows).filter(wrong).count();
    checks.push(Check::of(
        "rows of ours that lost something or answered wrongly",
        super::exact(wrong as u64),
        0.0,
    ));
    checks
}

fn ratio(row: &Row, of: &Row, metric: Metric) -> Option<f64> {
    Some(row.spread(metric)?.median / of.spread(metric)?.median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::model::Figures;

    fn row(name: &str, floor: Option<&str>, cpu: f64, commands: f64) -> Row {
        let figures = Figures::from([(Metric::CpuUs, cpu), (Metric::RedisCommands, commands)]);
        Row {
            name: name.into(),
            revision: floor.map(|_| "2025-11-25".to_owned()),
            floor: floor.map(Into::into),
            ours: true,
            outcome: Outcome::Measured { rounds: vec![figures] },
        }
    }

    #[test]
    fn what_was_found_is_beside_what_has_to_hold() {
        let one = Row { revision: None, ..row("a, 1 replica", None, 40.0, 0.0) };
        let four = row("a, 4 replicas", Some("a, 1 replica"), 48.0, 0.0);
        let calls = Table { title: "tools/call add".into(), rows: vec![one, four.clone()] };
        let lost = Row { outcome: Outcome::Wrong { seen: "1 lost".into() }, ..four };
        let few = row("a, 1 stream", None, 100.0, 8.0);
        let many = row("a, 9 streams", None, 100.0, 8.0);
        let streams = Table { title: broadcast::TITLE.into(), rows: vec![few, many] };
        let other = Table { title: "initialize".into(), rows: vec![lost] };
        let checks = checks(&[calls, streams, other]);
        let told: Vec<(f64, bool)> = checks.iter().map(|check| (check.value, check.held)).collect();
        assert_eq!(told, [(1.2, false), (1.0, true), (1.0, true), (1.0, false)]);
        assert!(checks[1].what.contains("9 streams"), "{}", checks[1].what);
    }
}
