//! Ids of events: which stream of which session, and where in it. A client hands them back in `Last-Event-ID`, and may have
//! made them up.

use std::fmt::Write;

use trunkline_hub::Position;

use crate::keys::{KeyRing, Purpose};

/// Writes the ids of one stream's events.
///
/// `c.<stream>.<tag>.<place>` for the stream of a call, `g.<tag>.<place>` for the stream that listens; the tag vouches for
/// the stream and the session.
#[derive(Clone, Debug)]
pub(crate) struct EventIds {
    prefix: String,
}

/// What a `Last-Event-ID` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// A call's stream, after a place in its log.
    Call {
        /// The stream.
        stream: Box<str>,
        /// The place.
        after: Position,
    },
    /// The stream that listens, after a place in the log of broadcasts.
    Listen {
        /// The place.
        after: Position,
    },
}

// === impl EventIds ===

impl EventIds {
    /// Ids for the stream of a call.
    pub(crate) fn of_call(keys: &KeyRing, session: &str, stream: &str) -> Self {
        let tag = keys.sign(Purpose::EventId, &[session.as_bytes(), b"c", stream.as_bytes()]);
        Self { prefix: format!("c.{stream}.{}.", tag.as_str()) }
    }

    /// Ids for the stream that listens.
    pub(crate) fn of_listener(keys: &KeyRing, session: &str) -> Self {
        let tag = keys.sign(Purpose::EventId, &[session.as_bytes(), b"g"]);
        Self { prefix: format!("g.{}.", tag.as_str()) }
    }

    /// The id of the event at a place.
    pub(crate) fn at(&self, place: Position) -> String {
        let mut id = String::with_capacity(self.prefix.len() + 16);
        id.push_str(&self.prefix);
        let _written = write!(id, "{place}");
        id
    }
}

// === impl Resume ===

impl Resume {
    /// Reads an id that was issued in this session; `None` for any other text.
    pub(crate) fn read(keys: &KeyRing, session: &str, id: &str) -> Option<Self> {
        let mut parts = id.split('.');
        let resume = match parts.next()? {
            "c" => {
                let stream = parts.next()?;
                let vouched = [session.as_bytes(), b"c", stream.as_bytes()];
                let tag = parts.next()?;
                keys.verify(Purpose::EventId, &vouched, tag).then_some(())?;
                Self::Call { stream: stream.into(), after: parts.next()?.parse().ok()? }
            }
            "g" => {
                let tag = parts.next()?;
                keys.verify(Purpose::EventId, &[session.as_bytes(), b"g"], tag).then_some(())?;
                Self::Listen { after: parts.next()?.parse().ok()? }
            }
            _ => return None,
        };
        parts.next().is_none().then_some(resume)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Position = Position { major: 7, minor: 3 };

    #[test]
    fn an_id_leads_back_to_its_place_in_its_own_session_only() {
        let keys = KeyRing::generate();
        let id = EventIds::of_call(&keys, "s1", "abc").at(PLACE);
        assert_eq!(Resume::read(&keys, "s1", &id), Some(Resume::Call { stream: "abc".into(), after: PLACE }));
        assert_eq!(Resume::read(&keys, "s2", &id), None);
        assert_eq!(Resume::read(&KeyRing::generate(), "s1", &id), None);
        let id = EventIds::of_listener(&keys, "s1").at(PLACE);
        assert_eq!(Resume::read(&keys, "s1", &id), Some(Resume::Listen { after: PLACE }));
        assert_eq!(Resume::read(&keys, "s2", &id), None);
    }

    #[test]
    fn what_was_not_issued_is_refused() {
        let keys = KeyRing::generate();
        let id = EventIds::of_call(&keys, "s1", "abc").at(PLACE);
        for forged in [
            String::new(),
            "7".to_owned(),
            format!("{id}.1"),
            id.replace("abc", "abd"),
            id.replace("7-3", "07-3"),
            id.replace("c.", "g."),
        ] {
            assert_eq!(Resume::read(&keys, "s1", &forged), None, "{forged}");
        }
    }
}
