use super::*;
use crate::report::testing;

#[test]
fn a_servers_markup_is_text_everywhere() {
    let mut run = testing::troubled();
    let hostile = "</script><script>pwned()</script><img src=x onerror=pwned()>";
    run.name = hostile.to_owned();
    run.tally.replicas.add(hostile, 3);
    run.tally.add_server(hostile, 1);
    run.tally
        .operations
        .insert(crate::tally::Operation::tool(hostile), crate::tally::OperationTally::default());
    run.faults[0].label = hostile.to_owned();
    run.conditions.scenario_toml = hostile.to_owned();
    run.verdicts[0].slo = hostile.to_owned();
    run.warnings.push(crate::report::Warning {
        kind: crate::report::WarningKind::Other,
        text: format!("{hostile}\n{hostile}"),
    });
    for runs in [vec![run.clone()], vec![run.clone(), run]] {
        let page = html(&testing::report(runs));
        assert!(!page.contains("<img") && !page.contains("<script>pwned"), "it is markup somewhere");
        assert_eq!(page.matches("<script").count(), 2, "the data and our own");
        assert!(page.contains("&lt;img src=x"));
    }
}

#[test]
fn the_page_needs_nothing_else_and_allows_only_its_own_script() {
    let page = html(&testing::report(vec![testing::run()]));
    let (script, style) = (SCRIPT.join("\n"), STYLE);
    assert!(page.contains(&format!("script-src 'sha256-{}'", digest(&script))));
    assert!(page.contains(&format!("<script>{script}</script>")), "the hash is of exactly this text");
    assert!(page.contains(&format!("<style>{style}</style>")));
    for word in ["src=\"", "@import", "url(", "fetch(", "innerHTML", "eval("] {
        assert!(!page.contains(word), "{word}");
    }
    let urls: Vec<&str> =
        page.match_indices("http").map(|(at, _)| &page[at..(at + 40).min(page.len())]).collect();
    let known = |url: &&str| {
        ["http://www.w3.org/2000/svg", "http-equiv", "http://(hidden)@127"]
            .iter()
            .any(|known| url.starts_with(known))
            || !url.contains("://")
    };
    assert!(urls.iter().all(known), "{urls:?}");
}

#[test]
fn secrets_are_not_on_the_page() {
    assert!(!html(&testing::report(vec![testing::troubled()])).contains("hunter2"));
}

#[test]
fn several_runs_have_a_panel_each_and_one_side_by_side() {
    let page = html(&testing::report(vec![
        testing::run().named("round-robin"),
        testing::troubled().named("sticky"),
    ]));
    assert_eq!(page.matches("role=\"tabpanel\"").count(), 3);
    assert!(page.contains("data-run=\"all\"") && page.contains("data-run=\"1\""));
    let alone = html(&testing::report(vec![testing::run()]));
    assert!(!alone.contains("role=\"tab") && !alone.contains("data-run=\"all\""));
}
