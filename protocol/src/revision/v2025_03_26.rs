//! 2025-03-26: no titles, no structured content, no links in content, no questions to the user.

use serde_json::value::RawValue;

use super::step::Adapter;
use crate::model::{
    Annotations, ClientCapabilities, ContentBlock, ElicitParams, Implementation, Prompt, Resource,
    ResourceContents, ResourceTemplate, TextContent, Tool,
};

pub(super) struct V2025_03_26;

impl Adapter for V2025_03_26 {
    fn implementation(&self, it: &mut Implementation) {
        it.title = None;
    }

    fn client_capabilities(&self, it: &mut ClientCapabilities) {
        it.elicitation = None;
    }

    /// A title has a place among the hints.
    fn tool(&self, it: &mut Tool) {
        (it.output_schema, it.meta) = (None, None);
        if let Some(title) = it.title.take() {
            it.annotations.get_or_insert_default().title.get_or_insert(title);
        }
    }

    fn resource(&self, it: &mut Resource) {
        (it.title, it.meta) = (None, None);
        drop_last_modified(&mut it.annotations);
    }

    fn resource_template(&self, it: &mut ResourceTemplate) {
        (it.title, it.meta) = (None, None);
        drop_last_modified(&mut it.annotations);
    }

    fn resource_contents(&self, it: &mut ResourceContents) {
        it.meta = None;
    }

    fn prompt(&self, it: &mut Prompt) {
        (it.title, it.meta) = (None, None);
        for argument in &mut it.arguments {
            argument.title = None;
        }
    }

    fn touches_content(&self) -> bool {
        true
    }

    fn content(&self, it: &mut ContentBlock) {
        if let ContentBlock::ResourceLink(link) = it {
            let (text, annotations) = (link_as_text(link), link.annotations.take());
            *it = ContentBlock::Text(TextContent { text, annotations, meta: None });
        }
        *it.meta_mut() = None;
        if let Some(annotations) = it.annotations_mut() {
            drop_last_modified(annotations);
        }
    }

    fn has_structured(&self, _json: &RawValue) -> bool {
        false
    }

    fn elicit(&self, _it: &mut ElicitParams) -> Result<(), &'static str> {
        Err("a question to the user")
    }
}

/// Hints that say nothing any more are left out.
fn drop_last_modified(annotations: &mut Option<Box<Annotations>>) {
    if let Some(hints) = annotations {
        hints.last_modified = None;
        if **hints == Annotations::default() {
            *annotations = None;
        }
    }
}

/// All that a link says, for a model to read: what it is called, where it is, what it is.
fn link_as_text(link: &Resource) -> String {
    let mut text = format!("{}: {}", link.title.as_deref().unwrap_or(&link.name), link.uri);
    if let Some(mime_type) = &link.mime_type {
        text.push_str(&format!(" ({mime_type})"));
    }
    if let Some(description) = &link.description {
        text.push('\n');
        text.push_str(description);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Role, ToolAnnotations};

    #[test]
    fn a_link_becomes_text_that_says_the_same() {
        let link = Resource::new("test://a", "a")
            .with_title("The A")
            .with_mime_type("text/plain")
            .with_description("First of all.")
            .with_annotations(
                Annotations::default().with_audience(Role::User).with_last_modified("2025-01-01"),
            );
        let mut block = ContentBlock::link(link);
        V2025_03_26.content(&mut block);
        let expected = ContentBlock::text("The A: test://a (text/plain)\nFirst of all.")
            .with_annotations(Annotations::default().with_audience(Role::User));
        assert_eq!(block, expected);
    }

    #[test]
    fn a_title_goes_among_the_hints_unless_they_have_one() {
        let mut tool = Tool::new("t").with_title("T");
        V2025_03_26.tool(&mut tool);
        assert_eq!(tool.annotations.unwrap().title.as_deref(), Some("T"));
        let hints = ToolAnnotations { title: Some("H".into()), ..ToolAnnotations::default() };
        let mut tool = Tool::new("t").with_title("T").with_annotations(hints);
        V2025_03_26.tool(&mut tool);
        assert_eq!(tool.annotations.unwrap().title.as_deref(), Some("H"));
    }
}
