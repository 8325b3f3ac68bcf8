//! Tools: what a model can have done.

use serde::{Deserialize, Serialize};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use super::{CacheScope, ContentBlock, Icon, MetaMap, meta};

/// A tool as it is listed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// For programs: 1 to 128 characters of `A-Z a-z 0-9 _ . -`.
    pub name: String,
    /// For people (from 2025-06-18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Pictures of it (from 2025-11-25).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// What its arguments must be: a JSON schema of an object.
    pub input_schema: Box<RawValue>,
    /// What its structured answer will be: a JSON schema (from 2025-06-18; of an object before 2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Box<RawValue>>,
    /// Hints (from 2025-03-26).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// How it may be run (2025-11-25 only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<ToolExecution>,
    /// See [`MetaMap`] (from 2025-06-18).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<MetaMap>>,
}

/// Hints on what a tool does. Nobody has to believe them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// For people; from 2025-06-18 on [`Tool::title`] comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It changes nothing. Assumed false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may destroy something. Assumed true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling it again with the same arguments changes nothing more. Assumed false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It deals with an open world, such as the web. Assumed true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// See [`Tool::execution`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolExecution {
    /// Whether it runs as a task. Absent means forbidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_support: Option<TaskSupport>,
}

/// Whether a call runs as a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskSupport {
    /// Never.
    #[default]
    Forbidden,
    /// If the client asks.
    Optional,
    /// Always.
    Required,
}

/// The answer to `tools/call`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult {
    /// The answer for a model.
    #[serde(default)]
    pub content: Vec<ContentBlock>,
    /// The answer as data (from 2025-06-18): an object; any JSON from 2026-07-28 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Box<RawValue>>,
    /// Whether the tool failed, for a model to see and mend.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// See [`MetaMap`].
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<MetaMap>>,
}

/// The answer to `tools/list`, for reading.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListToolsResult {
    /// This page.
    pub tools: Vec<Tool>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How long it may be kept, in milliseconds (from 2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// For whom (from 2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

// === impl Tool ===

impl Tool {
    /// A tool without arguments.
    ///
    /// # Panics
    /// Never: the schema it begins with is JSON.
    pub fn new(name: impl Into<String>) -> Self {
        let no_arguments = RawValue::from_string(r#"{"type":"object","properties":{}}"#.to_owned())
            .expect("invariant: the literal is JSON");
        Self {
            name: name.into(),
            title: None,
            description: None,
            icons: Vec::new(),
            input_schema: no_arguments,
            output_schema: None,
            annotations: None,
            execution: None,
            meta: None,
        }
    }

    /// Names it for people.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Says what it does.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds a picture.
    #[must_use]
    pub fn with_icon(mut self, icon: Icon) -> Self {
        self.icons.push(icon);
        self
    }

    /// Says what the arguments must be: a JSON schema of an object.
    #[must_use]
    pub fn with_input_schema(mut self, schema: Box<RawValue>) -> Self {
        self.input_schema = schema;
        self
    }

    /// Says what the structured answer will be.
    #[must_use]
    pub fn with_output_schema(mut self, schema: Box<RawValue>) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// Sets the hints.
    #[must_use]
    pub fn with_annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// Says whether it runs as a task.
    #[must_use]
    pub fn with_task_support(mut self, support: TaskSupport) -> Self {
        self.execution = Some(ToolExecution { task_support: Some(support) });
        self
    }

    /// Adds a member to `_meta`.
    #[must_use]
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        meta::insert(&mut self.meta, key, value);
        self
    }

    /// Whether it runs as a task.
    #[must_use]
    pub fn task_support(&self) -> TaskSupport {
        self.execution.and_then(|execution| execution.task_support).unwrap_or_default()
    }

    /// Whether calling it twice does no more than calling it once, by its own word.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        self.annotations
            .as_ref()
            .is_some_and(|hints| hints.read_only_hint == Some(true) || hints.idempotent_hint == Some(true))
    }
}

// === impl ToolAnnotations ===

impl ToolAnnotations {
    /// A tool that changes nothing.
    #[must_use]
    pub fn read_only() -> Self {
        Self { read_only_hint: Some(true), ..Self::default() }
    }

    /// Says whether it may destroy something.
    #[must_use]
    pub fn with_destructive(mut self, destructive: bool) -> Self {
        self.destructive_hint = Some(destructive);
        self
    }

    /// Says whether calling it again changes nothing more.
    #[must_use]
    pub fn with_idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent_hint = Some(idempotent);
        self
    }

    /// Says whether it deals with an open world.
    #[must_use]
    pub fn with_open_world(mut self, open_world: bool) -> Self {
        self.open_world_hint = Some(open_world);
        self
    }
}

// === impl CallToolResult ===

impl CallToolResult {
    /// An answer of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::content(vec![ContentBlock::text(text)])
    }

    /// An answer of several pieces.
    #[must_use]
    pub fn content(content: Vec<ContentBlock>) -> Self {
        Self { content, ..Self::default() }
    }

    /// A failure that a model can read.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// An answer as data, and the same as text for those who cannot read data (*Tools*, Structured Content).
    ///
    /// # Errors
    /// If `value` cannot be written as JSON.
    pub fn structured<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        let json = to_raw_value(value)?;
        Ok(Self {
            structured_content: Some(json.clone()),
            ..Self::text(String::from(Box::<str>::from(json)))
        })
    }

    /// Adds a piece.
    #[must_use]
    pub fn with_content(mut self, block: ContentBlock) -> Self {
        self.content.push(block);
        self
    }

    /// Sets the answer as data.
    #[must_use]
    pub fn with_structured(mut self, json: Box<RawValue>) -> Self {
        self.structured_content = Some(json);
        self
    }

    /// Adds a member to `_meta`.
    #[must_use]
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        meta::insert(&mut self.meta, key, value);
        self
    }
}

impl From<&str> for CallToolResult {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for CallToolResult {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<ContentBlock> for CallToolResult {
    fn from(block: ContentBlock) -> Self {
        Self::content(vec![block])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structured_answer_says_the_same_as_text() {
        let result = CallToolResult::structured(&serde_json::json!({"sum": 3})).unwrap();
        assert_eq!(
            serde_json::to_string(&result).unwrap(),
            r#"{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}"#
        );
    }

    #[test]
    fn what_other_servers_answer_is_read() {
        let json = r#"{"content":[{"type":"text","text":"a","future":1}],"structuredContent":[1,2],"isError":false,"resultType":"complete"}"#;
        let result: CallToolResult = serde_json::from_str(json).unwrap();
        assert_eq!(result.content[0].as_text(), Some("a"));
        assert_eq!(result.structured_content.unwrap().get(), "[1,2]");
        let json = r#"{"tools":[{"name":"a","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}],"ttlMs":5}"#;
        let list: ListToolsResult = serde_json::from_str(json).unwrap();
        assert_eq!(list.tools[0].task_support(), TaskSupport::Optional);
    }
}
