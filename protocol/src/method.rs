//! The methods of all revisions: the only table of method names.

use std::fmt;

/// A method of the protocol, of any revision and either direction.
///
/// Which revision serves which method is in [`crate::revision::Features`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `tools/call`
    ToolsCall,
    /// `tools/list`
    ToolsList,
    /// `initialize` (up to 2025-11-25)
    Initialize,
    /// `server/discover` (from 2026-07-28)
    ServerDiscover,
    /// `ping` (up to 2025-11-25)
    Ping,
    /// `resources/list`
    ResourcesList,
    /// `resources/templates/list`
    ResourcesTemplatesList,
    /// `resources/read`
    ResourcesRead,
    /// `resources/subscribe` (up to 2025-11-25)
    ResourcesSubscribe,
    /// `resources/unsubscribe` (up to 2025-11-25)
    ResourcesUnsubscribe,
    /// `prompts/list`
    PromptsList,
    /// `prompts/get`
    PromptsGet,
    /// `completion/complete`
    CompletionComplete,
    /// `logging/setLevel` (up to 2025-11-25)
    LoggingSetLevel,
    /// `subscriptions/listen` (from 2026-07-28)
    SubscriptionsListen,
    /// `tasks/get`
    TasksGet,
    /// `tasks/result` (2025-11-25)
    TasksResult,
    /// `tasks/list` (2025-11-25)
    TasksList,
    /// `tasks/cancel`
    TasksCancel,
    /// `tasks/update` (the tasks extension of 2026-07-28)
    TasksUpdate,
    /// `sampling/createMessage`, a question to the client
    SamplingCreateMessage,
    /// `elicitation/create`, a question to the client
    ElicitationCreate,
    /// `roots/list`, a question to the client
    RootsList,
    /// `notifications/initialized`
    Initialized,
    /// `notifications/cancelled`
    Cancelled,
    /// `notifications/progress`
    Progress,
    /// `notifications/message`
    Message,
    /// `notifications/roots/list_changed`
    RootsListChanged,
    /// `notifications/tools/list_changed`
    ToolsListChanged,
    /// `notifications/prompts/list_changed`
    PromptsListChanged,
    /// `notifications/resources/list_changed`
    ResourcesListChanged,
    /// `notifications/resources/updated`
    ResourcesUpdated,
    /// `notifications/elicitation/complete` (2025-11-25)
    ElicitationComplete,
    /// `notifications/tasks/status` (2025-11-25)
    TasksStatus,
    /// `notifications/tasks` (the tasks extension of 2026-07-28)
    TasksNotification,
    /// `notifications/subscriptions/acknowledged` (from 2026-07-28)
    SubscriptionsAcknowledged,
}

/// Ordered by how often a method is met, since a name is found by looking from the top.
const NAMES: &[(Method, &str)] = &[
    (Method::ToolsCall, "tools/call"),
    (Method::ToolsList, "tools/list"),
    (Method::Initialize, "initialize"),
    (Method::Initialized, "notifications/initialized"),
    (Method::Ping, "ping"),
    (Method::ServerDiscover, "server/discover"),
    (Method::ResourcesRead, "resources/read"),
    (Method::ResourcesList, "resources/list"),
    (Method::ResourcesTemplatesList, "resources/templates/list"),
    (Method::PromptsGet, "prompts/get"),
    (Method::PromptsList, "prompts/list"),
    (Method::Cancelled, "notifications/cancelled"),
    (Method::Progress, "notifications/progress"),
    (Method::Message, "notifications/message"),
    (Method::CompletionComplete, "completion/complete"),
    (Method::ResourcesSubscribe, "resources/subscribe"),
    (Method::ResourcesUnsubscribe, "resources/unsubscribe"),
    (Method::LoggingSetLevel, "logging/setLevel"),
    (Method::SubscriptionsListen, "subscriptions/listen"),
    (Method::TasksGet, "tasks/get"),
    (Method::TasksResult, "tasks/result"),
    (Method::TasksList, "tasks/list"),
    (Method::TasksCancel, "tasks/cancel"),
    (Method::TasksUpdate, "tasks/update"),
    (Method::SamplingCreateMessage, "sampling/createMessage"),
    (Method::ElicitationCreate, "elicitation/create"),
    (Method::RootsList, "roots/list"),
    (Method::RootsListChanged, "notifications/roots/list_changed"),
    (Method::ToolsListChanged, "notifications/tools/list_changed"),
    (Method::PromptsListChanged, "notifications/prompts/list_changed"),
    (Method::ResourcesListChanged, "notifications/resources/list_changed"),
    (Method::ResourcesUpdated, "notifications/resources/updated"),
    (Method::ElicitationComplete, "notifications/elicitation/complete"),
    (Method::TasksStatus, "notifications/tasks/status"),
    (Method::TasksNotification, "notifications/tasks"),
    (Method::SubscriptionsAcknowledged, "notifications/subscriptions/acknowledged"),
];

// === impl Method ===

impl Method {
    /// The method with this name, if any revision has it. Names are case-sensitive.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(method, _)| *method)
    }

    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(method, _)| *method == self).map_or("", |(_, name)| name)
    }

    /// Every method, in the table's order.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(method, _)| *method)
    }

    /// Whether the method is a notification, which is never answered.
    #[must_use]
    pub fn is_notification(self) -> bool {
        self.name().starts_with("notifications/")
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_method() {
        for method in Method::all() {
            assert_eq!(Method::from_name(method.name()), Some(method));
        }
        // The last variant's discriminant counts the variants.
        assert_eq!(NAMES.len(), Method::SubscriptionsAcknowledged as usize + 1, "a variant without a name");
    }

    #[test]
    fn names_are_case_sensitive() {
        assert_eq!(Method::from_name("Tools/List"), None);
        assert_eq!(Method::from_name(""), None);
    }
}
