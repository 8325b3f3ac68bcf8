//! Questions to the client, of all kinds, and their answers.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeStruct};
use serde_json::value::RawValue;

use super::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult,
    ListRootsResult, MetaMap, OrderedMap,
};
use crate::{Method, params::read};

/// A question to the client: a request on a stream, or from 2026-07-28 a part of an unfinished result.
#[derive(Clone, Debug)]
pub enum InputRequest {
    /// `elicitation/create`, to the person.
    Elicit(Box<ElicitParams>),
    /// `sampling/createMessage`, to the model.
    Sample(Box<CreateMessageParams>),
    /// `roots/list`, to the client itself.
    Roots,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub enum InputResponse {
    /// What the person answered.
    Elicit(ElicitResult),
    /// What the model answered.
    Sample(Box<CreateMessageResult>),
    /// The folders.
    Roots(ListRootsResult),
}

/// A result that is not finished: the client answers, and sends its request again (2026-07-28 *Multi Round-Trip
/// Requests*). Has questions, a state, or both.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputRequiredResult {
    /// The questions, by names of our choice.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub input_requests: OrderedMap<InputRequest>,
    /// What the client sends back with the answers, without looking into it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// See [`MetaMap`].
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<MetaMap>>,
}

// === impl InputRequest ===

impl InputRequest {
    /// The method on the wire.
    #[must_use]
    pub const fn method(&self) -> Method {
        match self {
            Self::Elicit(_) => Method::ElicitationCreate,
            Self::Sample(_) => Method::SamplingCreateMessage,
            Self::Roots => Method::RootsList,
        }
    }

    /// What the client must have declared to be asked this.
    #[must_use]
    pub fn needs(&self) -> ClientCapabilities {
        let none = ClientCapabilities::default();
        match self {
            Self::Elicit(params) => match &**params {
                ElicitParams::Form(_) => none.with_elicitation_form(),
                ElicitParams::Url(_) => none.with_elicitation_url(),
            },
            Self::Sample(params) if params.tools.is_empty() => none.with_sampling(),
            Self::Sample(_) => none.with_sampling_tools(),
            Self::Roots => none.with_roots(),
        }
    }

    /// Whether the client declared what it takes to be asked this.
    #[must_use]
    pub fn is_served_by(&self, client: &ClientCapabilities) -> bool {
        match self {
            Self::Elicit(params) => match &**params {
                ElicitParams::Form(_) => client.supports_elicitation_form(),
                ElicitParams::Url(_) => client.supports_elicitation_url(),
            },
            Self::Sample(params) if params.tools.is_empty() => client.supports_sampling(),
            Self::Sample(_) => client.supports_sampling_tools(),
            Self::Roots => client.supports_roots(),
        }
    }

    /// Reads the answer to this question.
    ///
    /// # Errors
    /// A message that names what does not fit.
    pub fn read_response(&self, raw: &RawValue) -> Result<InputResponse, String> {
        match self {
            Self::Elicit(_) => read(raw, "answer to elicitation/create").map(InputResponse::Elicit),
            Self::Sample(_) => read(raw, "answer to sampling/createMessage").map(InputResponse::Sample),
            Self::Roots => read(raw, "answer to roots/list").map(InputResponse::Roots),
        }
    }
}

impl From<ElicitParams> for InputRequest {
    fn from(params: ElicitParams) -> Self {
        Self::Elicit(Box::new(params))
    }
}

impl From<CreateMessageParams> for InputRequest {
    fn from(params: CreateMessageParams) -> Self {
        Self::Sample(Box::new(params))
    }
}

impl Serialize for InputRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut request = serializer.serialize_struct("InputRequest", 2)?;
        request.serialize_field("method", self.method().name())?;
        match self {
            Self::Elicit(params) => request.serialize_field("params", params)?,
            Self::Sample(params) => request.serialize_field("params", params)?,
            Self::Roots => {}
        }
        request.end()
    }
}

impl<'de> Deserialize<'de> for InputRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not a tagged enum: that would buffer, and raw JSON cannot be read from a buffer.
        #[derive(Deserialize)]
        struct Wire {
            method: String,
            params: Option<Box<RawValue>>,
        }
        let Wire { method, params } = Wire::deserialize(deserializer)?;
        let params = params.as_deref();
        let missing = || de::Error::missing_field("params");
        match Method::from_name(&method) {
            Some(Method::ElicitationCreate) => {
                read(params.ok_or_else(missing)?, "params").map(Self::Elicit).map_err(de::Error::custom)
            }
            Some(Method::SamplingCreateMessage) => {
                read(params.ok_or_else(missing)?, "params").map(Self::Sample).map_err(de::Error::custom)
            }
            Some(Method::RootsList) => Ok(Self::Roots),
            _ => Err(de::Error::custom(format_args!("{method:?} is no question to a client"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ElicitSchema, PropertySchema, Tool};

    #[test]
    fn questions_are_written_by_method_and_read_back() {
        let form = ElicitSchema::new().with("ok", PropertySchema::boolean());
        let result = InputRequiredResult {
            input_requests: [
                ("z", ElicitParams::form("Sure?", form).into()),
                ("m", CreateMessageParams::new("Why?", 10).with_tool(Tool::new("look")).into()),
                ("a", InputRequest::Roots),
            ]
            .into_iter()
            .collect(),
            request_state: Some("s".into()),
            meta: None,
        };
        let json = serde_json::to_string(&result).unwrap();
        let again: InputRequiredResult = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), json);
        let names: Vec<_> = again.input_requests.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["z", "m", "a"]);
        assert!(json.contains(r#""a":{"method":"roots/list"}"#), "{json}");
    }

    #[test]
    fn a_question_knows_what_it_needs() {
        let url = InputRequest::from(ElicitParams::url("Sign in", "https://example.com/", "e1"));
        assert!(url.is_served_by(&url.needs()));
        assert!(!url.is_served_by(&ClientCapabilities::default().with_elicitation_form()));
        let with_tools: InputRequest =
            CreateMessageParams::new("Why?", 10).with_tool(Tool::new("look")).into();
        assert!(!with_tools.is_served_by(&ClientCapabilities::default().with_sampling()));
        assert!(with_tools.is_served_by(&with_tools.needs()));
    }

    #[test]
    fn another_method_is_no_question() {
        let error = serde_json::from_str::<InputRequest>(r#"{"method":"tools/call"}"#).unwrap_err();
        assert!(error.to_string().contains("no question"), "{error}");
    }
}
