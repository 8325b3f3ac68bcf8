//! What a tool returned.

use std::borrow::Cow;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::tally::{Check, ErrorKind};

/// What is wrong with an answer, and how it shows.
pub(crate) type Wrong = (ErrorKind, String);

/// A tool's result, as far as it is looked at.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolResult<'a> {
    #[serde(borrow, default)]
    content: Vec<Content<'a>>,
    #[serde(borrow, default)]
    structured_content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Debug, Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

// === impl ToolResult ===

impl<'a> ToolResult<'a> {
    /// Reads the result of a tool that did its work.
    ///
    /// # Errors
    /// That it is none, or says that the tool failed.
    pub(crate) fn read(result: &'a [u8]) -> Result<Self, Wrong> {
        let read: Self = serde_json::from_slice(result).map_err(|error| shape(&error, result))?;
        if read.is_error {
            let text = read.text().unwrap_or("without a word").to_owned();
            return Err((ErrorKind::Tool, text));
        }
        if read.content.is_empty() && read.structured_content.is_none() {
            return Err(shape(&"a tool's result has content", result));
        }
        Ok(read)
    }

    /// The first text.
    pub(crate) fn text(&self) -> Option<&str> {
        self.content.iter().find_map(|content| content.text.as_deref())
    }

    /// The structured content; before 2025-06-18 there is none, and the text says the same.
    ///
    /// # Errors
    /// That there is neither, or another.
    pub(crate) fn structured<T: DeserializeOwned>(&self) -> Result<T, Wrong> {
        let raw = self.structured_content.map(RawValue::get).or_else(|| self.text()).unwrap_or("null");
        serde_json::from_str(raw).map_err(|error| shape(&error, raw.as_bytes()))
    }
}

/// An answer that is not of the form it should be.
pub(crate) fn shape(why: &impl ToString, seen: &[u8]) -> Wrong {
    let seen = String::from_utf8_lossy(&seen[..seen.len().min(200)]).into_owned();
    (ErrorKind::Wrong(Check::Shape), format!("{}: {seen}", why.to_string()))
}

/// An answer that is not what was asked for.
pub(crate) fn wrong(check: Check, expected: &impl ToString, seen: &impl ToString) -> Wrong {
    let (mut expected, mut seen) = (expected.to_string(), seen.to_string());
    for text in [&mut expected, &mut seen] {
        let end = (0..=120.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
    }
    (ErrorKind::Wrong(check), format!("expected {expected}, got {seen}"))
}
