//! Bounds on one record, the same whichever implementation holds it.

use crate::{Key, Record, StoreError};

/// The most that one record may hold. What is over a bound is refused as a whole and changes nothing.
///
/// These protect the store from one record; how many values a client may keep is for the server to bound, below these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLimits {
    /// Bytes of a key's id. 256: a session id is 43 bytes, and a principal or a tenant may stand before it.
    pub key_bytes: usize,
    /// Bytes of a field's name. 2048: a subscription's field is named by the URI of its resource.
    pub name_bytes: usize,
    /// Fields of a record. 1024: some ten of the protocol's own, the rest for subscriptions and values of the application.
    pub fields: usize,
    /// Bytes of a value. 64 KiB: a value is read as a whole with its record on each load; what is larger is a document
    /// and belongs to the application's own storage.
    pub value_bytes: usize,
}

// === impl RecordLimits ===

impl Default for RecordLimits {
    fn default() -> Self {
        Self { key_bytes: 256, name_bytes: 2048, fields: 1024, value_bytes: 64 * 1024 }
    }
}

impl RecordLimits {
    /// Whether a record may be created.
    pub(crate) fn admit_record(&self, key: &Key, record: &Record) -> Result<(), StoreError> {
        within("a key's length", key.id.len(), self.key_bytes)?;
        self.admit_count(record.fields.len())?;
        record.fields.iter().try_for_each(|(name, value)| self.admit_field(name, value.len()))
    }

    /// Whether a field may be set to a value of this many bytes.
    pub(crate) fn admit_field(&self, name: &str, value_bytes: usize) -> Result<(), StoreError> {
        within("a field name's length", name.len(), self.name_bytes)?;
        within("a value's length", value_bytes, self.value_bytes)
    }

    /// Whether a record may have this many fields.
    pub(crate) fn admit_count(&self, fields: usize) -> Result<(), StoreError> {
        within("the number of fields", fields, self.fields)
    }
}

fn within(what: &'static str, size: usize, limit: usize) -> Result<(), StoreError> {
    if size > limit { Err(StoreError::TooLarge { what, size, limit }) } else { Ok(()) }
}
