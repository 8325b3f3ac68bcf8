//! Server-sent events, read by the letter of the HTML standard and by nobody else's code.

use std::time::Instant;

use serde_json::Value;

use super::{connection::Connection, wait::DEADLINE};

/// One event. A comment is an event with nothing but `comment`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) retry: Option<u64>,
    pub(crate) data: String,
    /// Whether there was a `data` field, if only an empty one.
    pub(crate) has_data: bool,
    pub(crate) comment: Option<String>,
}

/// An open stream.
pub(crate) struct Events {
    connection: Connection,
    buffer: Vec<u8>,
    ended: bool,
}

// === impl Event ===

impl Event {
    /// The data as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn read(block: &str) -> Self {
        let mut event = Self::default();
        for line in block.lines() {
            if let Some(comment) = line.strip_prefix(':') {
                event.comment = Some(comment.trim_start().to_owned());
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "id" => event.id = Some(value.to_owned()),
                "event" => event.event = Some(value.to_owned()),
                "retry" => event.retry = value.parse().ok(),
                "data" => {
                    if event.has_data {
                        event.data.push('\n');
                    }
                    event.data.push_str(value);
                    event.has_data = true;
                }
                _ => {}
            }
        }
        event
    }

    fn is_message(&self) -> bool {
        !self.data.is_empty()
    }
}

// === impl Events ===

impl Events {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection, buffer: Vec::new(), ended: false }
    }

    /// The next event or comment; `None` at the end of the stream. Fails if nothing comes in time.
    #[track_caller]
    pub(crate) fn next_any(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = find(&self.buffer, b"\n\n") {
                let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
                return Some(Event::read(&String::from_utf8_lossy(&block)));
            }
            if self.ended {
                assert!(self.buffer.is_empty(), "the stream ended within an event: {:?}", self.buffer);
                return None;
            }
            match self.connection.chunk() {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None => self.ended = true,
            }
        }
    }

    /// The next event with data; `None` at the end of the stream. Comments, priming events and hints are passed over.
    #[track_caller]
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        let begun = Instant::now();
        loop {
            let event = self.next_any()?;
            if event.is_message() {
                return Some(event);
            }
            // Signs of life come for ever.
            assert!(begun.elapsed() < DEADLINE, "no message came for {DEADLINE:?}: {event:?}");
        }
    }

    /// The next message.
    #[track_caller]
    pub(crate) fn message(&mut self) -> Value {
        match self.next_event() {
            Some(event) => event.json(),
            None => panic!("the stream ended where a message was expected"),
        }
    }

    /// Everything with data until the stream ends.
    #[track_caller]
    pub(crate) fn rest(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.next_event()).collect()
    }

    /// Everything until the stream ends, comments and hints too.
    #[track_caller]
    pub(crate) fn everything(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.next_any()).collect()
    }

    /// Closes the connection, as a client that goes away.
    pub(crate) fn close(self) {
        drop(self);
    }

    /// The connection, once the stream has ended: it can carry another request.
    #[track_caller]
    pub(crate) fn into_connection(mut self) -> Connection {
        assert_eq!(self.next_any(), None, "the stream has not ended");
        self.connection
    }
}

/// The events of a whole body, comments left out.
pub(super) fn parse_events(body: &[u8]) -> Vec<Event> {
    let text = String::from_utf8_lossy(body);
    let events = text.split("\n\n").map(Event::read);
    events.filter(|event| event.has_data || event.id.is_some() || event.retry.is_some()).collect()
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
