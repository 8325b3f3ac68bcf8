//! The parameters that the way to a handler needs, read in one pass whatever the method.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;

use crate::ids::ProgressToken;

/// A string that borrows from the body where it holds no escapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

/// The members of `params` that decide where a request goes. The rest of a method's parameters is read from the
/// raw JSON by whoever serves it.
#[derive(Debug, Default, Deserialize)]
pub struct Params<'a> {
    /// What travels beside the method's own parameters.
    #[serde(borrow, default, rename = "_meta")]
    pub meta: Option<Meta<'a>>,
    /// The tool or prompt.
    #[serde(borrow, default)]
    pub name: Option<Text<'a>>,
    /// The resource.
    #[serde(borrow, default)]
    pub uri: Option<Text<'a>>,
    /// The task.
    #[serde(borrow, default, rename = "taskId")]
    pub task_id: Option<Text<'a>>,
    /// The arguments of a tool or prompt, raw.
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
    /// The answers to the questions of an earlier round (2026-07-28 *Multi Round-Trip Requests*), raw.
    #[serde(borrow, default, rename = "inputResponses")]
    pub input_responses: Option<&'a RawValue>,
    /// Our own sealed state of an earlier round.
    #[serde(borrow, default, rename = "requestState")]
    pub request_state: Option<Text<'a>>,
    /// The request to run a call as a task (2025-11-25 *Tasks*), raw.
    #[serde(borrow, default)]
    pub task: Option<&'a RawValue>,
    /// Where the next page of a list begins.
    #[serde(borrow, default)]
    pub cursor: Option<Text<'a>>,
}

/// The members of `_meta` with a meaning here. Others are the handler's, from the raw JSON.
#[derive(Debug, Default, Deserialize)]
pub struct Meta<'a> {
    /// Asks for progress notifications.
    #[serde(default, rename = "progressToken")]
    pub progress_token: Option<ProgressToken>,
    /// The revision of this request (from 2026-07-28).
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    pub protocol_version: Option<Text<'a>>,
    /// Who asks, by its own word (from 2026-07-28), raw.
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientInfo")]
    pub client_info: Option<&'a RawValue>,
    /// What the client can do (from 2026-07-28), raw.
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    pub client_capabilities: Option<&'a RawValue>,
    /// The least severe log message that this request wants (from 2026-07-28).
    #[serde(borrow, default, rename = "io.modelcontextprotocol/logLevel")]
    pub log_level: Option<Text<'a>>,
    /// W3C trace context.
    #[serde(borrow, default)]
    pub traceparent: Option<Text<'a>>,
    /// W3C trace state.
    #[serde(borrow, default)]
    pub tracestate: Option<Text<'a>>,
}

// === impl Text ===

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> de::Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }
}

// === impl Params ===

impl<'a> Params<'a> {
    /// Reads the parameters of a request; absent ones are empty.
    ///
    /// # Errors
    /// A message for the caller that names the member which does not fit.
    pub fn read(params: Option<&'a RawValue>) -> Result<Self, String> {
        params.map_or_else(|| Ok(Self::default()), |raw| read(raw, "params"))
    }
}

/// Reads raw JSON into a type; the error names `what` did not fit, for the caller's eyes.
///
/// # Errors
/// A message that says what was expected and found.
pub fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue, what: &str) -> Result<T, String> {
    serde_json::from_str(raw.get()).map_err(|error| format!("invalid {what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn plain_strings_are_borrowed_and_escaped_ones_are_not() {
        let json = raw(r#"{"name":"add","uri":"a\"b"}"#);
        let params = Params::read(Some(&json)).unwrap();
        assert!(matches!(params.name, Some(Text(Cow::Borrowed("add")))));
        assert!(matches!(params.uri, Some(Text(Cow::Owned(ref uri))) if uri == "a\"b"));
    }

    #[test]
    fn absent_parameters_are_empty_and_unknown_ones_are_left_alone() {
        assert!(Params::read(None).unwrap().name.is_none());
        let json = raw(r#"{"anything":[1,2],"_meta":{"com.example/x":1}}"#);
        assert!(Params::read(Some(&json)).unwrap().meta.is_some());
    }

    #[test]
    fn an_error_names_what_was_expected() {
        let json = raw(r#"{"name":5}"#);
        let error = Params::read(Some(&json)).unwrap_err();
        assert!(error.contains("expected a string"), "{error}");
    }
}
