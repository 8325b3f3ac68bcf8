//! The nouns of a log.

use std::{fmt, str::FromStr, time::Duration};

use bytes::Bytes;

use crate::{HubError, within};

/// What [`Topic`] and [`Channel`] promise.
const TOPIC_BYTES: usize = 320;
const CHANNEL_BYTES: usize = 128;

/// The name of a log: at most 320 bytes of visible ASCII.
///
/// The part before the first `/` decides where a clustered backend puts it, so that all logs of a session lie together.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Topic(pub Box<str>);

/// The name of a channel for signals: at most 128 bytes of visible ASCII.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Channel(pub Box<str>);

/// A place in one log. Places of one log are ordered as its entries are; those of different logs mean nothing to each other.
///
/// Written `a-b`, two integers in decimal. The default is before the first entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The more significant half.
    pub major: u64,
    /// The less significant half.
    pub minor: u64,
}

/// Proof of ownership: a log takes entries from the owner with the highest fence it has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fence(pub u64);

/// How much of a log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// The most entries; the oldest goes first. The newest always stays: 0 counts as 1.
    pub entries: usize,
    /// How long the log outlives its last entry or renewal.
    pub age: Duration,
}

/// One entry of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it stands.
    pub position: Position,
    /// What it says.
    pub payload: Bytes,
    /// Whether nothing follows it.
    pub last: bool,
}

/// What a follower receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The next entry, in order, once.
    Entry(Entry),
    /// Entries between the follower's place and what is left were trimmed. What follows continues after the gap.
    Gap,
    /// The log is gone: deleted, or expired. Nothing follows.
    Gone,
}

// === impl Topic ===

impl Topic {
    pub(crate) fn check(&self) -> Result<(), HubError> {
        within("a topic", self.0.len(), TOPIC_BYTES)
    }
}

/// Topics name sessions, whose ids are secrets.
impl fmt::Debug for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Topic({}…)", self.0.get(..4).unwrap_or_default())
    }
}

// === impl Channel ===

impl Channel {
    pub(crate) fn check(&self) -> Result<(), HubError> {
        within("a channel", self.0.len(), CHANNEL_BYTES)
    }
}

// === impl Position ===

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.major, self.minor)
    }
}

/// A text is not a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a position is two decimal integers joined by a hyphen")]
pub struct InvalidPosition;

impl FromStr for Position {
    type Err = InvalidPosition;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (major, minor) = text.split_once('-').ok_or(InvalidPosition)?;
        Ok(Self { major: decimal(major)?, minor: decimal(minor)? })
    }
}

/// One spelling only: no sign, no leading zero.
fn decimal(text: &str) -> Result<u64, InvalidPosition> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().map_err(|_| InvalidPosition) } else { Err(InvalidPosition) }
}
