//! What flows into a stream: the log of a call, the queue of one, or what a session listens to; and what ends it.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use trunkline_hub::{Delivery, Position};

use super::{Endpoint, event_id::EventIds};
use crate::{
    drain::Drain,
    error::Refusal,
    following::{Following, Life},
    outbox::{Source, is_silent},
    session::{Calls, Context, Core, Listening, LiveSession, StreamPermit},
    telemetry::{Gauge, Held, Metrics},
    transport::broadcast::{Broadcasts, Heard},
};

/// One thing to write to a stream.
pub(super) enum Piece {
    /// A message, with the id it can be resumed after.
    Message {
        /// The event's id.
        id: Option<String>,
        /// The message.
        data: Bytes,
    },
    /// The stream's beginning: an id and no data.
    Priming(String),
    /// Where the client posts (HTTP+SSE).
    Endpoint(Bytes),
    /// Something was missed.
    Gap,
}

/// What flows into a stream.
pub(super) enum Feed {
    /// The log of a call.
    Call {
        /// Reads it.
        log: Following,
        /// Writes the ids of its events.
        ids: EventIds,
        /// The id of the stream's beginning, written first where the revision begins streams with an id and no data.
        priming: Option<String>,
        /// Counts gaps.
        metrics: Arc<Metrics>,
        /// Watches over the replica that runs the call, where this is another one.
        _watch: Option<AbortOnDropHandle<()>>,
    },
    /// The queue of a call.
    Queue(mpsc::Receiver<Bytes>),
    /// What a `subscriptions/listen` asked for.
    Subscription {
        /// Says what will be delivered; written first.
        acknowledged: Option<Bytes>,
        /// The broadcasts.
        broadcasts: Box<Broadcasts>,
    },
    /// Everything that is said to a client of HTTP+SSE.
    Connection {
        /// Where it posts; written first.
        endpoint: Option<Bytes>,
        /// The log of what is said to it.
        log: Following,
        /// The broadcasts.
        broadcasts: Box<Broadcasts>,
        /// What runs for it.
        calls: Box<Calls>,
        /// Ends the session with the connection.
        _connection: Connection,
    },
    /// What a session listens to.
    Listener {
        /// The broadcasts.
        broadcasts: Box<Broadcasts>,
        /// Writes the ids of its events, where it can be resumed.
        ids: Option<EventIds>,
        /// The place it begins at, to be written first.
        begin: Option<Position>,
    },
}

/// The connection of an HTTP+SSE client. Its session cannot be had by another one, and ends with it.
pub(super) struct Connection {
    core: Arc<Core>,
    session: Arc<LiveSession>,
}

/// What ends a stream before its feed does.
pub(super) struct Ends {
    /// The phases of a shutdown.
    pub(super) drain: Drain,
    /// When a shutdown ends it.
    pub(super) leave: Leave,
    /// The session, which may end, and whose life an open stream prolongs.
    pub(super) session: Option<Session>,
    /// Holds the session's place as listener.
    pub(super) listening: Option<Listening>,
    /// Counts the stream.
    pub(super) _open: OpenStream,
}

/// When a shutdown ends a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// When it begins: the client goes on elsewhere.
    AtOnce,
    /// When no call of its session runs any more: the answers come on this stream and on no other.
    WhenQuiet,
    /// When the grace period is over.
    AtTheEnd,
}

/// What counts an open stream.
pub(super) enum OpenStream {
    /// One of a session, of which it may have a number.
    OfSession(#[expect(dead_code, reason = "held")] StreamPermit),
    /// One of a request, of which there are a number in flight.
    OfRequest(#[expect(dead_code, reason = "held")] Held),
}

/// The session a stream belongs to.
pub(super) struct Session {
    core: Arc<Core>,
    live: Arc<LiveSession>,
}

// === impl Feed ===

impl Feed {
    /// The feed of a call's answer.
    pub(super) async fn of_call(endpoint: &Endpoint, source: Source, context: &Context) -> Self {
        match source {
            Source::Queue(queue) => Self::Queue(queue),
            Source::Log(log, begun) => {
                let services = &endpoint.core.services;
                // The call runs, whether its log can be read at the moment or not.
                let (hub, topic) = (services.hub.clone(), log.topic());
                // After the entry that it begins with: a log that is lost before it was read is known to be gone, and not
                // taken for one that has not begun.
                let read = Following::begin(hub, topic, begun, Life::Once).await;
                let ids = EventIds::of_call(&services.keys, log.session(), log.stream());
                let priming = context.caller.revision.features().priming.then(|| ids.at(begun));
                let metrics = services.metrics.clone();
                Self::Call { log: read, ids, priming, metrics, _watch: None }
            }
        }
    }

    /// The next piece; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Piece> {
        match self {
            Self::Queue(queue) => queue.recv().await.map(|data| Piece::Message { id: None, data }),
            Self::Call { log, ids, priming, metrics, .. } => {
                if let Some(id) = priming.take() {
                    return Some(Piece::Priming(id));
                }
                let piece = next_of_call(log, ids).await;
                if matches!(piece, Some(Piece::Gap)) {
                    metrics.gap();
                }
                piece
            }
            Self::Subscription { acknowledged, broadcasts, .. } => {
                if let Some(data) = acknowledged.take() {
                    return Some(Piece::Message { id: None, data });
                }
                match broadcasts.next().await {
                    Heard::Message(_, data) => Some(Piece::Message { id: None, data }),
                    Heard::Gap => Some(Piece::Gap),
                    Heard::SessionOver => None,
                }
            }
            Self::Connection { endpoint, log, broadcasts, calls, .. } => {
                if let Some(endpoint) = endpoint.take() {
                    return Some(Piece::Endpoint(endpoint));
                }
                tokio::select! {
                    biased;
                    data = next_of_connection(log, calls) => {
                        Some(Piece::Message { id: None, data: data? })
                    }
                    heard = broadcasts.next() => match heard {
                        Heard::Message(_, data) => Some(Piece::Message { id: None, data }),
                        Heard::Gap => Some(Piece::Gap),
                        Heard::SessionOver => None,
                    },
                }
            }
            Self::Listener { broadcasts, ids, begin } => {
                if let (Some(place), Some(ids)) = (begin.take(), &*ids) {
                    return Some(Piece::Priming(ids.at(place)));
                }
                match broadcasts.next().await {
                    Heard::Message(place, data) => {
                        Some(Piece::Message { id: ids.as_ref().map(|ids| ids.at(place)), data })
                    }
                    Heard::Gap => Some(Piece::Gap),
                    Heard::SessionOver => None,
                }
            }
        }
    }
}

async fn next_of_call(log: &mut Following, ids: &EventIds) -> Option<Piece> {
    loop {
        match log.next().await? {
            Delivery::Entry(entry) if is_silent(&entry.payload) => {}
            Delivery::Entry(entry) => {
                return Some(Piece::Message { id: Some(ids.at(entry.position)), data: entry.payload });
            }
            Delivery::Gap => return Some(Piece::Gap),
            Delivery::Gone => return None,
        }
    }
}

/// What is said to a client of HTTP+SSE next.
async fn next_of_connection(log: &mut Following, calls: &mut Calls) -> Option<Bytes> {
    loop {
        let delivery = tokio::select! {
            biased;
            delivery = log.next() => delivery?,
            told = calls.lost() => return Some(told),
        };
        match delivery {
            Delivery::Entry(entry) => {
                if let Some(data) = calls.read(entry.payload) {
                    return Some(data);
                }
            }
            // This client cannot ask for what it missed: the connection ends, and it begins again.
            Delivery::Gap | Delivery::Gone => return None,
        }
    }
}

// === impl Connection ===

impl Connection {
    /// The connection that a session was made for.
    pub(super) fn new(core: Arc<Core>, session: Arc<LiveSession>) -> Self {
        Self { core, session }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let (core, session) = (self.core.clone(), self.session.clone());
        tokio::spawn(async move {
            if core.end(&session).await.is_err() {
                tracing::warn!("a session whose connection closed was not deleted; it will expire");
            }
        });
    }
}

// === impl Ends ===

impl Ends {
    /// What ends the stream of a call: its session's end, and the end of the grace period.
    pub(super) fn of_call(endpoint: &Endpoint, context: &Context) -> Self {
        Self {
            drain: endpoint.drain.clone(),
            leave: Leave::AtTheEnd,
            session: context.session.as_ref().map(|live| Session::new(endpoint, live)),
            listening: None,
            _open: OpenStream::OfRequest(endpoint.core.services.metrics.hold(Gauge::Streams)),
        }
    }

    /// Waits until the stream has to end.
    pub(super) async fn ended(&self) {
        let never = CancellationToken::new();
        let closed = self.session.as_ref().map_or(&never, |session| session.live.closed());
        let replaced = self.listening.as_ref().map_or(&never, |listening| &listening.end);
        let drained = async {
            match (self.leave, &self.session) {
                (Leave::AtOnce, _) | (Leave::WhenQuiet, None) => self.drain.draining().await,
                (Leave::AtTheEnd, _) => self.drain.closing().await,
                (Leave::WhenQuiet, Some(session)) => {
                    self.drain.draining().await;
                    session.live.quiet().await;
                }
            }
        };
        tokio::select! {
            () = closed.cancelled() => {}
            () = replaced.cancelled() => {}
            () = drained => {}
        }
    }

    /// A sign of life: an open stream keeps its session alive.
    pub(super) async fn keep_alive(&self) {
        if let Some(session) = &self.session {
            session.keep_alive().await;
        }
    }

    /// Whether the client should come back: not to a session that is over. One whose part on this replica is over with the
    /// replica goes on elsewhere.
    pub(super) fn may_resume(&self) -> bool {
        let goes_on = |session: &Session| self.drain.is_closing() || !session.live.closed().is_cancelled();
        self.session.as_ref().is_some_and(goes_on)
    }
}

// === impl Session ===

impl Session {
    /// The session of a stream on this endpoint.
    pub(super) fn new(endpoint: &Endpoint, live: &Arc<LiveSession>) -> Self {
        Self { core: endpoint.core.clone(), live: live.clone() }
    }

    async fn keep_alive(&self) {
        let principal = self.live.record().principal.clone();
        match self.core.directory.find(self.live.id(), &principal).await {
            Ok(_) => {}
            Err(Refusal::SessionUnknown) => self.live.close(),
            // The store is away: the stream stays open and catches up.
            Err(_) => {}
        }
    }
}
