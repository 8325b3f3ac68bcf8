//! A report as one page that needs nothing but a browser: no network, no other file.
//!
//! Texts in it may come from servers. [`markup`] holds them as text, and the script gets them as data and shows them as
//! text, too. Besides, the page's own policy allows this one script and this one style sheet, known by their hashes, and
//! nothing that would be loaded: markup that got in all the same could neither run nor fetch anything.

mod data;
mod markup;
mod origin;
mod run;
mod side;
mod tables;

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use self::markup::Markup;
use super::{compare::Comparison, format::plural, model::Report};

const STYLE: &str = include_str!("page.css");

/// The drawing kit, what is drawn, and what can be chosen: one script.
const SCRIPT: [&str; 5] = [
    include_str!("script/text.js"),
    include_str!("script/scale.js"),
    include_str!("script/plot.js"),
    include_str!("script/figures.js"),
    include_str!("script/page.js"),
];

/// The report as an HTML page.
#[must_use]
pub fn html(report: &Report) -> String {
    Comparison::alone(report).html()
}

// === impl Comparison ===

impl Comparison<'_> {
    /// All of it as one HTML page: the runs side by side, where there are several, and each run.
    #[must_use]
    pub fn html(&self) -> String {
        let script = SCRIPT.join("\n");
        let mut page = Markup::default();
        head(&mut page, &self.title(), &script);
        page.raw("<body>\n<header>").element("h1", &self.title()).raw("</header>\n<main>\n");
        if let [only] = self.runs() {
            run::panel(&mut page, 0, only);
        } else {
            self.panels(&mut page);
        }
        page.raw("</main>\n<footer>");
        page.text("Latencies are from when a request was due, so that a stall counts for all who waited. ");
        page.text(&format!("Made by trunkline-loadtest {}.", env!("CARGO_PKG_VERSION")));
        page.raw("<noscript><p>The plots need JavaScript; all figures are in the tables.</p></noscript></footer>\n");
        page.raw("<script type=\"application/json\" id=\"data\">").raw(&data::json(self)).raw("</script>\n");
        page.raw("<script>").raw(&script).raw("</script>\n</body>\n</html>\n");
        page.into_string()
    }

    fn panels(&self, page: &mut Markup) {
        page.raw("<div class=\"tabs\" role=\"tablist\" aria-label=\"Runs\">");
        let labels = self.runs().iter().map(|compared| compared.label.as_str());
        for (index, label) in std::iter::once("Side by side").chain(labels).enumerate() {
            let chosen = index == 0;
            page.element(
                &format!(
                    "button type=\"button\" role=\"tab\" id=\"tab-{index}\" aria-controls=\"panel-{index}\" \
                     aria-selected=\"{chosen}\""
                ),
                label,
            );
        }
        page.raw("</div>\n");
        open_panel(page, 0);
        side::panel(page, self);
        page.raw("</div>\n");
        for (index, compared) in self.runs().iter().enumerate() {
            open_panel(page, index + 1);
            page.element("h2", &compared.label);
            run::panel(page, index, compared);
            page.raw("</div>\n");
        }
    }

    fn title(&self) -> String {
        match self.runs() {
            [only] => format!("Load test: {}", only.label),
            runs => format!("Load test: {} side by side", plural(runs.len() as u64, "run")),
        }
    }
}

fn open_panel(page: &mut Markup, index: usize) {
    page.raw(&format!(
        "<div class=\"panel\" role=\"tabpanel\" id=\"panel-{index}\" aria-labelledby=\"tab-{index}\">\n"
    ));
}

fn head(page: &mut Markup, title: &str, script: &str) {
    let policy = format!(
        "default-src 'none'; img-src data:; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(script)
    );
    page.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"").raw(&policy).raw("\">\n");
    page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.raw("<link rel=\"icon\" href=\"data:,\">\n").element("title", title);
    page.raw("\n<style>").raw(STYLE).raw("</style>\n</head>\n");
}

fn digest(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

/// A figure that the script draws.
struct Figure<'a> {
    /// What is drawn, by the script's name for it.
    plot: &'a str,
    /// Of which run; `None` for all of them.
    run: Option<usize>,
    title: &'a str,
    note: &'a str,
}

impl Figure<'_> {
    fn write(&self, page: &mut Markup) {
        let run = self.run.map_or_else(|| "all".to_owned(), |run| run.to_string());
        page.raw(&format!(
            "<figure class=\"card\" data-plot=\"{}\" data-run=\"{run}\"><figcaption>",
            self.plot
        ));
        page.element("h3", self.title)
            .element("span class=\"soft\"", self.note)
            .raw("</figcaption></figure>\n");
    }
}

/// Figures side by side.
fn figures(page: &mut Markup, figures: &[Figure<'_>]) {
    page.raw("<div class=\"cards\">\n");
    figures.iter().for_each(|figure| figure.write(page));
    page.raw("</div>\n");
}

/// What is chosen for all figures of a section: a percentile, or an operation.
fn choice(page: &mut Markup, of: &str, label: &str, options: &[String], chosen: usize) {
    page.raw("<label class=\"choose\">").text(label).raw(&format!(" <select data-choose=\"{of}\">"));
    for (index, option) in options.iter().enumerate() {
        page.element(if index == chosen { "option selected" } else { "option" }, option);
    }
    page.raw("</select></label>\n");
}

#[cfg(test)]
mod tests;
