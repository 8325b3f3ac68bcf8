//! Server-sent events (WHATWG HTML, *Server-sent events*): the writing, which is the server's, and the incremental reading,
//! which is the client's.

use std::{mem, time::Duration};

/// An event to be written. Absent members are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event<'a> {
    /// Where a client that comes back wants to go on.
    pub id: Option<&'a str>,
    /// The type of the event; absent means `message`.
    pub event: Option<&'a str>,
    /// How long a client waits before it comes back; whole milliseconds.
    pub retry: Option<Duration>,
    /// The payload. Without it a reader sees no event, yet keeps `id` and `retry`.
    pub data: Option<&'a [u8]>,
}

/// An event as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The id this event carries itself. The id to come back with is [`Decoder::last_event_id`].
    pub id: Option<Box<str>>,
    /// The type of the event; absent means `message`.
    pub event: Option<Box<str>>,
    /// The waiting time this event carries itself.
    pub retry: Option<Duration>,
    /// The payload; its lines are joined by LF. Empty in a priming event. Not checked to be UTF-8, since JSON is parsed from it.
    pub data: Vec<u8>,
}

/// Bounds on what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The longest line, in bytes without its end.
    pub line: usize,
    /// The longest payload of one event, in bytes.
    pub event: usize,
}

/// The stream holds more than is read of it. What follows in the stream cannot be made sense of: end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// A line.
    #[error("a line of the event stream exceeds the limit of {limit} bytes")]
    Line {
        /// The bound.
        limit: usize,
    },
    /// The payload of an event.
    #[error("an event of the event stream exceeds the limit of {limit} bytes")]
    Event {
        /// The bound.
        limit: usize,
    },
}

/// Reads a stream piece by piece, however it was cut into pieces.
///
/// An event that the end of the stream cuts short is none: drop the decoder and come back with [`Self::last_event_id`].
#[derive(Debug, Default)]
pub struct Decoder {
    bounds: Bounds,
    /// Set once a bound was passed; nothing is read after that.
    failed: Option<TooLarge>,
    /// The beginning of a line whose end was not seen yet.
    partial: Vec<u8>,
    /// The last byte was CR: LF right after it belongs to the same line end.
    after_cr: bool,
    /// The first line was seen: a byte order mark is no more expected.
    started: bool,
    block: Block,
    last_event_id: Option<Box<str>>,
    retry: Option<Duration>,
}

/// The fields since the last empty line.
#[derive(Debug, Default)]
struct Block {
    id: Option<Box<str>>,
    event: Option<Box<str>>,
    retry: Option<Duration>,
    data: Option<Vec<u8>>,
}

// === impl Event ===

impl<'a> Event<'a> {
    /// An event with a payload alone.
    #[must_use]
    pub fn message(data: &'a [u8]) -> Self {
        Self { data: Some(data), ..Self::default() }
    }

    /// An event that gives the client a place to come back to before there is anything to say: an id and empty data
    /// (2025-11-25 transports, *Sending Messages to the Server*). Older clients take its data for JSON and choke.
    #[must_use]
    pub fn priming(id: &'a str, retry: Option<Duration>) -> Self {
        Self { id: Some(id), retry, data: Some(b""), event: None }
    }
}

/// Appends an event.
///
/// Payload with line ends (CR, LF or CRLF) becomes several lines, which a reader joins by LF. An id or a type that the
/// format cannot carry (it holds CR, LF or NUL) is left out.
pub fn write_event(out: &mut Vec<u8>, event: &Event<'_>) {
    if let Some(id) = event.id {
        write_name(out, b"id: ", id);
    }
    if let Some(name) = event.event {
        write_name(out, b"event: ", name);
    }
    if let Some(retry) = event.retry {
        out.extend_from_slice(format!("retry: {}\n", retry.as_millis()).as_bytes());
    }
    if let Some(data) = event.data {
        write_lines(out, b"data:", data);
    }
    out.push(b'\n');
}

/// Appends a comment, which readers skip: it keeps proxies from taking the stream for dead.
pub fn write_comment(out: &mut Vec<u8>, text: &str) {
    write_lines(out, b":", text.as_bytes());
    // Ends the block as well, for readers that cut at empty lines and look at a block's first byte only.
    out.push(b'\n');
}

fn write_name(out: &mut Vec<u8>, field: &[u8], value: &str) {
    if value.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | b'\0')) {
        return;
    }
    out.extend_from_slice(field);
    out.extend_from_slice(value.as_bytes());
    out.push(b'\n');
}

fn write_lines(out: &mut Vec<u8>, field: &[u8], mut text: &[u8]) {
    loop {
        let end = memchr::memchr2(b'\r', b'\n', text);
        let line = &text[..end.unwrap_or(text.len())];
        out.extend_from_slice(field);
        if !line.is_empty() {
            // The reader takes one space off, so a line that begins with spaces keeps its own.
            out.push(b' ');
            out.extend_from_slice(line);
        }
        out.push(b'\n');
        let Some(end) = end else { return };
        let width = if text[end..].starts_with(b"\r\n") { 2 } else { 1 };
        text = &text[end + width..];
    }
}

// === impl Bounds ===

impl Default for Bounds {
    /// 16 MiB each: a result is one line, and a tool's result with an image or two is a few MiB.
    fn default() -> Self {
        Self { line: 16 << 20, event: 16 << 20 }
    }
}

// === impl Decoder ===

impl Decoder {
    /// A decoder at the beginning of a stream.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// Reads from the front of `input` up to the end of the next event and returns it. `None` when all of `input` is
    /// read and more is needed. Call it until then:
    ///
    /// ```
    /// # use trunkline_protocol::sse::{Decoder, TooLarge};
    /// # fn read(decoder: &mut Decoder, mut chunk: &[u8]) -> Result<(), TooLarge> {
    /// while let Some(event) = decoder.decode(&mut chunk)? {
    ///     println!("{} bytes, then come back with {:?}", event.data.len(), decoder.last_event_id());
    /// }
    /// # Ok(())
    /// # }
    /// # read(&mut Decoder::default(), b"data: x\n\n").unwrap();
    /// ```
    ///
    /// # Errors
    /// [`TooLarge`] when a bound is passed, and again at every later call.
    pub fn decode(&mut self, input: &mut &[u8]) -> Result<Option<Received>, TooLarge> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let outcome = self.decode_inner(input);
        self.failed = outcome.as_ref().err().copied();
        outcome
    }

    /// The id of the last complete block that had one: what `Last-Event-ID` says when the client comes back.
    #[must_use]
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref()
    }

    /// The waiting time the stream asked for last.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn decode_inner(&mut self, input: &mut &[u8]) -> Result<Option<Received>, TooLarge> {
        loop {
            if mem::take(&mut self.after_cr) {
                match input.first() {
                    Some(b'\n') => *input = &input[1..],
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            let Some(end) = memchr::memchr2(b'\r', b'\n', input) else {
                self.check_line(input.len())?;
                self.partial.extend_from_slice(input);
                *input = &[];
                return Ok(None);
            };
            let line = &input[..end];
            self.after_cr = input[end] == b'\r';
            *input = &input[end + 1..];
            self.check_line(line.len())?;
            let event = if self.partial.is_empty() {
                self.take_line(line)?
            } else {
                let mut whole = mem::take(&mut self.partial);
                whole.extend_from_slice(line);
                self.take_line(&whole)?
            };
            if event.is_some() {
                return Ok(event);
            }
        }
    }

    fn check_line(&self, more: usize) -> Result<(), TooLarge> {
        let limit = self.bounds.line;
        if self.partial.len() + more > limit { Err(TooLarge::Line { limit }) } else { Ok(()) }
    }

    /// One line without its end.
    fn take_line(&mut self, line: &[u8]) -> Result<Option<Received>, TooLarge> {
        let line = match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) if !self.started => rest,
            _ => line,
        };
        self.started = true;
        if line.is_empty() {
            return Ok(self.end_block());
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        self.take_field(field, value.strip_prefix(b" ").unwrap_or(value))?;
        Ok(None)
    }

    /// Unknown fields are skipped; so is the one without a name, which is a comment.
    fn take_field(&mut self, field: &[u8], value: &[u8]) -> Result<(), TooLarge> {
        match field {
            b"data" => {
                let limit = self.bounds.event;
                let before = self.block.data.as_ref().map_or(0, |data| data.len() + 1);
                if before + value.len() > limit {
                    return Err(TooLarge::Event { limit });
                }
                match &mut self.block.data {
                    Some(data) => {
                        data.push(b'\n');
                        data.extend_from_slice(value);
                    }
                    None => self.block.data = Some(value.to_vec()),
                }
            }
            b"event" => self.block.event = (!value.is_empty()).then(|| text(value)),
            b"id" if !value.contains(&0) => self.block.id = Some(text(value)),
            b"retry" => {
                if let Some(retry) = milliseconds(value) {
                    self.retry = Some(retry);
                    self.block.retry = Some(retry);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// An empty line: the block is whole, its id counts, and it is an event if it has data.
    fn end_block(&mut self) -> Option<Received> {
        let Block { id, event, retry, data } = mem::take(&mut self.block);
        if let Some(id) = &id {
            self.last_event_id = (!id.is_empty()).then(|| id.clone());
        }
        data.map(|data| Received { id, event, retry, data })
    }
}

fn text(value: &[u8]) -> Box<str> {
    String::from_utf8_lossy(value).into()
}

/// Decimal digits only, as the format demands: no sign, no space.
fn milliseconds(value: &[u8]) -> Option<Duration> {
    if !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests;
