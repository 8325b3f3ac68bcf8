//! What a client wants to hear of (from 2026-07-28).

use serde::{Deserialize, Serialize};

/// The parameters of `subscriptions/listen`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenParams {
    /// What is wanted.
    pub notifications: ListenFilter,
}

/// What is wanted, or granted, on a stream (2026-07-28 *Subscriptions*).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListenFilter {
    /// Changes of the list of tools.
    #[serde(default, skip_serializing_if = "is_false")]
    pub tools_list_changed: bool,
    /// Changes of the list of prompts.
    #[serde(default, skip_serializing_if = "is_false")]
    pub prompts_list_changed: bool,
    /// Changes of the list of resources.
    #[serde(default, skip_serializing_if = "is_false")]
    pub resources_list_changed: bool,
    /// Changes of these resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_subscriptions: Vec<String>,
    /// Changes of these tasks (the tasks extension).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub task_ids: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

// === impl ListenFilter ===

impl ListenFilter {
    /// Whether nothing is wanted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
