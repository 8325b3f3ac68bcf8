//! Questions to the client's user.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, value::RawValue};

use super::{MetaMap, OrderedMap, number};
use crate::params::read;

/// The parameters of `elicitation/create`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum ElicitParams {
    /// A form, for nothing secret.
    Form(ElicitForm),
    /// A page that the user opens, for secrets among others (from 2025-11-25).
    Url(ElicitUrl),
}

/// A form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitForm {
    /// What is asked, and why.
    pub message: String,
    /// The fields.
    pub requested_schema: ElicitSchema,
}

/// A page to open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitUrl {
    /// What for.
    pub message: String,
    /// The page.
    pub url: String,
    /// Names this question in `notifications/elicitation/complete`; must be there for 2025-11-25, which alone has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
}

/// The fields of a form: a flat JSON schema.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ElicitSchema {
    /// The fields in the order they are shown.
    #[serde(default)]
    pub properties: OrderedMap<PropertySchema>,
    /// The names of those that must be filled in.
    #[serde(default)]
    pub required: Vec<String>,
}

/// One field of a form. Which members mean something depends on the type; the constructors know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PropertySchema {
    /// What is filled in.
    #[serde(rename = "type")]
    pub kind: PropertyType,
    /// The label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The least characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u32>,
    /// The most characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u32>,
    /// `email`, `uri`, `date` or `date-time`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The least number.
    #[serde(serialize_with = "number::serialize_option", skip_serializing_if = "number::unwritable")]
    pub minimum: Option<f64>,
    /// The greatest number.
    #[serde(serialize_with = "number::serialize_option", skip_serializing_if = "number::unwritable")]
    pub maximum: Option<f64>,
    /// The values to choose one of.
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
    /// Their labels, in the old way of 2025-06-18.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enum_names: Option<Vec<String>>,
    /// The values to choose one of, with labels (from 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_of: Option<Vec<Choice>>,
    /// The values to choose several of (from 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<ItemsSchema>,
    /// The least to choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u32>,
    /// The most to choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u32>,
    /// What is filled in already (from 2025-11-25; for booleans from 2025-06-18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// What a field takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PropertyType {
    /// Text, or one of several values.
    #[default]
    String,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// Yes or no.
    Boolean,
    /// Several of several values (from 2025-11-25).
    Array,
}

/// A value with its label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The value.
    #[serde(rename = "const")]
    pub value: String,
    /// The label.
    pub title: String,
}

/// The values to choose several of: plain, or with labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemsSchema {
    /// `string` beside plain values.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<PropertyType>,
    /// Plain values.
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
    /// Values with labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any_of: Option<Vec<Choice>>,
}

/// The client's answer to `elicitation/create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElicitResult {
    /// What the user did.
    pub action: ElicitAction,
    /// What was filled in; with `accept` of a form only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
    /// See [`MetaMap`].
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<MetaMap>>,
}

/// What a user did with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// Answered.
    Accept,
    /// Refused.
    Decline,
    /// Went away.
    Cancel,
}

// === impl ElicitParams ===

impl ElicitParams {
    /// A form.
    pub fn form(message: impl Into<String>, fields: ElicitSchema) -> Self {
        Self::Form(ElicitForm { message: message.into(), requested_schema: fields })
    }

    /// A page to open. The id names the question to clients of 2025-11-25 and must be unique in the session.
    pub fn url(
        message: impl Into<String>,
        url: impl Into<String>,
        elicitation_id: impl Into<String>,
    ) -> Self {
        Self::Url(ElicitUrl {
            message: message.into(),
            url: url.into(),
            elicitation_id: Some(elicitation_id.into()),
        })
    }

    /// What is asked, and why.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Form(form) => &form.message,
            Self::Url(page) => &page.message,
        }
    }
}

impl<'de> Deserialize<'de> for ElicitParams {
    /// Without a mode it is a form (*Elicitation*, in every revision that has modes).
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Mode<'a> {
            #[serde(borrow)]
            mode: Option<std::borrow::Cow<'a, str>>,
        }
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let mode = read::<Mode<'_>>(&raw, "mode").map_err(serde::de::Error::custom)?.mode;
        match mode.as_deref() {
            None | Some("form") => read(&raw, "form").map(Self::Form),
            Some("url") => read(&raw, "url elicitation").map(Self::Url),
            Some(other) => Err(format!("{other:?} is no mode of elicitation")),
        }
        .map_err(serde::de::Error::custom)
    }
}

// === impl ElicitSchema ===

impl ElicitSchema {
    /// A form without fields.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field that must be filled in.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, field: PropertySchema) -> Self {
        let name = name.into();
        if !self.required.contains(&name) {
            self.required.push(name.clone());
        }
        self.properties.insert(name, field);
        self
    }

    /// Adds a field that may be left empty.
    #[must_use]
    pub fn with_optional(mut self, name: impl Into<String>, field: PropertySchema) -> Self {
        self.properties.insert(name, field);
        self
    }
}

impl Serialize for ElicitSchema {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wire<'a> {
            r#type: &'static str,
            properties: &'a OrderedMap<PropertySchema>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            required: &'a [String],
        }
        Wire { r#type: "object", properties: &self.properties, required: &self.required }
            .serialize(serializer)
    }
}

// === impl PropertySchema ===

impl PropertySchema {
    fn of(kind: PropertyType) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Text.
    #[must_use]
    pub fn string() -> Self {
        Self::of(PropertyType::String)
    }

    /// A number.
    #[must_use]
    pub fn number() -> Self {
        Self::of(PropertyType::Number)
    }

    /// A whole number.
    #[must_use]
    pub fn integer() -> Self {
        Self::of(PropertyType::Integer)
    }

    /// Yes or no.
    #[must_use]
    pub fn boolean() -> Self {
        Self::of(PropertyType::Boolean)
    }

    /// One of several values.
    pub fn one_of<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        Self { values: Some(values.into_iter().map(Into::into).collect()), ..Self::string() }
    }

    /// One of several values, each with a label.
    pub fn one_of_titled<T: Into<String>, U: Into<String>>(
        choices: impl IntoIterator<Item = (T, U)>,
    ) -> Self {
        Self { one_of: Some(choices.into_iter().map(Choice::from).collect()), ..Self::string() }
    }

    /// Several of several values.
    pub fn some_of<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let values = Some(values.into_iter().map(Into::into).collect());
        let items = ItemsSchema { kind: Some(PropertyType::String), values, any_of: None };
        Self { items: Some(items), ..Self::of(PropertyType::Array) }
    }

    /// Several of several values, each with a label.
    pub fn some_of_titled<T: Into<String>, U: Into<String>>(
        choices: impl IntoIterator<Item = (T, U)>,
    ) -> Self {
        let any_of = Some(choices.into_iter().map(Choice::from).collect());
        Self {
            items: Some(ItemsSchema { any_of, ..ItemsSchema::default() }),
            ..Self::of(PropertyType::Array)
        }
    }

    /// Sets the label.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Says more about it.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the format of a text: `email`, `uri`, `date` or `date-time`.
    #[must_use]
    pub fn with_format(mut self, format: impl Into<String>) -> Self {
        self.format = Some(format.into());
        self
    }

    /// Fills it in already.
    #[must_use]
    pub fn with_default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into());
        self
    }

    /// Bounds a number.
    #[must_use]
    pub fn with_range(mut self, minimum: f64, maximum: f64) -> Self {
        (self.minimum, self.maximum) = (Some(minimum), Some(maximum));
        self
    }

    /// Bounds a text's length, in characters.
    #[must_use]
    pub fn with_length(mut self, least: u32, most: u32) -> Self {
        (self.min_length, self.max_length) = (Some(least), Some(most));
        self
    }
}

// === impl Choice ===

impl<T: Into<String>, U: Into<String>> From<(T, U)> for Choice {
    fn from((value, title): (T, U)) -> Self {
        Self { value: value.into(), title: title.into() }
    }
}

// === impl ElicitResult ===

impl ElicitResult {
    /// The answers, if the user gave them.
    #[must_use]
    pub fn accepted(&self) -> Option<&Map<String, Value>> {
        self.content.as_ref().filter(|_| self.action == ElicitAction::Accept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_without_a_mode_is_a_form() {
        let form = r#""message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;
        let params: ElicitParams = serde_json::from_str(&format!("{{{form}}}")).unwrap();
        assert_eq!(
            params,
            ElicitParams::form("Who?", ElicitSchema::new().with("name", PropertySchema::string()))
        );
        assert_eq!(serde_json::to_string(&params).unwrap(), format!(r#"{{"mode":"form",{form}}}"#));
        assert!(serde_json::from_str::<ElicitParams>(r#"{"mode":"fax","message":"Who?"}"#).is_err());
    }

    #[test]
    fn fields_are_written_as_the_specification_shows_them() {
        for (field, json) in [
            (PropertySchema::one_of(["a"]), r#"{"type":"string","enum":["a"]}"#),
            (
                PropertySchema::one_of_titled([("a", "A")]),
                r#"{"type":"string","oneOf":[{"const":"a","title":"A"}]}"#,
            ),
            (PropertySchema::some_of(["a"]), r#"{"type":"array","items":{"type":"string","enum":["a"]}}"#),
            (
                PropertySchema::some_of_titled([("a", "A")]),
                r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}"#,
            ),
            (
                PropertySchema::integer().with_range(0.0, 9.0).with_default(3),
                r#"{"type":"integer","minimum":0,"maximum":9,"default":3}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&field).unwrap(), json);
            assert_eq!(serde_json::from_str::<PropertySchema>(json).unwrap(), field);
        }
    }

    #[test]
    fn only_an_accepted_answer_has_content() {
        let json = r#"{"action":"decline","content":{"name":"x"}}"#;
        let result: ElicitResult = serde_json::from_str(json).unwrap();
        assert_eq!(result.accepted(), None);
    }
}
