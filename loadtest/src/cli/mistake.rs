//! What is wrong with what somebody wrote.

use std::fmt;

/// One mistake: where, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {text}")]
pub struct Mistake {
    /// An option, or a file and a key in it.
    pub place: String,
    /// What is wrong, and what to write.
    pub text: String,
}

/// Mistakes, gathered until all is read.
#[derive(Debug, Default)]
pub struct Mistakes(Vec<Mistake>);

// === impl Mistakes ===

impl Mistakes {
    /// Adds one.
    pub fn add(&mut self, place: &str, text: impl fmt::Display) {
        self.0.push(Mistake { place: place.to_owned(), text: text.to_string() });
    }

    /// Adds several.
    pub fn extend(&mut self, mistakes: Vec<Mistake>) {
        self.0.extend(mistakes);
    }

    /// Whether one is of this place.
    #[must_use]
    pub fn has(&self, place: &str) -> bool {
        self.0.iter().any(|mistake| mistake.place == place)
    }

    /// What was read, or nothing and one mistake more.
    pub fn maybe<T>(&mut self, place: &str, read: Result<T, impl fmt::Display>) -> Option<T> {
        read.map_err(|error| self.add(place, error)).ok()
    }

    /// The same, with something in its place that nobody will use.
    pub fn read<T: Default>(&mut self, place: &str, read: Result<T, impl fmt::Display>) -> T {
        self.maybe(place, read).unwrap_or_default()
    }

    /// What was read, if there were no mistakes.
    ///
    /// # Errors
    /// All of them.
    pub fn or<T>(self, read: T) -> Result<T, Vec<Mistake>> {
        if self.0.is_empty() { Ok(read) } else { Err(self.0) }
    }
}
