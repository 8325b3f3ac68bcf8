//! What is wrong with a configuration, where, and what to do about it.

use std::{
    error::Error,
    fmt,
    path::{Path, PathBuf},
};

/// Where a setting was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file; `line` counts from 1 and is missing where the file as a whole is meant.
    File {
        /// The path as it was given.
        path: PathBuf,
        /// The line.
        line: Option<usize>,
    },
    /// In an environment variable.
    Variable(String),
    /// On the command line.
    Flag(&'static str),
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it is.
    pub place: Place,
    /// What is wrong. Never holds a secret.
    pub what: String,
    /// What to write instead.
    pub remedy: String,
}

/// Every mistake of a configuration, at least one: those of files by line, then those of the environment and the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

// === impl Place ===

impl Place {
    fn order(&self) -> (u8, Option<&Path>, Option<usize>) {
        match self {
            Self::File { path, line } => (0, Some(path), *line),
            Self::Variable(_) => (1, None, None),
            Self::Flag(_) => (2, None, None),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line: Some(line) } => write!(f, "{}:{line}", path.display()),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

// === impl Fault ===

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.what, self.remedy)
    }
}

// === impl Faults ===

impl Faults {
    /// The faults, in order, if there are any.
    pub(super) fn new(mut faults: Vec<Fault>) -> Option<Self> {
        faults.sort_by(|a, b| a.place.order().cmp(&b.place.order()));
        (!faults.is_empty()).then_some(Self(faults))
    }

    /// The faults one by one.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.0.iter()
    }
}

/// One fault a line, `file:line: what; remedy`.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.0.iter().enumerate() {
            let newline = if at == 0 { "" } else { "\n" };
            write!(f, "{newline}{fault}")?;
        }
        Ok(())
    }
}

impl Error for Faults {}
