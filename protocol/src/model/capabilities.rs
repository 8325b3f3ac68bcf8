//! What each end can do.

use serde::{Deserialize, Serialize};

use super::{MetaMap, keys};

/// A capability without members that matter here: written as `{}`, read from any object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Present {}

/// What a client can do: declared in `initialize`, or from 2026-07-28 in each request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCapabilities {
    /// Experiments, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Box<MetaMap>>,
    /// It can list the folders it works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<RootsCapability>,
    /// It can ask a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// It can ask its user (from 2025-06-18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// It can run our questions as tasks (2025-11-25 only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<ClientTasksCapability>,
    /// Extensions, by name (from 2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Box<MetaMap>>,
}

/// See [`ClientCapabilities::roots`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RootsCapability {
    /// It says when they change (up to 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

/// See [`ClientCapabilities::sampling`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplingCapability {
    /// It heeds `includeContext` (from 2025-11-25; before, every client that samples).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Present>,
    /// It lets the model use tools (from 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Present>,
}

/// See [`ClientCapabilities::elicitation`]. Neither member means forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElicitationCapability {
    /// It shows forms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Present>,
    /// It opens a URL (from 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Present>,
}

/// See [`ClientCapabilities::tasks`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientTasksCapability {
    /// It lists its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<Present>,
    /// It cancels them on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Present>,
    /// The requests that it runs as tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<ClientTaskRequests>,
}

/// See [`ClientTasksCapability::requests`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientTaskRequests {
    /// Of sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingTasks>,
    /// Of elicitation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationTasks>,
}

/// See [`ClientTaskRequests::sampling`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SamplingTasks {
    /// `sampling/createMessage`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create_message: Option<Present>,
}

/// See [`ClientTaskRequests::elicitation`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElicitationTasks {
    /// `elicitation/create`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create: Option<Present>,
}

/// What a server can do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerCapabilities {
    /// Experiments, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Box<MetaMap>>,
    /// It sends log messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<Present>,
    /// It completes arguments (declared from 2025-03-26 on; 2024-11-05 has the method and no capability).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<Present>,
    /// It offers prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<ListCapability>,
    /// It offers resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    /// It offers tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ListCapability>,
    /// It runs requests as tasks (2025-11-25 only; later an extension).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<ServerTasksCapability>,
    /// Extensions, by name (from 2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Box<MetaMap>>,
}

/// A list that may say when it changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListCapability {
    /// Changes of the list are announced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

/// See [`ServerCapabilities::resources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourcesCapability {
    /// Changes of single resources are announced to whoever subscribes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<bool>,
    /// Changes of the list are announced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

/// See [`ServerCapabilities::tasks`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTasksCapability {
    /// It lists its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<Present>,
    /// It cancels them on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Present>,
    /// The requests that it runs as tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<ServerTaskRequests>,
}

/// See [`ServerTasksCapability::requests`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTaskRequests {
    /// Of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolTasks>,
}

/// See [`ServerTaskRequests::tools`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolTasks {
    /// `tools/call`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Present>,
}

// === impl ClientCapabilities ===

impl ClientCapabilities {
    /// Whether the client can be asked for its roots.
    #[must_use]
    pub const fn supports_roots(&self) -> bool {
        self.roots.is_some()
    }

    /// Whether the client can be asked to sample a model.
    #[must_use]
    pub const fn supports_sampling(&self) -> bool {
        self.sampling.is_some()
    }

    /// Whether the model may be given tools.
    #[must_use]
    pub fn supports_sampling_tools(&self) -> bool {
        self.sampling.is_some_and(|sampling| sampling.tools.is_some())
    }

    /// Whether the client shows forms. `elicitation: {}` means that it does.
    #[must_use]
    pub fn supports_elicitation_form(&self) -> bool {
        self.elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
    }

    /// Whether the client opens URLs.
    #[must_use]
    pub fn supports_elicitation_url(&self) -> bool {
        self.elicitation.is_some_and(|modes| modes.url.is_some())
    }

    /// Whether the client knows an extension.
    #[must_use]
    pub fn supports_extension(&self, name: &str) -> bool {
        self.extensions.as_ref().is_some_and(|extensions| extensions.contains_key(name))
    }

    /// Whether the client takes a task for an answer (the extension of 2026-07-28).
    #[must_use]
    pub fn supports_tasks_extension(&self) -> bool {
        self.supports_extension(keys::TASKS_EXTENSION)
    }

    /// Declares roots.
    #[must_use]
    pub fn with_roots(mut self) -> Self {
        self.roots.get_or_insert_default();
        self
    }

    /// Declares sampling.
    #[must_use]
    pub fn with_sampling(mut self) -> Self {
        self.sampling.get_or_insert_default();
        self
    }

    /// Declares sampling with tools.
    #[must_use]
    pub fn with_sampling_tools(mut self) -> Self {
        self.sampling.get_or_insert_default().tools = Some(Present {});
        self
    }

    /// Declares forms.
    #[must_use]
    pub fn with_elicitation_form(mut self) -> Self {
        self.elicitation.get_or_insert_default().form = Some(Present {});
        self
    }

    /// Declares URLs.
    #[must_use]
    pub fn with_elicitation_url(mut self) -> Self {
        self.elicitation.get_or_insert_default().url = Some(Present {});
        self
    }

    /// Declares an extension without settings.
    #[must_use]
    pub fn with_extension(mut self, name: &str) -> Self {
        self.extensions.get_or_insert_default().insert(name.to_owned(), MetaMap::new().into());
        self
    }
}

// === impl ServerCapabilities ===

impl ServerCapabilities {
    /// Declares tools.
    #[must_use]
    pub fn with_tools(mut self, list_changed: bool) -> Self {
        self.tools = Some(ListCapability::new(list_changed));
        self
    }

    /// Declares prompts.
    #[must_use]
    pub fn with_prompts(mut self, list_changed: bool) -> Self {
        self.prompts = Some(ListCapability::new(list_changed));
        self
    }

    /// Declares resources.
    #[must_use]
    pub fn with_resources(mut self, subscribe: bool, list_changed: bool) -> Self {
        self.resources = Some(ResourcesCapability {
            subscribe: subscribe.then_some(true),
            list_changed: list_changed.then_some(true),
        });
        self
    }

    /// Declares completion.
    #[must_use]
    pub fn with_completions(mut self) -> Self {
        self.completions = Some(Present {});
        self
    }

    /// Declares log messages.
    #[must_use]
    pub fn with_logging(mut self) -> Self {
        self.logging = Some(Present {});
        self
    }

    /// Declares that tool calls can run as tasks, in the words of both revisions that have them.
    #[must_use]
    pub fn with_tasks(mut self) -> Self {
        self.tasks = Some(ServerTasksCapability {
            list: Some(Present {}),
            cancel: Some(Present {}),
            requests: Some(ServerTaskRequests { tools: Some(ToolTasks { call: Some(Present {}) }) }),
        });
        self.with_extension(keys::TASKS_EXTENSION, MetaMap::new())
    }

    /// Declares an extension with its settings.
    #[must_use]
    pub fn with_extension(mut self, name: &str, settings: MetaMap) -> Self {
        self.extensions.get_or_insert_default().insert(name.to_owned(), settings.into());
        self
    }
}

// === impl ListCapability ===

impl ListCapability {
    fn new(list_changed: bool) -> Self {
        Self { list_changed: list_changed.then_some(true) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(json: &str) -> ClientCapabilities {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn an_empty_elicitation_means_forms() {
        for (json, form, url) in [
            (r"{}", false, false),
            (r#"{"elicitation":{}}"#, true, false),
            (r#"{"elicitation":{"form":{}}}"#, true, false),
            (r#"{"elicitation":{"url":{}}}"#, false, true),
            (r#"{"elicitation":{"form":{},"url":{}}}"#, true, true),
        ] {
            let capabilities = client(json);
            assert_eq!(capabilities.supports_elicitation_form(), form, "{json}");
            assert_eq!(capabilities.supports_elicitation_url(), url, "{json}");
        }
    }

    #[test]
    fn unknown_capabilities_are_ignored_and_presence_is_enough() {
        let capabilities = client(
            r#"{"holograms":{"x":1},"sampling":{"tools":{"more":true}},"roots":{"listChanged":true}}"#,
        );
        assert!(capabilities.supports_sampling_tools() && capabilities.supports_roots());
    }

    #[test]
    fn what_is_required_is_written_as_a_client_would_declare_it() {
        let required = ClientCapabilities::default().with_sampling();
        assert_eq!(serde_json::to_string(&required).unwrap(), r#"{"sampling":{}}"#);
        let required = ClientCapabilities::default().with_extension(keys::TASKS_EXTENSION);
        assert_eq!(
            serde_json::to_string(&required).unwrap(),
            r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#
        );
        assert!(required.supports_tasks_extension());
    }
}
