//! The environment, behind a trait: the process's own is shared by every test and thread.

use std::{collections::BTreeMap, env};

/// Named texts from outside.
pub trait Environment {
    /// The value of a variable, if it is set. What is not UTF-8 in it is replaced by U+FFFD.
    fn get(&self, name: &str) -> Option<String>;

    /// The names of the variables that begin with `prefix`, sorted.
    fn names_with_prefix(&self, prefix: &str) -> Vec<String>;
}

/// The environment of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnvironment;

// === impl ProcessEnvironment ===

impl Environment for ProcessEnvironment {
    fn get(&self, name: &str) -> Option<String> {
        env::var_os(name).map(|value| value.to_string_lossy().into_owned())
    }

    fn names_with_prefix(&self, prefix: &str) -> Vec<String> {
        let names = env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
        let mut found: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
        found.sort();
        found
    }
}

// === impl BTreeMap ===

/// A made-up environment, for tests and for embedding.
impl Environment for BTreeMap<String, String> {
    fn get(&self, name: &str) -> Option<String> {
        Self::get(self, name).cloned()
    }

    fn names_with_prefix(&self, prefix: &str) -> Vec<String> {
        self.keys().filter(|name| name.starts_with(prefix)).cloned().collect()
    }
}
