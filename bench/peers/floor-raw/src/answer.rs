//! The answer to a message.

use std::io::Write;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A message, as far as it is looked at.
#[derive(Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) params: Params,
}

#[derive(Default, Deserialize)]
pub(crate) struct Params {
    arguments: Option<Numbers>,
}

#[derive(Deserialize)]
struct Numbers {
    a: i64,
    b: i64,
}

/// Appends the answer: the sum to a call, an empty result to anything else that has an id, nothing to what has none.
pub(crate) fn write(message: &[u8], to: &mut Vec<u8>) -> serde_json::Result<()> {
    let Message { id, params } = serde_json::from_slice(message)?;
    let Some(id) = id else { return Ok(()) };
    let written = match params.arguments {
        Some(Numbers { a, b }) => {
            let sum = a.wrapping_add(b);
            write!(
                to,
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{{\"sum\":{sum}}}"}}],"structuredContent":{{"sum":{sum}}}}}}}"#
            )
        }
        None => write!(to, r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
    };
    written.map_err(serde_json::Error::io)
}
