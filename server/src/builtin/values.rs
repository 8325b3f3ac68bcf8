//! Tools with a memory: values of the session, or of a handle where there is no session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{additive, read_only};
use crate::{
    model::ToolAnnotations,
    registry::{Exchange, HandlerError, State, Structured, Tool},
};

/// The longest text to remember. Even if JSON escapes every character, it stays below the default bound on a stored value.
const VALUE_CHARS: u32 = 10_000;

#[derive(Deserialize, JsonSchema)]
struct Counting {
    /// Which counter; each begins at 0.
    #[schemars(length(min = 1, max = 64))]
    key: String,
    /// How much to add.
    #[serde(default = "one")]
    by: i64,
    /// The handle an earlier call returned. Leave it out to begin anew, or where the answers have none.
    handle: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Counted {
    /// The counter's value now.
    value: i64,
    /// Names these values in later calls. Absent where the session does.
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Remembering {
    /// The name to find it by.
    #[schemars(length(min = 1, max = 64))]
    key: String,
    /// What to remember.
    #[schemars(length(max = VALUE_CHARS))]
    value: String,
    /// The handle an earlier call returned. Leave it out to begin anew, or where the answers have none.
    handle: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Remembered {
    /// The name to find it by.
    key: String,
    /// Names these values in later calls. Absent where the session does.
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Recalling {
    /// The name it was remembered by.
    #[schemars(length(min = 1, max = 64))]
    key: String,
    /// The handle that `remember` returned, if it did.
    handle: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Recalled {
    /// What was remembered.
    value: String,
}

const fn one() -> i64 {
    1
}

/// `counter(key, by)`: adds to a counter, atomically on all replicas, and says where it stands.
pub(super) fn counter() -> Tool {
    Tool::new("counter", count)
        .title("Counter")
        .description("Adds to a counter of this session, or of the handle, and returns its value.")
        .annotations(additive())
}

/// `remember(key, value)`: keeps a text.
pub(super) fn remember() -> Tool {
    Tool::new("remember", keep)
        .title("Remember")
        .description(
            "Remembers a text under a name, for this session or the handle. It replaces an earlier one.",
        )
        .annotations(ToolAnnotations::default().with_open_world(false))
}

/// `recall(key)`: the text that was kept.
pub(super) fn recall() -> Tool {
    Tool::new("recall", find)
        .title("Recall")
        .description("Returns the text that was remembered under a name.")
        .annotations(read_only())
}

async fn count(exchange: Exchange, asked: Counting) -> Result<Structured<Counted>, HandlerError> {
    let state = exchange.state(asked.handle.as_deref()).await?;
    let value = state.increment(&counter_name(&asked.key), asked.by).await?;
    Ok(Structured(Counted { value, handle: handle(&state) }))
}

async fn keep(exchange: Exchange, asked: Remembering) -> Result<Structured<Remembered>, HandlerError> {
    let state = exchange.state(asked.handle.as_deref()).await?;
    state.set(&note_name(&asked.key), &asked.value).await?;
    Ok(Structured(Remembered { handle: handle(&state), key: asked.key }))
}

async fn find(exchange: Exchange, asked: Recalling) -> Result<Structured<Recalled>, HandlerError> {
    let state = exchange.state(asked.handle.as_deref()).await?;
    match state.get(&note_name(&asked.key)).await? {
        Some(value) => Ok(Structured(Recalled { value })),
        None => Err(HandlerError::new(format!("nothing is remembered under {:?}", asked.key))),
    }
}

fn handle(state: &State) -> Option<String> {
    state.handle().map(str::to_owned)
}

/// A counter and a text may have one key, and are two values.
fn counter_name(key: &str) -> String {
    format!("count:{key}")
}

fn note_name(key: &str) -> String {
    format!("note:{key}")
}
