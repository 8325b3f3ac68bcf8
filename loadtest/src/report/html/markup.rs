//! HTML, in which every text is text.

use crate::report::format::clean;

/// HTML so far. Whatever may come from outside goes through [`Markup::text`] or [`escape`].
#[derive(Debug, Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Markup of our own, as it is.
    pub(super) fn raw(&mut self, markup: &str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// A text.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.0.push_str(&escape(text));
        self
    }

    /// An element with a text in it. The tag may have attributes of ours: `td class="number"`.
    pub(super) fn element(&mut self, tag: &str, text: &str) -> &mut Self {
        let name = tag.split(' ').next().unwrap_or(tag);
        self.raw("<").raw(tag).raw(">").text(text).raw("</").raw(name).raw(">")
    }

    /// An element with a text of several lines in it.
    pub(super) fn lines(&mut self, tag: &str, text: &str) -> &mut Self {
        self.raw("<").raw(tag).raw(">");
        for line in text.lines() {
            self.text(line).raw("\n");
        }
        self.raw("</").raw(tag).raw(">")
    }

    /// A row of a table whose first cell is its heading. The others are numbers, unless their class says otherwise.
    pub(super) fn row(&mut self, heading: &str, cells: &[(&str, &str)]) -> &mut Self {
        self.raw("<tr>").cells(heading, cells)
    }

    /// The same for what the other rows come to.
    pub(super) fn strong_row(&mut self, heading: &str, cells: &[(&str, &str)]) -> &mut Self {
        self.raw("<tr class=\"strong\">").cells(heading, cells)
    }

    fn cells(&mut self, heading: &str, cells: &[(&str, &str)]) -> &mut Self {
        self.element("th scope=\"row\"", heading);
        for (class, cell) in cells {
            self.element(&format!("td class=\"{class}\""), cell);
        }
        self.raw("</tr>\n")
    }

    /// The beginning of a table in a box that scrolls sideways where it is too narrow.
    pub(super) fn table(&mut self, caption: &str, headings: &[(&str, &str)]) -> &mut Self {
        self.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"")
            .text(caption)
            .raw("\"><table>");
        self.element("caption", caption).raw("<thead><tr>");
        for (class, heading) in headings {
            self.element(&format!("th scope=\"col\" class=\"{class}\""), heading);
        }
        self.raw("</tr></thead><tbody>\n")
    }

    /// Its end.
    pub(super) fn end_table(&mut self) -> &mut Self {
        self.raw("</tbody></table></div>\n")
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// A text within an element or within quotes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in clean(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_neither_elements_nor_attributes() {
        let mut markup = Markup::default();
        markup.element("p class=\"x\"", "</p><script>'a' & \"b\"\u{1b}");
        assert_eq!(
            markup.into_string(),
            "<p class=\"x\">&lt;/p&gt;&lt;script&gt;&#39;a&#39; &amp; &quot;b&quot;\\u{1b}</p>"
        );
    }
}
