//! One step from a newer revision's shapes to its older neighbour's.

use serde_json::value::RawValue;

use super::Revision;
use crate::model::{
    ClientCapabilities, ContentBlock, CreateMessageParams, ElicitForm, ElicitParams, ElicitResult,
    Implementation, Prompt, Resource, ResourceContents, ResourceTemplate, ServerCapabilities, Tool,
};

/// What a revision has no words for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("protocol {revision} cannot express {what}")]
pub struct Inexpressible {
    /// The revision.
    pub revision: Revision,
    /// What it lacks.
    pub what: &'static str,
}

/// One step: rewrites the newer neighbour's shapes into this revision's. What is not overridden stays as it is.
///
/// A step sees each object on its own. What lies inside (the tools of a sampling request, the resource of a content
/// block) is brought to it by the functions below.
pub(super) trait Adapter: Sync {
    fn implementation(&self, _it: &mut Implementation) {}

    /// Serves both ways: what is declared to a peer, and what a peer may declare.
    fn client_capabilities(&self, _it: &mut ClientCapabilities) {}

    fn server_capabilities(&self, _it: &mut ServerCapabilities) {}

    fn tool(&self, _it: &mut Tool) {}

    fn resource(&self, _it: &mut Resource) {}

    fn resource_template(&self, _it: &mut ResourceTemplate) {}

    fn resource_contents(&self, _it: &mut ResourceContents) {}

    fn prompt(&self, _it: &mut Prompt) {}

    /// Whether [`Self::content`], [`Self::resource`] or [`Self::resource_contents`] may change a content block.
    fn touches_content(&self) -> bool {
        false
    }

    fn content(&self, _it: &mut ContentBlock) {}

    /// Whether a tool's answer may carry this as structured content.
    fn has_structured(&self, _json: &RawValue) -> bool {
        true
    }

    fn elicit(&self, _it: &mut ElicitParams) -> Result<(), &'static str> {
        Ok(())
    }

    /// The way back: the answer to `asked`, which went through [`Self::elicit`], into the newer neighbour's shape.
    fn elicit_result(&self, _asked: &ElicitForm, _it: &mut ElicitResult) {}

    fn sampling(&self, _it: &mut CreateMessageParams) -> Result<(), &'static str> {
        Ok(())
    }
}
