//! A stream of events, as it comes in.

use bytes::Bytes;
use trunkline_protocol::sse::{Bounds, Decoder, Received};

use crate::{
    error::{Error, Phase},
    limits::Limits,
    transport::http1::Incomplete,
};

/// A stream of events.
pub(crate) struct Events {
    body: Incomplete,
    decoder: Decoder,
    chunk: Bytes,
    limits: Limits,
    /// Bytes that came in since they were last asked for.
    bytes: u64,
}

// === impl Events ===

impl Events {
    pub(crate) fn new(body: Incomplete, limits: Limits) -> Self {
        let bounds = Bounds { line: limits.event, event: limits.event };
        Self { body, decoder: Decoder::new(bounds), chunk: Bytes::new(), limits, bytes: 0 }
    }

    /// The next event. `None` at an orderly end of the stream.
    ///
    /// # Errors
    /// [`Error::InFlight`] if the stream broke, [`Error::TooLarge`].
    pub(crate) async fn next(&mut self) -> Result<Option<Received>, Error> {
        loop {
            if !self.chunk.is_empty() {
                let mut rest = &self.chunk[..];
                let decoded = self.decoder.decode(&mut rest);
                let used = self.chunk.len() - rest.len();
                let event = decoded.map_err(|_| Error::TooLarge {
                    what: "an event of the stream",
                    limit: self.limits.event,
                })?;
                let _read = self.chunk.split_to(used);
                if let Some(event) = event {
                    return Ok(Some(event));
                }
            }
            match self.body.chunk().await? {
                Some(chunk) => {
                    self.bytes += chunk.len() as u64;
                    self.chunk = chunk;
                }
                None => return Ok(None),
            }
        }
    }

    pub(crate) fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    pub(crate) fn take_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }

    /// What is left after the answer: events that were read already, and the connection.
    pub(crate) fn into_rest(self) -> (Bytes, Incomplete) {
        (self.chunk, self.body)
    }

    /// The error of a stream that ended too early.
    pub(crate) fn cut_short() -> Error {
        Error::in_flight(Phase::Read, "the stream ended without the answer")
    }
}
