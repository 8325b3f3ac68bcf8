//! What a handler comes to, before any revision has written it.

use std::{future::Future, pin::Pin};

use bytes::Bytes;
use trunkline_protocol::{
    Revision, RpcError,
    error::code,
    model::{CallToolResult, Completion, GetPromptResult, InputRequiredResult, ReadResourceResult},
    revision::Era,
};

use super::ask::{AskError, missing_capability};

/// Why a handler did not succeed.
///
/// Returned with `?` from whatever went wrong: an unexpected error becomes [`HandlerError::internal`], whose text the client
/// never sees. Errors that the model should read and act on are made with [`HandlerError::new`].
#[derive(Debug)]
pub struct HandlerError(pub(crate) Cause);

#[derive(Debug)]
pub(crate) enum Cause {
    /// For the model to read.
    Told(String),
    /// For the log, under a reference that the client is told.
    Internal(String),
    /// For the client program, as it stands.
    Rpc(RpcError),
    /// The resource does not exist; the code depends on the revision.
    ResourceNotFound(String),
    /// A question could not be asked.
    Ask(AskError),
}

/// A handler at work, whatever it was declared as.
pub(crate) type HandlerFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// A tool's result.
    Tool(CallToolResult),
    /// A prompt.
    Prompt(Box<GetPromptResult>),
    /// A resource's contents.
    Resource(Box<ReadResourceResult>),
    /// Completion values.
    Completion(Box<Completion>),
    /// Questions that have to be answered before the call can go on, on revisions that ask in rounds.
    InputRequired(Box<InputRequiredResult>),
    /// A result that is already written in the caller's revision.
    Encoded(Bytes),
    /// A result without members.
    Empty,
    /// An error.
    Error(RpcError),
    /// No resource has this URI.
    ResourceNotFound(String),
    /// Nothing: the call was cancelled, and no answer follows.
    Cancelled,
}

// === impl HandlerError ===

impl HandlerError {
    /// A failure that the model should read: it becomes a tool result with `isError`.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Cause::Told(message.into()))
    }

    /// A failure nobody outside should read the details of. They go to the log under a reference that the client is told.
    pub fn internal(detail: impl std::fmt::Display) -> Self {
        Self(Cause::Internal(detail.to_string()))
    }

    /// A JSON-RPC error, for failures that are the client program's rather than the model's.
    #[must_use]
    pub fn rpc(error: RpcError) -> Self {
        Self(Cause::Rpc(error))
    }

    /// The resource does not exist.
    #[must_use]
    pub fn resource_not_found(uri: &str) -> Self {
        Self(Cause::ResourceNotFound(uri.to_owned()))
    }
}

/// Whatever went wrong unexpectedly: internal.
impl<E: std::error::Error> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self::internal(chain(&error))
    }
}

impl From<AskError> for HandlerError {
    fn from(error: AskError) -> Self {
        Self(Cause::Ask(error))
    }
}

// === impl Outcome ===

impl Outcome {
    /// The outcome of a failed tool call: something for the model wherever it can do something about it.
    pub(crate) fn of_tool_failure(failure: HandlerError, tool: &str) -> Self {
        match failure.0 {
            Cause::Told(message) => Self::tool_error(message),
            Cause::Internal(detail) => Self::tool_error(report(tool, &detail)),
            Cause::ResourceNotFound(uri) => Self::tool_error(format!("there is no resource {uri:?}")),
            Cause::Rpc(error) => Self::Error(error),
            Cause::Ask(AskError::Cancelled) => Self::Cancelled,
            Cause::Ask(AskError::Unsupported { modern: true, needs }) => {
                Self::Error(missing_capability(&needs))
            }
            Cause::Ask(error) => Self::tool_error(error.to_string()),
        }
    }

    /// The outcome of a failed prompt, resource or completion, which have no place for an error but the envelope.
    pub(crate) fn of_failure(failure: HandlerError, what: &str) -> Self {
        match failure.0 {
            Cause::Told(message) => Self::Error(RpcError::internal(message)),
            Cause::Internal(detail) => Self::Error(RpcError::internal(report(what, &detail))),
            Cause::ResourceNotFound(uri) => Self::ResourceNotFound(uri),
            Cause::Rpc(error) => Self::Error(error),
            Cause::Ask(AskError::Cancelled) => Self::Cancelled,
            Cause::Ask(AskError::Unsupported { modern: true, needs }) => {
                Self::Error(missing_capability(&needs))
            }
            Cause::Ask(error) => Self::Error(RpcError::internal(error.to_string())),
        }
    }

    /// A tool result that tells the model what went wrong.
    pub(crate) fn tool_error(message: impl Into<String>) -> Self {
        Self::Tool(CallToolResult::error(message.into()))
    }

    /// The HTTP status if this travels as the plain body to a client of the given revision.
    pub(crate) fn status(&self, revision: Revision) -> u16 {
        match self {
            Self::Error(error) if revision.era() == Era::Modern => match error.code {
                code::METHOD_NOT_FOUND => 404,
                code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_VERSION => 400,
                _ => 200,
            },
            _ => 200,
        }
    }
}

/// Logs a failure under a reference, and returns what the client is told of it.
pub(crate) fn report(what: &str, detail: &str) -> String {
    let reference = format!("{:08x}", rand::random::<u32>());
    tracing::error!(what, reference, detail, "a handler failed");
    format!("{what} failed; the server's log has the details under {reference}")
}

/// An error with its causes, as one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}
