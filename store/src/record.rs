//! Names of records, and a record as it was read.

use std::{collections::BTreeMap, fmt};

use bytes::Bytes;

/// What a record is of. Records of different kinds never share a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A session of a client.
    Session,
    /// State that a client names by a handle, in the stateless revision.
    Handle,
    /// A task.
    Task,
    /// Something that may be used once.
    Nonce,
    /// The endpoint itself: the leases of its replicas, and the mark by which they see that the store was emptied.
    Endpoint,
}

/// The name of a record.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// What it is of.
    pub kind: Kind,
    /// Unique within its kind; at most 256 bytes of visible ASCII.
    pub id: Box<str>,
}

/// A record as it was read: its fields at one moment. Fields that this version does not know are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The fields by name.
    pub fields: BTreeMap<Box<str>, Bytes>,
}

// === impl Key ===

impl Key {
    /// A key.
    #[must_use]
    pub fn new(kind: Kind, id: &str) -> Self {
        Self { kind, id: id.into() }
    }
}

/// Ids of sessions and handles are secrets: logs show a part only.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({}…)", self.kind, self.id.get(..4).unwrap_or_default())
    }
}

// === impl Record ===

impl Record {
    /// The field as text, if it is there and is text.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// Adds or replaces a field.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Bytes>) -> Self {
        self.fields.insert(field.into(), value.into());
        self
    }
}
