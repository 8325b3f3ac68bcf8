//! What the documentation shows is what the program takes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use trunkline_loadtest::scenario;

#[test]
fn the_scenario_of_the_documentation_is_one() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/loadtest.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let scenario = scenario::parse("docs", text).unwrap();
    assert_eq!((scenario.name.as_str(), scenario.steps.len()), ("search", 2));
}
