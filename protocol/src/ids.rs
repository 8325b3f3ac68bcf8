//! The identifiers that cross the wire, each its own type so that none is taken for another.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The id of a JSON-RPC request: an integer or a string, and `1` is not `"1"`.
///
/// Integers outside `i64`, fractions and `null` are not ids of this protocol (basic protocol, *Requests*).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestId {
    /// An integer id.
    Number(i64),
    /// A string id.
    Text(Box<str>),
}

/// The token a caller chose for the progress of one request (*Progress*). Same shape as a request id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProgressToken(pub RequestId);

/// The id of a session: 1 to 256 visible ASCII characters (2025-11-25 transports, *Session Management*).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionId(Box<str>);

/// Why a text is not a session id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a session id is 1 to 256 visible ASCII characters")]
pub struct InvalidSessionId;

// === impl RequestId ===

impl From<i64> for RequestId {
    fn from(id: i64) -> Self {
        Self::Number(id)
    }
}

impl From<&str> for RequestId {
    fn from(id: &str) -> Self {
        Self::Text(id.into())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(id) => write!(f, "{id}"),
            Self::Text(id) => write!(f, "{id:?}"),
        }
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(id) => serializer.serialize_i64(*id),
            Self::Text(id) => serializer.serialize_str(id),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RequestIdVisitor)
    }
}

struct RequestIdVisitor;

impl de::Visitor<'_> for RequestIdVisitor {
    type Value = RequestId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer or a string")
    }

    fn visit_i64<E: de::Error>(self, id: i64) -> Result<RequestId, E> {
        Ok(RequestId::Number(id))
    }

    fn visit_u64<E: de::Error>(self, id: u64) -> Result<RequestId, E> {
        i64::try_from(id).map(RequestId::Number).map_err(|_| E::custom("the id is too large an integer"))
    }

    fn visit_str<E: de::Error>(self, id: &str) -> Result<RequestId, E> {
        Ok(RequestId::Text(id.into()))
    }
}

// === impl SessionId ===

impl SessionId {
    /// The longest id accepted, in bytes. Ours are far shorter; balancers and proxies bound headers at 4 to 8 KiB.
    pub const MAX_LEN: usize = 256;

    /// Checks that `id` has the shape of a session id. Whether it is alive is the store's to say.
    ///
    /// # Errors
    /// [`InvalidSessionId`] if it is empty, too long, or holds anything but visible ASCII.
    pub fn parse(id: &str) -> Result<Self, InvalidSessionId> {
        let visible = id.bytes().all(|b| (0x21..=0x7e).contains(&b));
        if id.is_empty() || id.len() > Self::MAX_LEN || !visible {
            return Err(InvalidSessionId);
        }
        Ok(Self(id.into()))
    }

    /// The id as it stands in the `Mcp-Session-Id` header.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for SessionId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// A session id lets its bearer act in the session: logs show a part of it only.
impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({}…)", &self.0[..self.0.len().min(4)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_the_same_digits_as_text_are_different_ids() {
        let number: RequestId = serde_json::from_str("1").unwrap();
        let text: RequestId = serde_json::from_str("\"1\"").unwrap();
        assert_ne!(number, text);
        assert_eq!(serde_json::to_string(&number).unwrap(), "1");
        assert_eq!(serde_json::to_string(&text).unwrap(), "\"1\"");
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for bad in ["null", "1.5", "true", "{}", "[]", "18446744073709551615", "1e3"] {
            assert!(serde_json::from_str::<RequestId>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_session_id_is_visible_ascii_and_bounded() {
        assert!(SessionId::parse("abc~!").is_ok());
        for bad in ["", "a b", "a\n", "é", &"x".repeat(257)] {
            assert_eq!(SessionId::parse(bad), Err(InvalidSessionId), "{bad:?}");
        }
    }

    #[test]
    fn debug_output_of_a_session_id_does_not_give_it_away() {
        let id = SessionId::parse("abcdefghijkl").unwrap();
        assert_eq!(format!("{id:?}"), "SessionId(abcd…)");
    }
}
