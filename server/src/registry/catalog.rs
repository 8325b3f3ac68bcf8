//! Everything that is served, at one moment: looked up by name, and listed in bytes that were written beforehand.

use std::collections::HashMap as StdHashMap;

use bytes::Bytes;
use serde_json::value::RawValue;
use trunkline_protocol::{
    Revision, RpcError,
    model::{Caching, Implementation, MetaMap, ServerCapabilities, TaskSupport, keys::TASKS_EXTENSION},
    revision::Era,
};

use super::{
    prompt::{Prompt, PromptEntry},
    resource::{Resource, ResourceEntry, ResourceTemplate, TemplateEntry},
    template::TemplateError,
    tool::{Tool, ToolEntry, ToolError},
};
use crate::keys::{KeyRing, Purpose};

/// By names that a developer chose: no client can make them collide, and a quick hash will do.
type HashMap<K, V> = StdHashMap<K, V, foldhash::fast::RandomState>;

/// What is declared before it is checked.
pub(crate) struct Declared {
    /// Who serves.
    pub(crate) server: Implementation,
    /// How to use it, for a model.
    pub(crate) instructions: Option<String>,
    /// How long lists may be kept.
    pub(crate) caching: Caching,
    /// Entries on one page of a list.
    pub(crate) page_size: usize,
    pub(crate) tools: Vec<Tool>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<Prompt>,
}

/// Something declared cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A tool.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A resource template.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// Two of a kind have one name.
    #[error("there are two {kind}s named {name:?}")]
    Duplicate {
        /// Prompt or resource.
        kind: &'static str,
        /// Their name.
        name: String,
    },
}

/// Everything that is served.
pub(crate) struct Catalog {
    tools: Vec<ToolEntry>,
    tool_index: HashMap<Box<str>, usize>,
    resources: Vec<ResourceEntry>,
    resource_index: HashMap<Box<str>, usize>,
    templates: Vec<TemplateEntry>,
    prompts: Vec<PromptEntry>,
    prompt_index: HashMap<Box<str>, usize>,
    encoded: [Encoded; Revision::ALL.len()],
}

/// What is the same for every client of a revision.
struct Encoded {
    server: Option<Box<RawValue>>,
    empty: Bytes,
    greeting: Bytes,
    tools: Vec<Bytes>,
    resources: Vec<Bytes>,
    templates: Vec<Bytes>,
    prompts: Vec<Bytes>,
}

/// Which list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    /// `tools/list`
    Tools,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
    /// `prompts/list`
    Prompts,
}

// === impl Catalog ===

impl Catalog {
    /// Checks and compiles what is declared, and writes its lists for every revision.
    ///
    /// # Errors
    /// The first declaration that cannot be served.
    pub(crate) fn compile(declared: Declared, keys: &KeyRing) -> Result<Self, CatalogError> {
        let tools = declared.tools.into_iter().map(Tool::compile).collect::<Result<Vec<_>, _>>()?;
        let resources: Vec<_> = declared.resources.into_iter().map(Resource::compile).collect();
        let templates =
            declared.templates.into_iter().map(ResourceTemplate::compile).collect::<Result<Vec<_>, _>>()?;
        let prompts: Vec<_> = declared.prompts.into_iter().map(Prompt::compile).collect();
        let tool_index = index(tools.iter().map(|tool| tool.definition.name.as_str()))
            .map_err(|name| CatalogError::Tool(ToolError::Duplicate(name)))?;
        let resource_index = index(resources.iter().map(|resource| resource.definition.uri.as_str()))
            .map_err(|name| CatalogError::Duplicate { kind: "resource", name })?;
        let prompt_index = index(prompts.iter().map(|prompt| prompt.definition.name.as_str()))
            .map_err(|name| CatalogError::Duplicate { kind: "prompt", name })?;
        let mut catalog = Self {
            tools,
            tool_index,
            resources,
            resource_index,
            templates,
            prompts,
            prompt_index,
            encoded: Revision::ALL.map(|_| Encoded::nothing()),
        };
        let shared = Shared {
            server: &declared.server,
            instructions: declared.instructions.as_deref(),
            caching: declared.caching,
            page_size: declared.page_size.max(1),
            keys,
        };
        catalog.encoded = Revision::ALL.map(|revision| catalog.encode(revision, &shared));
        Ok(catalog)
    }

    /// The tool with this name.
    pub(crate) fn tool(&self, name: &str) -> Option<&ToolEntry> {
        self.tool_index.get(name).map(|&at| &self.tools[at])
    }

    /// The resource with this URI.
    pub(crate) fn resource(&self, uri: &str) -> Option<&ResourceEntry> {
        self.resource_index.get(uri).map(|&at| &self.resources[at])
    }

    /// The templates, in their order.
    pub(crate) fn templates(&self) -> &[TemplateEntry] {
        &self.templates
    }

    /// The prompt with this name.
    pub(crate) fn prompt(&self, name: &str) -> Option<&PromptEntry> {
        self.prompt_index.get(name).map(|&at| &self.prompts[at])
    }

    /// Whether anything may be subscribed to.
    pub(crate) fn has_resources(&self) -> bool {
        !self.resources.is_empty() || !self.templates.is_empty()
    }

    /// Whether there are tools.
    pub(crate) fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    /// Whether there are prompts.
    pub(crate) fn has_prompts(&self) -> bool {
        !self.prompts.is_empty()
    }

    /// Whether anything is completed.
    pub(crate) fn has_completions(&self) -> bool {
        self.prompts.iter().any(|prompt| !prompt.completers.is_empty())
            || self.templates.iter().any(|template| !template.completers.is_empty())
    }

    /// Whether a tool can run as a task.
    pub(crate) fn has_tasks(&self) -> bool {
        self.tools.iter().any(|tool| tool.definition.task_support() != TaskSupport::Forbidden)
    }

    /// What goes into the `_meta` of results, on revisions that want it there.
    pub(crate) fn server(&self, revision: Revision) -> Option<&RawValue> {
        self.encoded(revision).server.as_deref()
    }

    /// A result without members.
    pub(crate) fn empty(&self, revision: Revision) -> Bytes {
        self.encoded(revision).empty.clone()
    }

    /// The result of `initialize`, or of `server/discover` in the modern era.
    pub(crate) fn greeting(&self, revision: Revision) -> Bytes {
        self.encoded(revision).greeting.clone()
    }

    /// A page of a list.
    ///
    /// # Errors
    /// -32602 if the cursor was not issued for this list.
    pub(crate) fn page(
        &self,
        revision: Revision,
        list: List,
        cursor: Option<&str>,
        keys: &KeyRing,
    ) -> Result<Bytes, RpcError> {
        let encoded = self.encoded(revision);
        let pages = match list {
            List::Tools => &encoded.tools,
            List::Resources => &encoded.resources,
            List::Templates => &encoded.templates,
            List::Prompts => &encoded.prompts,
        };
        let page = match cursor {
            None => 0,
            Some(cursor) => read_cursor(keys, list, cursor)
                .ok_or_else(|| RpcError::invalid_params("the cursor was not issued for this list"))?,
        };
        // A list that has become shorter ends where a reader of the longer one goes on.
        Ok(pages.get(page).or_else(|| pages.last()).cloned().unwrap_or_default())
    }

    fn encoded(&self, revision: Revision) -> &Encoded {
        &self.encoded[revision as usize]
    }

    fn capabilities(&self) -> ServerCapabilities {
        let mut declared = ServerCapabilities::default().with_logging();
        if self.has_tools() {
            declared = declared.with_tools(true);
        }
        if self.has_resources() {
            declared = declared.with_resources(true, true);
        }
        if self.has_prompts() {
            declared = declared.with_prompts(true);
        }
        if self.has_completions() {
            declared = declared.with_completions();
        }
        if self.has_tasks() {
            declared = declared.with_tasks().with_extension(TASKS_EXTENSION, MetaMap::new());
        }
        declared
    }

    fn encode(&self, revision: Revision, shared: &Shared<'_>) -> Encoded {
        let modern = revision.era() == Era::Modern;
        let server = modern.then(|| revision.encode_server_info(shared.server));
        let info = server.as_deref();
        let write = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            Bytes::from(out)
        };
        let capabilities = self.capabilities();
        let greeting = write(&|out| match modern {
            true => revision.write_discover_result(
                out,
                &[revision],
                &capabilities,
                shared.instructions,
                shared.caching,
                info,
            ),
            false => {
                revision.write_initialize_result(out, &capabilities, shared.server, shared.instructions);
            }
        });
        let caching = shared.caching;
        Encoded {
            empty: write(&|out| revision.write_empty_result(out, info)),
            greeting,
            tools: shared.pages(List::Tools, &self.tools, |page, next, out| {
                let listed = page.iter().map(|tool| &tool.definition);
                revision.write_tools_list(out, listed, next, caching, info);
            }),
            resources: shared.pages(List::Resources, &self.resources, |page, next, out| {
                let listed = page.iter().map(|resource| &resource.definition);
                revision.write_resources_list(out, listed, next, caching, info);
            }),
            templates: shared.pages(List::Templates, &self.templates, |page, next, out| {
                let listed = page.iter().map(|template| &template.definition);
                revision.write_resource_templates_list(out, listed, next, caching, info);
            }),
            prompts: shared.pages(List::Prompts, &self.prompts, |page, next, out| {
                let listed = page.iter().map(|prompt| &prompt.definition);
                revision.write_prompts_list(out, listed, next, caching, info);
            }),
            server,
        }
    }
}

/// What encoding needs beside the entries.
struct Shared<'a> {
    server: &'a Implementation,
    instructions: Option<&'a str>,
    caching: Caching,
    page_size: usize,
    keys: &'a KeyRing,
}

// === impl Shared ===

impl Shared<'_> {
    /// The pages of a list; an empty list has one.
    fn pages<T>(
        &self,
        list: List,
        entries: &[T],
        write: impl Fn(&[T], Option<&str>, &mut Vec<u8>),
    ) -> Vec<Bytes> {
        let count = entries.len().div_ceil(self.page_size).max(1);
        let page = |number: usize| {
            let start = number * self.page_size;
            let end = entries.len().min(start + self.page_size);
            let next = (number + 1 < count).then(|| write_cursor(self.keys, list, number + 1));
            let mut out = Vec::new();
            write(&entries[start..end], next.as_deref(), &mut out);
            Bytes::from(out)
        };
        (0..count).map(page).collect()
    }
}

// === impl Encoded ===

impl Encoded {
    fn nothing() -> Self {
        Self {
            server: None,
            empty: Bytes::new(),
            greeting: Bytes::new(),
            tools: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            prompts: Vec::new(),
        }
    }
}

// === cursors: a page's number, and a tag that any replica with the same keys verifies ===

/// The cursor of a page.
pub(crate) fn write_cursor(keys: &KeyRing, list: List, page: usize) -> String {
    let number = page.to_string();
    let tag = keys.sign(Purpose::Cursor, &[list.name().as_bytes(), number.as_bytes()]);
    format!("{number}.{}", tag.as_str())
}

/// The page that a cursor was issued for; `None` for any other text.
pub(crate) fn read_cursor(keys: &KeyRing, list: List, cursor: &str) -> Option<usize> {
    let (number, tag) = cursor.split_once('.')?;
    let page = number.parse().ok()?;
    keys.verify(Purpose::Cursor, &[list.name().as_bytes(), number.as_bytes()], tag).then_some(page)
}

// === impl List ===

impl List {
    const fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "templates",
            Self::Prompts => "prompts",
        }
    }
}

/// Where each name stands; the name that comes twice otherwise.
fn index<'a>(names: impl Iterator<Item = &'a str>) -> Result<HashMap<Box<str>, usize>, String> {
    let mut index = HashMap::default();
    for (at, name) in names.enumerate() {
        if index.insert(name.into(), at).is_some() {
            return Err(name.to_owned());
        }
    }
    Ok(index)
}
