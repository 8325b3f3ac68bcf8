//! The head of an answer (RFC 9112 section 4 and 6).

use std::{mem::MaybeUninit, ops::Range};

use httparse::{Header, ParserConfig, Response, Status};

use super::body::Framing;
use crate::error::Error;

/// The longest head that is read, in bytes. Proxies stop at 8 to 32 KiB.
pub(super) const LONGEST: usize = 64 * 1024;

/// The most headers. Proxies stop at 100.
const MOST: usize = 128;

/// The headers that this protocol reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    ContentType,
    SessionId,
    Replica,
    RetryAfter,
    Location,
    Challenge,
}

/// What the head of an answer says.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// The values of the fields, one after the other.
    values: Vec<u8>,
    fields: [Option<Range<u32>>; Field::ALL.len()],
    pub(super) framing: Framing,
    /// The server lets the connection be used again.
    pub(super) keep_alive: bool,
}

// === impl Field ===

impl Field {
    const ALL: [Self; 6] = [
        Self::ContentType,
        Self::SessionId,
        Self::Replica,
        Self::RetryAfter,
        Self::Location,
        Self::Challenge,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::ContentType => "content-type",
            Self::SessionId => "mcp-session-id",
            Self::Replica => "x-trunkline-replica",
            Self::RetryAfter => "retry-after",
            Self::Location => "location",
            Self::Challenge => "www-authenticate",
        }
    }
}

// === impl Head ===

impl Head {
    /// Reads a head, and how long it is. `None` if there is more to come.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it is none, or does not say where the body ends.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Error> {
        let mut headers = [const { MaybeUninit::uninit() }; MOST];
        let mut response = Response::new(&mut []);
        let parser = ParserConfig::default();
        let length = match parser.parse_response_with_uninit_headers(&mut response, bytes, &mut headers) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) if bytes.len() < LONGEST => return Ok(None),
            Ok(Status::Partial) => {
                return Err(Error::TooLarge { what: "the head of the answer", limit: LONGEST });
            }
            Err(error) => return Err(Error::malformed(format!("the answer is not HTTP/1.1: {error}"))),
        };
        let status = response.code.unwrap_or_default();
        let newest = response.version == Some(1);
        Self::new(status, newest, response.headers).map(|head| Some((head, length)))
    }

    fn new(status: u16, newest: bool, headers: &[Header<'_>]) -> Result<Self, Error> {
        let mut head = Self {
            status,
            values: Vec::new(),
            fields: Default::default(),
            framing: Framing::Close,
            keep_alive: newest,
        };
        let (mut length, mut chunked) = (None, false);
        for header in headers {
            match header.name.len() {
                10 if is(header, "connection") => head.connection(header.value),
                14 if is(header, "content-length") => length = Some(content_length(header.value, length)?),
                17 if is(header, "transfer-encoding") => {
                    transfer_encoding(header.value, chunked)?;
                    chunked = true;
                }
                _ => head.keep(header),
            }
        }
        head.framing = match (status, chunked, length) {
            (100..200 | 204 | 304, ..) => Framing::Length(0),
            (_, true, both) => {
                // Whoever sends both may mean either: what comes after the body is not trusted.
                head.keep_alive &= both.is_none();
                Framing::CHUNKED
            }
            (_, false, Some(length)) => Framing::Length(length),
            (_, false, None) => {
                head.keep_alive = false;
                Framing::Close
            }
        };
        Ok(head)
    }

    fn connection(&mut self, value: &[u8]) {
        for token in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            if token.eq_ignore_ascii_case(b"close") {
                self.keep_alive = false;
            } else if token.eq_ignore_ascii_case(b"keep-alive") {
                self.keep_alive = true;
            }
        }
    }

    /// Keeps the first value of a field that is read.
    fn keep(&mut self, header: &Header<'_>) {
        let Some(field) = Field::ALL.into_iter().find(|field| is(header, field.name())) else { return };
        let place = &mut self.fields[field as usize];
        if place.is_none() {
            // The head is shorter than 64 KiB.
            let start = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
            self.values.extend_from_slice(header.value);
            *place = Some(start..u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        }
    }

    /// What a header says.
    pub(crate) fn get(&self, field: Field) -> Option<&[u8]> {
        let range = self.fields[field as usize].clone()?;
        self.values.get(range.start as usize..range.end as usize)
    }

    /// What a header says, if it is text.
    pub(crate) fn text(&self, field: Field) -> Option<&str> {
        self.get(field).and_then(|value| std::str::from_utf8(value).ok())
    }
}

fn is(header: &Header<'_>, name: &str) -> bool {
    header.name.eq_ignore_ascii_case(name)
}

/// One number, however often it is said.
fn content_length(value: &[u8], before: Option<u64>) -> Result<u64, Error> {
    let mut length = before;
    for said in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
        let digits = !said.is_empty() && said.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(said).ok().filter(|_| digits).and_then(|said| said.parse().ok());
        match number {
            Some(number) if length.is_none_or(|length| length == number) => length = Some(number),
            _ => return Err(Error::malformed("the Content-Length of the answer is no one number")),
        }
    }
    length.ok_or_else(|| Error::malformed("the Content-Length of the answer is empty"))
}

/// `chunked`, once. No other coding was asked for.
fn transfer_encoding(value: &[u8], before: bool) -> Result<(), Error> {
    if before || !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
        let coding = String::from_utf8_lossy(value);
        return Err(Error::malformed(format!(
            "the Transfer-Encoding {coding:?} of the answer was not asked for"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Head {
        Head::parse(text.as_bytes()).unwrap().unwrap().0
    }

    fn framing(lines: &str) -> (Framing, bool) {
        let head = head(&format!("HTTP/1.1 200 OK\r\n{lines}\r\n"));
        (head.framing, head.keep_alive)
    }

    fn refused(lines: &str) -> bool {
        let text = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
        matches!(Head::parse(text.as_bytes()), Err(Error::Malformed { .. }))
    }

    #[test]
    fn what_the_protocol_reads_is_kept_and_of_two_the_first() {
        let text = "HTTP/1.1 200 OK\r\nMCP-Session-Id: one\r\nServer: x\r\nContent-Type:text/event-stream \r\n\
                    mcp-session-id: two\r\nContent-Length: 0\r\n\r\nrest";
        let (head, length) = Head::parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!(&text[length..], "rest");
        assert_eq!(head.text(Field::SessionId), Some("one"));
        assert_eq!(head.text(Field::ContentType).map(str::trim), Some("text/event-stream"));
        assert_eq!(head.get(Field::RetryAfter), None);
    }

    #[test]
    fn a_head_comes_in_any_pieces() {
        let text = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
        for end in 0..text.len() {
            assert!(Head::parse(&text[..end]).unwrap().is_none(), "{end}");
        }
        assert_eq!(Head::parse(text).unwrap().unwrap().0.status, 202);
    }

    #[test]
    fn where_the_body_ends() {
        assert_eq!(framing("Content-Length: 12\r\n"), (Framing::Length(12), true));
        assert_eq!(framing("Content-Length: 12, 12\r\nContent-Length: 12\r\n"), (Framing::Length(12), true));
        assert_eq!(framing("Transfer-Encoding: Chunked\r\n"), (Framing::CHUNKED, true));
        assert_eq!(framing("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), (Framing::CHUNKED, false));
        assert_eq!(framing(""), (Framing::Close, false));
        assert_eq!(framing("Connection: foo, Close\r\nContent-Length: 1\r\n"), (Framing::Length(1), false));
        for status in ["204 No Content", "304 Not Modified"] {
            let head = head(&format!("HTTP/1.1 {status}\r\nContent-Length: 7\r\n\r\n"));
            assert_eq!((head.framing, head.keep_alive), (Framing::Length(0), true));
        }
    }

    #[test]
    fn the_older_version_keeps_a_connection_only_if_it_says_so() {
        let old =
            |lines: &str| head(&format!("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n{lines}\r\n")).keep_alive;
        assert!(!old(""));
        assert!(old("Connection: keep-alive\r\n"));
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        for lines in [
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            "Content-Length: 1, 2\r\n",
            "Content-Length: +1\r\n",
            "Content-Length: 0x1\r\n",
            "Content-Length: -1\r\n",
            "Content-Length:\r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked, chunked\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: identity\r\n",
            "Folded: a\r\n b\r\n",
        ] {
            assert!(refused(lines), "{lines:?}");
        }
    }

    #[test]
    fn a_head_without_an_end_is_given_up() {
        let mut text = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
        text.resize(LONGEST, b'a');
        assert!(matches!(Head::parse(&text), Err(Error::TooLarge { .. })));
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(MOST + 1));
        assert!(matches!(Head::parse(many.as_bytes()), Err(Error::Malformed { .. })));
    }
}
