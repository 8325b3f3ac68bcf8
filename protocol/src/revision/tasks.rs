//! How 2025-11-25 and the tasks extension of 2026-07-28 write tasks. The other revisions have none, and nothing calls
//! these for them: their method tables have no `tasks/*`, and they declare no tasks.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{
    Inexpressible, Related, Revision, TaskDialect, adapt,
    object::{ObjectWriter, ResultWriter},
    results::write_call_members,
};
use crate::{
    Method,
    model::{CallToolResult, Task, TaskDetail, TaskStatus},
};

// === impl Revision ===

impl Revision {
    /// The answer to a request that became a task: the task instead of the request's own result.
    pub fn write_create_task_result(self, out: &mut Vec<u8>, task: &Task, server: Option<&RawValue>) {
        let mut result = ResultWriter::of_type(self, out, "task");
        match self.dialect() {
            TaskDialect::Core => result.object("task", |object| self.task_members(object, task)),
            TaskDialect::Extension => self.task_members(&mut result, task),
        }
        result.end(server, None);
    }

    /// The result of `tasks/get`. `detail` is a matter of the extension; 2025-11-25 fetches it otherwise.
    ///
    /// # Errors
    /// [`Inexpressible`] if the task waits for something that this revision cannot ask; nothing is appended then.
    pub fn write_get_task_result(
        self,
        out: &mut Vec<u8>,
        task: &Task,
        detail: &TaskDetail,
        server: Option<&RawValue>,
    ) -> Result<(), Inexpressible> {
        let detail = self.known_detail(detail)?;
        let mut result = ResultWriter::complete(self, out);
        self.task_members(&mut result, task);
        detail_members(&mut result, &detail);
        result.end(server, None);
        Ok(())
    }

    /// The result of `tasks/cancel`: the task in 2025-11-25, nothing in the extension.
    pub fn write_cancel_task_result(self, out: &mut Vec<u8>, task: &Task, server: Option<&RawValue>) {
        let mut result = ResultWriter::complete(self, out);
        if self.dialect() == TaskDialect::Core {
            self.task_members(&mut result, task);
        }
        result.end(server, None);
    }

    /// The result of `tasks/list` (2025-11-25).
    pub fn write_tasks_list<'a>(
        self,
        out: &mut Vec<u8>,
        tasks: impl IntoIterator<Item = &'a Task>,
        next_cursor: Option<&str>,
    ) {
        let mut result = ResultWriter::complete(self, out);
        let out = result.key("tasks");
        out.push(b'[');
        for (index, task) in tasks.into_iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let mut object = ObjectWriter::begin(out);
            self.task_members(&mut object, task);
            object.end();
        }
        out.push(b']');
        result.option("nextCursor", next_cursor);
        result.end(None, None);
    }

    /// The result of `tasks/result` (2025-11-25): what the call would have answered, tied to its task.
    pub fn write_task_payload(self, out: &mut Vec<u8>, task_id: &str, result: &CallToolResult) {
        let mut writer = ResultWriter::complete(self, out);
        write_call_members(self, &mut writer, result);
        let related = Related { subscription: None, task: Some(task_id) };
        writer.end_related(None, result.meta.as_deref(), related);
    }

    /// A tool's answer as [`TaskDetail::Result`] carries it, without the members of a result's envelope.
    ///
    /// # Panics
    /// Never: what is written is JSON.
    #[must_use]
    pub fn encode_task_payload(self, result: &CallToolResult) -> Box<RawValue> {
        let mut json = Vec::new();
        let mut object = ObjectWriter::begin(&mut json);
        write_call_members(self, &mut object, result);
        object.option("_meta", result.meta.as_deref());
        object.end();
        let json = String::from_utf8(json).expect("invariant: JSON is UTF-8");
        RawValue::from_string(json).expect("invariant: the writer writes JSON")
    }

    /// The notification of a task's status: `notifications/tasks/status`, or `notifications/tasks` in the extension.
    ///
    /// # Errors
    /// [`Inexpressible`] if the task waits for something that this revision cannot ask; nothing is appended then.
    pub fn write_task_notification(
        self,
        out: &mut Vec<u8>,
        task: &Task,
        detail: &TaskDetail,
        related: Related<'_>,
    ) -> Result<(), Inexpressible> {
        let detail = self.known_detail(detail)?;
        let method = match self.dialect() {
            TaskDialect::Core => Method::TasksStatus,
            TaskDialect::Extension => Method::TasksNotification,
        };
        // The task's id stands among the parameters already.
        let related = Related { task: None, ..related };
        self.write_notification(out, method, related, |params| {
            self.task_members(params, task);
            detail_members(params, &detail);
        });
        Ok(())
    }

    fn dialect(self) -> TaskDialect {
        self.features().tasks.unwrap_or(TaskDialect::Core)
    }

    fn known_detail(self, detail: &TaskDetail) -> Result<Cow<'_, TaskDetail>, Inexpressible> {
        match (self.dialect(), detail) {
            (TaskDialect::Core, _) => Ok(Cow::Owned(TaskDetail::None)),
            (TaskDialect::Extension, TaskDetail::InputRequests(asked)) => {
                adapt::questions(self, asked).map(TaskDetail::InputRequests).map(Cow::Owned)
            }
            (TaskDialect::Extension, other) => Ok(Cow::Borrowed(other)),
        }
    }

    fn task_members(self, object: &mut ObjectWriter<'_>, task: &Task) {
        let status = match self.dialect() {
            TaskDialect::Core if task.is_error && task.status == TaskStatus::Completed => TaskStatus::Failed,
            _ => task.status,
        };
        object.field("taskId", &task.task_id);
        object.field("status", &status);
        object.option("statusMessage", task.status_message.as_ref());
        object.field("createdAt", &task.created_at);
        object.field("lastUpdatedAt", &task.last_updated_at);
        // The time to live is there even when there is none: null is for ever.
        let (ttl, poll_interval) = match self.dialect() {
            TaskDialect::Core => ("ttl", "pollInterval"),
            TaskDialect::Extension => ("ttlMs", "pollIntervalMs"),
        };
        object.field(ttl, &task.ttl_ms);
        object.option(poll_interval, task.poll_interval_ms.as_ref());
    }
}

fn detail_members(object: &mut ObjectWriter<'_>, detail: &TaskDetail) {
    match detail {
        TaskDetail::None => {}
        TaskDetail::InputRequests(questions) => object.field("inputRequests", questions),
        TaskDetail::Result(json) => object.raw("result", json),
        TaskDetail::Error(error) => object.field("error", error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_failed_fails_its_task_in_2025_11_25_alone() {
        let task = Task {
            status: TaskStatus::Completed,
            is_error: true,
            ..Task::new("t1", "2025-11-25T10:30:00Z", None)
        };
        for (revision, status) in [(Revision::V2025_11_25, "failed"), (Revision::V2026_07_28, "completed")] {
            let mut out = Vec::new();
            revision.write_get_task_result(&mut out, &task, &TaskDetail::None, None).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.contains(&format!(r#""status":"{status}""#)), "{revision}: {text}");
        }
    }
}
