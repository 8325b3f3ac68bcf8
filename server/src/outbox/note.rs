//! What a stream's log says of the call behind it: who runs it, and what was asked. For whoever resumes the stream and finds
//! that replica gone; clients never see it.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use trunkline_hub::Fence;
use trunkline_protocol::{
    RequestId,
    jsonrpc::{Body, Bounds, Message, parse},
};

/// The first byte of a note. No message begins with it: they are JSON.
const MARK: u8 = 0;

/// The first byte of an entry with an id.
const IDENTIFIED: u8 = 1;

/// Tells an entry of a log that many write from the same one sent again.
pub(crate) type EntryId = [u8; 8];

/// Bytes of a request that a note repeats. 64 KiB: what is larger is not worth keeping twice for a replica's death, and its
/// call ends in an error then.
const MOST_BODY: usize = 64 * 1024;

/// Who runs the call behind a stream. Fields that a later version adds are passed over.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The replica.
    pub(crate) owner: Box<str>,
    /// The fence it writes the log with.
    pub(crate) fence: u64,
    /// The requests that are answered on the stream: one, or those of a batch.
    pub(crate) ids: Vec<RequestId>,
    /// The request, where it may be run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<Box<RawValue>>,
}

// === impl Note ===

impl Note {
    /// A note on the requests in `body`, which was read before. The request itself goes into it if it `may_run_again`.
    pub(crate) fn of(owner: &str, fence: Fence, body: &Bytes, may_run_again: bool) -> Self {
        // It was within its bounds when it came; nothing is gained by asking again.
        let bounds = Bounds { depth: body.len(), batch: body.len() };
        let mut single = false;
        let ids = match parse(body, bounds) {
            Ok(Body::Single(Message::Request(request))) => {
                single = true;
                vec![request.id]
            }
            Ok(Body::Batch(messages)) => messages
                .into_iter()
                .filter_map(|message| match message {
                    Ok(Message::Request(request)) => Some(request.id),
                    _ => None,
                })
                .collect(),
            Ok(Body::Single(_)) | Err(_) => Vec::new(),
        };
        let again = may_run_again && single && body.len() <= MOST_BODY;
        let body = again.then(|| serde_json::from_slice(body).ok()).flatten();
        Self { owner: owner.into(), fence: fence.0, ids, body }
    }

    /// The same call, run by another.
    pub(crate) fn taken_over(&self, owner: &str, fence: Fence) -> Self {
        Self { owner: owner.into(), fence: fence.0, ids: self.ids.clone(), body: self.body.clone() }
    }

    /// As an entry of a log.
    pub(crate) fn to_entry(&self) -> Bytes {
        let mut entry = vec![MARK];
        // Ids and text: nothing that JSON cannot say.
        let _written = serde_json::to_writer(&mut entry, self);
        entry.into()
    }

    /// The note in an entry, if it is one.
    pub(crate) fn read(entry: &[u8]) -> Option<Self> {
        let (mark, note) = entry.split_first()?;
        (*mark == MARK).then(|| serde_json::from_slice(note).ok()).flatten()
    }
}

/// Whether an entry says nothing to a client: a note, of this version or a later one, or nothing at all.
pub(crate) fn is_silent(entry: &[u8]) -> bool {
    entry.first().is_none_or(|first| *first == MARK)
}

/// A message as an entry with an id of its own, by chance: 64 bits, compared with some hundred others.
pub(crate) fn sealed(message: &[u8]) -> Bytes {
    let id: EntryId = rand::random();
    let mut entry = Vec::with_capacity(message.len() + 1 + id.len());
    entry.push(IDENTIFIED);
    entry.extend_from_slice(&id);
    entry.extend_from_slice(message);
    entry.into()
}

/// What is in an entry, with its id if it has one.
pub(crate) fn opened(entry: Bytes) -> (Option<EntryId>, Bytes) {
    match entry.split_first_chunk::<9>() {
        Some(([IDENTIFIED, id @ ..], _)) => (Some(*id), entry.slice(9..)),
        _ => (None, entry),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(body: &'static str, again: bool) -> Note {
        let entry = Note::of("r1", Fence(7), &Bytes::from_static(body.as_bytes()), again).to_entry();
        assert!(is_silent(&entry));
        Note::read(&entry).unwrap()
    }

    #[test]
    fn a_note_names_what_is_to_be_answered() {
        let call = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}}"#;
        let kept = note(call, true);
        assert_eq!((&*kept.owner, kept.fence), ("r1", 7));
        assert_eq!(kept.ids, [RequestId::from("a")]);
        assert_eq!(kept.body.unwrap().get(), call);
        assert!(note(call, false).body.is_none(), "what has effects is not kept");
        let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},{"jsonrpc":"2.0","id":2,"method":"c"}]"#;
        let kept = note(batch, true);
        assert_eq!(kept.ids, [RequestId::Number(1), RequestId::Number(2)]);
        assert!(kept.body.is_none(), "nor is a batch");
    }

    #[test]
    fn messages_are_no_notes() {
        assert!(!is_silent(b"{}"));
        assert!(Note::read(b"{}").is_none());
        assert!(is_silent(b""));
        assert!(Note::read(b"").is_none());
        assert!(is_silent(b"\0later"), "of a version that we do not know");
        assert!(Note::read(b"\0later").is_none());
    }
}
