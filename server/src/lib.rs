//! A shared remote MCP endpoint.

mod admin;
mod app;
mod builtin;
mod cancel;
pub mod config;
mod drain;
mod error;
mod following;
#[doc(hidden)]
pub mod fuzzing;
mod keys;
mod outbox;
mod principal;
mod record;
mod registry;
mod session;
mod telemetry;
mod transport;

pub use trunkline_protocol as protocol;
pub use trunkline_protocol::model;

#[doc(hidden)]
pub use app::Dispatch;
pub use app::{Running, Server, StartError};
pub use principal::Principal;
pub use registry::{
    AskError, CatalogError, Completer, Exchange, HandlerError, IntoContents, IntoPrompt, IntoToolResult,
    NoArguments, Prompt, Resource, ResourceTemplate, SchemaError, State, Structured, TemplateError, Tool,
    ToolError, Typed, one_of,
};
