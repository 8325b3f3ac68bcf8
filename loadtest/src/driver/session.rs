//! A session of one virtual client, or its time at work on revisions without sessions.

use std::{
    cell::{Cell, RefCell},
    time::{Duration, Instant},
};

use trunkline_client::{
    Builder, Client, Error, Retry, Trace,
    protocol::{Revision, model::Implementation, revision::Era},
};

use super::{failure, questions::Person, recorder::Ended, world::World};
use crate::{check::counter::Counter, plan::RevisionChoice, tally::Operation};

/// Notifications that may wait in one client while its task gets its turn: a ring's worth and the lists' changes.
const NOTIFICATIONS: usize = 128;

/// A server that is away for long is to be seen as away, and not as one that hangs: the client gives up before the time limit of a
/// request, and tries often enough to tell when the server is back.
const RETRY: Retry =
    Retry { attempts: 4, resumes: 8, base: Duration::from_millis(100), cap: Duration::from_secs(2) };

/// A session.
pub(super) struct Session {
    pub(super) client: Client,
    pub(super) revision: &'static str,
    pub(super) modern: bool,
    /// Whether the revision lets tools ask (from 2025-06-18).
    pub(super) asks: bool,
    /// Whether a call's broken stream can be taken up again.
    pub(super) resumes: bool,
    /// Its id; another one when the server did not know the old one any more.
    id: RefCell<Option<String>>,
    pub(super) person: Person,
    pub(super) steps: Cell<u32>,
    /// Lanes that do something in it.
    busy: Cell<u32>,
    /// What each lane left on the server.
    pub(super) memories: Vec<RefCell<Memory>>,
}

/// Somebody does something in a session, which is not ended meanwhile.
pub(super) struct Busy<'a>(&'a Cell<u32>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// What one lane left on the server.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) counter: Counter,
    /// Under which key; a counter of which too little is known is left behind.
    pub(super) round: u32,
    /// What names the values, where there is no session.
    pub(super) handle: Option<String>,
    /// The session that they belong to.
    pub(super) session: Option<String>,
}

// === impl Session ===

impl Session {
    /// Opens one. Counts that, and why it did not come about.
    pub(super) async fn open(world: &World, number: u32, intended: Instant) -> Option<Self> {
        let choice = world.plan.revision(number);
        let initialize = matches!(choice, RevisionChoice::Auto | RevisionChoice::V2026_07_28);
        let operation = if initialize { &world.names.discover } else { &world.names.initialize };
        let person = Person::default();
        let sent = Instant::now();
        world.recorder.started(operation, intended);
        let builder = builder(world, number, choice).questions(person.clone());
        let outcome = builder.connect().await;
        let who = world.who(number, choice.as_str());
        let outcome = match outcome {
            Ok(client) => {
                world.recorder.ended(Ended { who, operation, intended, sent, outcome: Ok(()) });
                Some(client)
            }
            Err(error) => {
                let outcome = Err(failure::of(&error, &Trace::default()));
                world.recorder.ended(Ended { who, operation, intended, sent, outcome });
                None
            }
        };
        let client = outcome?;
        let server = client.server().map(|server| format!("{} {}", server.name, server.version));
        world.recorder.with(|tally| {
            tally.sessions.opened += 1;
            if let Some(server) = server {
                tally.add_server(&server, 1);
            }
        });
        world.recorder.sessions_open.set(world.recorder.sessions_open.get() + 1);
        let (revision, id) = (client.revision(), client.session_id());
        Some(Self {
            client,
            revision: revision.as_str(),
            modern: revision.era() == Era::Modern,
            asks: revision >= Revision::V2025_06_18,
            resumes: revision.features().resumable,
            id: RefCell::new(id),
            person,
            steps: Cell::new(0),
            busy: Cell::new(0),
            memories: (0..world.plan.connections).map(|_| RefCell::default()).collect(),
        })
    }

    /// Counts a session that the server had lost, once, whoever noticed it.
    pub(super) fn note_renewal(&self, world: &World) {
        let now = self.client.session_id();
        if self.id.replace(now.clone()) != now {
            world.recorder.with(|tally| {
                tally.sessions.lost += 1;
                tally.sessions.opened += 1;
            });
        }
    }

    /// Keeps it from being ended until what is returned is dropped.
    pub(super) fn busy(&self) -> Busy<'_> {
        self.busy.set(self.busy.get() + 1);
        Busy(&self.busy)
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy.get() > 0
    }

    /// Ends it with DELETE.
    pub(super) async fn delete(&self, world: &World, number: u32) {
        let (operation, now) = (&world.names.delete, Instant::now());
        if self.modern {
            return self.leave(world);
        }
        world.recorder.started(operation, now);
        let closed = self.client.close().await;
        self.gone(world);
        let who = world.who(number, self.revision);
        let outcome = closed.map_err(|error: Error| failure::of(&error, &Trace::default()));
        if outcome.is_ok() {
            world.recorder.with(|tally| tally.sessions.deleted += 1);
        }
        world.recorder.ended(Ended { who, operation, intended: now, sent: now, outcome });
    }

    /// Leaves it without a word.
    pub(super) fn leave(&self, world: &World) {
        self.client.abandon();
        world.recorder.with(|tally| tally.sessions.abandoned += 1);
        self.gone(world);
    }

    /// Ends it when the run is over: that is no part of what is measured.
    pub(super) async fn end(&self, world: &World) {
        // A server that is gone need not be told.
        let _told = tokio::time::timeout(world.patience(), self.client.close()).await;
        self.gone(world);
    }

    fn gone(&self, world: &World) {
        let open = &world.recorder.sessions_open;
        open.set(open.get().saturating_sub(1));
    }
}

/// How a client of the plan is built.
pub(super) fn builder(world: &World, number: u32, choice: RevisionChoice) -> Builder {
    let plan = &world.plan;
    let revision = match choice {
        RevisionChoice::Auto => None,
        RevisionChoice::V2024_11_05 => Some(Revision::V2024_11_05),
        RevisionChoice::V2025_03_26 => Some(Revision::V2025_03_26),
        RevisionChoice::V2025_06_18 => Some(Revision::V2025_06_18),
        RevisionChoice::V2025_11_25 => Some(Revision::V2025_11_25),
        RevisionChoice::V2026_07_28 => Some(Revision::V2026_07_28),
    };
    let oldest = revision == Some(Revision::V2024_11_05) && plan.url.ends_with("/sse");
    let mut builder = if oldest { Client::sse(&plan.url) } else { Client::http(&plan.url) };
    builder = builder
        .implementation(Implementation::new(format!("loadtest-{number}"), env!("CARGO_PKG_VERSION")))
        .timeout(plan.timeout.get())
        .retry(RETRY)
        .connections(crate::limits::calls(plan) as usize)
        .notifications(NOTIFICATIONS);
    if let Some(revision) = revision {
        builder = builder.revision(revision);
    }
    for (name, value) in &plan.headers {
        builder = builder.header(name, value);
    }
    if !plan.bearers.is_empty() {
        builder = builder.bearer(plan.bearers[number as usize % plan.bearers.len()].clone());
    }
    builder
}

/// What a client is called in templates and on the server: unique in the run, and in runs with other seeds.
pub(super) fn name(seed: u64, number: u32) -> String {
    format!("c{number}-{:08x}", super::random::mix(seed, number, 0xbeef) as u32)
}

/// The operations that have fixed names.
pub(super) struct Names {
    pub(super) initialize: Operation,
    pub(super) discover: Operation,
    pub(super) delete: Operation,
    pub(super) delivery: Operation,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            initialize: Operation::new("initialize"),
            discover: Operation::new("server/discover"),
            delete: Operation::new("DELETE"),
            delivery: Operation::new(Operation::DELIVERY),
        }
    }
}
