//! Resources and resource templates.

use std::{collections::BTreeMap, future::Future, sync::Arc};

use trunkline_protocol::model::{self, Annotations, Icon, ReadResourceResult, ResourceContents};

use super::{
    completion::{Completer, Completers},
    exchange::Exchange,
    outcome::{HandlerError, HandlerFuture, Outcome},
    template::{Template, TemplateError},
};

type Read = Arc<dyn Fn(Reading) -> HandlerFuture + Send + Sync>;

/// One reading of a resource.
struct Reading {
    exchange: Exchange,
    uri: String,
    variables: BTreeMap<String, String>,
    /// For contents that name no media type.
    mime_type: Option<String>,
}

/// A resource: something that clients can read under a fixed URI.
pub struct Resource {
    definition: model::Resource,
    read: Read,
}

/// Resources under URIs of one shape, `demo://notes/{id}`: a variable matches one segment, `{+path}` everything.
pub struct ResourceTemplate {
    definition: model::ResourceTemplate,
    completers: Completers,
    read: Read,
}

/// A resource as the registry keeps it.
pub(crate) struct ResourceEntry {
    /// What clients are told.
    pub(crate) definition: model::Resource,
    read: Read,
}

/// A template as the registry keeps it.
pub(crate) struct TemplateEntry {
    /// What clients are told.
    pub(crate) definition: model::ResourceTemplate,
    /// Completes its variables.
    pub(crate) completers: Completers,
    template: Template,
    read: Read,
}

/// What reading a resource may return.
pub trait IntoContents {
    /// The result for a resource with this URI.
    fn into_contents(self, uri: &str) -> ReadResourceResult;
}

// === impl Resource ===

impl Resource {
    /// A resource.
    pub fn new<R, F, Fut>(uri: &str, name: &str, read: F) -> Self
    where
        R: IntoContents,
        F: Fn(Exchange) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, HandlerError>> + Send + 'static,
    {
        let read = move |it: Reading| erase(it.uri, it.mime_type, read(it.exchange));
        Self { definition: model::Resource::new(uri, name), read: Arc::new(read) }
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        self.definition = self.definition.with_title(title);
        self
    }

    /// What it is.
    #[must_use]
    pub fn description(mut self, description: &str) -> Self {
        self.definition = self.definition.with_description(description);
        self
    }

    /// The media type of its contents.
    #[must_use]
    pub fn mime_type(mut self, mime_type: &str) -> Self {
        self.definition = self.definition.with_mime_type(mime_type);
        self
    }

    /// A picture.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.definition.icons.push(icon);
        self
    }

    /// For whom it is, and how important.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.definition.annotations = Some(Box::new(annotations));
        self
    }

    pub(crate) fn compile(self) -> ResourceEntry {
        ResourceEntry { definition: self.definition, read: self.read }
    }
}

// === impl ResourceTemplate ===

impl ResourceTemplate {
    /// Resources of one shape. The handler gets the values of the variables, percent-decoded.
    pub fn new<R, F, Fut>(uri_template: &str, name: &str, read: F) -> Self
    where
        R: IntoContents,
        F: Fn(Exchange, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, HandlerError>> + Send + 'static,
    {
        let read = move |it: Reading| erase(it.uri, it.mime_type, read(it.exchange, it.variables));
        let definition = model::ResourceTemplate {
            uri_template: uri_template.to_owned(),
            name: name.to_owned(),
            ..model::ResourceTemplate::default()
        };
        Self { definition, completers: Completers::default(), read: Arc::new(read) }
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        self.definition.title = Some(title.to_owned());
        self
    }

    /// What they are.
    #[must_use]
    pub fn description(mut self, description: &str) -> Self {
        self.definition.description = Some(description.to_owned());
        self
    }

    /// The media type of their contents.
    #[must_use]
    pub fn mime_type(mut self, mime_type: &str) -> Self {
        self.definition.mime_type = Some(mime_type.to_owned());
        self
    }

    /// Completes a variable while it is typed.
    #[must_use]
    pub fn complete(mut self, variable: &str, completer: impl Completer) -> Self {
        self.completers.add(variable, completer);
        self
    }

    pub(crate) fn compile(self) -> Result<TemplateEntry, TemplateError> {
        let template = Template::parse(&self.definition.uri_template)?;
        Ok(TemplateEntry {
            definition: self.definition,
            completers: self.completers,
            template,
            read: self.read,
        })
    }
}

// === impl ResourceEntry ===

impl ResourceEntry {
    /// Starts reading.
    pub(crate) fn read(&self, exchange: Exchange) -> HandlerFuture {
        let uri = self.definition.uri.clone();
        let mime_type = self.definition.mime_type.clone();
        (self.read)(Reading { exchange, uri, variables: BTreeMap::new(), mime_type })
    }
}

// === impl TemplateEntry ===

impl TemplateEntry {
    /// Starts reading, if the URI has this template's shape.
    pub(crate) fn read(&self, exchange: &Exchange, uri: &str) -> Option<HandlerFuture> {
        let variables = self.template.matches(uri)?;
        let mime_type = self.definition.mime_type.clone();
        Some((self.read)(Reading { exchange: exchange.clone(), uri: uri.to_owned(), variables, mime_type }))
    }
}

/// A handler's future whose result is the outcome of reading.
fn erase<R: IntoContents>(
    uri: String,
    mime_type: Option<String>,
    reading: impl Future<Output = Result<R, HandlerError>> + Send + 'static,
) -> HandlerFuture {
    Box::pin(async move {
        let mut result = match reading.await {
            Ok(read) => read.into_contents(&uri),
            Err(failure) => return Outcome::of_failure(failure, "the resource"),
        };
        for contents in &mut result.contents {
            if contents.mime_type.is_none() {
                contents.mime_type.clone_from(&mime_type);
            }
        }
        Outcome::Resource(Box::new(result))
    })
}

// === impl IntoContents ===

impl IntoContents for ReadResourceResult {
    fn into_contents(self, _uri: &str) -> ReadResourceResult {
        self
    }
}

impl IntoContents for ResourceContents {
    fn into_contents(self, _uri: &str) -> ReadResourceResult {
        ReadResourceResult { contents: vec![self], ..ReadResourceResult::default() }
    }
}

impl IntoContents for String {
    fn into_contents(self, uri: &str) -> ReadResourceResult {
        ResourceContents::text(uri, self).into_contents(uri)
    }
}

impl IntoContents for &str {
    fn into_contents(self, uri: &str) -> ReadResourceResult {
        ResourceContents::text(uri, self).into_contents(uri)
    }
}
