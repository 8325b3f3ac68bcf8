//! The folders a client works on.

use serde::{Deserialize, Serialize};

use super::MetaMap;

/// The client's answer to `roots/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListRootsResult {
    /// The folders.
    pub roots: Vec<Root>,
    /// See [`MetaMap`].
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<MetaMap>>,
}

/// A folder or file that the client works on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Root {
    /// A `file:` URI.
    pub uri: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// See [`MetaMap`] (from 2025-06-18).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<MetaMap>>,
}
