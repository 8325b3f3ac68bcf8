//! What a server says without being asked.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    sync::{Notify, mpsc},
    task::AbortHandle,
};

use crate::error::Error;

/// A notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The method's name.
    pub method: Box<str>,
    /// The parameters: a JSON object, or nothing.
    pub params: Bytes,
    /// Where in the stream it was, if the stream's events have ids.
    pub event_id: Option<Arc<str>>,
    /// On which stream it came.
    pub source: Source,
}

/// The stream that a notification came on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The stream of the request with this id.
    Call(i64),
    /// A stream that was opened to listen.
    Listening,
    /// The one pipe there is: stdio, and HTTP+SSE.
    Pipe,
}

/// What happens on a stream that was opened to listen.
#[derive(Debug)]
pub enum StreamEvent {
    /// A notification.
    Notification(Notification),
    /// The stream is open; up to now nothing was heard. From 2026-07-28 on it is what the server acknowledged.
    Opened(Opened),
    /// The stream broke or was ended, and is being opened again. On revisions without event ids, what happens until it is
    /// open is not heard of.
    Lost {
        /// What happened; the server may also have ended the stream in an orderly way.
        error: Option<Error>,
        /// How long the client waits before it comes back.
        wait: Duration,
    },
    /// The session was unknown to the server and a new one was opened. What the old one had subscribed to was
    /// subscribed to again.
    Renewed,
    /// The receiver was too slow, and this many notifications were dropped before the next one. Only on
    /// [`crate::Client::notifications`].
    Lagged(u64),
    /// The stream is over and is not opened again.
    Ended(Error),
}

/// How a stream was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Which opening this is, from 0.
    pub nth: u32,
    /// Which replica serves it, where it says so.
    pub replica: Option<Box<str>>,
    /// The event after which it goes on; `None` where it begins with what happens now.
    pub after: Option<Arc<str>>,
    /// The notifications that the server granted: the raw params of its acknowledgement (2026-07-28).
    pub granted: Bytes,
}

/// Notifications as they come. Dropping it closes the stream that was opened for it.
#[derive(Debug)]
pub struct Notifications {
    events: mpsc::Receiver<StreamEvent>,
    /// What reads the stream, if one was opened.
    reader: Option<Reader>,
}

/// The task that reads a stream.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) task: AbortHandle,
    /// Breaks the stream's connection.
    pub(crate) cut: Arc<Notify>,
}

// === impl Notifications ===

impl Notifications {
    pub(crate) fn new(events: mpsc::Receiver<StreamEvent>, reader: Option<Reader>) -> Self {
        Self { events, reader }
    }

    /// The next notification. `None` when the stream is over; [`Self::event`] says why.
    pub async fn next(&mut self) -> Option<Notification> {
        while let Some(event) = self.events.recv().await {
            if let StreamEvent::Notification(notification) = event {
                return Some(notification);
            }
        }
        None
    }

    /// The next thing that happens on the stream: notifications, and what becomes of the stream itself. `None` when it is
    /// over, after [`StreamEvent::Ended`].
    pub async fn event(&mut self) -> Option<StreamEvent> {
        self.events.recv().await
    }

    /// Breaks the stream's connection, as a cut network would; it is opened again as after any other break. Does nothing on a
    /// pipe. For tests of a server.
    pub fn cut(&self) {
        if let Some(reader) = &self.reader {
            reader.cut.notify_one();
        }
    }

    /// What happened already, without waiting.
    pub fn try_event(&mut self) -> Option<StreamEvent> {
        self.events.try_recv().ok()
    }
}

impl Drop for Notifications {
    fn drop(&mut self) {
        if let Some(reader) = &self.reader {
            reader.task.abort();
        }
    }
}
