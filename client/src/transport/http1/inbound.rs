//! What was read of a connection and is not used yet.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

/// What is made room for first: nearly every answer fits, and ten thousand streams are to cost little.
const FIRST: usize = 4096;

/// What is made room for at the most: a read of more is hardly cheaper.
const MOST: usize = 64 * 1024;

/// A buffer. It grows when a read has filled it, and is never larger than what one read brings and a head or a line is long.
#[derive(Default)]
pub(super) struct Inbound {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

// === impl Inbound ===

impl Inbound {
    pub(super) fn unused(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Removes bytes from the beginning.
    pub(super) fn consume(&mut self, length: usize) {
        self.start += length;
        debug_assert!(self.start <= self.end, "more is used than was read");
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Reads what is there, once. 0 at the end of the connection.
    pub(super) fn poll_fill(
        &mut self,
        socket: Pin<&mut impl AsyncRead>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if self.end == self.bytes.len() {
            self.make_room();
        }
        let read = ready!(poll_read(socket, cx, &mut self.bytes[self.end..]))?;
        self.end += read;
        Poll::Ready(Ok(read))
    }

    fn make_room(&mut self) {
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end * 2 > self.bytes.len() || self.bytes.is_empty() {
            let more = self.bytes.len().clamp(FIRST, MOST);
            self.bytes.resize(self.bytes.len() + more, 0);
        }
    }
}

/// Reads into a slice, once.
pub(super) fn poll_read(
    socket: Pin<&mut impl AsyncRead>,
    cx: &mut Context<'_>,
    into: &mut [u8],
) -> Poll<io::Result<usize>> {
    let mut buffer = ReadBuf::new(into);
    ready!(socket.poll_read(cx, &mut buffer))?;
    Poll::Ready(Ok(buffer.filled().len()))
}
