//! Whether an answer is right.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::template::{FIRST_ID, Operation, numbers, total};

#[derive(Deserialize)]
struct Answer<'a> {
    id: u64,
    #[serde(borrow)]
    result: Part<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow, default)]
    structured_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Vec<Block<'a>>,
    #[serde(default)]
    tools: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    text: std::borrow::Cow<'a, str>,
}

#[derive(Deserialize)]
struct Sum {
    sum: u64,
}

#[derive(Deserialize)]
struct Total {
    total: u64,
    lines: u64,
}

/// Looks whether this message answers the request of that number.
pub(super) fn check(message: &[u8], operation: Operation, number: u64) -> Result<(), String> {
    let wrong = |why: &str| format!("{why}: {}", String::from_utf8_lossy(&message[..message.len().min(300)]));
    let answer: Answer<'_> = serde_json::from_slice(message).map_err(|error| wrong(&error.to_string()))?;
    if answer.id != FIRST_ID + number {
        return Err(wrong("another request's id"));
    }
    let part = answer.result;
    let right = match operation {
        Operation::Add => {
            let (a, b) = numbers(number);
            part.data::<Sum>().is_some_and(|answer| answer.sum == a + b)
        }
        Operation::Order => {
            part.data::<Total>().is_some_and(|answer| answer.total == total(number) && answer.lines == 3)
        }
        Operation::Text(bytes) => {
            part.content.first().is_some_and(|block| block.text.len() == bytes as usize)
        }
        Operation::List => !part.tools.is_empty(),
    };
    if right { Ok(()) } else { Err(wrong("a wrong result")) }
}

/// The revision that an answer to `initialize` agrees to.
pub(super) fn revision(message: &[u8]) -> Option<String> {
    let answer: serde_json::Value = serde_json::from_slice(message).ok()?;
    answer["result"]["protocolVersion"].as_str().map(str::to_owned)
}

// === impl Part ===

impl Part<'_> {
    /// The result as data. The older revisions carry it as text alone.
    fn data<T: for<'de> Deserialize<'de>>(&self) -> Option<T> {
        match self.structured_content {
            Some(raw) => serde_json::from_str(raw.get()).ok(),
            None => serde_json::from_str(&self.content.first()?.text).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_right_and_what_is_not() {
        let answer = |id: u64, result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let text = |text: &str| format!(r#"{{"content":[{{"type":"text","text":{text:?}}}]}}"#);
        let sum = r#"{"content":[],"structuredContent":{"sum":1110}}"#;
        // 105 and 1005.
        for (right, operation, message) in [
            (true, Operation::Add, answer(10_000_005, sum)),
            (true, Operation::Add, answer(10_000_005, &text(r#"{"sum":1110}"#))),
            (false, Operation::Add, answer(10_000_005, &text(r#"{"sum":1111}"#))),
            (false, Operation::Add, answer(10_000_006, sum)),
            (false, Operation::Add, answer(10_000_005, &text("1110"))),
            (false, Operation::Add, r#"{"jsonrpc":"2.0","id":10000005,"error":{"code":1}}"#.to_owned()),
            (true, Operation::Text(3), answer(10_000_005, &text("xxx"))),
            (false, Operation::Text(3), answer(10_000_005, &text("xx"))),
            (true, Operation::Order, answer(10_000_005, &text(r#"{"total":1230,"lines":3}"#))),
            (false, Operation::Order, answer(10_000_005, &text(r#"{"total":1230,"lines":2}"#))),
            (true, Operation::List, answer(10_000_005, r#"{"tools":[{}]}"#)),
            (false, Operation::List, answer(10_000_005, r#"{"tools":[]}"#)),
        ] {
            assert_eq!(check(message.as_bytes(), operation, 5).is_ok(), right, "{operation:?} {message}");
        }
    }
}
