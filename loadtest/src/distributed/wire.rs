//! What a coordinator and its agents say to each other: JSON in frames with their length in front, over TCP.
//!
//! ```text
//! agent                               coordinator
//!   Hello {version, nonce, name} ──►
//!                              ◄── Challenge {version, nonce}         Refused where the versions differ
//!   Proof ──►
//!                              ◄── Welcome {proof, plan, share}       Refused where the secret is wrong
//!   Ready ──►                                                         Unable where a limit is too low
//!                              ◄── Ping   (Pong ──►)                  the round trip, several times
//!                              ◄── Start {in N us}                    on the agent's own clock
//!   Progress {tally} ──►                                              what was counted since the last one
//!   Alive ──►                  ◄── Alive                              each second
//!                              ◄── Stop                               the end came early
//!   Done ──►
//!                              ◄── Bye
//! ```

use std::{io, time::Duration};

use futures_util::StreamExt;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    time::timeout,
};
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};

use super::secret::{Nonce, Proof};
use crate::{
    plan::{Plan, Share},
    report::Machine,
    tally::Tally,
};

/// The version of this protocol. Both sides have to have the same one: a plan that is half understood measures something
/// else.
pub const VERSION: u32 = 1;

/// How often each side says that it is there.
pub const HEARTBEAT: Duration = Duration::from_secs(1);

/// Silence after which the other side is gone. Ten heartbeats: an agent that generates load has little time.
pub const SILENCE: Duration = Duration::from_secs(10);

/// How long a frame may take to be sent: whoever does not read for so long is gone.
const SEND: Duration = SILENCE;

/// The longest frame before the other side has proved itself.
pub const GREETING_BYTES: usize = 4 * 1024;

/// The longest frame afterwards. A plan may carry 10 000 tokens of 1 KiB; a second's tally has a few hundred KiB.
pub const FRAME_BYTES: usize = 32 * 1024 * 1024;

/// What an agent says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FromAgent {
    /// The first word.
    Hello {
        /// [`VERSION`].
        version: u32,
        /// The agent's nonce.
        nonce: Nonce,
        /// Who it is, for people.
        name: String,
    },
    /// The answer to the challenge.
    Proof {
        /// That it knows the secret.
        proof: Proof,
    },
    /// It can begin.
    Ready {
        /// What it runs on.
        machine: Box<Machine>,
    },
    /// It cannot take part.
    Unable {
        /// Why, and what to change.
        reason: String,
        /// Whether nobody else could either, such as for an endpoint that cannot be reached.
        hopeless: bool,
    },
    /// The answer to a ping.
    Pong {
        /// Which.
        number: u32,
    },
    /// What was counted since the last time.
    Progress {
        /// To be added to what came before.
        tally: Box<Tally>,
    },
    /// It is there.
    Alive,
    /// Its share is done, and everything was told.
    Done {
        /// Whether somebody ended it early at its own machine.
        early: bool,
    },
}

/// What a coordinator says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FromCoordinator {
    /// Asks for a proof.
    Challenge {
        /// [`VERSION`].
        version: u32,
        /// The coordinator's nonce.
        nonce: Nonce,
    },
    /// It does not want this agent.
    Refused {
        /// Why, and what to change.
        reason: String,
    },
    /// The agent takes part.
    Welcome {
        /// That the coordinator knows the secret, too.
        proof: Proof,
        /// What is to be done.
        plan: Box<Plan>,
        /// The agent's share of it.
        share: Share,
    },
    /// To be answered at once.
    Ping {
        /// Which.
        number: u32,
    },
    /// Begin.
    Start {
        /// In so many microseconds from when this arrives.
        in_us: u64,
    },
    /// It is there.
    Alive,
    /// End early and in order.
    Stop,
    /// Everything has arrived.
    Bye,
}

/// Why nothing more can be heard or said.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The other side has closed the connection.
    #[error("the connection was closed")]
    Closed,
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(io::Error),
    /// Nothing came for too long, or nothing could be sent.
    #[error("nothing was heard for {0:?}")]
    Silent(Duration),
    /// What came is not this protocol.
    #[error("what came is not this protocol: {0}")]
    Garbled(String),
}

/// The listening half of a connection. [`Inbox::next`] loses nothing when it is given up.
#[derive(Debug)]
pub struct Inbox<R> {
    frames: FramedRead<R, LengthDelimitedCodec>,
}

/// The speaking half.
#[derive(Debug)]
pub struct Outbox<W> {
    stream: W,
}

// === impl Inbox ===

impl<R: AsyncRead + Unpin> Inbox<R> {
    /// Listens to somebody who has not proved anything yet.
    pub fn new(stream: R) -> Self {
        let codec = LengthDelimitedCodec::builder().max_frame_length(GREETING_BYTES).new_codec();
        Self { frames: FramedRead::new(stream, codec) }
    }

    /// The other side has proved itself: it may send long frames.
    pub fn trust(&mut self) {
        self.frames.decoder_mut().set_max_frame_length(FRAME_BYTES);
    }

    /// The next message.
    ///
    /// # Errors
    /// See [`WireError`]; after one there are no more messages.
    pub async fn next<M: DeserializeOwned>(&mut self) -> Result<M, WireError> {
        match self.frames.next().await {
            None => Err(WireError::Closed),
            Some(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                Err(WireError::Garbled(error.to_string()))
            }
            Some(Err(error)) => Err(WireError::Broken(error)),
            Some(Ok(frame)) => {
                serde_json::from_slice(&frame).map_err(|error| WireError::Garbled(error.to_string()))
            }
        }
    }

    /// The next message, which has to come within a time.
    ///
    /// # Errors
    /// As [`Inbox::next`], and [`WireError::Silent`].
    pub async fn next_within<M: DeserializeOwned>(&mut self, limit: Duration) -> Result<M, WireError> {
        timeout(limit, self.next()).await.unwrap_or(Err(WireError::Silent(limit)))
    }
}

// === impl Outbox ===

impl<W: AsyncWrite + Unpin> Outbox<W> {
    /// Speaks on a stream.
    pub fn new(stream: W) -> Self {
        Self { stream }
    }

    /// Says something.
    ///
    /// # Errors
    /// [`WireError::Broken`], [`WireError::Silent`] when the other side does not take it.
    pub async fn say<M: Serialize>(&mut self, message: &M) -> Result<(), WireError> {
        // The length goes in front when it is known, and all of it out in one write.
        let mut frame = vec![0; 4];
        serde_json::to_writer(&mut frame, message).map_err(|error| WireError::Garbled(error.to_string()))?;
        let length = frame.len() - 4;
        if length > FRAME_BYTES {
            return Err(WireError::Garbled(format!(
                "a frame of {length} bytes is longer than {FRAME_BYTES}"
            )));
        }
        frame[..4].copy_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
        match timeout(SEND, self.stream.write_all(&frame)).await {
            Ok(sent) => sent.map_err(WireError::Broken),
            Err(_elapsed) => Err(WireError::Silent(SEND)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Outbox<tokio::io::DuplexStream>, Inbox<tokio::io::DuplexStream>) {
        let (near, far) = tokio::io::duplex(64 * 1024);
        (Outbox::new(near), Inbox::new(far))
    }

    #[tokio::test]
    async fn messages_arrive_as_they_were_said() {
        let (mut outbox, mut inbox) = pair();
        let mut tally = Tally::default();
        tally.sessions.opened = 7;
        tally.timeline.entry(3).or_default().succeeded = 1;
        outbox.say(&FromAgent::Alive).await.unwrap();
        outbox.say(&FromAgent::Progress { tally: Box::new(tally.clone()) }).await.unwrap();
        assert!(matches!(inbox.next().await.unwrap(), FromAgent::Alive));
        let FromAgent::Progress { tally: came } = inbox.next().await.unwrap() else { panic!("progress") };
        assert_eq!(*came, tally);
        drop(outbox);
        assert!(matches!(inbox.next::<FromAgent>().await, Err(WireError::Closed)));
    }

    #[tokio::test]
    async fn a_stranger_may_not_send_much() {
        let (mut outbox, mut inbox) = pair();
        let long = FromCoordinator::Refused { reason: "x".repeat(GREETING_BYTES) };
        outbox.say(&long).await.unwrap();
        let error = inbox.next::<FromCoordinator>().await.unwrap_err();
        assert!(matches!(error, WireError::Garbled(_)), "{error}");

        let (mut outbox, mut inbox) = pair();
        inbox.trust();
        outbox.say(&long).await.unwrap();
        assert!(matches!(inbox.next().await.unwrap(), FromCoordinator::Refused { .. }));
    }

    #[tokio::test]
    async fn what_is_not_this_protocol_is_an_error() {
        for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\0\0\0\x02{]", b"\0\0\0\x05\"boo\"xx"] {
            let mut inbox = Inbox::new(bytes);
            let error = inbox.next::<FromAgent>().await.unwrap_err();
            assert!(matches!(error, WireError::Garbled(_)), "{error}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silence_has_an_end() {
        let (outbox, mut inbox) = pair();
        let error = inbox.next_within::<FromAgent>(SILENCE).await.unwrap_err();
        assert!(matches!(error, WireError::Silent(_)), "{error}");
        drop(outbox);
        let (near, _far) = tokio::io::duplex(16);
        let hello = FromAgent::Hello { version: 1, nonce: Nonce::draw(), name: "n".repeat(99) };
        let error = Outbox::new(near).say(&hello).await.unwrap_err();
        assert!(matches!(error, WireError::Silent(_)), "{error}");
    }
}
