//! Content: what tools, prompts and models say.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{MetaMap, Resource, ResourceContents, meta, number};

/// One piece of content.
///
/// `ToolUse` and `ToolResult` occur in sampling only, from 2025-11-25 on. Later revisions add kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentBlock {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(ImageContent),
    /// Sound (from 2025-03-26).
    Audio(AudioContent),
    /// The address of a resource, which need not be listed (from 2025-06-18).
    ResourceLink(Box<Resource>),
    /// A resource itself.
    Resource(Box<EmbeddedResource>),
    /// A model wants a tool called.
    ToolUse(Box<ToolUseContent>),
    /// What a tool answered, for a model.
    ToolResult(Box<ToolResultContent>),
}

/// Text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// Hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Box<Annotations>>,
    /// See [`MetaMap`] (from 2025-06-18).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<MetaMap>>,
}

/// A picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageContent {
    /// The picture in base64.
    pub data: String,
    /// Its media type.
    pub mime_type: String,
    /// Hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Box<Annotations>>,
    /// See [`MetaMap`] (from 2025-06-18).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<MetaMap>>,
}

/// Sound.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AudioContent {
    /// The sound in base64.
    pub data: String,
    /// Its media type.
    pub mime_type: String,
    /// Hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Box<Annotations>>,
    /// See [`MetaMap`] (from 2025-06-18).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<MetaMap>>,
}

/// A resource inside a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmbeddedResource {
    /// The resource.
    pub resource: ResourceContents,
    /// Hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Box<Annotations>>,
    /// See [`MetaMap`] (from 2025-06-18).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<MetaMap>>,
}

/// A model's wish to call a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolUseContent {
    /// Joins it with its result.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub input: Map<String, Value>,
    /// See [`MetaMap`].
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<MetaMap>>,
}

/// A tool's answer, for a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultContent {
    /// The [`ToolUseContent::id`] it answers.
    pub tool_use_id: String,
    /// The answer.
    pub content: Vec<ContentBlock>,
    /// The answer as data: an object; any JSON from 2026-07-28 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Whether the tool failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// See [`MetaMap`].
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<MetaMap>>,
}

/// Hints on whom content is for and how much it matters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// Whom it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// From 0, optional, to 1, required.
    #[serde(serialize_with = "number::serialize_option", skip_serializing_if = "number::unwritable")]
    pub priority: Option<f64>,
    /// When the thing was last changed, ISO 8601 (from 2025-06-18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// Who speaks, or whom something is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

// === impl ContentBlock ===

impl ContentBlock {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent { text: text.into(), annotations: None, meta: None })
    }

    /// A picture, already in base64.
    pub fn image(base64: impl Into<String>, mime_type: impl Into<String>) -> Self {
        let (data, mime_type) = (base64.into(), mime_type.into());
        Self::Image(ImageContent { data, mime_type, annotations: None, meta: None })
    }

    /// Sound, already in base64.
    pub fn audio(base64: impl Into<String>, mime_type: impl Into<String>) -> Self {
        let (data, mime_type) = (base64.into(), mime_type.into());
        Self::Audio(AudioContent { data, mime_type, annotations: None, meta: None })
    }

    /// The address of a resource.
    #[must_use]
    pub fn link(resource: Resource) -> Self {
        Self::ResourceLink(Box::new(resource))
    }

    /// A resource itself.
    #[must_use]
    pub fn resource(resource: ResourceContents) -> Self {
        Self::Resource(Box::new(EmbeddedResource { resource, annotations: None, meta: None }))
    }

    /// A tool's answer, for a model.
    pub fn tool_result(tool_use_id: impl Into<String>, content: Vec<Self>) -> Self {
        Self::ToolResult(Box::new(ToolResultContent {
            tool_use_id: tool_use_id.into(),
            content,
            structured_content: None,
            is_error: None,
            meta: None,
        }))
    }

    /// The text, if it is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            _ => None,
        }
    }

    /// Sets the hints. Content that carries none is left as it is.
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        if let Some(slot) = self.annotations_mut() {
            *slot = Some(Box::new(annotations));
        }
        self
    }

    /// Adds a member to `_meta`.
    #[must_use]
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        meta::insert(self.meta_mut(), key, value);
        self
    }

    pub(crate) fn annotations_mut(&mut self) -> Option<&mut Option<Box<Annotations>>> {
        match self {
            Self::Text(content) => Some(&mut content.annotations),
            Self::Image(content) => Some(&mut content.annotations),
            Self::Audio(content) => Some(&mut content.annotations),
            Self::ResourceLink(link) => Some(&mut link.annotations),
            Self::Resource(content) => Some(&mut content.annotations),
            Self::ToolUse(_) | Self::ToolResult(_) => None,
        }
    }

    pub(crate) fn meta_mut(&mut self) -> &mut Option<Box<MetaMap>> {
        match self {
            Self::Text(content) => &mut content.meta,
            Self::Image(content) => &mut content.meta,
            Self::Audio(content) => &mut content.meta,
            Self::ResourceLink(link) => &mut link.meta,
            Self::Resource(content) => &mut content.meta,
            Self::ToolUse(content) => &mut content.meta,
            Self::ToolResult(content) => &mut content.meta,
        }
    }
}

impl From<&str> for ContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

// === impl Annotations ===

impl Annotations {
    /// Adds somebody it is for.
    #[must_use]
    pub fn with_audience(mut self, role: Role) -> Self {
        self.audience.push(role);
        self
    }

    /// Sets how much it matters, from 0 to 1.
    #[must_use]
    pub fn with_priority(mut self, priority: f64) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Says when the thing was last changed, ISO 8601.
    #[must_use]
    pub fn with_last_modified(mut self, time: impl Into<String>) -> Self {
        self.last_modified = Some(time.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_named_and_read_back() {
        let blocks = [
            ContentBlock::text("a"),
            ContentBlock::image("AA==", "image/png"),
            ContentBlock::audio("AA==", "audio/wav"),
            ContentBlock::link(Resource::new("test://a", "a")),
            ContentBlock::resource(ResourceContents::blob("test://a", "AA==")),
            ContentBlock::tool_result("1", vec![ContentBlock::text("b")]),
        ];
        let names = ["text", "image", "audio", "resource_link", "resource", "tool_result"];
        for (block, name) in blocks.into_iter().zip(names) {
            let json = serde_json::to_value(&block).unwrap();
            assert_eq!(json["type"], name);
            assert_eq!(serde_json::from_value::<ContentBlock>(json).unwrap(), block);
        }
    }

    #[test]
    fn a_block_is_small_enough_to_move() {
        assert!(size_of::<ContentBlock>() <= 72, "{}", size_of::<ContentBlock>());
    }
}
