//! What a process writes to stdout, cut into messages.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::{limits::Limits, transport::pipe::Inbox};

/// As much as is read at once: what a Linux pipe holds.
const READ: usize = 64 * 1024;

/// A stream of lines.
pub(super) struct Lines<R> {
    input: R,
    /// The longest line, in bytes.
    limit: usize,
    buffer: BytesMut,
    /// How much of the buffer is known to have no line end.
    scanned: usize,
}

/// Why reading ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) why: String,
    /// The beginning of the first line that was no message.
    pub(super) nonsense: Option<String>,
}

/// A line is too long: what follows cannot be told from the rest of it without reading all of it.
#[derive(Debug, thiserror::Error)]
#[error("a line of its stdout is larger than the limit of {0} bytes")]
struct TooLong(usize);

// === impl Lines ===

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R, limit: usize) -> Self {
        Self { input, limit, buffer: BytesMut::new(), scanned: 0 }
    }

    /// Delivers every message until there are no more.
    pub(super) async fn read(mut self, inbox: Inbox) -> End {
        let mut nonsense = None;
        let why = loop {
            match self.next().await {
                Ok(Some(line)) => {
                    if nonsense.is_none() && !matches!(line.trim_ascii_start(), [b'{' | b'[', ..]) {
                        nonsense = Some(excerpt(&line));
                    }
                    inbox.deliver(&line);
                }
                Ok(None) => break "it has closed its stdout".to_owned(),
                Err(error) => break error.to_string(),
            }
        };
        End { why, nonsense }
    }

    /// The next line that is not empty. `None` at the end; a line without an end is none.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            match memchr::memchr(b'\n', &self.buffer[self.scanned..]) {
                Some(at) => {
                    let end = self.scanned + at;
                    self.scanned = 0;
                    let line = self.buffer.split_to(end + 1).freeze();
                    if end > self.limit {
                        return Err(io::Error::other(TooLong(self.limit)));
                    }
                    if !line.trim_ascii().is_empty() {
                        return Ok(Some(line));
                    }
                }
                None => {
                    self.scanned = self.buffer.len();
                    if self.scanned > self.limit {
                        return Err(io::Error::other(TooLong(self.limit)));
                    }
                    self.buffer.reserve(READ);
                    if self.input.read_buf(&mut self.buffer).await? == 0 {
                        return Ok(None);
                    }
                }
            }
        }
    }
}

fn excerpt(line: &[u8]) -> String {
    let line = line.trim_ascii();
    String::from_utf8_lossy(&line[..line.len().min(Limits::EXCERPT)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], limit: usize) -> (Vec<String>, Option<String>) {
        // A byte at a time, so that every line comes in pieces.
        let mut lines = Lines::new(tokio_test(input), limit);
        let mut read = Vec::new();
        loop {
            match lines.next().await {
                Ok(Some(line)) => read.push(String::from_utf8_lossy(&line).into_owned()),
                Ok(None) => return (read, None),
                Err(error) => return (read, Some(error.to_string())),
            }
        }
    }

    fn tokio_test(input: &[u8]) -> impl AsyncRead + Unpin {
        let (mut near, far) = tokio::io::duplex(1);
        let input = input.to_vec();
        tokio::spawn(async move { tokio::io::AsyncWriteExt::write_all(&mut near, &input).await });
        far
    }

    #[tokio::test]
    async fn lines_are_put_together_and_empty_ones_are_skipped() {
        let (read, error) = lines(b"{}\r\n\n  \n[1]\n{\"cut", 100).await;
        assert_eq!((read, error), (vec!["{}\r\n".to_owned(), "[1]\n".to_owned()], None));
    }

    #[tokio::test]
    async fn a_long_line_is_not_held() {
        let (read, error) = lines(b"1234\n12345", 4).await;
        assert_eq!(read, ["1234\n"]);
        assert!(error.unwrap().contains("limit of 4 bytes"));
        let mut whole = Lines::new(&b"12345\n"[..], 4);
        assert!(whole.next().await.is_err(), "also where it came at once");
    }
}
