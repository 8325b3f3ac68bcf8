//! Questions to the client's model.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{ContentBlock, MetaMap, Role, Tool, number};

/// The parameters of `sampling/createMessage`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageParams {
    /// What was said so far.
    pub messages: Vec<SamplingMessage>,
    /// Which model to take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// What the model is told first; the client may change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// What else the model is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
    /// How freely the model chooses.
    #[serde(serialize_with = "number::serialize_option", skip_serializing_if = "number::unwritable")]
    pub temperature: Option<f64>,
    /// The most tokens to answer with.
    pub max_tokens: u32,
    /// Where the model stops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// For the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<Map<String, Value>>>,
    /// What the model may call (from 2025-11-25).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// How it may call them (from 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
}

/// One message to or from a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SamplingMessage {
    /// By whom.
    pub role: Role,
    /// What: one block is written as itself, several as an array (from 2025-11-25).
    #[serde(serialize_with = "write_one_or_many", deserialize_with = "read_one_or_many")]
    pub content: Vec<ContentBlock>,
    /// See [`MetaMap`] (from 2025-11-25).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<MetaMap>>,
}

/// Which model to take. The client decides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPreferences {
    /// Names, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<ModelHint>,
    /// How much cost matters, 0 to 1.
    #[serde(serialize_with = "number::serialize_option", skip_serializing_if = "number::unwritable")]
    pub cost_priority: Option<f64>,
    /// How much speed matters, 0 to 1.
    #[serde(serialize_with = "number::serialize_option", skip_serializing_if = "number::unwritable")]
    pub speed_priority: Option<f64>,
    /// How much intelligence matters, 0 to 1.
    #[serde(serialize_with = "number::serialize_option", skip_serializing_if = "number::unwritable")]
    pub intelligence_priority: Option<f64>,
}

/// A model's name, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelHint {
    /// The name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What else a model is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IncludeContext {
    /// Nothing.
    None,
    /// What this server said.
    ThisServer,
    /// What all servers said.
    AllServers,
}

/// How a model may call tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolChoice {
    /// Absent means auto.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode>,
}

/// See [`ToolChoice::mode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoiceMode {
    /// As it likes.
    Auto,
    /// At least one.
    Required,
    /// None.
    None,
}

/// The client's answer to `sampling/createMessage`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageResult {
    /// By whom, nearly always the model.
    pub role: Role,
    /// What it says: one block, or an array of them (from 2025-11-25).
    #[serde(serialize_with = "write_one_or_many", deserialize_with = "read_one_or_many")]
    pub content: Vec<ContentBlock>,
    /// The model that answered.
    pub model: String,
    /// Why it stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or the provider's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// See [`MetaMap`].
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<MetaMap>>,
}

fn write_one_or_many<S: Serializer>(blocks: &Vec<ContentBlock>, serializer: S) -> Result<S::Ok, S::Error> {
    match blocks.as_slice() {
        [one] => one.serialize(serializer),
        many => many.serialize(serializer),
    }
}

fn read_one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ContentBlock>, D::Error> {
    // Not an untagged enum: its error would say no more than that nothing matched.
    match Value::deserialize(deserializer)? {
        many @ Value::Array(_) => Vec::deserialize(many).map_err(serde::de::Error::custom),
        one => Ok(vec![ContentBlock::deserialize(one).map_err(serde::de::Error::custom)?]),
    }
}

// === impl CreateMessageParams ===

impl CreateMessageParams {
    /// One question from the user, and the most tokens to answer with.
    pub fn new(question: impl Into<ContentBlock>, max_tokens: u32) -> Self {
        Self { messages: vec![SamplingMessage::user(question)], max_tokens, ..Self::default() }
    }

    /// Adds a message.
    #[must_use]
    pub fn with_message(mut self, message: SamplingMessage) -> Self {
        self.messages.push(message);
        self
    }

    /// Tells the model something first.
    #[must_use]
    pub fn with_system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// Lets the model call a tool.
    #[must_use]
    pub fn with_tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }
}

// === impl SamplingMessage ===

impl SamplingMessage {
    /// Said by the person.
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self { role: Role::User, content: vec![content.into()], meta: None }
    }

    /// Said by the model.
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self { role: Role::Assistant, content: vec![content.into()], meta: None }
    }
}

// === impl CreateMessageResult ===

impl CreateMessageResult {
    /// All the text of the answer, in one.
    #[must_use]
    pub fn text(&self) -> String {
        self.content.iter().filter_map(ContentBlock::as_text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_block_and_an_array_of_blocks_are_read() {
        for (content, text) in [
            (r#"{"type":"text","text":"a"}"#, "a"),
            (r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#, "ab"),
            ("[]", ""),
        ] {
            let json = format!(r#"{{"role":"assistant","content":{content},"model":"m"}}"#);
            let result: CreateMessageResult = serde_json::from_str(&json).unwrap();
            assert_eq!(result.text(), text);
            assert_eq!(serde_json::to_string(&result).unwrap(), json);
        }
    }

    #[test]
    fn an_error_names_what_is_missing() {
        let json = r#"{"role":"assistant","content":{"type":"text"},"model":"m"}"#;
        let error = serde_json::from_str::<CreateMessageResult>(json).unwrap_err();
        assert!(error.to_string().contains("missing field `text`"), "{error}");
    }
}
