//! Several runs side by side.

use std::collections::BTreeSet;

use super::{Figure, choice, data, figures, markup::Markup, run, tables};
use crate::report::{
    compare::{Compared, Comparison, Row},
    format::percent,
};

/// The percentiles that can be chosen for the plot over time.
const PERCENTILES: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];

/// Which one of them is shown at first.
const FIRST: usize = 2;

/// All runs in one panel.
pub(super) fn panel(page: &mut Markup, comparison: &Comparison<'_>) {
    page.raw("<div class=\"cards verdicts\">\n");
    for compared in comparison.runs() {
        run::verdict(page, compared.run, Some(&compared.label));
    }
    page.raw("</div>\n");
    differences(page, comparison);
    plots(page, comparison);
    tables_of_measures(page, comparison);
    faults(page, comparison.runs());
    replicas(page, comparison.runs());
}

fn differences(page: &mut Markup, comparison: &Comparison<'_>) {
    page.raw("<div class=\"card\">").element("h3", "Before comparing");
    for difference in comparison.differences() {
        let class = if difference.unfair { "p class=\"unfair\"" } else { "p class=\"soft\"" };
        page.element(class, &difference.to_string());
    }
    page.element("p class=\"soft\"", "One run each: a few per cent are noise. Ratios are to the first.");
    page.raw("</div>\n");
}

fn plots(page: &mut Markup, comparison: &Comparison<'_>) {
    let figure = |plot, title, note| Figure { plot, run: None, title, note };
    page.raw("<section>").element("h2", "Over time");
    choice(page, "percentile", "Latency at", &PERCENTILES.map(str::to_owned), FIRST);
    figure("all-latency", "Latency", "of requests that ended well, in the second in which they ended")
        .write(page);
    figures(
        page,
        &[
            figure("all-throughput", "Throughput", "requests that ended well, per second"),
            figure("all-failed", "Failed", "requests per second"),
        ],
    );
    page.raw("</section>\n<section>").element("h2", "How long requests took");
    let operations = operations(comparison.runs());
    if operations.len() > 1 {
        choice(page, "operation", "Show", &operations, 0);
    }
    figures(
        page,
        &[
            figure("all-percentiles", "Percentiles", "how long all but the slowest took"),
            figure("all-histogram", "Histogram", "share of requests; both axes are logarithmic"),
        ],
    );
    page.raw("</section>\n");
}

/// What any of the runs has, those of the first run first.
fn operations(runs: &[Compared<'_>]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (name, _) in runs.iter().flat_map(|compared| data::operations(compared.run)) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

fn tables_of_measures(page: &mut Markup, comparison: &Comparison<'_>) {
    page.element("h2", "Measures");
    for (index, (title, rows)) in comparison.sections().into_iter().enumerate() {
        // The first is of all requests; the others are long and rarely asked for.
        if index == 0 {
            page.raw("<div class=\"card\">");
        } else {
            page.raw("<details class=\"card\">").element("summary", &title);
        }
        let mut columns = vec![("", "")];
        for compared in comparison.runs() {
            columns.extend([("", compared.label.as_str()), ("ratio", "")]);
        }
        page.table(&title, &columns);
        rows.iter().for_each(|row| measure(page, row));
        page.end_table().raw(if index == 0 { "</div>\n" } else { "</details>\n" });
    }
}

fn measure(page: &mut Markup, row: &Row) {
    let mut cells = Vec::new();
    for cell in &row.cells {
        let class = match cell.better {
            Some(true) => "ratio good",
            Some(false) => "ratio bad",
            None => "ratio",
        };
        cells.extend([("", cell.shown.as_str()), (class, cell.ratio.as_str())]);
    }
    page.row(&row.name, &cells);
}

fn faults(page: &mut Markup, runs: &[Compared<'_>]) {
    let mut labels: Vec<&str> = Vec::new();
    for fault in runs.iter().flat_map(|compared| &compared.run.faults) {
        if !labels.contains(&fault.label.as_str()) {
            labels.push(&fault.label);
        }
    }
    if labels.is_empty() {
        return;
    }
    page.element("h2", "Faults").raw("<div class=\"card\">");
    let columns = runs.iter().map(|compared| ("words", compared.label.as_str()));
    page.table("What became of the fleet", &std::iter::once(("", "")).chain(columns).collect::<Vec<_>>());
    for label in labels {
        page.raw("<tr>").element("th scope=\"row\"", label);
        for compared in runs {
            // The same fault may be done several times: the worst of them would need an order; all are told.
            let done: Vec<_> = compared.run.faults.iter().filter(|fault| fault.label == label).collect();
            let texts: Vec<String> = done.iter().map(|fault| fault.recovery.to_string()).collect();
            let class = done.first().map_or("words dim", |fault| tables::recovery_class(&fault.recovery));
            page.element(
                &format!("td class=\"{class}\""),
                if texts.is_empty() { "–".to_owned() } else { texts.join("; ") }.as_str(),
            );
        }
        page.raw("</tr>\n");
    }
    page.end_table().raw("</div>\n");
}

fn replicas(page: &mut Markup, runs: &[Compared<'_>]) {
    let names: BTreeSet<&String> =
        runs.iter().flat_map(|compared| compared.run.tally.replicas.answered.keys()).collect();
    if names.is_empty() {
        return;
    }
    page.element("h2", "Replicas").raw("<div class=\"card\">");
    let mut columns = vec![("", "")];
    for compared in runs {
        columns.extend([("", compared.label.as_str()), ("bar some", "")]);
    }
    page.table("Share of answers", &columns);
    for name in names {
        page.raw("<tr>").element("th scope=\"row\"", name);
        for compared in runs {
            let answered = &compared.run.tally.replicas.answered;
            let all: u64 = answered.values().sum();
            let share = answered.get(name).copied().unwrap_or(0) as f64 / all.max(1) as f64;
            page.element("td", &percent(share));
            page.raw("<td class=\"bar some\">").raw(&tables::bar(share)).raw("</td>");
        }
        page.raw("</tr>\n");
    }
    page.end_table().raw("</div>\n");
}
