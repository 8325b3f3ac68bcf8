//! What each revision has, as data.

use super::Revision;
use crate::{error::code, method::Method};

/// What a revision has that others lack. One table to read, and to extend when a revision is added.
#[derive(Debug)]
pub struct Features {
    /// JSON-RPC batches (2025-03-26 only).
    pub batch: bool,
    /// Sessions, opened by `initialize`, closed by DELETE, with a GET stream.
    pub session: bool,
    /// Streams carry event ids and can be resumed with `Last-Event-ID`.
    pub resumable: bool,
    /// A stream begins with an event of an id and empty data. Older clients choke on it.
    pub priming: bool,
    /// Questions go out as requests on a stream; otherwise a call ends with `input_required` and is sent again.
    pub questions_on_stream: bool,
    /// The client can be asked to elicit.
    pub elicitation: bool,
    /// Questions to the user say their mode, form or URL.
    pub elicitation_modes: bool,
    /// Results say their type, and in `_meta` who answers.
    pub result_type: bool,
    /// Results of lists and reads say how long they may be kept.
    pub caching: bool,
    /// Progress may come with a message.
    pub progress_message: bool,
    /// Requests can be run as tasks, and in which words.
    pub tasks: Option<TaskDialect>,
    /// The code of the error for a resource that does not exist.
    pub resource_not_found: i64,
    /// The methods that a client may send as requests.
    pub requests: &'static [Method],
    /// The methods that a client may send as notifications.
    pub notifications: &'static [Method],
}

/// The words that a revision has for tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskDialect {
    /// Part of the revision: the client asks for a task, and fetches the answer with `tasks/result` (2025-11-25).
    Core,
    /// The extension: the server decides, and `tasks/get` brings the answer (from 2026-07-28).
    Extension,
}

use Method::{
    Cancelled, CompletionComplete, Initialize, Initialized, LoggingSetLevel, Ping, Progress, PromptsGet,
    PromptsList, ResourcesList, ResourcesRead, ResourcesSubscribe, ResourcesTemplatesList,
    ResourcesUnsubscribe, RootsListChanged, ServerDiscover, SubscriptionsListen, TasksCancel, TasksGet,
    TasksList, TasksResult, TasksStatus, TasksUpdate, ToolsCall, ToolsList,
};

const HANDSHAKE_REQUESTS: &[Method] = &[
    ToolsCall,
    ToolsList,
    Initialize,
    Ping,
    ResourcesRead,
    ResourcesList,
    ResourcesTemplatesList,
    PromptsGet,
    PromptsList,
    CompletionComplete,
    ResourcesSubscribe,
    ResourcesUnsubscribe,
    LoggingSetLevel,
];

const TASK_REQUESTS: &[Method] = &[
    ToolsCall,
    ToolsList,
    Initialize,
    Ping,
    ResourcesRead,
    ResourcesList,
    ResourcesTemplatesList,
    PromptsGet,
    PromptsList,
    CompletionComplete,
    ResourcesSubscribe,
    ResourcesUnsubscribe,
    LoggingSetLevel,
    TasksGet,
    TasksResult,
    TasksList,
    TasksCancel,
];

const MODERN_REQUESTS: &[Method] = &[
    ToolsCall,
    ToolsList,
    ServerDiscover,
    ResourcesRead,
    ResourcesList,
    ResourcesTemplatesList,
    PromptsGet,
    PromptsList,
    CompletionComplete,
    SubscriptionsListen,
    TasksGet,
    TasksUpdate,
    TasksCancel,
];

const HANDSHAKE_NOTIFICATIONS: &[Method] = &[Initialized, Cancelled, Progress, RootsListChanged];
const TASK_NOTIFICATIONS: &[Method] = &[Initialized, Cancelled, Progress, RootsListChanged, TasksStatus];

const V2024_11_05: Features = Features {
    batch: false,
    session: true,
    resumable: false,
    priming: false,
    questions_on_stream: true,
    elicitation: false,
    elicitation_modes: false,
    result_type: false,
    caching: false,
    progress_message: false,
    tasks: None,
    resource_not_found: code::RESOURCE_NOT_FOUND,
    requests: HANDSHAKE_REQUESTS,
    notifications: HANDSHAKE_NOTIFICATIONS,
};

const V2025_03_26: Features =
    Features { batch: true, resumable: true, progress_message: true, ..V2024_11_05 };

const V2025_06_18: Features = Features { batch: false, elicitation: true, ..V2025_03_26 };

const V2025_11_25: Features = Features {
    priming: true,
    elicitation_modes: true,
    tasks: Some(TaskDialect::Core),
    requests: TASK_REQUESTS,
    notifications: TASK_NOTIFICATIONS,
    ..V2025_06_18
};

const V2026_07_28: Features = Features {
    batch: false,
    session: false,
    resumable: false,
    priming: false,
    questions_on_stream: false,
    elicitation: true,
    elicitation_modes: true,
    result_type: true,
    caching: true,
    progress_message: true,
    tasks: Some(TaskDialect::Extension),
    resource_not_found: code::INVALID_PARAMS,
    requests: MODERN_REQUESTS,
    notifications: &[Cancelled],
};

// === impl Features ===

impl Features {
    pub(super) const fn of(revision: Revision) -> &'static Self {
        match revision {
            Revision::V2024_11_05 => &V2024_11_05,
            Revision::V2025_03_26 => &V2025_03_26,
            Revision::V2025_06_18 => &V2025_06_18,
            Revision::V2025_11_25 => &V2025_11_25,
            Revision::V2026_07_28 => &V2026_07_28,
        }
    }
}
