//! JSON-RPC errors and the codes this protocol gives a meaning to.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A JSON-RPC error as it goes to the peer. Nothing internal belongs into it.
#[derive(Clone, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// What kind of failure this is.
    pub code: i64,
    /// One sentence for a person.
    pub message: String,
    /// More for a program; its shape depends on the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

/// The codes with a meaning in the protocol (*Error Codes* of each revision).
pub mod code {
    /// The body is not JSON.
    pub const PARSE: i64 = -32700;
    /// The JSON is not a JSON-RPC message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method is not served.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The server failed; the client can do nothing about it.
    pub const INTERNAL: i64 = -32603;
    /// The resource does not exist (up to 2025-11-25; later revisions use [`INVALID_PARAMS`]).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// An URL elicitation has to be completed first (2025-11-25 only).
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
    /// A header and the body disagree, or a required header is missing (from 2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The request needs a capability that the client did not declare (from 2026-07-28).
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// The requested protocol version is not served (from 2026-07-28).
    pub const UNSUPPORTED_VERSION: i64 = -32022;
}

// === impl RpcError ===

impl RpcError {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds data. Data that cannot be written as JSON is left out.
    #[must_use]
    pub fn with_data(mut self, data: &impl Serialize) -> Self {
        self.data = serde_json::value::to_raw_value(data).ok();
        self
    }

    /// The body was not JSON.
    pub fn parse(detail: impl std::fmt::Display) -> Self {
        Self::new(code::PARSE, format!("the body is not JSON: {detail}"))
    }

    /// The JSON was no JSON-RPC message.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// Nobody serves this method here.
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, format!("the method {method:?} is not served"))
    }

    /// The parameters do not fit.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// The server's own fault; the message must not say more than the client may know.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL, message)
    }
}
