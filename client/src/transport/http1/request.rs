//! A request, written once into the bytes that go out.

use std::{
    io::{self, IoSlice, Write as _},
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use tokio::io::AsyncWrite;

/// The longest body that is copied behind its head, in bytes. What is longer goes out from where it is.
const COPIED: usize = 16 * 1024;

/// The lines of a head, without the empty one that ends it.
#[derive(Clone, Default)]
pub(crate) struct Lines(Vec<u8>);

/// A request.
pub(crate) struct Request {
    /// The head, and the body after it if that is short.
    head: Vec<u8>,
    /// The body if it is long.
    body: Bytes,
    written: usize,
}

// === impl Lines ===

impl Lines {
    /// A head that begins with its request line. `path` is a path and a query as they stand in a URL.
    pub(crate) fn new(method: &str, path: &str) -> Self {
        let mut lines = Vec::with_capacity(512);
        for part in [method, " ", path, " HTTP/1.1\r\n"] {
            lines.extend_from_slice(part.as_bytes());
        }
        Self(lines)
    }

    /// The same, with room for more: what is added to the copy moves nothing.
    pub(crate) fn with_room(&self, room: usize) -> Self {
        let mut lines = Vec::with_capacity(self.0.len() + room);
        lines.extend_from_slice(&self.0);
        Self(lines)
    }

    /// Adds a header whose name and value were checked by their types.
    pub(crate) fn header(&mut self, name: &HeaderName, value: &HeaderValue) {
        self.line(name.as_str(), value.as_bytes());
    }

    /// Adds a header whose value is text, if it can stand there: visible ASCII and spaces within.
    #[must_use]
    pub(crate) fn text(&mut self, name: &HeaderName, value: &str) -> bool {
        let fits = value.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
        if fits {
            self.line(name.as_str(), value.as_bytes());
        }
        fits
    }

    /// Adds a header that cannot be wrong.
    pub(crate) fn fixed(&mut self, name: &'static str, value: &'static str) {
        self.line(name, value.as_bytes());
    }

    fn line(&mut self, name: &str, value: &[u8]) {
        let lines = &mut self.0;
        lines.extend_from_slice(name.as_bytes());
        lines.extend_from_slice(b": ");
        lines.extend_from_slice(value);
        lines.extend_from_slice(b"\r\n");
    }

    /// The request without a body.
    pub(crate) fn bare(mut self) -> Request {
        self.0.extend_from_slice(b"\r\n");
        Request { head: self.0, body: Bytes::new(), written: 0 }
    }

    /// The request with a body.
    pub(crate) fn with_body(mut self, body: Bytes) -> Request {
        let _infallible = write!(self.0, "content-length: {}\r\n\r\n", body.len());
        if body.len() > COPIED {
            return Request { head: self.0, body, written: 0 };
        }
        self.0.extend_from_slice(&body);
        Request { head: self.0, body: Bytes::new(), written: 0 }
    }
}

// === impl Request ===

impl Request {
    /// How many bytes went out.
    pub(super) const fn written(&self) -> usize {
        self.written
    }

    pub(super) fn is_written(&self) -> bool {
        self.written == self.head.len() + self.body.len()
    }

    /// Writes until all is written, or no more can be.
    pub(super) fn poll_write(
        &mut self,
        mut socket: Pin<&mut impl AsyncWrite>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.is_written() {
            let wrote = match self.head.get(self.written..) {
                Some(head) if self.body.is_empty() => ready!(socket.as_mut().poll_write(cx, head))?,
                Some(head) => {
                    let parts = [IoSlice::new(head), IoSlice::new(&self.body)];
                    ready!(socket.as_mut().poll_write_vectored(cx, &parts))?
                }
                None => {
                    let body = &self.body[self.written - self.head.len()..];
                    ready!(socket.as_mut().poll_write(cx, body))?
                }
            };
            if wrote == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += wrote;
        }
        socket.poll_flush(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(request: &Request) -> String {
        String::from_utf8([&request.head[..], &request.body].concat()).unwrap()
    }

    #[test]
    fn a_request_is_what_rfc_9112_says() {
        let mut lines = Lines::new("POST", "/mcp?a=b");
        lines.fixed("accept", "text/event-stream");
        lines.header(&HeaderName::from_static("host"), &HeaderValue::from_static("example.com"));
        let long = "x".repeat(COPIED + 1);
        for body in ["", "{}", &long] {
            let request = lines.clone().with_body(Bytes::copy_from_slice(body.as_bytes()));
            assert_eq!(
                text(&request),
                format!(
                    "POST /mcp?a=b HTTP/1.1\r\naccept: text/event-stream\r\nhost: example.com\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                )
            );
        }
        assert!(text(&lines.bare()).ends_with("host: example.com\r\n\r\n"));
    }

    #[tokio::test]
    async fn a_request_goes_out_in_whatever_pieces_there_is_room_for() {
        for length in [2, COPIED + 7] {
            let (ours, mut theirs) = tokio::io::duplex(5);
            let body = Bytes::from("x".repeat(length));
            let mut request = Lines::new("POST", "/").with_body(body);
            let whole = text(&request);
            let mut read = Vec::new();
            let write = async {
                let mut ours = ours;
                std::future::poll_fn(|cx| request.poll_write(Pin::new(&mut ours), cx)).await.unwrap();
            };
            let ((), _) = tokio::join!(write, tokio::io::AsyncReadExt::read_to_end(&mut theirs, &mut read));
            assert_eq!(String::from_utf8(read).unwrap(), whole);
        }
    }
}
