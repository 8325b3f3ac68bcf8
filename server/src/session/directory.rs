//! The sessions of this replica: found here, or read from the store once, however many requests ask at the same time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use dashmap::DashMap;
use tokio::sync::Mutex;
use trunkline_protocol::SessionId;
use trunkline_store::{Change, Key, Kind, Record};

use super::{admission::Admission, live::LiveSession};
use crate::{
    error::Refusal,
    principal::Principal,
    record::{Greeting, SessionRecord},
    registry::Services,
};

/// How long a session keeps its place on a replica without use. Reading it again is one round trip to the store.
const IDLE: Duration = Duration::from_secs(60);

/// The sessions of this replica.
pub(crate) struct Directory {
    services: Arc<Services>,
    /// By ids that we minted: nobody can choose keys that collide, and a quick hash will do.
    live: DashMap<Arc<str>, Arc<LiveSession>, foldhash::fast::RandomState>,
    /// One at a time reads a session.
    reading: DashMap<Arc<str>, Arc<Reading>>,
    started: Instant,
    init_ttl: Duration,
    admission: Arc<Admission>,
}

/// A session that is being read.
#[derive(Debug, Default)]
struct Reading {
    turn: Mutex<()>,
    /// It has changed while nothing of it was here that could be marked.
    changed: AtomicBool,
}

// === impl Directory ===

impl Directory {
    /// No sessions yet. One that never gets past `initialize` expires after `init_ttl`.
    pub(super) fn new(services: Arc<Services>, init_ttl: Duration, admission: Arc<Admission>) -> Self {
        Self {
            services,
            live: DashMap::default(),
            reading: DashMap::new(),
            started: Instant::now(),
            init_ttl,
            admission,
        }
    }

    /// Opens a session in the store, as `initialize` asks for. Nothing of it is kept here until it is used.
    ///
    /// # Errors
    /// If the store cannot take it.
    pub(crate) async fn create(
        &self,
        principal: &Principal,
        greeting: &Greeting,
    ) -> Result<SessionId, Refusal> {
        let mut record = SessionRecord::unopened(principal);
        for (field, value) in SessionRecord::opening(greeting) {
            record = record.with(field, value);
        }
        self.create_record(record).await
    }

    /// Makes a session before `initialize`, for a transport that needs its id first (HTTP+SSE).
    ///
    /// # Errors
    /// If the store cannot take it.
    pub(crate) async fn create_unopened(&self, principal: &Principal) -> Result<SessionId, Refusal> {
        self.create_record(SessionRecord::unopened(principal)).await
    }

    /// Opens a session that was made before `initialize`.
    ///
    /// # Errors
    /// If it is over, or the store cannot be reached.
    pub(crate) async fn open(&self, session: &Arc<LiveSession>, greeting: &Greeting) -> Result<(), Refusal> {
        let key = Key::new(Kind::Session, session.id());
        // The field that says it is open comes last: nobody serves it before it is whole.
        for (field, value) in SessionRecord::opening(greeting) {
            if !self.services.store.set(&key, field, value).await? {
                return Err(Refusal::SessionUnknown);
            }
        }
        session.mark_stale();
        Ok(())
    }

    async fn create_record(&self, record: Record) -> Result<SessionId, Refusal> {
        self.admission.admit().await?;
        let minted = self.services.keys.mint_session_id();
        let key = Key::new(Kind::Session, &minted);
        if !self.services.store.create(&key, record, self.init_ttl).await? {
            tracing::error!("a session id of 128 random bits came twice");
            return Err(Refusal::BackendUnavailable("the source of random numbers"));
        }
        SessionId::parse(&minted).map_err(|_| Refusal::BackendUnavailable("the source of session ids"))
    }

    /// The session with this id, if it is alive and belongs to `principal`. Counts as a use.
    ///
    /// # Errors
    /// [`Refusal::SessionUnknown`] if there is none for this caller, or that the store cannot be reached.
    pub(crate) async fn find(&self, id: &str, principal: &Principal) -> Result<Arc<LiveSession>, Refusal> {
        let here = self.here(id);
        let mut now = self.now();
        let session = match here {
            Some(session) if session.is_fresh() && !self.may_have_expired(&session, now) => session,
            _ => {
                let session = Box::pin(self.read(id)).await?;
                now = self.now();
                session
            }
        };
        if !session.belongs_to(principal) {
            return Err(Refusal::SessionUnknown);
        }
        self.note_use(&session, now);
        Ok(session)
    }

    /// The session if it is here.
    pub(crate) fn here(&self, id: &str) -> Option<Arc<LiveSession>> {
        self.live.get(id).map(|entry| entry.value().clone())
    }

    /// Deletes a session everywhere but on the other replicas, which are to be told.
    ///
    /// # Errors
    /// That the store cannot be reached; the session goes on then.
    pub(crate) async fn delete(&self, session: &Arc<LiveSession>) -> Result<(), Refusal> {
        self.services.store.delete(&Key::new(Kind::Session, session.id())).await?;
        self.close(session.id());
        Ok(())
    }

    /// Ends what is here of a session that is over.
    pub(crate) fn close(&self, id: &str) {
        if let Some((_, session)) = self.live.remove(id) {
            session.close();
        }
    }

    /// Follows the store's changes, so that nothing is served from a record that has changed. Ends with the store.
    pub(crate) async fn follow_changes(&self) {
        let mut changes = self.services.store.changes();
        while let Some(change) = changes.next().await {
            match change {
                Change::Record(key) if key.kind == Kind::Session => {
                    // In this order: whoever reads looks at the mark once the session is here.
                    if let Some(reading) = self.reading.get(&*key.id) {
                        reading.changed.store(true, Ordering::Release);
                    }
                    if let Some(session) = self.live.get(&*key.id) {
                        session.mark_stale();
                    }
                }
                Change::Record(_) => {}
                Change::Unknown => {
                    self.reading.iter().for_each(|reading| reading.changed.store(true, Ordering::Release));
                    self.live.iter().for_each(|session| session.mark_stale());
                }
            }
        }
    }

    /// Lets go of sessions that are idle; they live on in the store.
    pub(crate) fn passivate(&self) {
        let before = self.now().saturating_sub(millis(IDLE));
        self.live.retain(|_, session| {
            let idle = session.is_idle_since(before);
            if idle {
                session.stop_actor();
            }
            !idle
        });
    }

    /// Ends every session's part on this replica.
    pub(crate) fn close_all(&self) {
        self.live.retain(|_, session| {
            session.close();
            false
        });
    }

    /// Reads a session that is not here, or has changed since it was read.
    async fn read(&self, id: &str) -> Result<Arc<LiveSession>, Refusal> {
        // An id that no key of ours signed costs the store nothing.
        if !self.services.keys.verify_session_id(id) {
            return Err(Refusal::SessionUnknown);
        }
        let id: Arc<str> = Arc::from(id);
        let reading = self.reading.entry(id.clone()).or_default().clone();
        let turn = reading.turn.lock().await;
        let result = match self.here(&id) {
            Some(session) if session.is_fresh() && !self.may_have_expired(&session, self.now()) => {
                Ok(session)
            }
            // The same one is kept: calls and streams of those who went before hang on it.
            Some(session) => self.refresh(session).await,
            None => self.read_from_store(&id, &reading).await,
        };
        drop(turn);
        // Those who wait for their turn hold it; it goes with the last of them.
        self.reading.remove_if(&id, |_, reading| Arc::strong_count(reading) <= 2);
        result
    }

    async fn read_from_store(&self, id: &Arc<str>, reading: &Reading) -> Result<Arc<LiveSession>, Refusal> {
        reading.changed.store(false, Ordering::Release);
        let record = self.load(id).await?;
        self.services.metrics.restored();
        let session = Arc::new(LiveSession::new(id.clone(), record, self.services.clone(), self.now()));
        self.live.insert(id.clone(), session.clone());
        if reading.changed.load(Ordering::Acquire) {
            session.mark_stale();
        }
        Ok(session)
    }

    async fn refresh(&self, session: Arc<LiveSession>) -> Result<Arc<LiveSession>, Refusal> {
        let begun = session.begin_refresh();
        match self.load(session.id()).await {
            Ok(record) => {
                session.end_refresh(begun, record);
                Ok(session)
            }
            Err(refusal) => {
                if matches!(refusal, Refusal::SessionUnknown) {
                    self.close(session.id());
                }
                Err(refusal)
            }
        }
    }

    async fn load(&self, id: &str) -> Result<SessionRecord, Refusal> {
        let key = Key::new(Kind::Session, id);
        let Some(record) = self.services.store.load(&key).await? else {
            // Expired, most likely; or one of all that are gone.
            self.admission.suspect();
            return Err(Refusal::SessionUnknown);
        };
        SessionRecord::read(&record).map_err(|error| {
            tracing::error!(%error, "a session cannot be served");
            Refusal::SessionUnknown
        })
    }

    /// Notes a use, and renews the expiry where it is time, without keeping the request waiting.
    fn note_use(&self, session: &Arc<LiveSession>, now: u64) {
        let ttl = self.services.session_ttl;
        if session.note_use(now, ttl) {
            let session = session.clone();
            tokio::spawn(async move {
                let key = Key::new(Kind::Session, session.id());
                match session.services().store.touch(&key, ttl).await {
                    Ok(true) => {}
                    Ok(false) => session.mark_stale(),
                    Err(error) => tracing::warn!(%error, "a session's expiry was not renewed"),
                }
            });
        }
    }

    /// Whether the session's life has passed since we renewed it. Another replica may have since, and the store knows.
    fn may_have_expired(&self, session: &LiveSession, now: u64) -> bool {
        session.renewed_before(now.saturating_sub(millis(self.services.session_ttl)))
    }

    fn now(&self) -> u64 {
        millis(self.started.elapsed())
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
