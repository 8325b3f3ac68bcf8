//! A TOML table that is read key by key: what is left at the end is a mistake.

use std::fmt::Display;

use toml::{Table as Toml, Value};

use super::lines::join;
use crate::{
    cli::{Mistakes, nearest},
    units::Span,
};

/// A table, and its path.
pub(super) struct Table<'a> {
    rest: Toml,
    path: String,
    asked: Vec<&'static str>,
    pub(super) found: &'a mut Mistakes,
}

// === impl Table ===

impl<'a> Table<'a> {
    pub(super) fn new(rest: Toml, path: &str, found: &'a mut Mistakes) -> Self {
        Self { rest, path: path.to_owned(), asked: Vec::new(), found }
    }

    /// The path of a key of it.
    pub(super) fn at(&self, key: &str) -> String {
        join(&self.path, key)
    }

    pub(super) fn wrong(&mut self, key: &str, text: impl Display) {
        let path = self.at(key);
        self.found.add(&path, text);
    }

    pub(super) fn take(&mut self, key: &'static str) -> Option<Value> {
        self.asked.push(key);
        self.rest.remove(key)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.rest.contains_key(key)
    }

    /// A table in it.
    pub(super) fn table(&mut self, key: &'static str) -> Option<Toml> {
        match self.take(key)? {
            Value::Table(table) => Some(table),
            other => {
                self.wrong(key, format!("must be a table, as [{key}] or {{ … }}, and is {}", kind(&other)));
                None
            }
        }
    }

    /// Tables in it.
    pub(super) fn tables(&mut self, key: &'static str) -> Vec<Toml> {
        let Some(value) = self.take(key) else { return Vec::new() };
        let tables =
            value.as_array().map(|values| values.iter().map(|value| value.as_table().cloned()).collect());
        tables.flatten().unwrap_or_else(|| {
            self.wrong(key, format!("must be a list of tables, as [[{key}]] or [{{ … }}]"));
            Vec::new()
        })
    }

    pub(super) fn text(&mut self, key: &'static str) -> Option<String> {
        match self.take(key)? {
            Value::String(text) => Some(text),
            other => {
                self.wrong(key, format!("must be a text in quotes, and is {}", kind(&other)));
                None
            }
        }
    }

    /// A text that has to be there.
    pub(super) fn needed(&mut self, key: &'static str) -> String {
        let there = self.has(key);
        let text = self.text(key);
        if !there {
            self.wrong(key, format!("is missing; write {key} = \"…\""));
        }
        text.unwrap_or_default()
    }

    /// A text that has to be there, and to have letters in it.
    pub(super) fn name(&mut self, key: &'static str) -> String {
        let empty = self.rest.get(key).is_some_and(|value| value.as_str() == Some(""));
        let name = self.needed(key);
        if empty {
            self.wrong(key, "is empty; write a name in the quotes");
        }
        name
    }

    /// A duration.
    pub(super) fn span(&mut self, key: &'static str) -> Option<Span> {
        match self.take(key)? {
            Value::String(text) => {
                let path = self.at(key);
                self.found.maybe(&path, text.parse())
            }
            other => {
                self.wrong(
                    key,
                    format!("must be a duration in quotes, as \"500ms\", and is {}", kind(&other)),
                );
                None
            }
        }
    }

    pub(super) fn number(&mut self, key: &'static str, most: u32) -> Option<u32> {
        let value = self.take(key)?;
        let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| *number <= most);
        if number.is_none() {
            self.wrong(key, format!("must be a whole number from 0 to {most}"));
        }
        Some(number.unwrap_or(1))
    }

    /// Tells of the keys that nobody asked for.
    pub(super) fn finish(self) {
        for key in self.rest.keys() {
            let text = match nearest(key, &self.asked) {
                Some(near) => format!("there is no such key; did you mean {near}?"),
                None => format!("there is no such key; there are {}", self.asked.join(", ")),
            };
            self.found.add(&self.at(key), text);
        }
    }
}

/// What a value is, in words.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) | Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}
