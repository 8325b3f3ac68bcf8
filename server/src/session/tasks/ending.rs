//! From what a handler came to, to the end of its task.

use bytes::Bytes;
use trunkline_protocol::{
    Revision, RpcError,
    model::{CallToolResult, TaskStatus},
    revision::TaskDialect,
};

use super::record::End;
use crate::{registry::Outcome, session::encode::too_large};

/// Characters of a failure that its task's status message repeats.
const MESSAGE_CHARS: usize = 200;

/// Bytes that an answer has around its payload when it is fetched: the task's other members and the envelope.
const AROUND: usize = 4096;

/// How a task ends, and the payload that a record of its own holds.
pub(super) struct Ending {
    /// The end without its payload.
    pub(super) end: End,
    /// The answer as the revision has it, or the error.
    pub(super) payload: Option<Bytes>,
}

// === impl Ending ===

impl Ending {
    /// The end of a task whose call came to `outcome`. `most` bounds the answer that brings it, in bytes.
    pub(super) fn of(revision: Revision, id: &str, outcome: &Outcome, most: usize) -> Self {
        let most = most - AROUND.min(most / 2);
        match outcome {
            Outcome::Error(error) if error.data.as_ref().is_some_and(|data| data.get().len() > most) => {
                Self::failed(&RpcError::new(error.code, error.message.as_str()))
            }
            Outcome::Tool(result) => Self::completed(revision, id, result, most),
            Outcome::Cancelled => Self { end: End::cancelled(), payload: None },
            Outcome::Error(error) => Self::failed(error),
            // No tool's handler comes to anything else.
            _ => Self::failed(&RpcError::internal("the call came to nothing that a task can hold")),
        }
    }

    /// The end of a task that went wrong outside of its tool.
    pub(super) fn failed(error: &RpcError) -> Self {
        let message = Some(shortened(&error.message));
        let end = End { status: TaskStatus::Failed, message, is_error: false, payload: None };
        Self { end, payload: serde_json::to_vec(error).ok().map(Bytes::from) }
    }

    fn completed(revision: Revision, id: &str, result: &CallToolResult, most: usize) -> Self {
        let payload = write(revision, id, result);
        if payload.len() > most {
            let refused = CallToolResult::error(too_large(payload.len(), most));
            return Self::completed_with(&refused, write(revision, id, &refused));
        }
        Self::completed_with(result, payload)
    }

    fn completed_with(result: &CallToolResult, payload: Bytes) -> Self {
        let is_error = result.is_error;
        let said = result.content.iter().find_map(|block| block.as_text()).filter(|_| is_error);
        let message = said.map(shortened);
        let end = End { status: TaskStatus::Completed, message, is_error, payload: None };
        Self { end, payload: Some(payload) }
    }
}

fn shortened(message: &str) -> String {
    message.chars().take(MESSAGE_CHARS).collect()
}

/// The answer the way it is fetched: as the result of `tasks/result`, or as a member of a task.
fn write(revision: Revision, id: &str, result: &CallToolResult) -> Bytes {
    match revision.features().tasks {
        Some(TaskDialect::Core) => {
            let mut out = Vec::new();
            revision.write_task_payload(&mut out, id, result);
            out.into()
        }
        Some(TaskDialect::Extension) | None => {
            Bytes::copy_from_slice(revision.encode_task_payload(result).get().as_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn ending(revision: Revision, outcome: &Outcome) -> (End, Value) {
        let Ending { end, payload } = Ending::of(revision, "t", outcome, 1000);
        (end, payload.map_or(Value::Null, |json| serde_json::from_slice(&json).unwrap()))
    }

    #[test]
    fn an_answer_is_kept_in_the_words_of_its_revision() {
        let outcome = Outcome::Tool(CallToolResult::text("hi"));
        let (end, old) = ending(Revision::V2025_11_25, &outcome);
        assert_eq!((end.status, end.is_error, end.message), (TaskStatus::Completed, false, None));
        assert_eq!(old["_meta"]["io.modelcontextprotocol/related-task"], json!({"taskId": "t"}));
        let (_, new) = ending(Revision::V2026_07_28, &outcome);
        assert_eq!(new["content"], json!([{"type": "text", "text": "hi"}]));
        assert_eq!(new.get("_meta"), None);
    }

    #[test]
    fn a_tools_failure_completes_and_an_error_fails() {
        let told = "why ".repeat(100);
        let (end, payload) = ending(Revision::V2026_07_28, &Outcome::tool_error(told.as_str()));
        assert_eq!((end.status, end.is_error), (TaskStatus::Completed, true));
        assert_eq!(end.message.unwrap().len(), MESSAGE_CHARS);
        assert_eq!(payload["isError"], true);
        let error = RpcError::new(7, "no");
        let (end, payload) = ending(Revision::V2026_07_28, &Outcome::Error(error));
        assert_eq!((end.status, end.message.as_deref()), (TaskStatus::Failed, Some("no")));
        assert_eq!(payload, json!({"code": 7, "message": "no"}));
    }

    #[test]
    fn an_answer_over_the_limit_is_a_failure_that_says_so() {
        let (end, payload) =
            ending(Revision::V2026_07_28, &Outcome::Tool(CallToolResult::text("x".repeat(2000))));
        assert!(end.is_error);
        assert!(payload.to_string().contains("limits.result_bytes"), "{payload}");
    }
}
