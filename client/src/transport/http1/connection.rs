//! One connection, driven by whoever waits for it.
//!
//! There is no task behind it: the one call that has the connection writes its request and reads its answer, which takes
//! one wake-up. While a connection is idle nobody reads it, so its end is noticed when it is taken out of the pool
//! ([`Connection::is_usable`]).

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;

use super::{
    body::{Framing, Step},
    head::Head,
    inbound::{Inbound, poll_read},
    request::Request,
    socket::{Socket, Target},
};
use crate::error::{Error, Phase};

/// What a body is read into at a time when it is longer than what is buffered: what is announced is not believed beyond
/// this.
const STRIDE: usize = 1 << 20;

/// A connection.
pub(crate) struct Connection {
    socket: Socket,
    inbound: Inbound,
    /// Another request can be sent when the present answer was read.
    keep_alive: bool,
}

/// The rest of an answer, with the connection it comes on.
pub(crate) struct Incomplete {
    connection: Box<Connection>,
    framing: Framing,
}

/// What becomes of a body that nobody waits for.
pub(crate) enum Tail {
    /// It has ended: the connection can be used again.
    Ended(Box<Connection>),
    /// There is more to read.
    More(Incomplete, Bytes),
    /// More may come.
    Pending(Incomplete),
    /// The connection is of no more use.
    Broken,
}

// === impl Connection ===

impl Connection {
    pub(crate) async fn open(target: &Target) -> Result<Box<Self>, Error> {
        let socket = target.connect().await?;
        Ok(Box::new(Self { socket, inbound: Inbound::default(), keep_alive: true }))
    }

    /// Whether a request can be sent now. Never waits: a connection on which something came unasked, be it its end, is
    /// of no use.
    pub(crate) async fn is_usable(&mut self) -> bool {
        if !self.keep_alive || !self.inbound.is_empty() {
            return false;
        }
        poll_fn(|cx| Poll::Ready(self.poll_fill(cx).is_pending())).await
    }

    /// Sends a request and waits for the head of its answer. Dropping the future closes the connection.
    pub(crate) async fn send(mut self: Box<Self>, mut request: Request) -> Result<(Head, Incomplete), Error> {
        let head = poll_fn(|cx| self.poll_exchange(cx, &mut request)).await?;
        // Who answers before the end of the request did not read it all: what would come next is not known.
        self.keep_alive = head.keep_alive && request.is_written();
        let framing = head.framing;
        Ok((head, Incomplete { connection: self, framing }))
    }

    /// Writes and reads: a server may answer before the request is there, to refuse it.
    fn poll_exchange(&mut self, cx: &mut Context<'_>, request: &mut Request) -> Poll<Result<Head, Error>> {
        let written = request.poll_write(Pin::new(&mut self.socket), cx);
        match self.poll_head(cx) {
            Poll::Pending => match written {
                Poll::Ready(Err(error)) => Poll::Ready(Err(self.failed(request, error))),
                _ => Poll::Pending,
            },
            Poll::Ready(Err(Unanswered::Io(error))) => {
                let first = if let Poll::Ready(Err(first)) = written { first } else { error };
                Poll::Ready(Err(self.failed(request, first)))
            }
            Poll::Ready(Err(Unanswered::Error(error))) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(head)) => Poll::Ready(Ok(head)),
        }
    }

    fn failed(&self, request: &Request, error: io::Error) -> Error {
        if request.written() == 0 && self.inbound.is_empty() {
            Error::unsent(error)
        } else {
            Error::in_flight(Phase::Wait, error)
        }
    }

    /// The head of the final answer: interim ones (RFC 9110 section 15.2) are passed over.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<Head, Unanswered>> {
        loop {
            if !self.inbound.is_empty()
                && let Some((head, length)) = Head::parse(self.inbound.unused())?
            {
                self.inbound.consume(length);
                match head.status {
                    101 => return Poll::Ready(Err(Error::malformed("an upgrade nobody asked for").into())),
                    100..200 => continue,
                    _ => return Poll::Ready(Ok(head)),
                }
            }
            if ready!(self.poll_fill(cx))? == 0 {
                let ended = io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the connection was closed before the answer was there",
                );
                return Poll::Ready(Err(ended.into()));
            }
        }
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.inbound.poll_fill(Pin::new(&mut self.socket), cx)
    }
}

/// Why there is no head.
enum Unanswered {
    Io(io::Error),
    Error(Error),
}

impl From<io::Error> for Unanswered {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Error> for Unanswered {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

// === impl Incomplete ===

impl Incomplete {
    /// The next piece. `None` at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        poll_fn(|cx| self.poll_chunk(cx)).await
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Error>> {
        let length = ready!(self.poll_buffered(cx))?;
        if length == 0 {
            return Poll::Ready(Ok(None));
        }
        let inbound = &mut self.connection.inbound;
        let piece = Bytes::copy_from_slice(&inbound.unused()[..length]);
        inbound.consume(length);
        Poll::Ready(Ok(Some(piece)))
    }

    /// How many bytes of the body are buffered next. 0 at the end.
    fn poll_buffered(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, Error>> {
        loop {
            match self.framing.step(self.connection.inbound.unused())? {
                Step::Data(length) => return Poll::Ready(Ok(length)),
                Step::Skip(length) => self.connection.inbound.consume(length),
                Step::End => return Poll::Ready(Ok(0)),
                Step::More => {
                    let read = ready!(self.connection.poll_fill(cx));
                    if read.map_err(|error| Error::in_flight(Phase::Read, error))? == 0 {
                        return Poll::Ready(self.ended());
                    }
                }
            }
        }
    }

    /// The connection was closed: which is the end of some answers, and breaks off the others.
    fn ended(&mut self) -> Result<usize, Error> {
        if self.framing != Framing::Close {
            return Err(Error::in_flight(Phase::Read, "the connection was closed within the answer"));
        }
        self.framing = Framing::Length(0);
        Ok(0)
    }

    /// Reads all of it, and gives the connection back.
    pub(crate) async fn collect(mut self, limit: usize) -> Result<(Bytes, Box<Connection>), Error> {
        let too_large = || Error::TooLarge { what: "the answer", limit };
        if self.framing.left() > limit as u64 {
            return Err(too_large());
        }
        let mut whole = Vec::new();
        loop {
            let length = poll_fn(|cx| self.poll_buffered(cx)).await?;
            if length == 0 {
                return Ok((whole.into(), self.connection));
            }
            let left = usize::try_from(self.framing.left()).unwrap_or(usize::MAX);
            if (whole.len() + length).saturating_add(left) > limit {
                return Err(too_large());
            }
            whole.reserve_exact(length + left.min(STRIDE));
            whole.extend_from_slice(&self.connection.inbound.unused()[..length]);
            self.connection.inbound.consume(length);
            self.read_on(&mut whole).await?;
        }
    }

    /// Reads what is known to follow to where it shall be, and not through the buffer.
    async fn read_on(&mut self, whole: &mut Vec<u8>) -> Result<(), Error> {
        while self.connection.inbound.is_empty() && self.framing.left() > 0 {
            let stride = usize::try_from(self.framing.left()).map_or(STRIDE, |left| left.min(STRIDE));
            let mut filled = whole.len();
            whole.resize(filled + stride, 0);
            while filled < whole.len() {
                let socket = &mut self.connection.socket;
                let read = poll_fn(|cx| poll_read(Pin::new(&mut *socket), cx, &mut whole[filled..])).await;
                match read.map_err(|error| Error::in_flight(Phase::Read, error))? {
                    0 => return self.ended().map(|_end| ()),
                    read => filled += read,
                }
            }
            self.framing.passed(stride as u64);
        }
        Ok(())
    }

    /// Looks whether the end is there, without waiting.
    pub(crate) async fn tail(mut self) -> Tail {
        match poll_fn(|cx| Poll::Ready(self.poll_chunk(cx))).await {
            Poll::Ready(Ok(None)) if self.connection.keep_alive => Tail::Ended(self.connection),
            Poll::Ready(Ok(Some(data))) => Tail::More(self, data),
            Poll::Ready(_) => Tail::Broken,
            Poll::Pending => Tail::Pending(self),
        }
    }
}
