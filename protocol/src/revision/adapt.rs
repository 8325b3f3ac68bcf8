//! From what is in memory to what a revision can say, one step at a time.
//!
//! Each revision's file knows how to turn the shape of its newer neighbour into its own. What is in memory is the
//! newest shape and, beside it, what 2025-11-25 has and the newest lacks; so 2026-07-28 is reached in one step that
//! drops those, and every older one by the steps from 2025-11-25 down to it.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{
    Revision,
    step::{Adapter, Inexpressible},
    v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28,
};
use crate::model::{
    ClientCapabilities, ContentBlock, CreateMessageParams, ElicitParams, ElicitResult, Implementation,
    InputRequest, OrderedMap, Prompt, PromptMessage, Resource, ResourceContents, ResourceTemplate,
    ServerCapabilities, Tool,
};

/// Newest first.
static LADDER: [&dyn Adapter; 5] = [
    &v2026_07_28::V2026_07_28,
    &v2025_11_25::V2025_11_25,
    &v2025_06_18::V2025_06_18,
    &v2025_03_26::V2025_03_26,
    &v2024_11_05::V2024_11_05,
];

/// The steps from memory to a revision, in order.
fn steps(revision: Revision) -> &'static [&'static dyn Adapter] {
    match revision {
        Revision::V2026_07_28 => &LADDER[..1],
        Revision::V2025_11_25 => &LADDER[1..2],
        Revision::V2025_06_18 => &LADDER[1..3],
        Revision::V2025_03_26 => &LADDER[1..4],
        Revision::V2024_11_05 => &LADDER[1..5],
    }
}

/// Takes a copy through the steps.
fn adapted<T: Clone>(revision: Revision, it: &T, step: impl Fn(&dyn Adapter, &mut T)) -> T {
    let mut copy = it.clone();
    for adapter in steps(revision) {
        step(*adapter, &mut copy);
    }
    copy
}

// Lists and capabilities are written once per revision and kept, so these copy without asking whether they must.

pub(super) fn implementation(revision: Revision, it: &Implementation) -> Implementation {
    adapted(revision, it, |step, it| step.implementation(it))
}

pub(super) fn client_capabilities(revision: Revision, it: &ClientCapabilities) -> ClientCapabilities {
    adapted(revision, it, |step, it| step.client_capabilities(it))
}

pub(super) fn server_capabilities(revision: Revision, it: &ServerCapabilities) -> ServerCapabilities {
    adapted(revision, it, |step, it| step.server_capabilities(it))
}

pub(super) fn tool(revision: Revision, it: &Tool) -> Tool {
    adapted(revision, it, |step, it| step.tool(it))
}

pub(super) fn resource(revision: Revision, it: &Resource) -> Resource {
    adapted(revision, it, |step, it| step.resource(it))
}

pub(super) fn resource_template(revision: Revision, it: &ResourceTemplate) -> ResourceTemplate {
    adapted(revision, it, |step, it| step.resource_template(it))
}

pub(super) fn prompt(revision: Revision, it: &Prompt) -> Prompt {
    adapted(revision, it, |step, it| step.prompt(it))
}

// Answers are written once per call: these copy only what must change.

pub(super) fn content(revision: Revision, blocks: &[ContentBlock]) -> Cow<'_, [ContentBlock]> {
    if fits(revision, blocks) {
        return Cow::Borrowed(blocks);
    }
    Cow::Owned(adapted(revision, &blocks.to_vec(), |step, blocks| {
        blocks.iter_mut().for_each(|block| content_step(step, block));
    }))
}

pub(super) fn messages(revision: Revision, messages: &[PromptMessage]) -> Cow<'_, [PromptMessage]> {
    if messages.iter().all(|message| fits(revision, std::slice::from_ref(&message.content))) {
        return Cow::Borrowed(messages);
    }
    Cow::Owned(adapted(revision, &messages.to_vec(), |step, messages| {
        messages.iter_mut().for_each(|message| content_step(step, &mut message.content));
    }))
}

pub(super) fn resource_contents(
    revision: Revision,
    parts: &[ResourceContents],
) -> Cow<'_, [ResourceContents]> {
    if parts.iter().all(|part| part.meta.is_none()) {
        return Cow::Borrowed(parts);
    }
    Cow::Owned(adapted(revision, &parts.to_vec(), |step, parts| {
        parts.iter_mut().for_each(|part| step.resource_contents(part));
    }))
}

pub(super) fn has_structured(revision: Revision, json: &RawValue) -> bool {
    steps(revision).iter().all(|step| step.has_structured(json))
}

/// Whether the blocks need no step. Errs on the side of no.
fn fits(revision: Revision, blocks: &[ContentBlock]) -> bool {
    blocks.iter().all(is_plain) || !steps(revision).iter().any(|step| step.touches_content())
}

/// Whether a block is of a kind, and has only members, that every revision has.
fn is_plain(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Text(text) => text.annotations.is_none() && text.meta.is_none(),
        ContentBlock::Image(image) => image.annotations.is_none() && image.meta.is_none(),
        ContentBlock::Resource(embedded) => {
            embedded.annotations.is_none() && embedded.meta.is_none() && embedded.resource.meta.is_none()
        }
        _ => false,
    }
}

/// The block first, so that a step which replaces it sees all of it; then what lies inside.
fn content_step(step: &dyn Adapter, block: &mut ContentBlock) {
    step.content(block);
    match block {
        ContentBlock::ResourceLink(link) => step.resource(link),
        ContentBlock::Resource(embedded) => step.resource_contents(&mut embedded.resource),
        ContentBlock::ToolResult(result) => {
            result.content.iter_mut().for_each(|block| content_step(step, block));
        }
        _ => {}
    }
}

// Questions.

pub(super) fn question(revision: Revision, it: &InputRequest) -> Result<InputRequest, Inexpressible> {
    match it {
        InputRequest::Elicit(params) => elicit(revision, params).map(InputRequest::from),
        InputRequest::Sample(params) => sampling(revision, params).map(InputRequest::from),
        InputRequest::Roots => Ok(InputRequest::Roots),
    }
}

pub(super) fn questions(
    revision: Revision,
    it: &OrderedMap<InputRequest>,
) -> Result<OrderedMap<InputRequest>, Inexpressible> {
    it.iter().map(|(name, asked)| Ok((name, question(revision, asked)?))).collect()
}

fn elicit(revision: Revision, it: &ElicitParams) -> Result<ElicitParams, Inexpressible> {
    let mut copy = it.clone();
    for step in steps(revision) {
        step.elicit(&mut copy).map_err(|what| Inexpressible { revision, what })?;
    }
    Ok(copy)
}

pub(super) fn elicit_result(revision: Revision, asked: &ElicitParams, result: &mut ElicitResult) {
    if let ElicitParams::Form(form) = asked {
        steps(revision).iter().rev().for_each(|step| step.elicit_result(form, result));
    }
}

fn sampling(revision: Revision, it: &CreateMessageParams) -> Result<CreateMessageParams, Inexpressible> {
    let blocks = || it.messages.iter().flat_map(|message| &message.content);
    if blocks().any(|block| matches!(block, ContentBlock::Resource(_) | ContentBlock::ResourceLink(_))) {
        return Err(Inexpressible { revision, what: "a resource in a message to a model" });
    }
    let mut copy = it.clone();
    for step in steps(revision) {
        step.sampling(&mut copy).map_err(|what| Inexpressible { revision, what })?;
        copy.tools.iter_mut().for_each(|tool| step.tool(tool));
        for message in &mut copy.messages {
            message.content.iter_mut().for_each(|block| content_step(*step, block));
        }
    }
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Annotations, ImageContent, TextContent};

    /// What every revision can say goes through every step unchanged; else `is_plain` would hide a step.
    #[test]
    fn plain_content_is_the_same_in_every_revision() {
        let plain = [
            ContentBlock::text("a"),
            ContentBlock::image("AA==", "image/png"),
            ContentBlock::resource(ResourceContents::text("test://a", "a").with_mime_type("text/plain")),
        ];
        for revision in Revision::ALL {
            for block in &plain {
                assert!(is_plain(block));
                assert_eq!(adapted(revision, block, content_step), *block, "{revision}");
            }
            assert!(matches!(content(revision, &plain), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn what_is_not_plain_is_brought_to_the_steps() {
        let annotations = Some(Box::new(Annotations::default().with_last_modified("2025-01-01")));
        let blocks = [
            ContentBlock::Text(TextContent { annotations: annotations.clone(), ..TextContent::default() }),
            ContentBlock::Image(ImageContent { annotations, ..ImageContent::default() }),
            ContentBlock::text("a").with_meta("com.example/k", 1),
            ContentBlock::audio("AA==", "audio/wav"),
            ContentBlock::link(Resource::new("test://a", "a")),
            ContentBlock::resource(ResourceContents::text("test://a", "a").with_meta("com.example/k", 1)),
        ];
        for block in blocks {
            assert!(!is_plain(&block), "{block:?}");
        }
    }

    /// A step that changes blocks and does not say so is never asked.
    #[test]
    fn a_step_that_touches_content_says_so() {
        let rich = [
            ContentBlock::text("a").with_annotations(Annotations::default().with_last_modified("2025-01-01")),
            ContentBlock::audio("AA==", "audio/wav").with_meta("com.example/k", 1),
            ContentBlock::link(
                Resource::new("test://a", "a").with_title("A").with_icon(crate::model::Icon::new("x")),
            ),
            ContentBlock::resource(ResourceContents::text("test://a", "a").with_meta("com.example/k", 1)),
        ];
        for (index, step) in LADDER.iter().enumerate() {
            for block in &rich {
                let mut copy = block.clone();
                content_step(*step, &mut copy);
                assert!(copy == *block || step.touches_content(), "step {index} changes {block:?}");
            }
        }
    }
}
