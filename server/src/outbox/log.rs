//! Streams that can be resumed on any replica: each a log in the hub.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use tokio::time::Instant;
use trunkline_hub::{Fence, Hub, HubError, HubFuture, Position, Retention, Topic};

use super::{Note, Undeliverable, sealed};

/// How long what is said before the answer waits for a hub that is away. 60 s: longer than a failover or a restart of Redis
/// takes, and as long as most clients wait. An answer waits as long as its log is kept.
const PATIENCE: Duration = Duration::from_secs(60);

/// The first pause before a message is tried again; it doubles up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(25);
const LAST_PAUSE: Duration = Duration::from_secs(1);

/// Where the logs of streams are kept, and by whom.
pub(crate) struct Logs {
    /// The hub.
    pub(crate) hub: Arc<dyn Hub>,
    /// How much of a log is kept.
    pub(crate) retention: Retention,
    /// Bytes of a log that are kept.
    pub(crate) bytes: usize,
    /// This replica.
    pub(crate) replica: Box<str>,
}

/// The log of a stream of one session.
#[derive(Clone)]
pub(crate) struct LogCarrier {
    logs: Arc<Logs>,
    session: Arc<str>,
    /// Names the stream within its session. Of a call it is drawn when the stream is first needed, which it seldom is.
    stream: OnceLock<Box<str>>,
    /// What the stream answers.
    body: Bytes,
}

/// What this replica knows of a log it writes.
#[derive(Debug)]
pub(super) struct Writer {
    fence: Fence,
    /// The entry that was written last: one whose answer was lost is repeated after it.
    previous: Position,
    /// Entries and their bytes since the last note. The oldest entries are trimmed, and a note is to be found as long as the log.
    unnoted: usize,
    unnoted_bytes: usize,
}

// === impl LogCarrier ===

impl LogCarrier {
    /// The log of the stream that answers what is in `body`.
    pub(crate) fn of_call(logs: Arc<Logs>, session: Arc<str>, body: Bytes) -> Self {
        Self { logs, session, stream: OnceLock::new(), body }
    }

    /// The log of a call's stream that another replica began.
    pub(crate) fn of_stream(logs: Arc<Logs>, session: Arc<str>, stream: &str, body: Bytes) -> Self {
        Self { logs, session, stream: OnceLock::from(Box::from(stream)), body }
    }

    /// The log of everything that is said to a session that has one stream only.
    pub(crate) fn of_connection(logs: Arc<Logs>, session: Arc<str>, body: Bytes) -> Self {
        Self::of_stream(logs, session, "sse", body)
    }

    /// The stream's name within its session.
    pub(crate) fn stream(&self) -> &str {
        self.stream.get_or_init(|| URL_SAFE_NO_PAD.encode(rand::random::<[u8; 9]>()).into())
    }

    /// The session.
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// The log's name.
    pub(crate) fn topic(&self) -> Topic {
        topic(&self.session, self.stream())
    }

    /// Begins a log of our own with a note on who writes it, and returns the place of the note.
    pub(super) async fn begin(
        &self,
        log: &mut Option<Writer>,
        may_repeat: bool,
    ) -> Result<Position, Undeliverable> {
        let Logs { hub, retention, .. } = &*self.logs;
        let topic = self.topic();
        let fence = patiently(PATIENCE, || hub.claim(&topic, *retention)).await?;
        let writer = log.insert(Writer::new(fence, Position::default()));
        self.note(writer, may_repeat).await?;
        Ok(writer.previous)
    }

    /// Appends to a log that was begun.
    pub(super) async fn append(
        &self,
        log: &mut Option<Writer>,
        frame: Bytes,
        last: bool,
        may_repeat: bool,
    ) -> Result<(), Undeliverable> {
        let writer = log.as_mut().ok_or(Undeliverable::Closed)?;
        if !last && self.wants_note(writer) {
            self.note(writer, may_repeat).await?;
        }
        match self.write(writer, frame.clone(), last).await {
            // Redis came back without it. Who follows is told that something is gone, and gets what is left of the call.
            Err(Undeliverable::Hub(HubError::Unknown)) => {
                self.begin(log, may_repeat).await?;
                let writer = log.as_mut().ok_or(Undeliverable::Closed)?;
                self.write(writer, frame, last).await
            }
            written => written,
        }
    }

    /// Appends to a log that any replica writes. One that waited for the hub may come twice, and is told by its id.
    pub(super) async fn share(&self, frame: Bytes) -> Result<(), Undeliverable> {
        let Logs { hub, retention, .. } = &*self.logs;
        let (topic, entry) = (self.topic(), sealed(&frame));
        patiently(retention.age, || hub.append(&topic, None, *retention, entry.clone(), false)).await?;
        Ok(())
    }

    /// Says in a log that any replica writes who works on the request.
    pub(super) async fn share_note(&self, may_repeat: bool) -> Result<(), Undeliverable> {
        self.share(Note::of(&self.logs.replica, Fence::default(), &self.body, may_repeat).to_entry()).await
    }

    async fn note(&self, writer: &mut Writer, may_repeat: bool) -> Result<(), Undeliverable> {
        let note = Note::of(&self.logs.replica, writer.fence, &self.body, may_repeat);
        self.write(writer, note.to_entry(), false).await?;
        *writer = Writer::new(writer.fence, writer.previous);
        Ok(())
    }

    /// Whether the last note may soon be trimmed. A log of very few entries has no room for a second one.
    fn wants_note(&self, writer: &Writer) -> bool {
        let entries = self.logs.retention.entries;
        entries >= 8 && (writer.unnoted >= entries / 2 || writer.unnoted_bytes >= self.logs.bytes / 2)
    }

    async fn write(&self, writer: &mut Writer, entry: Bytes, last: bool) -> Result<(), Undeliverable> {
        let size = entry.len();
        let Writer { fence, previous, .. } = *writer;
        let Logs { hub, retention, .. } = &*self.logs;
        let topic = self.topic();
        let append = || hub.append_after(&topic, fence, previous, *retention, entry.clone(), last);
        writer.previous = patiently(if last { retention.age } else { PATIENCE }, append).await?;
        writer.unnoted += 1;
        writer.unnoted_bytes += size;
        Ok(())
    }
}

/// Does a step, and waits for a hub that is away: what is not in the log is lost to the client.
async fn patiently<'a, T>(patience: Duration, step: impl Fn() -> HubFuture<'a, T>) -> Result<T, HubError> {
    let began = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        match step().await {
            Err(HubError::Unavailable { .. }) if began.elapsed() < patience => {
                tokio::time::sleep(pause.mul_f64(rand::random_range(0.5..=1.0))).await;
                pause = (pause * 2).min(LAST_PAUSE);
            }
            done => return done,
        }
    }
}

/// The name of the log of a session's stream. It begins with the session, so that no name of a stream leads to another one's.
pub(crate) fn topic(session: &str, stream: &str) -> Topic {
    Topic(format!("{session}/{stream}").into())
}

// === impl Writer ===

impl Writer {
    /// Writes with a fence, after an entry.
    pub(super) fn new(fence: Fence, previous: Position) -> Self {
        Self { fence, previous, unnoted: 0, unnoted_bytes: 0 }
    }
}
