//! The tables as text, for a terminal and for Markdown.

use super::model::{Check, Metric, Outcome, Row, Spread, SuiteResult, Table};

/// A table in Markdown, which reads as a table in a terminal, too.
pub(super) fn table(table: &Table) -> String {
    let metrics: Vec<Metric> = Metric::ALL
        .into_iter()
        .filter(|metric| table.rows.iter().any(|row| row.spread(*metric).is_some()))
        .collect();
    let shares = metrics.contains(&Metric::CpuUs) && table.rows.iter().any(|row| row.floor.is_some());
    let mut lines = vec![heading(&metrics, shares), rule(&metrics, shares)];
    lines.extend(table.rows.iter().map(|row| line(table, row, &metrics, shares)));
    format!("### {}\n\n{}\n", table.title, lines.join("\n"))
}

/// All tables, and what a reader must know of them.
pub(super) fn suite(result: &SuiteResult) -> String {
    let tables: Vec<String> = result.tables.iter().map(table).collect();
    format!("{}{}\n{}\n", tables.join("\n"), checks(&result.checks), conditions(result))
}

/// What has to hold, as one more table.
fn checks(checks: &[Check]) -> String {
    if checks.is_empty() {
        return String::new();
    }
    let line = |Check { what, value, at_most, held }: &Check| {
        format!("| {what} | {value:.3} | {at_most:.3} | {} |\n", if *held { "yes" } else { "**no**" })
    };
    let lines: String = checks.iter().map(line).collect();
    format!("\n### what has to hold\n\n| | found | at most | held |\n|---|--:|--:|---|\n{lines}")
}

fn heading(metrics: &[Metric], shares: bool) -> String {
    let titles: Vec<&str> = metrics.iter().map(|metric| metric.title()).collect();
    let share = if shares { " CPU, of its floor's |" } else { "" };
    format!("| | revision | {} |{share}", titles.join(" | "))
}

fn rule(metrics: &[Metric], shares: bool) -> String {
    format!("|---|---|{}", "--:|".repeat(metrics.len() + usize::from(shares)))
}

fn line(table: &Table, row: &Row, metrics: &[Metric], shares: bool) -> String {
    let name = if row.ours { format!("**{}**", row.name) } else { row.name.clone() };
    let revision = row.revision.as_deref().unwrap_or("");
    match &row.outcome {
        Outcome::Measured { .. } => {
            let cells: Vec<String> = metrics
                .iter()
                .map(|metric| row.spread(*metric).map_or_else(String::new, |spread| cell(*metric, spread)))
                .collect();
            let share =
                table.share(row, Metric::CpuUs).map(|share| format!("{share:.2}")).unwrap_or_default();
            let share = if shares { format!(" {share} |") } else { String::new() };
            format!("| {name} | {revision} | {} |{share}", cells.join(" | "))
        }
        Outcome::Absent { reason } => format!("| {name} | {revision} | not measured: {} |", plain(reason)),
        Outcome::Wrong { seen } => format!("| {name} | {revision} | **answered wrongly**: {} |", plain(seen)),
    }
}

/// The median, and the ends where there are several rounds. What hardly differs between rounds is told without them.
fn cell(metric: Metric, spread: Spread) -> String {
    let median = metric.show(spread.median);
    let (least, greatest) = (metric.show(spread.least), metric.show(spread.greatest));
    if least == greatest || matches!(metric, Metric::ResidentBytes | Metric::AnswerBytes) {
        median
    } else {
        format!("{median} ({least}, {greatest})")
    }
}

/// Text of others in a cell of a table: one short line.
fn plain(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(160).collect::<String>().replace('|', "/")
}

fn conditions(result: &SuiteResult) -> String {
    let conditions = &result.conditions;
    let machine = conditions.provenance.machines.first();
    let of = |what: Option<&String>| what.map_or("?", String::as_str).to_owned();
    let pinned = if conditions.pinned {
        "server on core 0, generator on core 1"
    } else {
        "no core of its own for anyone"
    };
    let quick = if conditions.quick {
        " A quick run: it says that everything answers, and nothing about speed."
    } else {
        ""
    };
    let versions: Vec<&str> = conditions.versions.values().map(String::as_str).collect();
    format!(
        "{}, `{}`: {}, {}; {} x {}, {}; {}.{quick}",
        conditions.began,
        conditions.provenance.command.join(" "),
        if conditions.rounds == 1 {
            "one round".to_owned()
        } else {
            format!("{} rounds in rotation", conditions.rounds)
        },
        pinned,
        machine.and_then(|machine| machine.cpus).unwrap_or_default(),
        of(machine.and_then(|machine| machine.cpu.as_ref())),
        of(machine.and_then(|machine| machine.kernel.as_ref())),
        if versions.is_empty() { "no peers".to_owned() } else { versions.join(", ") },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::model::Figures;

    #[test]
    fn every_kind_of_row_is_told() {
        let measured = |name: &str, floor: Option<&str>, ours: bool, values: &[f64]| Row {
            name: name.into(),
            revision: ours.then(|| "2026-07-28".to_owned()),
            floor: floor.map(str::to_owned),
            ours,
            outcome: Outcome::Measured {
                rounds: values.iter().map(|value| Figures::from([(Metric::CpuUs, *value)])).collect(),
            },
        };
        let other = |name: &str, outcome| Row { outcome, ..measured(name, None, false, &[]) };
        let rows = vec![
            measured("floor", None, false, &[10.0]),
            measured("ours", Some("floor"), true, &[11.0, 13.0, 12.0]),
            other("a", Outcome::Absent { reason: "not installed".into() }),
            other("b", Outcome::Wrong { seen: "a | b\nc".into() }),
        ];
        let told = table(&Table { title: "add".into(), rows });
        let expected = "### add\n\n\
            | | revision | CPU us/call | CPU, of its floor's |\n|---|---|--:|--:|\n\
            | floor |  | 10.0 |  |\n\
            | **ours** | 2026-07-28 | 12.0 (11.0, 13.0) | 1.20 |\n\
            | a |  | not measured: not installed |\n\
            | b |  | **answered wrongly**: a / b c |\n";
        assert_eq!(told, expected);
    }
}
