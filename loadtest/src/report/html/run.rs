//! One run's part of the page.

use super::{
    Figure, choice, data, figures,
    markup::Markup,
    origin,
    tables::{self, at},
};
use crate::report::{
    compare::Compared,
    format::{count, percent, rate},
    judge::Outcome,
    model::{FaultMark, Run},
};

/// Everything about one run. `index` is its place in the page's data.
pub(super) fn panel(page: &mut Markup, index: usize, compared: &Compared<'_>) {
    let run = compared.run;
    verdict(page, run, None);
    tiles(page, run);
    over_time(page, index, run);
    latencies(page, index, run);
    tables::requests(page, run);
    tables::errors(page, run);
    tables::thresholds(page, run);
    tables::faults(page, run);
    page.element("h2", "Checks");
    tables::checks(page, run);
    tables::replicas(page, run);
    page.element("h2", "Sessions, streams and the generator");
    page.raw("<div class=\"cards\">\n");
    tables::sessions(page, run);
    tables::generator(page, run);
    page.raw("</div>\n");
    origin::section(page, compared);
}

/// Whether it held, and why not. With a title where there are several.
pub(super) fn verdict(page: &mut Markup, run: &Run, title: Option<&str>) {
    let (class, sign) = match run.outcome() {
        Outcome::Held => ("held", "M6.8 12.6 10.4 16 17.2 8.6"),
        Outcome::Troubled => ("troubled", "M12 6.2V13M12 17.2v.1"),
        Outcome::Failed => ("failed", "M8 8l8 8M16 8l-8 8"),
    };
    page.raw(&format!("<section class=\"card verdict {class}\">"));
    page.raw("<svg class=\"icon\" viewBox=\"0 0 24 24\" aria-hidden=\"true\"><circle class=\"disc\" cx=\"12\" cy=\"12\" r=\"12\"/>");
    page.raw(&format!("<path class=\"sign\" d=\"{sign}\"/></svg><div>"));
    if let Some(title) = title {
        page.element("h3", title);
    }
    page.element("p class=\"word\"", run.outcome().words());
    let conditions = &run.conditions;
    page.element(
        "p class=\"soft\"",
        &format!("{}, {}, {}", conditions.scenario, conditions.arrival, conditions.url),
    );
    page.raw("</div>").element("p class=\"sentence\"", &run.summary());
    page.element("p class=\"sentence\"", &run.soundness());
    let failures = run.failures().into_iter().map(|text| ("failure", text));
    let troubles = run.troubles().into_iter().map(|text| ("trouble", text));
    let warnings = run.warnings.iter().map(|warning| ("warning", warning.text.clone()));
    let reasons: Vec<_> = failures.chain(troubles).chain(warnings).collect();
    if !reasons.is_empty() {
        page.raw("<ul class=\"why\">");
        for (class, text) in reasons {
            // A warning may quote a log.
            let (text, quoted) = text.split_once('\n').unwrap_or((&text, ""));
            page.raw(&format!("<li class=\"{class}\">")).text(text);
            if !quoted.is_empty() {
                page.lines("pre", quoted);
            }
            page.raw("</li>");
        }
        page.raw("</ul>");
    }
    page.raw("</section>\n");
}

fn tiles(page: &mut Markup, run: &Run) {
    let overall = run.tally.overall();
    let sessions = &run.tally.sessions;
    let lost = sessions.lost + sessions.handles_lost;
    let if_any = |times: u64, class| if times > 0 { class } else { "" };
    let mut tiles = vec![
        ("rate", rate(run.rate()), ""),
        ("p50", at(&overall.latency, 50.0), ""),
        ("p99", at(&overall.latency, 99.0), ""),
        ("p99.9", at(&overall.latency, 99.9), ""),
        ("max", at(&overall.latency, 100.0), ""),
        ("errors", percent(overall.error_rate()), if_any(overall.failures(), "caution")),
        ("wrong", count(run.tally.wrong()), if_any(run.tally.wrong(), "bad")),
        ("hung", count(run.tally.hung()), if_any(run.tally.hung(), "caution")),
        ("sessions lost", count(lost), if_any(lost, "caution")),
    ];
    if let Some(longest) = run.faults.iter().filter_map(FaultMark::recovered_after).max() {
        tiles.push(("recovery", format!("{:.1} s", longest.as_secs_f64()), ""));
    }
    page.raw("<dl class=\"tiles\">");
    for (name, value, class) in tiles {
        page.raw(&format!("<div class=\"{class}\">")).element("dt", name).element("dd", &value).raw("</div>");
    }
    page.raw("</dl>\n");
}

fn over_time(page: &mut Markup, index: usize, run: &Run) {
    let timeline = &run.tally.timeline;
    let figure = |plot, title, note| Figure { plot, run: Some(index), title, note };
    page.element("h2", "Over time");
    let note = "of requests that ended well, in the second in which they ended";
    figure("latency", "Latency", note).write(page);
    let mut more = vec![
        figure("throughput", "Throughput", "requests per second"),
        figure("errors", "Errors by kind", "per second"),
        figure("open", "Sessions and streams open", "at the end of each second"),
    ];
    if timeline.values().any(|second| second.events > 0) {
        more.push(figure("events", "Events delivered", "per second"));
    }
    if !run.tally.replicas.answered.is_empty() {
        more.push(figure("moved", "Moved to another replica", "answers per second"));
    }
    figures(page, &more);
}

fn latencies(page: &mut Markup, index: usize, run: &Run) {
    page.raw("<section>").element("h2", "How long requests took");
    let operations: Vec<String> = data::operations(run).into_iter().map(|(name, _)| name).collect();
    if operations.len() > 1 {
        choice(page, "operation", "Show", &operations, 0);
    }
    let figure = |plot, title, note| Figure { plot, run: Some(index), title, note };
    figures(
        page,
        &[
            figure("histogram", "Histogram", "both axes are logarithmic, so that one slow request is seen"),
            figure("percentiles", "Percentiles", "how long all but the slowest took"),
        ],
    );
    page.raw("</section>\n");
}
