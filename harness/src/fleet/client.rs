//! One client: its connections, its session, and the lanes in which it does several things at once.

use std::{
    ops::Range,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::json;
use trunkline_protocol::{Revision, revision::Era};

use super::{
    history::{Answer, End, History, Kind, Recorder, What},
    http::Http,
    message::{Ask, words},
    plan::{Plan, SLOTS, around},
    session::Session,
};

/// How long a client stays away if it is told to come back without being told when.
const STAY_AWAY: Duration = Duration::from_secs(1);

/// Something that a client does until the fleet stops.
pub(super) type Lane = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One client.
pub(super) struct Client {
    pub(super) index: u32,
    pub(super) revision: Revision,
    pub(super) plan: Arc<Plan>,
    pub(super) http: Http,
    pub(super) log: Recorder,
    /// The session, once there is one.
    pub(super) current: tokio::sync::Mutex<Option<Arc<Session>>>,
    /// Whether it has begun to listen.
    pub(super) ready: AtomicBool,
    calls: AtomicU32,
    ids: AtomicI64,
    sessions: AtomicU32,
    random: Mutex<StdRng>,
}

/// What a client remembers of the values it keeps on the server.
#[derive(Debug, Default)]
struct Kept {
    /// Whose they are: the number of the session, or of the handle.
    owner: u32,
    /// The handle, where there is no session.
    handle: Option<String>,
    /// Whether something was remembered.
    remembered: bool,
}

// === impl Client ===

impl Client {
    pub(super) fn new(index: u32, revision: Revision, plan: Arc<Plan>, began: Instant) -> Self {
        let rings = plan.rings(index);
        Self {
            index,
            revision,
            http: Http::new(&plan.url),
            log: Recorder::new(began, History::new(index, revision, rings)),
            current: tokio::sync::Mutex::new(None),
            ready: AtomicBool::new(false),
            calls: AtomicU32::new(0),
            ids: AtomicI64::new(1),
            sessions: AtomicU32::new(0),
            random: Mutex::new(stream(plan.seed, index, 0)),
            plan,
        }
    }

    /// Everything that ends when the fleet stops.
    pub(super) fn lanes(self: &Arc<Self>) -> Vec<Lane> {
        let mut lanes: Vec<Lane> = vec![
            Box::pin(self.clone().chatter(stream(self.plan.seed, self.index, 1))),
            Box::pin(self.clone().wait_and_ask(stream(self.plan.seed, self.index, 2))),
        ];
        for (at, (ring, pause)) in self.plan.touches(self.index).into_iter().enumerate() {
            let random = stream(self.plan.seed, self.index, 3 + at as u64);
            lanes.push(Box::pin(self.clone().touch(ring, pause, random)));
        }
        lanes
    }

    pub(super) fn next_call(&self) -> u32 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn next_id(&self) -> i64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn next_session(&self) -> u32 {
        self.sessions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A factor with jitter.
    pub(super) fn factor(&self, range: Range<f64>) -> f64 {
        self.random.lock().random_range(range)
    }

    /// A pause with jitter, in milliseconds.
    pub(super) fn jitter(&self, range: Range<u64>) -> Duration {
        Duration::from_millis(self.random.lock().random_range(range))
    }

    /// How long to stay away when told so: at least that long, and not all clients equally long.
    pub(super) fn stay_away(&self, retry_after: Option<Duration>) -> Duration {
        retry_after.unwrap_or(STAY_AWAY).mul_f64(self.factor(1.0..1.5))
    }

    /// Whether the client goes on: the fleet has not ended, and there is room for what happens.
    async fn goes_on(&self, random: &mut StdRng, pause: Duration) -> bool {
        let pause = Duration::from_secs_f64(random.random_range(around(pause)));
        self.plan.pause(pause).await && !self.log.is_full()
    }

    /// Calls that are answered at once.
    async fn chatter(self: Arc<Self>, mut random: StdRng) {
        let mut kept = Kept::default();
        while self.goes_on(&mut random, self.plan.pace.calls).await {
            let Some(session) = self.session().await else { return };
            self.remind(&session, &mut kept);
            let ask = self.next_ask(&mut random, &kept);
            self.make(&session, &ask, &mut kept).await;
        }
        // What the counter came to, and what is remembered.
        let Some(session) = self.session().await else { return };
        self.remind(&session, &mut kept);
        self.make(&session, &count(&kept, 0), &mut kept).await;
        if kept.remembered {
            self.make(&session, &recall(&kept), &mut kept).await;
        }
    }

    /// Another session knows nothing of what was kept in the last one.
    fn remind(&self, session: &Session, kept: &mut Kept) {
        match self.revision.era() {
            Era::Legacy if kept.owner != session.number => {
                *kept = Kept { owner: session.number, ..Kept::default() };
            }
            Era::Modern if kept.handle.is_none() => {
                *kept = Kept { owner: self.next_session(), ..Kept::default() };
            }
            Era::Legacy | Era::Modern => {}
        }
    }

    fn next_ask(&self, random: &mut StdRng, kept: &Kept) -> Ask {
        if self.revision.era() == Era::Modern && kept.handle.is_none() {
            return count(kept, 1);
        }
        match random.random_range(0..10) {
            0..=3 => count(kept, random.random_range(1..=9)),
            4 => {
                let value = random.random_range(0..1_000_000);
                let kind = Kind::Remember { session: kept.owner, value };
                keeping(kept, kind, "remember", json!({"key": "n", "value": value.to_string()}))
            }
            5 if kept.remembered => recall(kept),
            6 => {
                let (a, b): (i64, i64) = (random.random_range(-1000..1000), random.random_range(-1000..1000));
                Ask::tool(Kind::Pure { value: a + b }, "add", &json!({"a": a, "b": b}))
            }
            7 => {
                let bytes: i64 = random.random_range(1..20_000);
                Ask::tool(Kind::Pure { value: bytes }, "payload", &json!({"bytes": bytes}))
            }
            _ => {
                let value = random.random();
                Ask::tool(Kind::Pure { value }, "echo", &json!({"text": format!("#{value}")}))
            }
        }
    }

    /// Makes a call, and draws the conclusions.
    async fn make(&self, session: &Session, ask: &Ask, kept: &mut Kept) {
        let ended = self.call(session, ask).await;
        if ended.end == End::SessionLost {
            return self.let_go(session).await;
        }
        if matches!(ask.kind, Kind::Remember { .. }) && ended.value().is_some() {
            kept.remembered = true;
        }
        if self.revision.era() == Era::Legacy {
            return;
        }
        let handle = ended.message["result"]["structuredContent"]["handle"].as_str();
        if let (None, Some(handle)) = (&kept.handle, handle) {
            self.log.note(What::Opened { session: kept.owner });
            kept.handle = Some(handle.to_owned());
        }
        // The words in which a handle is unknown.
        let gone = ended.answer == Some(Answer::Failed)
            && ended.told.is_some_and(|told| told.contains("unknown or has expired"));
        if gone {
            self.log.note(What::Lost { session: kept.owner });
            kept.handle = None;
        }
    }

    /// Calls that take a while, and calls that ask the user.
    async fn wait_and_ask(self: Arc<Self>, mut random: StdRng) {
        while self.goes_on(&mut random, self.plan.pace.streams).await {
            let Some(session) = self.session().await else { return };
            // Users cannot be asked before 2025-06-18.
            let ask = if self.revision >= Revision::V2025_06_18 && random.random_bool(0.5) {
                let kind = Kind::Confirm { value: random.random_range(0..words()) };
                Ask::tool(kind, "confirm", &json!({"question": "Is it so?"}))
            } else {
                let steps = random.random_range(2..=8);
                let ms = steps * random.random_range(20..250);
                Ask::tool(Kind::Slow { ms, steps }, "slow", &json!({"ms": ms, "steps": steps}))
            };
            if self.call(&session, &ask).await.end == End::SessionLost {
                self.let_go(&session).await;
            }
        }
    }

    /// Changes the resources of a ring, one after the other.
    async fn touch(self: Arc<Self>, ring: u16, pause: Duration, mut random: StdRng) {
        let mut slot = 0;
        while self.goes_on(&mut random, pause).await {
            let Some(session) = self.session().await else { return };
            let uri = self.plan.uri(ring, slot);
            let ask = Ask::tool(Kind::Touch { ring, slot }, "touch", &json!({"uri": uri}));
            match self.call(&session, &ask).await.end {
                End::SessionLost => self.let_go(&session).await,
                // What was not run is next again.
                End::Refused | End::Closing => {}
                End::Done | End::Unknown | End::TimedOut => slot = (slot + 1) % SLOTS,
            }
        }
    }
}

fn count(kept: &Kept, by: i64) -> Ask {
    keeping(kept, Kind::Count { session: kept.owner, by }, "counter", json!({"key": "n", "by": by}))
}

fn recall(kept: &Kept) -> Ask {
    keeping(kept, Kind::Recall { session: kept.owner }, "recall", json!({"key": "n"}))
}

/// A call of a tool that keeps values, with the handle where there is one.
fn keeping(kept: &Kept, kind: Kind, tool: &str, mut arguments: serde_json::Value) -> Ask {
    if let Some(handle) = &kept.handle {
        arguments["handle"] = json!(handle);
    }
    Ask::tool(kind, tool, &arguments)
}

/// The random numbers of one lane of one client: the same for the same seed, whatever the others do.
fn stream(seed: u64, client: u32, lane: u64) -> StdRng {
    StdRng::seed_from_u64(seed ^ (u64::from(client) << 32) ^ (lane << 24))
}
