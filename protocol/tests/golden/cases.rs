//! What is written, by whom: one line a file.

use serde::de::DeserializeOwned;
use serde_json::{Value, value::RawValue};
use trunkline_protocol::{
    RequestId, Revision,
    model::{self, Caching, CallToolResult, InputRequest, TaskDetail, TaskStatus},
    revision::{ListKind, Related},
};

use super::examples;

/// One shape, in the revisions that have it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    since: Revision,
    until: Revision,
    write: fn(Revision, &mut Vec<u8>),
    pub(crate) read: Option<fn(&str) -> serde_json::Result<()>>,
}

use Revision::{V2024_11_05, V2025_06_18, V2025_11_25, V2026_07_28};

const CACHING: Caching = Caching::public(60_000);

pub(crate) const CASES: &[Case] = &[
    Case::new("empty_result", V2024_11_05, V2026_07_28, |r, out| {
        r.write_empty_result(out, Some(&server(r)));
    }),
    Case::new("initialize_result", V2024_11_05, V2025_11_25, |r, out| {
        let server = examples::implementation();
        r.write_initialize_result(out, &examples::capabilities(), &server, Some("Use it well."));
    })
    .read_as::<model::InitializeResult>(),
    Case::new("discover_result", V2026_07_28, V2026_07_28, |r, out| {
        let (server, capabilities) = (server(r), examples::capabilities());
        r.write_discover_result(out, &[r], &capabilities, Some("Use it well."), CACHING, Some(&server));
    })
    .read_as::<model::DiscoverResult>(),
    Case::new("tools_list", V2024_11_05, V2026_07_28, |r, out| {
        r.write_tools_list(out, &examples::tools(), Some("next"), CACHING, Some(&server(r)));
    })
    .read_as::<model::ListToolsResult>(),
    Case::new("call_tool_text", V2024_11_05, V2026_07_28, |r, out| {
        r.write_call_tool_result(out, &CallToolResult::text("42"), Some(&server(r)));
    })
    .read_as::<CallToolResult>(),
    Case::new("call_tool_result", V2024_11_05, V2026_07_28, |r, out| {
        r.write_call_tool_result(out, &examples::call_result(), Some(&server(r)));
    })
    .read_as::<CallToolResult>(),
    Case::new("call_tool_data", V2024_11_05, V2026_07_28, |r, out| {
        r.write_call_tool_result(out, &examples::call_data(), Some(&server(r)));
    })
    .read_as::<CallToolResult>(),
    Case::new("resources_list", V2024_11_05, V2026_07_28, |r, out| {
        r.write_resources_list(out, &examples::resources(), Some("next"), CACHING, Some(&server(r)));
    })
    .read_as::<model::ListResourcesResult>(),
    Case::new("resource_templates_list", V2024_11_05, V2026_07_28, |r, out| {
        r.write_resource_templates_list(
            out,
            &examples::templates(),
            None,
            Caching::default(),
            Some(&server(r)),
        );
    })
    .read_as::<model::ListResourceTemplatesResult>(),
    Case::new("read_resource_result", V2024_11_05, V2026_07_28, |r, out| {
        r.write_read_resource_result(
            out,
            &examples::read_resource(),
            Caching::private(1000),
            Some(&server(r)),
        );
    })
    .read_as::<model::ReadResourceResult>(),
    Case::new("prompts_list", V2024_11_05, V2026_07_28, |r, out| {
        r.write_prompts_list(out, &examples::prompts(), Some("next"), CACHING, Some(&server(r)));
    })
    .read_as::<model::ListPromptsResult>(),
    Case::new("get_prompt_result", V2024_11_05, V2026_07_28, |r, out| {
        r.write_get_prompt_result(out, &examples::prompt_result(), Some(&server(r)));
    })
    .read_as::<model::GetPromptResult>(),
    Case::new("complete_result", V2024_11_05, V2026_07_28, |r, out| {
        r.write_complete_result(out, &examples::completion(), Some(&server(r)));
    })
    .read_as::<model::CompleteResult>(),
    Case::new("input_required_result", V2026_07_28, V2026_07_28, |r, out| {
        r.write_input_required_result(out, &examples::input_required(), Some(&server(r))).unwrap();
    })
    .read_as::<model::InputRequiredResult>(),
    Case::new("listen_result", V2026_07_28, V2026_07_28, |r, out| {
        r.write_listen_result(out, &listen(), Some(&server(r)));
    }),
    Case::new("create_task_result", V2025_11_25, V2026_07_28, |r, out| {
        r.write_create_task_result(out, &examples::task(TaskStatus::Working), Some(&server(r)));
    }),
    Case::new("create_eternal_task_result", V2025_11_25, V2026_07_28, |r, out| {
        r.write_create_task_result(out, &examples::eternal_task(), Some(&server(r)));
    }),
    Case::new("get_task_result_working", V2025_11_25, V2026_07_28, |r, out| {
        get_task(r, out, TaskStatus::Working, &TaskDetail::None);
    }),
    Case::new("get_task_result_waiting", V2025_11_25, V2026_07_28, |r, out| {
        get_task(r, out, TaskStatus::InputRequired, &examples::waiting());
    }),
    Case::new("get_task_result_completed", V2025_11_25, V2026_07_28, |r, out| {
        let payload = TaskDetail::Result(r.encode_task_payload(&examples::call_result()));
        get_task(r, out, TaskStatus::Completed, &payload);
    }),
    Case::new("get_task_result_failed", V2025_11_25, V2026_07_28, |r, out| {
        get_task(r, out, TaskStatus::Failed, &examples::failure());
    }),
    Case::new("cancel_task_result", V2025_11_25, V2026_07_28, |r, out| {
        r.write_cancel_task_result(out, &examples::task(TaskStatus::Cancelled), Some(&server(r)));
    }),
    Case::new("tasks_list", V2025_11_25, V2025_11_25, |r, out| {
        let tasks = [examples::task(TaskStatus::Working), examples::eternal_task()];
        r.write_tasks_list(out, &tasks, Some("next"));
    }),
    Case::new("task_payload", V2025_11_25, V2025_11_25, |r, out| {
        r.write_task_payload(out, "t1", &examples::call_result());
    })
    .read_as::<CallToolResult>(),
    Case::new("ask_form", V2025_06_18, V2025_11_25, |r, out| ask(r, out, &examples::form())),
    Case::new("ask_page", V2025_11_25, V2025_11_25, |r, out| ask(r, out, &examples::page())),
    Case::new("ask_model", V2024_11_05, V2025_11_25, |r, out| ask(r, out, &examples::sampling())),
    Case::new("ask_model_with_tools", V2025_11_25, V2025_11_25, |r, out| {
        ask(r, out, &examples::sampling_with_tools());
    }),
    Case::new("ask_roots", V2024_11_05, V2025_11_25, |r, out| ask(r, out, &InputRequest::Roots)),
    Case::new("progress", V2024_11_05, V2026_07_28, |r, out| {
        r.write_progress(out, &examples::progress(), of_task());
    }),
    Case::new("log_message", V2024_11_05, V2026_07_28, |r, out| {
        r.write_log_message(out, &examples::log_message(), of_task());
    }),
    Case::new("tools_list_changed", V2024_11_05, V2026_07_28, |r, out| {
        r.write_list_changed(out, ListKind::Tools, on_stream(&listen()));
    }),
    Case::new("prompts_list_changed", V2024_11_05, V2026_07_28, |r, out| {
        r.write_list_changed(out, ListKind::Prompts, on_stream(&listen()));
    }),
    Case::new("resources_list_changed", V2024_11_05, V2026_07_28, |r, out| {
        r.write_list_changed(out, ListKind::Resources, on_stream(&listen()));
    }),
    Case::new("resource_updated", V2024_11_05, V2026_07_28, |r, out| {
        r.write_resource_updated(out, "test://a", on_stream(&listen()));
    }),
    Case::new("subscriptions_acknowledged", V2026_07_28, V2026_07_28, |r, out| {
        r.write_subscriptions_acknowledged(out, &examples::filter(), &listen());
    }),
    Case::new("cancelled", V2024_11_05, V2025_11_25, |r, out| {
        r.write_cancelled(out, &7.into(), Some("no longer needed"));
    }),
    Case::new("elicitation_complete", V2025_11_25, V2025_11_25, |r, out| {
        r.write_elicitation_complete(out, "e1");
    }),
    Case::new("task_notification", V2025_11_25, V2026_07_28, |r, out| {
        let listen = listen();
        let related = Related { task: Some("t1"), ..on_stream(&listen) };
        let task = examples::task(TaskStatus::InputRequired);
        r.write_task_notification(out, &task, &examples::waiting(), related).unwrap();
    }),
];

// === impl Case ===

impl Case {
    const fn new(
        name: &'static str,
        since: Revision,
        until: Revision,
        write: fn(Revision, &mut Vec<u8>),
    ) -> Self {
        Self { name, since, until, write, read: None }
    }

    const fn read_as<T: DeserializeOwned>(mut self) -> Self {
        self.read = Some(|json| serde_json::from_str::<T>(json).map(drop));
        self
    }

    pub(crate) fn revisions(&self) -> impl Iterator<Item = Revision> {
        let range = self.since..=self.until;
        Revision::ALL.into_iter().filter(move |revision| range.contains(revision))
    }

    pub(crate) fn bytes(&self, revision: Revision) -> Vec<u8> {
        let mut out = Vec::new();
        (self.write)(revision, &mut out);
        out
    }

    pub(crate) fn value(&self, revision: Revision) -> Value {
        serde_json::from_slice(&self.bytes(revision)).unwrap()
    }
}

fn server(revision: Revision) -> Box<RawValue> {
    revision.encode_server_info(&examples::implementation())
}

fn listen() -> RequestId {
    "listen-1".into()
}

fn on_stream(listen: &RequestId) -> Related<'_> {
    Related { subscription: Some(listen), task: None }
}

fn of_task() -> Related<'static> {
    Related { subscription: None, task: Some("t1") }
}

fn ask(revision: Revision, out: &mut Vec<u8>, question: &InputRequest) {
    revision.write_question(out, &"q1".into(), question, of_task()).unwrap();
}

fn get_task(revision: Revision, out: &mut Vec<u8>, status: TaskStatus, detail: &TaskDetail) {
    revision.write_get_task_result(out, &examples::task(status), detail, Some(&server(revision))).unwrap();
}
