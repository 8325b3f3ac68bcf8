//! Tools: what a developer declares, and what the registry calls.

use std::{future::Future, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};
use trunkline_protocol::{
    header::{Annotation, annotations},
    model::{self, CallToolResult, ContentBlock, Icon, TaskSupport, ToolAnnotations},
};

use super::{
    exchange::Exchange,
    outcome::{HandlerError, HandlerFuture, Outcome},
    schema::{self, Schema, SchemaError},
};

/// A handler with its argument type erased. The error says which argument does not fit.
type Handler = Arc<dyn Fn(Exchange, &str, &Schema) -> Result<HandlerFuture, String> + Send + Sync>;

/// A tool: a name, a handler, and what a client is told of it.
///
/// ```
/// use trunkline::{Exchange, Structured, Tool};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Numbers { a: i64, b: i64 }
///
/// #[derive(serde::Serialize, schemars::JsonSchema)]
/// struct Sum { sum: i64 }
///
/// let add = Tool::new("add", |_: Exchange, n: Numbers| async move { Ok(Structured(Sum { sum: n.a + n.b })) })
///     .description("Adds two numbers.")
///     .read_only();
/// ```
pub struct Tool {
    definition: model::Tool,
    input: Result<Schema, SchemaError>,
    handler: Handler,
    time_limit: Option<Duration>,
    asks_before_task: bool,
}

/// A tool as the registry keeps it: everything checked and compiled.
pub(crate) struct ToolEntry {
    /// What clients are told.
    pub(crate) definition: model::Tool,
    /// Checks arguments.
    pub(crate) input: Schema,
    /// Arguments that clients of the modern era mirror into headers.
    pub(crate) headers: Vec<Annotation>,
    /// How long a call may take; `None` for the server's default.
    pub(crate) time_limit: Option<Duration>,
    /// Whether the handler says when its call becomes a task.
    pub(crate) asks_before_task: bool,
    /// Whether a call may be run again when the replica that ran it died.
    pub(crate) repeatable: bool,
    handler: Handler,
}

/// A tool that cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The name does not have 1 to 128 characters of `A-Z a-z 0-9 _ - .` (*Tool Names*).
    #[error("a tool's name is 1 to 128 characters of A-Z a-z 0-9 _ - . and {0:?} is not")]
    Name(String),
    /// Two tools have one name.
    #[error("there are two tools named {0:?}")]
    Duplicate(String),
    /// The schema of its arguments.
    #[error("the input schema of the tool {tool:?}")]
    Schema {
        /// Which tool.
        tool: String,
        /// What is wrong with it.
        #[source]
        source: SchemaError,
    },
    /// An `x-mcp-header` annotation.
    #[error("an x-mcp-header of the tool {tool:?}: {reason}")]
    Header {
        /// Which tool.
        tool: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// What a handler may return.
pub trait IntoToolResult {
    /// The schema of the structured part, if the type has one.
    #[must_use]
    fn output_schema() -> Option<Value> {
        None
    }

    /// The result as clients get it.
    ///
    /// # Errors
    /// If the value cannot be written as JSON.
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError>;
}

/// A result with a structure, which is also written as text for clients that know no structured results.
#[derive(Clone, Copy, Debug)]
pub struct Structured<T>(pub T);

/// The arguments of a tool that takes none.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
pub struct NoArguments {}

/// A handler's future whose result is the call's outcome.
fn erase<R: IntoToolResult>(
    tool: Arc<str>,
    running: impl Future<Output = Result<R, HandlerError>> + Send + 'static,
) -> HandlerFuture {
    Box::pin(async move {
        match running.await.and_then(R::into_tool_result) {
            Ok(result) => Outcome::Tool(result),
            Err(failure) => Outcome::of_tool_failure(failure, &tool),
        }
    })
}

// === impl Tool ===

impl Tool {
    /// A tool with typed arguments. Their schema is made from the type; arguments are checked against it first.
    pub fn new<A, R, F, Fut>(name: &str, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: IntoToolResult,
        F: Fn(Exchange, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, HandlerError>> + Send + 'static,
    {
        let tool: Arc<str> = name.into();
        let erased = move |exchange: Exchange, arguments: &str, schema: &Schema| {
            let arguments: A = schema.read(arguments)?;
            Ok(erase(tool.clone(), handler(exchange, arguments)))
        };
        let mut definition = model::Tool::new(name);
        definition.output_schema = R::output_schema().and_then(|schema| to_raw_value(&schema).ok());
        Self::declared(definition, Schema::of::<A>(), Arc::new(erased))
    }

    /// A tool whose arguments are described by a schema of your own, and handed over as JSON.
    pub fn with_schema<R, F, Fut>(name: &str, input: Value, handler: F) -> Self
    where
        R: IntoToolResult,
        F: Fn(Exchange, Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, HandlerError>> + Send + 'static,
    {
        let tool: Arc<str> = name.into();
        let erased = move |exchange: Exchange, arguments: &str, schema: &Schema| {
            let arguments: Value = schema.read(arguments)?;
            Ok(erase(tool.clone(), handler(exchange, arguments)))
        };
        let mut definition = model::Tool::new(name);
        definition.output_schema = R::output_schema().and_then(|schema| to_raw_value(&schema).ok());
        Self::declared(definition, Schema::compile(input), Arc::new(erased))
    }

    fn declared(definition: model::Tool, input: Result<Schema, SchemaError>, handler: Handler) -> Self {
        Self { definition, input, handler, time_limit: None, asks_before_task: false }
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        self.definition = self.definition.with_title(title);
        self
    }

    /// What it does, for a model to choose it by.
    #[must_use]
    pub fn description(mut self, description: &str) -> Self {
        self.definition = self.definition.with_description(description);
        self
    }

    /// A picture.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.definition = self.definition.with_icon(icon);
        self
    }

    /// Hints on its behaviour. A tool that is read-only or idempotent may be run again when the replica that ran it died.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.definition = self.definition.with_annotations(annotations);
        self
    }

    /// It changes nothing.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.annotations(ToolAnnotations::read_only())
    }

    /// Whether a call may, or must, be run as a task.
    ///
    /// Where it is one, the client gets the task at once and fetches the result when it is there. The handler sees no
    /// difference: its questions are asked through the task, its progress and log messages are not delivered. Clients of
    /// revisions without tasks call the tool as any other.
    #[must_use]
    pub fn task_support(mut self, support: TaskSupport) -> Self {
        self.definition = self.definition.with_task_support(support);
        self
    }

    /// The handler says with [`Exchange::begin_task`] from where on a call is a task, and until then it is an ordinary call:
    /// what it asks first, it asks before there is a task, and if it never says so it answers as an ordinary call. Where the
    /// client decides what is a task (2025-11-25), the task begins at once and all questions are asked through it.
    #[must_use]
    pub fn ask_before_task(mut self) -> Self {
        self.asks_before_task = true;
        self
    }

    /// How long a call may take before it is cancelled and ends in an error.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Metadata under a key with a prefix of your own.
    #[must_use]
    pub fn meta(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.definition = self.definition.with_meta(key, value);
        self
    }

    /// Checks and compiles the declaration.
    pub(crate) fn compile(mut self) -> Result<ToolEntry, ToolError> {
        let name = self.definition.name.clone();
        let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        if name.is_empty() || name.len() > 128 || !name.bytes().all(legal) {
            return Err(ToolError::Name(name));
        }
        let input = self.input.map_err(|source| ToolError::Schema { tool: name.clone(), source })?;
        self.definition.input_schema = input.to_raw();
        let headers = annotations(input.value())
            .map_err(|reason| ToolError::Header { tool: name, reason: reason.to_string() })?;
        Ok(ToolEntry {
            repeatable: self.definition.is_repeatable(),
            definition: self.definition,
            input,
            headers,
            time_limit: self.time_limit,
            asks_before_task: self.asks_before_task,
            handler: self.handler,
        })
    }
}

// === impl ToolEntry ===

impl ToolEntry {
    /// Checks the arguments and starts the handler.
    ///
    /// # Errors
    /// What does not fit, for a model to mend it.
    pub(crate) fn start(
        &self,
        exchange: Exchange,
        arguments: Option<&RawValue>,
    ) -> Result<HandlerFuture, String> {
        (self.handler)(exchange, arguments.map_or("{}", RawValue::get), &self.input)
    }
}

// === impl IntoToolResult ===

impl IntoToolResult for CallToolResult {
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(self)
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::default())
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::text(self))
    }
}

impl IntoToolResult for &str {
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::text(self))
    }
}

impl IntoToolResult for Vec<ContentBlock> {
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult { content: self, ..CallToolResult::default() })
    }
}

impl<T: Serialize + JsonSchema> IntoToolResult for Structured<T> {
    fn output_schema() -> Option<Value> {
        let schema = schema::value_of::<T>();
        // Up to 2025-11-25 the structured part is an object; where it is not, only the text says it.
        schema.get("type").is_some_and(|kind| kind == "object").then_some(schema)
    }

    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        let structured = to_raw_value(&self.0)?;
        let content = vec![ContentBlock::text(structured.get())];
        Ok(CallToolResult { content, structured_content: Some(structured), ..CallToolResult::default() })
    }
}
