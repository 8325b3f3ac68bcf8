//! What messages say, in memory: the shapes of the newest revision, and beside them the few members that only an
//! older one has.
//!
//! How a revision writes and reads them is [`crate::revision`]'s. The `Serialize` of these types writes the in-memory
//! shape, all members of all revisions, and is for storing and for tests; what goes to a peer goes through a revision.

mod capabilities;
mod completion;
mod content;
mod elicitation;
mod identity;
mod lifecycle;
mod logging;
mod meta;
mod number;
mod ordered;
mod progress;
mod prompts;
mod question;
mod resources;
mod roots;
mod sampling;
mod subscriptions;
mod tasks;
mod tools;

pub use capabilities::{
    ClientCapabilities, ClientTaskRequests, ClientTasksCapability, ElicitationCapability, ElicitationTasks,
    ListCapability, Present, ResourcesCapability, RootsCapability, SamplingCapability, SamplingTasks,
    ServerCapabilities, ServerTaskRequests, ServerTasksCapability, ToolTasks,
};
pub use completion::{
    CompleteContext, CompleteParams, CompleteResult, Completion, CompletionArgument, Reference,
};
pub use content::{
    Annotations, AudioContent, ContentBlock, EmbeddedResource, ImageContent, Role, TextContent,
    ToolResultContent, ToolUseContent,
};
pub use elicitation::{
    Choice, ElicitAction, ElicitForm, ElicitParams, ElicitResult, ElicitSchema, ElicitUrl, ItemsSchema,
    PropertySchema, PropertyType,
};
pub use identity::{Icon, Implementation, Theme};
pub use lifecycle::{DiscoverResult, InitializeParams, InitializeResult};
pub use logging::{LogLevel, LogMessageParams, SetLevelParams};
pub use meta::{CacheScope, Caching, MetaMap, keys};
pub use ordered::OrderedMap;
pub use progress::ProgressParams;
pub use prompts::{GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage};
pub use question::{InputRequest, InputRequiredResult, InputResponse};
pub use resources::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate, ResourceUpdatedParams,
};
pub use roots::{ListRootsResult, Root};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences, SamplingMessage,
    ToolChoice, ToolChoiceMode,
};
pub use subscriptions::{ListenFilter, ListenParams};
pub use tasks::{Task, TaskDetail, TaskParams, TaskStatus};
pub use tools::{CallToolResult, ListToolsResult, TaskSupport, Tool, ToolAnnotations, ToolExecution};
