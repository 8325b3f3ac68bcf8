//! What one client did and what came back, in order. Everything the checker knows.

use std::{
    fmt,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use trunkline_protocol::Revision;

/// The most events of one client. At the usual pace an hour's worth, and 32 bytes each. A client whose history is full stops:
/// what is not kept cannot be checked.
const EVENTS: usize = 200_000;

/// When something happened: microseconds since the fleet began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct At(pub u64);

/// One thing that a client did, or that happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: At,
    /// What.
    pub what: What,
}

/// What happened. Calls are numbered by their client, in the order in which they began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A session was opened: the client's n-th. Where the revision has none, values under a handle were begun.
    Opened {
        /// Its number.
        session: u32,
    },
    /// A request in that session was answered that there is no such session, or no such handle.
    Lost {
        /// Its number.
        session: u32,
    },
    /// A call began.
    Called {
        /// The call.
        call: u32,
        /// What it asks for.
        kind: Kind,
    },
    /// An HTTP request of the call was sent.
    Sent {
        /// The call.
        call: u32,
    },
    /// The head of the response came.
    Head {
        /// The call.
        call: u32,
        /// The HTTP status.
        status: u16,
        /// Whether it says when to come back.
        retry_after: bool,
        /// Whether a replica that names itself sent it. Otherwise the balancer did, or nobody names himself.
        replica: bool,
    },
    /// The answer is a stream, and begins or goes on.
    Streaming {
        /// The call.
        call: u32,
    },
    /// An HTTP exchange of the call came to nothing.
    Broke {
        /// The call.
        call: u32,
        /// How.
        how: Broke,
    },
    /// Progress was reported.
    Progress {
        /// The call.
        call: u32,
        /// How far it is.
        step: u32,
    },
    /// Progress between two steps was reported: the server shows that it is at work.
    SignOfLife {
        /// The call.
        call: u32,
        /// The step before.
        after: u32,
    },
    /// The user was asked.
    Asked {
        /// The call.
        call: u32,
        /// Tells questions apart.
        question: u32,
    },
    /// The user's reply was taken by the server.
    Replied {
        /// The call.
        call: u32,
    },
    /// The call was answered.
    Answered {
        /// The call.
        call: u32,
        /// With what.
        answer: Answer,
    },
    /// Something came on the call's stream that belongs to no call, or to another one.
    Stray {
        /// The call.
        call: u32,
    },
    /// The client is done with the call.
    Over {
        /// The call.
        call: u32,
        /// How it ended.
        end: End,
    },
    /// From now on the client hears everything that happens to its resources.
    Listening {
        /// The call that listens.
        call: u32,
        /// Whether it goes on where it was: then nothing between may be missing.
        resumed: bool,
    },
    /// A resource changed.
    Heard {
        /// Which ring of resources.
        ring: u16,
        /// Which of the ring.
        slot: u16,
    },
    /// A resource changed that the client did not subscribe to.
    HeardOther,
    /// The last change of all was heard: whatever is missing is lost.
    HeardEnd,
}

/// What a call asks for, as far as the checker has to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A request or notification that is expected to succeed and has no value: `initialize`, `resources/subscribe`, a reply.
    Plumbing {
        /// The status of success.
        status: u16,
    },
    /// A tool that changes nothing; it answers with this value.
    Pure {
        /// The value.
        value: i64,
    },
    /// Adds to the counter of a session.
    Count {
        /// Whose: the number of the session.
        session: u32,
        /// How much.
        by: i64,
    },
    /// Remembers a number in a session.
    Remember {
        /// The number of the session.
        session: u32,
        /// The number to remember.
        value: i64,
    },
    /// Asks for the remembered number.
    Recall {
        /// The number of the session.
        session: u32,
    },
    /// Takes a while and reports progress after each step.
    Slow {
        /// How long, in milliseconds.
        ms: u32,
        /// How many steps.
        steps: u32,
    },
    /// Asks the user.
    Confirm {
        /// What the answer has to say, given what the user will reply.
        value: i64,
    },
    /// Changes a resource.
    Touch {
        /// Which ring.
        ring: u16,
        /// Which of the ring.
        slot: u16,
    },
    /// Changes a resource that nobody counts: it only shows that the listener hears.
    Prime,
    /// Listens.
    Listen,
}

/// How an HTTP exchange came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broke {
    /// No connection, or none that took the request: nothing was sent.
    Unsent,
    /// The connection broke before the head of the response.
    InFlight,
    /// It broke within a body that is no stream.
    Body,
    /// The balancer answered for a server that did not (502, 504).
    Gateway,
    /// A stream broke or ended, and can be resumed.
    Stream,
    /// A stream broke or ended, and cannot be resumed.
    StreamForGood,
    /// Nothing came for too long.
    Timeout,
}

/// An answer, reduced to a number: the client has checked its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A result. What the number is depends on the tool: a sum, a length, a counter, a word's place in a list.
    Value(i64),
    /// A result that says the tool failed.
    Failed,
    /// A JSON-RPC error.
    Error(i32),
    /// It cannot be read as what the tool returns.
    Unreadable,
}

/// How a call ended for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was answered, or taken where nothing else is expected.
    Done,
    /// It was not run, for the session is lost.
    SessionLost,
    /// It broke, and may or may not have been run.
    Unknown,
    /// It was refused with a status that tells neither to wait nor to begin again.
    Refused,
    /// Nothing came of it in all the time a client would wait.
    TimedOut,
    /// The fleet has ended before it was sent.
    Closing,
}

/// The history of one client.
#[derive(Clone, Debug)]
pub struct History {
    /// The client's place in the fleet; the ring of its resources has the same number.
    pub client: u32,
    /// What it speaks.
    pub revision: Revision,
    /// The rings it listens to.
    pub rings: Vec<u16>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// Whether more happened than was kept.
    pub full: bool,
}

/// Writes a history.
#[derive(Debug)]
pub(super) struct Recorder {
    began: Instant,
    history: Mutex<History>,
}

// === impl At ===

impl At {
    /// The time since the fleet began.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        Duration::from_micros(self.0)
    }

    /// From an earlier time to this one.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}s", self.elapsed().as_secs_f64())
    }
}

// === impl What ===

impl What {
    /// The call it belongs to, if it belongs to one.
    #[must_use]
    pub fn call(self) -> Option<u32> {
        match self {
            Self::Called { call, .. }
            | Self::Sent { call }
            | Self::Head { call, .. }
            | Self::Streaming { call }
            | Self::Broke { call, .. }
            | Self::Progress { call, .. }
            | Self::SignOfLife { call, .. }
            | Self::Asked { call, .. }
            | Self::Replied { call }
            | Self::Answered { call, .. }
            | Self::Stray { call }
            | Self::Over { call, .. }
            | Self::Listening { call, .. } => Some(call),
            Self::Opened { .. }
            | Self::Lost { .. }
            | Self::Heard { .. }
            | Self::HeardOther
            | Self::HeardEnd => None,
        }
    }
}

// === impl Kind ===

impl Kind {
    /// Whether the call may be sent again when nobody knows what became of it.
    #[must_use]
    pub fn is_idempotent(self) -> bool {
        match self {
            Self::Plumbing { .. }
            | Self::Pure { .. }
            | Self::Recall { .. }
            | Self::Slow { .. }
            | Self::Confirm { .. }
            | Self::Prime
            | Self::Listen => true,
            Self::Count { .. } | Self::Remember { .. } | Self::Touch { .. } => false,
        }
    }

    /// Whether it calls a tool, rather than keeping the client itself going.
    #[must_use]
    pub fn is_tool(self) -> bool {
        !matches!(self, Self::Plumbing { .. } | Self::Listen)
    }

    /// A word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plumbing { .. } => "a message that keeps the client going",
            Self::Pure { .. } => "a call that changes nothing",
            Self::Count { .. } => "counter",
            Self::Remember { .. } => "remember",
            Self::Recall { .. } => "recall",
            Self::Slow { .. } => "slow",
            Self::Confirm { .. } => "confirm",
            Self::Touch { .. } | Self::Prime => "touch",
            Self::Listen => "listening",
        }
    }

    /// How long it takes by itself.
    #[must_use]
    pub fn takes(self) -> Duration {
        match self {
            Self::Slow { ms, .. } => Duration::from_millis(ms.into()),
            _ => Duration::ZERO,
        }
    }
}

// === impl History ===

impl History {
    /// An empty history.
    #[must_use]
    pub fn new(client: u32, revision: Revision, rings: Vec<u16>) -> Self {
        Self { client, revision, rings, events: Vec::new(), full: false }
    }
}

// === impl Recorder ===

impl Recorder {
    pub(super) fn new(began: Instant, history: History) -> Self {
        Self { began, history: Mutex::new(history) }
    }

    /// Notes what happened just now.
    pub(super) fn note(&self, what: What) {
        let mut history = self.history.lock();
        if history.events.len() >= EVENTS {
            history.full = true;
            return;
        }
        // Taken under the lock, so that the order of the times is that of the events.
        let at = At(u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX));
        history.events.push(Event { at, what });
    }

    /// Whether nothing more is kept.
    pub(super) fn is_full(&self) -> bool {
        self.history.lock().full
    }

    /// The history so far.
    pub(super) fn read(&self) -> History {
        self.history.lock().clone()
    }
}
