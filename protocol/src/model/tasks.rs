//! Tasks: requests whose answer is fetched later. A part of 2025-11-25, an extension of 2026-07-28.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{InputRequest, OrderedMap};
use crate::error::RpcError;

/// What is known of a task. How its members are called on the wire depends on the revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Names it; whoever has it and is its principal may ask for it.
    pub task_id: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// The same for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// ISO 8601.
    pub created_at: String,
    /// ISO 8601.
    pub last_updated_at: String,
    /// How long it is kept from its creation on, in milliseconds; `None` for ever.
    pub ttl_ms: Option<u64>,
    /// How often to ask, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
    /// Whether the answer of a completed task is a tool's failure. 2025-11-25 calls such a task failed.
    #[serde(default)]
    pub is_error: bool,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It runs.
    Working,
    /// It waits for the client.
    InputRequired,
    /// It has its answer, be that a tool's failure.
    Completed,
    /// It ended in a JSON-RPC error.
    Failed,
    /// It was called off.
    Cancelled,
}

/// What a task carries beside its status (the extension of 2026-07-28).
#[derive(Clone, Debug)]
pub enum TaskDetail {
    /// Nothing: it runs, or was called off.
    None,
    /// What it waits for.
    InputRequests(OrderedMap<InputRequest>),
    /// Its answer: a result object as the original request would have got it, without an envelope's members.
    Result(Box<RawValue>),
    /// The error it ended in.
    Error(RpcError),
}

/// The member `task` of a request: run this as a task (2025-11-25).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskParams {
    /// How long to keep it, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
}

// === impl Task ===

impl Task {
    /// A task that has just begun. Both times are ISO 8601; `ttl_ms` of `None` is for ever.
    pub fn new(task_id: impl Into<String>, now: impl Into<String>, ttl_ms: Option<u64>) -> Self {
        let now = now.into();
        Self {
            task_id: task_id.into(),
            status: TaskStatus::Working,
            status_message: None,
            created_at: now.clone(),
            last_updated_at: now,
            ttl_ms,
            poll_interval_ms: None,
            is_error: false,
        }
    }
}

// === impl TaskStatus ===

impl TaskStatus {
    /// Whether nothing changes it any more.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}
