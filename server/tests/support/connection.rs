//! One TCP connection, and HTTP/1.1 on it as far as tests need it.

use std::{
    io::{ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
};

use super::{
    events::Events,
    message::{Head, Request, Response},
    wait::DEADLINE,
};

/// A connection that can be kept alive. Every read fails after [`DEADLINE`].
pub(crate) struct Connection {
    stream: TcpStream,
    /// What was read and not yet used.
    buffer: Vec<u8>,
    /// How the body under way ends.
    framing: Framing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// None is under way.
    None,
    /// So many bytes are left.
    Length(usize),
    Chunked,
    UntilClose,
}

// === impl Connection ===

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server accepts connections");
        stream.set_nodelay(true).expect("TCP_NODELAY can be set");
        stream.set_read_timeout(Some(DEADLINE)).expect("a read can have a deadline");
        stream.set_write_timeout(Some(DEADLINE)).expect("a write can have a deadline");
        Self { stream, buffer: Vec::new(), framing: Framing::None }
    }

    /// Sends exactly these bytes.
    #[track_caller]
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server takes the bytes");
    }

    /// Sends what the server takes of these bytes: it may answer and close before it has all of them.
    pub(crate) fn send_unless_closed(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// No more will be sent; what comes can still be read.
    pub(crate) fn finish_sending(&self) {
        // A server that has closed already makes this fail.
        let _closed = self.stream.shutdown(Shutdown::Write);
    }

    /// Sends a request and reads the whole response.
    #[track_caller]
    pub(crate) fn exchange(&mut self, request: &Request) -> Response {
        self.send(&request.bytes());
        if request.is_head() {
            let head = self.head();
            self.framing = Framing::None;
            return Response { head, body: Vec::new() };
        }
        self.receive()
    }

    /// Reads a whole response.
    #[track_caller]
    pub(crate) fn receive(&mut self) -> Response {
        let head = self.head();
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk() {
            body.extend_from_slice(&chunk);
        }
        Response { head, body }
    }

    /// Reads the head of a response; the body can be read after it.
    #[track_caller]
    pub(crate) fn head(&mut self) -> Head {
        match self.head_or_end() {
            Some(head) => head,
            None => panic!("the connection was closed where a response was expected"),
        }
    }

    /// Reads the head of a response; `None` if the server closes the connection without one.
    #[track_caller]
    pub(crate) fn head_or_end(&mut self) -> Option<Head> {
        assert_eq!(self.framing, Framing::None, "the last body was not read to its end");
        loop {
            if let Some(end) = position(&self.buffer, b"\r\n\r\n") {
                let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
                let head = read_head(&String::from_utf8_lossy(&head));
                self.framing = framing(&head);
                return Some(head);
            }
            if !self.fill() {
                assert!(self.buffer.is_empty(), "closed within a head: {:?}", self.buffer);
                return None;
            }
        }
    }

    /// The next part of the body; `None` at its end.
    #[track_caller]
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        match self.framing {
            Framing::None => None,
            Framing::Length(0) => {
                self.framing = Framing::None;
                None
            }
            Framing::Length(left) => {
                if self.buffer.is_empty() {
                    assert!(self.fill(), "closed with {left} bytes of the body to come");
                }
                let take = left.min(self.buffer.len());
                self.framing = Framing::Length(left - take);
                Some(self.buffer.drain(..take).collect())
            }
            Framing::UntilClose => {
                if self.buffer.is_empty() && !self.fill() {
                    self.framing = Framing::None;
                    return None;
                }
                Some(std::mem::take(&mut self.buffer))
            }
            Framing::Chunked => self.transfer_chunk(),
        }
    }

    /// Reads exactly so many bytes.
    #[track_caller]
    pub(crate) fn exactly(&mut self, length: usize) -> Vec<u8> {
        while self.buffer.len() < length {
            assert!(self.fill(), "closed with {} of {length} bytes read", self.buffer.len());
        }
        self.buffer.drain(..length).collect()
    }

    /// The statuses of the next `count` responses, whose bodies are passed over unread: for many of them, quickly. The body
    /// of the last one may still be to come, so that nothing but this can read the connection afterwards.
    #[track_caller]
    pub(crate) fn statuses(&mut self, count: usize) -> Vec<u16> {
        const MARK: &str = "HTTP/1.1 ";
        let mut found = Vec::new();
        while found.len() < count {
            // Search in text is the fast one of the standard library.
            let text = String::from_utf8_lossy(&self.buffer);
            let starts: Vec<usize> = text.match_indices(MARK).map(|(at, _)| at + MARK.len()).collect();
            let whole = starts.iter().take(count - found.len()).filter_map(|at| text.get(*at..at + 3));
            let statuses: Vec<u16> =
                whole.map(|status| status.parse().expect("a status is a number")).collect();
            let used = statuses.len().checked_sub(1).map_or(0, |last| starts[last] + 3);
            found.extend(statuses);
            self.buffer.drain(..used);
            assert!(found.len() == count || self.fill(), "closed after {} of {count} responses", found.len());
        }
        found
    }

    /// Turns the body under way into a stream of events.
    pub(crate) fn into_events(self) -> Events {
        Events::new(self)
    }

    /// Whether the server closes the connection without saying more.
    #[track_caller]
    pub(crate) fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && !self.fill()
    }

    /// Everything that comes until the server closes the connection.
    #[track_caller]
    pub(crate) fn until_closed(&mut self) -> Vec<u8> {
        while self.fill() {}
        std::mem::take(&mut self.buffer)
    }

    #[track_caller]
    fn transfer_chunk(&mut self) -> Option<Vec<u8>> {
        let size = self.line();
        let size =
            usize::from_str_radix(size.trim(), 16).unwrap_or_else(|_| panic!("no chunk size: {size:?}"));
        while self.buffer.len() < size + 2 {
            assert!(self.fill(), "closed within a chunk of {size} bytes");
        }
        let chunk: Vec<u8> = self.buffer.drain(..size).collect();
        let end: Vec<u8> = self.buffer.drain(..2).collect();
        assert_eq!(end, b"\r\n", "a chunk has an end");
        if size == 0 {
            self.framing = Framing::None;
            return None;
        }
        Some(chunk)
    }

    #[track_caller]
    fn line(&mut self) -> String {
        loop {
            if let Some(end) = position(&self.buffer, b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..end + 2).collect();
                return String::from_utf8_lossy(&line[..end]).into_owned();
            }
            assert!(self.fill(), "closed within a body that comes in chunks");
        }
    }

    /// Reads what there is; `false` if the connection is closed.
    #[track_caller]
    fn fill(&mut self) -> bool {
        let mut part = [0; 16 * 1024];
        match self.stream.read(&mut part) {
            Ok(0) => false,
            Ok(read) => {
                self.buffer.extend_from_slice(&part[..read]);
                true
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!(
                    "nothing came for {DEADLINE:?}; before it: {:?}",
                    String::from_utf8_lossy(&self.buffer)
                )
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => true,
            // Closed with something of ours unread.
            Err(_) => false,
        }
    }
}

fn read_head(text: &str) -> Head {
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no response: {first:?}"));
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect();
    Head { status, headers }
}

fn framing(head: &Head) -> Framing {
    if matches!(head.status, 100..=199 | 204 | 304) {
        return Framing::None;
    }
    if head.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        return Framing::Chunked;
    }
    match head.header("content-length") {
        Some(length) => Framing::Length(length.parse().expect("a length is a number")),
        None => Framing::UntilClose,
    }
}

fn position(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
