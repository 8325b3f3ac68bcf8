//! Tables of one run.

use super::markup::Markup;
use crate::{
    report::{
        format::{bytes, clean, count, duration, percent, plural, rate},
        model::{Recovery, Run},
        text::session_counts,
    },
    tally::{Latencies, Operation, OperationTally, Thread},
};

/// A percentile, or a dash where there is none.
pub(super) fn at(latency: &Latencies, percent: f64) -> String {
    if latency.is_empty() { "–".to_owned() } else { duration(latency.percentile(percent)) }
}

pub(super) fn requests(page: &mut Markup, run: &Run) {
    let columns = ["", "count", "rate", "p50", "p90", "p99", "p99.9", "max", "p99 from sending", "errors"];
    page.raw("<div class=\"card\">").table("Requests", &columns.map(|column| ("", column)));
    for (operation, tally) in &run.tally.operations {
        let cells = request(run, tally);
        page.row(operation.as_str(), &borrowed(&cells));
    }
    if run.tally.operations.keys().filter(|operation| operation.is_request()).count() != 1 {
        let cells = request(run, &run.tally.overall());
        page.strong_row("all requests", &borrowed(&cells));
    }
    page.end_table();
    if run.tally.operations.keys().any(|operation| operation.as_str() == Operation::DELIVERY) {
        let note =
            "delivery: from what caused an event to its arrival; it is no request, and not in the last row.";
        page.element("p class=\"soft\"", note);
    }
    page.raw("</div>\n");
}

fn request(run: &Run, tally: &OperationTally) -> Vec<(&'static str, String)> {
    let mut cells = vec![("", count(tally.ended())), ("", rate(run.per_second(tally.succeeded)))];
    cells.extend([50.0, 90.0, 99.0, 99.9, 100.0].map(|percent| ("", at(&tally.latency, percent))));
    cells.push(("dim", at(&tally.service, 99.0)));
    cells.push((if tally.failures() > 0 { "caution" } else { "" }, percent(tally.error_rate())));
    cells
}

fn borrowed<'a>(cells: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    cells.iter().map(|(class, cell)| (*class, cell.as_str())).collect()
}

pub(super) fn errors(page: &mut Markup, run: &Run) {
    let errors = run.tally.errors();
    if errors.is_empty() && run.tally.examples.is_empty() {
        return;
    }
    let ended: u64 = run.tally.operations.values().map(OperationTally::ended).sum();
    page.element("h2", "Errors").raw("<div class=\"card\">");
    page.table("By kind", &[("", ""), ("", "times"), ("", "of all"), ("words", "the first ones")]);
    let kinds = errors.keys().chain(run.tally.examples.keys()).collect::<std::collections::BTreeSet<_>>();
    for kind in kinds {
        let times = errors.get(kind).copied().unwrap_or(0);
        let class = if kind.is_wrong() { "bad" } else { "caution" };
        page.raw("<tr>").element("th scope=\"row\"", &kind.to_string());
        page.element(&format!("td class=\"{class}\""), &count(times));
        page.element("td", &percent(times as f64 / ended.max(1) as f64));
        page.raw("<td class=\"words\"><ul class=\"examples\">");
        for example in run.tally.examples.get(kind).iter().flat_map(|examples| examples.iter()) {
            let of = format!(
                "at {}, client {} ({}), {}: ",
                duration(example.at()),
                example.client,
                example.revision,
                example.operation
            );
            page.raw("<li>").element("span class=\"soft\"", &of).element("code", &example.text).raw("</li>");
        }
        page.raw("</ul></td></tr>\n");
    }
    page.end_table().raw("</div>\n");
}

pub(super) fn thresholds(page: &mut Markup, run: &Run) {
    if run.verdicts.is_empty() {
        return;
    }
    page.element("h2", "Thresholds").raw("<div class=\"card\">");
    page.table("What had to hold", &[("words", "threshold"), ("words", "measured"), ("words", "")]);
    for verdict in &run.verdicts {
        let (class, word) = if verdict.held { ("words good", "held") } else { ("words bad", "missed") };
        page.row(&verdict.slo, &[("words", &verdict.measured), (class, word)]);
    }
    page.end_table().raw("</div>\n");
}

pub(super) fn faults(page: &mut Markup, run: &Run) {
    if run.faults.is_empty() {
        return;
    }
    page.element("h2", "Faults").raw("<div class=\"card\">");
    page.table(
        "What was done to the fleet",
        &[("", ""), ("", "at"), ("", "over at"), ("words", "what became of it")],
    );
    for fault in &run.faults {
        let (begun, over) = (duration(fault.begun.get()), duration(fault.over.get()));
        page.row(
            &fault.label,
            &[("", &begun), ("", &over), (recovery_class(&fault.recovery), &fault.recovery.to_string())],
        );
    }
    page.end_table();
    page.element(
        "p class=\"soft\"",
        "Recovered: from then on failures, p99 and throughput were as in the seconds before the fault.",
    );
    page.raw("</div>\n");
}

/// The class of a cell that tells of a recovery.
pub(super) const fn recovery_class(recovery: &Recovery) -> &'static str {
    match recovery {
        Recovery::NotFelt | Recovery::After { .. } => "words good",
        Recovery::Not { .. } => "words bad",
        Recovery::Unknown { .. } => "words caution",
    }
}

pub(super) fn checks(page: &mut Markup, run: &Run) {
    let tally = &run.tally;
    page.raw("<div class=\"card\">");
    if tally.checked.is_empty() && tally.findings.is_empty() {
        page.element("p class=\"soft\"", "No check was made.").raw("</div>\n");
        return;
    }
    page.table(
        "Of every answer and event",
        &[("", ""), ("", "made"), ("", "found"), ("words", "it means that")],
    );
    let checks = tally.checked.keys().chain(tally.findings.keys()).collect::<std::collections::BTreeSet<_>>();
    for check in checks {
        let found = tally.findings.get(check).copied().unwrap_or(0);
        let made = tally.checked.get(check).copied().unwrap_or(0);
        let (class, words) = if found > 0 { ("bad", "words bad") } else { ("good", "words dim") };
        page.row(check.as_str(), &[("", &count(made)), (class, &count(found)), (words, check.meaning())]);
    }
    page.end_table().raw("</div>\n");
}

pub(super) fn replicas(page: &mut Markup, run: &Run) {
    let replicas = &run.tally.replicas;
    if replicas.answered.is_empty() {
        return;
    }
    page.element("h2", "Replicas").raw("<div class=\"card\">");
    page.table("Who answered", &[("", ""), ("", "answers"), ("", "share"), ("bar", "")]);
    let named: u64 = replicas.answered.values().sum();
    let most = replicas.answered.values().copied().max().unwrap_or(1).max(1);
    for (replica, answers) in &replicas.answered {
        page.raw("<tr>").element("th scope=\"row\"", replica).element("td", &count(*answers));
        page.element("td", &percent(*answers as f64 / named.max(1) as f64));
        page.raw("<td class=\"bar\">").raw(&bar(*answers as f64 / most as f64)).raw("</td></tr>\n");
    }
    page.end_table();
    let moved = percent(replicas.moved_rate());
    let mut note = format!("{moved} of answers came from another replica than the client's one before.");
    if replicas.unnamed > 0 {
        note.push_str(&format!(" {} did not say whose they are.", plural(replicas.unnamed, "answer")));
    }
    page.element("p class=\"soft\"", &note).raw("</div>\n");
}

/// A bar of this length, 0.0 to 1.0.
pub(super) fn bar(length: f64) -> String {
    let width = (length.clamp(0.0, 1.0) * 1000.0).round() / 10.0;
    format!(
        "<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"{width}\" height=\"10\"/></svg>"
    )
}

pub(super) fn sessions(page: &mut Markup, run: &Run) {
    page.raw("<div class=\"card\">").table("Sessions and streams", &[("", ""), ("", "times")]);
    for (name, times, bad) in session_counts(run) {
        if times > 0 || bad {
            let class = if bad && times > 0 { "bad" } else { "" };
            page.row(name, &[(class, &count(times))]);
        }
    }
    let traffic = run.tally.traffic;
    page.row("sent, without HTTP headers", &[("", &bytes(traffic.sent))]);
    page.row("received", &[("", &bytes(traffic.received))]);
    page.end_table().raw("</div>\n");
}

pub(super) fn generator(page: &mut Markup, run: &Run) {
    let tally = &run.tally;
    page.raw("<div class=\"card\">").table("The generator itself", &[("", ""), ("", "")]);
    let mut row = |name: &str, value: String| {
        page.row(name, &[("", &value)]);
    };
    row("threads", count(tally.threads.len() as u64));
    if !tally.threads.is_empty() {
        let most = |of: fn(&Thread) -> f64| percent(tally.threads.iter().map(of).fold(0.0, f64::max));
        row("busiest thread, of its core", most(Thread::load));
        row("busiest second", most(|thread| thread.busiest));
    }
    let arrivals = &tally.arrivals;
    if arrivals.intended > 0 {
        row("starts that were due", count(arrivals.intended));
        row("waited for their client", count(arrivals.waited));
        row("given up", count(arrivals.dropped));
    }
    if !arrivals.lateness.is_empty() {
        row("lateness of starts, p50", at(&arrivals.lateness, 50.0));
        row("lateness of starts, p99", at(&arrivals.lateness, 99.0));
        row("lateness of starts, greatest", at(&arrivals.lateness, 100.0));
    }
    for (server, times) in &tally.servers {
        row(&format!("server {}", clean(server)), plural(*times, "introduction"));
    }
    page.end_table().raw("</div>\n");
}
