//! The tables for a browser: one file, with a plot of what a call costs.

use super::{
    model::{Metric, Outcome, Row, SuiteResult, Table},
    text,
};

/// Widths in pixels: names, bars.
const NAMES: f64 = 330.0;
const BARS: f64 = 560.0;
const LINE: f64 = 22.0;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#16191d}\
    h2{margin-top:2em}pre{overflow-x:auto;background:#f4f5f7;padding:1em;font-size:12px}svg{max-width:100%;height:auto}\
    text{font:13px system-ui,sans-serif;fill:#16191d}.ours{fill:#0068b0}.other{fill:#9aa3af}.ends{stroke:#16191d;stroke-width:1.5}\
    @media(prefers-color-scheme:dark){body{background:#101317;color:#e8ebef}text{fill:#e8ebef}pre{background:#191d23}.ends{stroke:#e8ebef}}";

/// The page.
pub(super) fn html(result: &SuiteResult) -> String {
    let title = format!("Benchmark: {}", escape(&result.suite));
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style><h1>{title}</h1>\n"
    );
    for table in &result.tables {
        page += &format!(
            "<h2>{}</h2>\n{}\n<pre>{}</pre>\n",
            escape(&table.title),
            plot(table),
            escape(&text::table(table))
        );
    }
    page + &format!(
        "<h2>Conditions</h2><pre>{}</pre></html>\n",
        escape(&text::suite(&SuiteResult { tables: Vec::new(), ..result.clone() }))
    )
}

/// CPU per call, the median as a bar and the ends as a line. On a logarithmic scale: the rows differ by a hundred times.
fn plot(table: &Table) -> String {
    let bars: Vec<(&Row, f64, f64, f64)> = table.rows.iter().filter_map(bar).collect();
    let (Some(least), Some(greatest)) =
        (bars.iter().map(|bar| bar.2).reduce(f64::min), bars.iter().map(|bar| bar.3).reduce(f64::max))
    else {
        return String::new();
    };
    let (low, high) = ((least / 2.0).log10(), (greatest * 1.1).log10());
    let x = |value: f64| NAMES + (value.log10() - low) / (high - low).max(1e-9) * BARS;
    let mut svg = String::new();
    let mut y = 4.0;
    for (row, median, least, greatest) in &bars {
        let name = format!("{} {}", row.name, row.revision.as_deref().unwrap_or(""));
        let class = if row.ours { "ours" } else { "other" };
        let (middle, end) = (y + LINE / 2.0, x(*greatest) + 8.0);
        svg += &format!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
             <rect class=\"{class}\" x=\"{NAMES}\" y=\"{}\" width=\"{:.1}\" height=\"{}\"/>\
             <line class=\"ends\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle}\" y2=\"{middle}\"/>\
             <text x=\"{end:.1}\" y=\"{}\">{median:.1}</text>\n",
            NAMES - 8.0,
            middle + 4.0,
            escape(name.trim()),
            y + 3.0,
            x(*median) - NAMES,
            LINE - 6.0,
            x(*least),
            x(*greatest),
            middle + 4.0,
        );
        y += LINE;
    }
    let width = NAMES + BARS + 90.0;
    format!(
        "<p>CPU per call in microseconds, logarithmic: median of the rounds, and the least and the greatest.</p>\
         <svg role=\"img\" aria-label=\"CPU per call\" viewBox=\"0 0 {width} {}\">\n{svg}</svg>",
        y + 4.0
    )
}

fn bar(row: &Row) -> Option<(&Row, f64, f64, f64)> {
    let Outcome::Measured { .. } = row.outcome else { return None };
    let spread = row.spread(Metric::CpuUs).filter(|spread| spread.least > 0.0)?;
    Some((row, spread.median, spread.least, spread.greatest))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::model::Figures;

    #[test]
    fn text_is_text_and_every_measured_row_has_a_bar() {
        let row = |name: &str, outcome| Row {
            name: name.into(),
            revision: None,
            floor: None,
            ours: false,
            outcome,
        };
        let measured = || Outcome::Measured { rounds: vec![Figures::from([(Metric::CpuUs, 9.0)])] };
        let rows = vec![
            row("<script>", measured()),
            row("b", measured()),
            row("c", Outcome::Absent { reason: "<b>".into() }),
        ];
        let tables = vec![Table { title: "a & b".into(), rows }];
        let page = html(&SuiteResult { suite: "server".into(), tables, ..SuiteResult::default() });
        assert_eq!(page.matches("<rect").count(), 2);
        assert!(!page.contains("<script>") && !page.contains("<b>"), "{page}");
        assert!(page.contains("a &amp; b"));
    }
}
