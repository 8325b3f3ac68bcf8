//! Completion of an argument while it is typed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The parameters of `completion/complete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompleteParams {
    /// What the argument is of.
    #[serde(rename = "ref")]
    pub reference: Reference,
    /// What was typed so far.
    pub argument: CompletionArgument,
    /// What is known besides (from 2025-06-18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<CompleteContext>,
}

/// What an argument is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Reference {
    /// A prompt.
    #[serde(rename = "ref/prompt")]
    Prompt {
        /// Its name.
        name: String,
    },
    /// A resource template.
    #[serde(rename = "ref/resource")]
    Resource {
        /// The template, or the address of a resource.
        uri: String,
    },
}

/// What was typed so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionArgument {
    /// The argument.
    pub name: String,
    /// Its beginning.
    pub value: String,
}

/// See [`CompleteParams::context`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompleteContext {
    /// Arguments that are already settled.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
}

/// What an argument could become.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// The candidates, best first. At most [`Completion::MAX_VALUES`] are written.
    pub values: Vec<String>,
    /// How many there are in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more than these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}

/// The answer to `completion/complete`, for reading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompleteResult {
    /// The candidates.
    pub completion: Completion,
}

// === impl Completion ===

impl Completion {
    /// The most candidates an answer may hold (*Completion*, in every revision).
    pub const MAX_VALUES: usize = 100;

    /// Candidates, best first.
    pub fn new<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        Self { values: values.into_iter().map(Into::into).collect(), total: None, has_more: None }
    }
}
