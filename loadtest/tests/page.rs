//! The page in a real browser: it draws everything, complains of nothing, and lets nothing in.
//!
//! Pictures of what was tested are left in the target directory's `tmp/page`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "page/browser.rs"]
mod browser;
#[path = "page/fixture.rs"]
mod fixture;
#[path = "page/odd.rs"]
mod odd;

use std::path::PathBuf;

use browser::Browser;
use fixture::{LEAST, ROUND_ROBIN, STICKY};
use trunkline_loadtest::report::{Report, html};

fn alone() -> String {
    html(&fixture::report(vec![fixture::run(ROUND_ROBIN)]))
}

fn side_by_side() -> String {
    html(&fixture::report([ROUND_ROBIN, LEAST, STICKY].map(fixture::run).into()))
}

fn picture(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("page");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(format!("{name}.png"))
}

/// Figures that can be seen, and of those the ones that show no picture.
const EMPTY: &str = "[...document.querySelectorAll('figure')].filter((figure) => figure.offsetParent && \
                     ![...figure.querySelectorAll('.plot path')].some((path) => path.getAttribute('d').length > 20)) \
                     .map((figure) => figure.dataset.plot).join()";

#[test]
fn it_is_drawn_in_both_schemes_and_at_every_width_without_a_complaint() {
    let mut browser = Browser::start();
    for (name, page, figures) in [("alone", alone(), 8), ("side", side_by_side(), 5)] {
        let mut grounds = Vec::new();
        for (width, scheme) in [(1280, "light"), (1280, "dark"), (390, "light")] {
            browser.open(&page, width, scheme);
            let seen =
                "[...document.querySelectorAll('figure')].filter((figure) => figure.offsetParent).length";
            assert_eq!(browser.evaluate(seen), figures, "{name}, {width}, {scheme}");
            assert_eq!(browser.evaluate(EMPTY), "", "{name}, {width}, {scheme}");
            let wide = browser.evaluate("document.documentElement.scrollWidth").as_u64().unwrap();
            assert!(wide <= u64::from(width), "{name}: {wide} pixels on {width}");
            grounds.push(browser.evaluate("getComputedStyle(document.body).backgroundColor"));
            browser.picture(&picture(&format!("{name}-{scheme}-{width}")), None);
        }
        assert_ne!(grounds[0], grounds[1]);
        browser.assert_silent();
    }
}

#[test]
fn runs_without_anything_or_with_very_much_are_drawn_too() {
    let mut browser = Browser::start();
    let many = [odd::nothing(), odd::little(), odd::long(), fixture::run(ROUND_ROBIN)];
    for runs in many.iter().map(|run| vec![run.clone()]).chain([many.to_vec()]) {
        let name = runs[0].name.clone();
        browser.open(&html(&fixture::report(runs)), 1280, "dark");
        browser.picture(&picture(&name), None);
        browser.assert_silent();
        let broken = "[...document.querySelectorAll('svg *')].flatMap((element) => [...element.attributes]) \
                      .filter((attribute) => /NaN|Infinity|undefined/.test(attribute.value)).length";
        assert_eq!(browser.evaluate(broken), 0, "{name}");
    }
}

#[test]
fn a_servers_texts_do_nothing() {
    let mut browser = Browser::start();
    for runs in [vec![odd::hostile()], vec![odd::hostile(), fixture::run(LEAST)]] {
        browser.open(&html(&fixture::report(runs)), 1000, "light");
        assert_eq!(browser.evaluate("typeof pwned"), "undefined");
        assert_eq!(browser.evaluate("document.querySelectorAll('img, script[src], iframe').length"), 0);
        assert_eq!(browser.evaluate("document.querySelectorAll('script').length"), 2);
        // They are shown all the same, in tables and in plots.
        assert!(browser.evaluate("document.body.textContent.includes('onerror=')").as_bool().unwrap());
        assert!(
            browser
                .evaluate("document.querySelector('.mark-label').textContent.includes('<img')")
                .as_bool()
                .unwrap()
        );
        browser.picture(&picture("hostile"), None);
        browser.assert_silent();
    }
}

#[test]
fn a_reader_can_point_choose_and_read_without_a_pointer() {
    let mut browser = Browser::start();
    browser.open(&alone(), 1280, "light");
    // The keyboard: values are told at the cursor.
    browser.evaluate("document.querySelector('[data-plot=latency] .canvas').focus()");
    (0..3).for_each(|_| browser.press("ArrowLeft"));
    let tip = browser.evaluate("document.querySelector('[data-plot=latency] .tip').innerText");
    assert!(tip.as_str().unwrap().contains("p99.9"), "{tip}");
    browser.press("Escape");
    assert!(browser.evaluate("document.querySelector('[data-plot=latency] .tip').hidden").as_bool().unwrap());
    // The pointer, at the fault.
    let place = browser.evaluate(
        "(() => { const mark = document.querySelector('[data-plot=latency] .mark'); mark.scrollIntoView(); \
         const box = mark.getBoundingClientRect(); return [box.x + 4, box.y + box.height / 2]; })()",
    );
    browser.point(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    let tip = browser.evaluate("document.querySelector('[data-plot=latency] .tip').innerText");
    assert!(tip.as_str().unwrap().contains("kill-replica:1: recovered after 2.0 s"), "{tip}");
    browser.picture(&picture("reading"), None);
    // A line is taken away, and put back.
    let lines = "document.querySelectorAll('[data-plot=latency] .plot .line').length";
    assert_eq!(browser.evaluate(lines), 5);
    browser.evaluate("document.querySelector('[data-plot=latency] .legend button').click()");
    assert_eq!(browser.evaluate(lines), 4);
    browser.evaluate("document.querySelector('[data-plot=latency] .legend button').click()");
    assert_eq!(browser.evaluate(lines), 5);
    // Another operation.
    let path = "document.querySelector('[data-plot=histogram] .block').getAttribute('d')";
    let before = browser.evaluate(path);
    browser.evaluate(
        "(() => { const select = document.querySelector('[data-choose=operation]'); select.selectedIndex = 1; \
         select.dispatchEvent(new Event('change')); })()",
    );
    assert_ne!(browser.evaluate(path), before);
    // The numbers themselves.
    browser.evaluate("document.querySelector('[data-plot=throughput] details').open = true");
    browser.evaluate("new Promise((done) => setTimeout(done))");
    assert_eq!(browser.evaluate("document.querySelectorAll('[data-plot=throughput] tbody tr').length"), 65);
    browser.assert_silent();
}

#[test]
fn tabs_show_one_run_at_a_time_and_paper_shows_all() {
    let mut browser = Browser::start();
    browser.open(&side_by_side(), 1280, "dark");
    browser.evaluate("document.querySelector('[role=tab]').focus()");
    browser.press("ArrowRight");
    browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    assert_eq!(browser.evaluate("document.activeElement.textContent"), "round-robin");
    assert_eq!(browser.evaluate("document.querySelectorAll('.panel:not([hidden])').length"), 1);
    assert_eq!(browser.evaluate(EMPTY), "");
    browser.evaluate("dispatchEvent(new Event('beforeprint'))");
    let undrawn =
        "[...document.querySelectorAll('figure')].filter((figure) => !figure.querySelector('.plot')).length";
    assert_eq!(browser.evaluate(undrawn), 0);
    browser.assert_silent();
}

/// Takes the picture for the documentation:
/// `TRUNKLINE_REPORT=report.json TRUNKLINE_PICTURE=docs/x.png cargo test -p trunkline-loadtest --test page -- --ignored`.
#[test]
#[ignore = "takes a picture of a report that was made before"]
fn a_picture_of_a_report() {
    let variable =
        |name: &str| std::env::var_os(name).map(PathBuf::from).unwrap_or_else(|| panic!("set {name}"));
    let report = Report::read(&variable("TRUNKLINE_REPORT")).unwrap();
    let mut browser = Browser::start();
    browser.open(&html(&report), 1280, "light");
    browser.picture(&variable("TRUNKLINE_PICTURE"), Some(1500));
    browser.assert_silent();
}
