//! A tool that fails, in every way that a tool can.

use std::{future::pending, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;

use super::read_only;
use crate::{
    protocol::RpcError,
    registry::{Exchange, HandlerError, Tool},
};

/// An application's own code is outside of the range that JSON-RPC reserves (*Error Codes*).
const CODE: i64 = 1001;

/// What `timeout` runs past: longer than most calls, short enough to wait for.
const TIME_LIMIT: Duration = Duration::from_secs(2);

#[derive(Deserialize, JsonSchema)]
struct Fail {
    /// How to fail: `error` with a message for the model, `panic` with a panic in the handler, `rpc` with a JSON-RPC error,
    /// `timeout` by running past the time limit, `internal` with an error whose details stay in the server's log.
    kind: Kind,
}

#[derive(Deserialize, JsonSchema)]
// Its values have no documentation of their own: a plain list of values says more to a client than alternatives with one each.
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Error,
    Panic,
    Rpc,
    Timeout,
    Internal,
}

/// The cause of an internal failure. The client must not see it.
#[derive(Debug, thiserror::Error)]
#[error("the disk of the demo is on fire")]
struct Fire;

/// `fail(kind)`: fails.
pub(super) fn tool() -> Tool {
    Tool::new("fail", fail)
        .title("Fail")
        .description("Fails in the way asked for, to see how failures reach a client.")
        .annotations(read_only())
        .time_limit(TIME_LIMIT)
}

#[expect(clippy::panic, reason = "a handler's panic is one of the failures to show")]
async fn fail(_: Exchange, asked: Fail) -> Result<String, HandlerError> {
    match asked.kind {
        Kind::Error => Err(HandlerError::new("this tool fails when asked to")),
        Kind::Panic => panic!("this tool panics when asked to"),
        Kind::Rpc => Err(HandlerError::rpc(RpcError::new(CODE, "this call fails when asked to"))),
        Kind::Timeout => pending().await,
        Kind::Internal => Err(Fire.into()),
    }
}
