//! What the scripts publish, and what they answer.

use bytes::Bytes;
use redis::Value;

use crate::{Entry, Position};

/// What is told to those who follow a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// An entry was appended.
    Entry(Appended),
    /// The log of this incarnation was deleted.
    Deleted(u64),
}

/// An entry that was appended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Appended {
    pub(super) position: Position,
    /// The place of the entry before it; the default before the first.
    pub(super) previous: Position,
    /// The newest place that is no longer there; the default if all are.
    pub(super) trimmed: Position,
    pub(super) last: bool,
    /// `None` if it is too large to be told: it is read from the log.
    pub(super) payload: Option<Bytes>,
}

/// What a log was when it was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// There was none. The number is the highest that a log or fence of this name had, as far as is known.
    Gone(u64),
    /// There was one.
    Alive(Page),
}

/// A part of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) incarnation: u64,
    /// The place of the newest entry; the default if there is none.
    pub(super) newest: Position,
    pub(super) trimmed: Position,
    pub(super) ended: bool,
    /// Zero if nobody has claimed it.
    pub(super) fence: u64,
    /// Whether something between the place read from and `trimmed` is missing. The entries follow `trimmed` then.
    pub(super) gap: bool,
    pub(super) entries: Vec<Entry>,
}

/// What Redis says is not what the scripts say.
#[derive(Debug, thiserror::Error)]
#[error(
    "Redis answered {what} that no script of this version gives; another program or version may use the same keys"
)]
pub(super) struct Garbled {
    pub(super) what: &'static str,
}

// === impl Message ===

impl Message {
    pub(super) fn parse(message: Vec<u8>) -> Result<Self, Garbled> {
        let garbled = || Garbled { what: "a message" };
        let end = message.iter().position(|byte| *byte == b'\n').ok_or_else(garbled)?;
        let header = std::str::from_utf8(&message[..end]).map_err(|_| garbled())?;
        let mut words = header.split(' ');
        let number = |words: &mut std::str::Split<'_, char>| {
            words.next().and_then(|word| word.parse::<u64>().ok()).ok_or_else(garbled)
        };
        let kind = words.next().ok_or_else(garbled)?;
        let major = number(&mut words)?;
        match kind {
            "d" => Ok(Self::Deleted(major)),
            "e" | "r" => {
                let [newest, previous, trimmed] =
                    [number(&mut words)?, number(&mut words)?, number(&mut words)?];
                let last = words.next() == Some("1");
                let payload = (kind == "e").then(|| Bytes::from(message).slice(end + 1..));
                Ok(Self::Entry(Appended {
                    position: place(major, newest),
                    previous: place(major, previous),
                    trimmed: place(major, trimmed),
                    last,
                    payload,
                }))
            }
            _ => Err(garbled()),
        }
    }
}

// === impl Reading ===

impl Reading {
    /// What `read.lua` answers.
    pub(super) fn parse(answer: Value) -> Result<Self, Garbled> {
        let garbled = || Garbled { what: "a reading" };
        let Value::Array(answer) = answer else { return Err(garbled()) };
        let mut parts = answer.into_iter();
        let status = parts.next().and_then(text).ok_or_else(garbled)?;
        let mut number = || parts.next().and_then(|part| integer(&part)).ok_or_else(garbled);
        match status.as_slice() {
            b"gone" => Ok(Self::Gone(number()?)),
            b"ok" => {
                let incarnation = number()?;
                let (newest, trimmed) = (place(incarnation, number()?), place(incarnation, number()?));
                let (ended, fence, gap) = (number()? == 1, number()?, number()? == 1);
                let Some(Value::Array(entries)) = parts.next() else { return Err(garbled()) };
                let entries: Option<Vec<Entry>> = entries
                    .into_iter()
                    .map(|entry| {
                        let Value::Array(halves) = entry else { return None };
                        let [minor, payload] = <[Value; 2]>::try_from(halves).ok()?;
                        let position = place(incarnation, integer(&minor)?);
                        let last = ended && position == newest;
                        Some(Entry { position, payload: text(payload)?.into(), last })
                    })
                    .collect();
                let entries = entries.ok_or_else(garbled)?;
                Ok(Self::Alive(Page { incarnation, newest, trimmed, ended, fence, gap, entries }))
            }
            _ => Err(garbled()),
        }
    }

    /// What a meta says by itself: its fields `s i n t e x`, and the server's time in milliseconds.
    pub(super) fn of_meta(fields: &Value, now: u64) -> Result<Self, Garbled> {
        let garbled = || Garbled { what: "a meta" };
        let Value::Array(fields) = fields else { return Err(garbled()) };
        let [serial, incarnation, newest, trimmed, ended, expires] =
            <&[Value; 6]>::try_from(fields.as_slice()).map_err(|_| garbled())?;
        let number = |field: &Value| match field {
            Value::Nil => Ok(0),
            field => integer(field).ok_or_else(garbled),
        };
        if number(expires)? <= now {
            return Ok(Self::Gone(number(serial)?));
        }
        let incarnation = number(incarnation)?;
        Ok(Self::Alive(Page {
            incarnation,
            newest: place(incarnation, number(newest)?),
            trimmed: place(incarnation, number(trimmed)?),
            ended: matches!(ended, Value::BulkString(text) if text == b"1"),
            fence: 0,
            gap: false,
            entries: Vec::new(),
        }))
    }
}

/// Nothing has the number 0: before the first entry there is the default.
fn place(major: u64, minor: u64) -> Position {
    if minor == 0 { Position::default() } else { Position { major, minor } }
}

pub(super) fn text(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(text) => Some(text),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text.into_bytes()),
        _ => None,
    }
}

pub(super) fn integer(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::BulkString(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(major: u64, minor: u64) -> Position {
        Position { major, minor }
    }

    #[test]
    fn a_message_says_what_was_appended() {
        let message = Message::parse(b"e 7 30 20 10 1\npay\nload".to_vec()).unwrap();
        let expected = Appended {
            position: at(7, 30),
            previous: at(7, 20),
            trimmed: at(7, 10),
            last: true,
            payload: Some(Bytes::from("pay\nload")),
        };
        assert_eq!(message, Message::Entry(expected));
        let Message::Entry(first) = Message::parse(b"r 7 1 0 0 \n".to_vec()).unwrap() else { panic!() };
        assert_eq!((first.previous, first.trimmed), (Position::default(), Position::default()));
        assert_eq!((first.last, first.payload), (false, None));
        assert_eq!(Message::parse(b"d 7\n".to_vec()).unwrap(), Message::Deleted(7));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for text in [
            "",
            "\n",
            "e 7 30 20 10 1",
            "x 7\n",
            "e 7 30 20\n",
            "e 7 30 -1 10 \n",
            "d \n",
            "d x\n",
            "\u{fffd}",
        ] {
            assert!(Message::parse(text.as_bytes().to_vec()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_meta_without_a_future_is_gone() {
        let bulk = |text: &str| Value::BulkString(text.into());
        let meta = |expires: Value| {
            Value::Array(vec![bulk("9"), bulk("7"), bulk("3"), bulk("0"), bulk(""), expires])
        };
        assert_eq!(Reading::of_meta(&meta(bulk("1000")), 1000).unwrap(), Reading::Gone(9));
        assert_eq!(Reading::of_meta(&meta(Value::Nil), 1000).unwrap(), Reading::Gone(9));
        assert_eq!(Reading::of_meta(&Value::Array(vec![Value::Nil; 6]), 1000).unwrap(), Reading::Gone(0));
        let Reading::Alive(page) = Reading::of_meta(&meta(bulk("1001")), 1000).unwrap() else { panic!() };
        assert_eq!((page.newest, page.trimmed, page.ended), (at(7, 3), Position::default(), false));
        assert!(Reading::of_meta(&meta(bulk("soon")), 1000).is_err());
    }
}
