//! Tools that answer at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read_only;
use crate::registry::{Exchange, HandlerError, Structured, Tool};

/// The largest payload in bytes: what a proxy or client may be tried with, and little enough to hold for each of many calls.
const PAYLOAD_BYTES: u32 = 4 * 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    /// One number.
    a: i64,
    /// The other.
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    /// Both numbers together.
    sum: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Echoed {
    /// What comes back.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Size {
    /// How many bytes, 4 MiB at most.
    #[schemars(range(max = PAYLOAD_BYTES))]
    bytes: u32,
}

/// `add(a, b)`: their sum, as data.
pub(super) fn add() -> Tool {
    let add = |_: Exchange, Numbers { a, b }: Numbers| async move { sum(a, b).map(Structured) };
    Tool::new("add", add).title("Add").description("Adds two whole numbers.").annotations(read_only())
}

/// `echo(text)`: the text.
pub(super) fn echo() -> Tool {
    let echo = |_: Exchange, Echoed { text }: Echoed| async move { Ok(text) };
    Tool::new("echo", echo)
        .title("Echo")
        .description("Returns the text it is given.")
        .annotations(read_only())
}

/// `payload(bytes)`: a text of that many `x`.
pub(super) fn payload() -> Tool {
    let payload = |_: Exchange, Size { bytes }: Size| async move { Ok("x".repeat(bytes as usize)) };
    Tool::new("payload", payload)
        .title("Payload")
        .description("Returns a text of as many bytes as asked for, to see how large answers travel.")
        .annotations(read_only())
}

fn sum(a: i64, b: i64) -> Result<Sum, HandlerError> {
    match a.checked_add(b) {
        Some(sum) => Ok(Sum { sum }),
        None => Err(HandlerError::new(format!("the sum of {a} and {b} does not fit into 64 bits"))),
    }
}
