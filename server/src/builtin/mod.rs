//! What `--demo` serves: a little of everything, to try a client with. The load generator's checks rely on it, so names,
//! arguments and results are stable.

mod basic;
mod confirm;
mod documents;
mod fail;
mod slow;
mod summarize;
mod touch;
mod values;

use crate::{
    model::ToolAnnotations,
    registry::{Prompt, Resource, ResourceTemplate, Tool},
};

/// The tools, in the order they are listed in.
pub(crate) fn tools() -> Vec<Tool> {
    vec![
        basic::add(),
        basic::echo(),
        basic::payload(),
        values::counter(),
        values::remember(),
        values::recall(),
        confirm::tool(),
        slow::tool(),
        fail::tool(),
        touch::tool(),
    ]
}

/// The resources.
pub(crate) fn resources() -> Vec<Resource> {
    vec![documents::greeting(), documents::logo(), touch::counter()]
}

/// The resource templates.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![documents::notes()]
}

/// The prompts.
pub(crate) fn prompts() -> Vec<Prompt> {
    vec![summarize::prompt()]
}

/// A tool that changes nothing and knows nothing of the world.
fn read_only() -> ToolAnnotations {
    ToolAnnotations::read_only().with_open_world(false)
}

/// A tool that changes something here and destroys nothing.
fn additive() -> ToolAnnotations {
    ToolAnnotations::default().with_destructive(false).with_open_world(false)
}

#[cfg(test)]
mod tests;
