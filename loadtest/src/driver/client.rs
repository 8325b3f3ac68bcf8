//! One virtual client: its sessions one after the other, and its lanes, each of which does one thing at a time.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::{Duration, Instant},
};

use rand::{Rng, rngs::SmallRng};
use tokio::sync::RwLock;

use super::{
    action::{self, Doing},
    listener,
    pacer::Inbox,
    random,
    session::{self, Session},
    world::World,
};
use crate::plan::{Begin, End};

/// How long a client that could not open a session waits before it tries again: between half and one and a half of it.
const AGAIN: Duration = Duration::from_millis(500);

/// How often it is looked whether other lanes are done with a session.
const POLL: Duration = Duration::from_millis(1);

/// One virtual client.
pub(super) struct Virtual {
    pub(super) world: Rc<World>,
    pub(super) number: u32,
    pub(super) name: String,
    /// Lanes read it while they do something; whoever opens or ends one writes.
    session: RwLock<Option<Rc<Session>>>,
    /// Absent in a closed loop.
    pub(super) inbox: Option<Rc<Inbox>>,
    /// Requests that were made.
    pub(super) sequence: Cell<u32>,
    /// Which replica answered last.
    pub(super) replica: RefCell<Option<Box<str>>>,
}

/// One thing at a time.
struct Lane {
    client: Rc<Virtual>,
    number: u32,
    choices: SmallRng,
    first: bool,
}

// === impl Virtual ===

impl Virtual {
    pub(super) fn new(world: Rc<World>, number: u32, inbox: Option<Rc<Inbox>>) -> Rc<Self> {
        let name = session::name(world.plan.seed, number);
        let (session, replica) = (RwLock::default(), RefCell::default());
        Rc::new(Self { world, number, name, session, inbox, sequence: Cell::new(0), replica })
    }

    /// Lives until the run is over.
    pub(super) async fn live(self: Rc<Self>) {
        let start = self.begins();
        if !self.world.sleep(start.saturating_duration_since(Instant::now())).await {
            return;
        }
        self.session(start).await;
        let listening = self.world.plan.scenario.listen.is_some();
        let listener = async {
            if listening {
                listener::listen(&self).await;
            }
        };
        let lanes = if self.world.weights == 0 { 0 } else { self.world.plan.connections };
        let lanes = (0..lanes).map(|number| {
            let choices = random::choices(self.world.plan.seed, self.number, number);
            Lane { client: self.clone(), number, choices, first: true }.run()
        });
        futures_util::future::join(listener, futures_util::future::join_all(lanes)).await;
        let last = self.session.write().await.take();
        if let Some(session) = last {
            session.end(&self.world).await;
        }
    }

    fn begins(&self) -> Instant {
        let world = &self.world;
        match world.plan.scenario.begin {
            Begin::AtOnce => world.recorder.start,
            Begin::Spread(over) => {
                let share = f64::from(self.number) / f64::from(world.plan.clients);
                world.recorder.start + over.get().mul_f64(share)
            }
        }
    }

    /// The session, opened if there is none.
    pub(super) async fn session(&self, intended: Instant) -> Option<Rc<Session>> {
        if let Some(session) = &*self.session.read().await {
            return Some(session.clone());
        }
        let mut place = self.session.write().await;
        if place.is_none() {
            *place = Session::open(&self.world, self.number, intended).await.map(Rc::new);
        }
        place.clone()
    }

    /// Whether this is the session that it has now.
    pub(super) async fn has(&self, session: &Rc<Session>) -> bool {
        self.session.read().await.as_ref().is_some_and(|now| Rc::ptr_eq(now, session))
    }

    /// Ends a session that has lasted long enough, in one of the ways of the scenario.
    async fn renew(&self, session: &Rc<Session>, way: u32) {
        let mut place = self.session.write().await;
        if !place.as_ref().is_some_and(|now| Rc::ptr_eq(now, session)) {
            return;
        }
        // Other lanes finish what they do in it; they begin nothing meanwhile.
        while session.is_busy() {
            tokio::time::sleep(POLL).await;
        }
        let End { delete, abandon, .. } = self.world.plan.scenario.life.end;
        if way < delete {
            *place = None;
            session.delete(&self.world, self.number).await;
        } else if way < delete + abandon {
            *place = None;
            session.leave(&self.world);
        } else {
            // The old one's connections stay until the new one is there.
            *place = Session::open(&self.world, self.number, Instant::now()).await.map(Rc::new);
            session.leave(&self.world);
        }
    }
}

// === impl Lane ===

impl Lane {
    async fn run(mut self) {
        let client = self.client.clone();
        let world = &client.world;
        while let Some(intended) = self.next().await {
            let Some(session) = client.session(intended).await else {
                if client.inbox.is_some() {
                    world.recorder.dropped(intended);
                }
                let wait = AGAIN.mul_f64(self.choices.random_range(0.5..1.5));
                if !world.sleep(wait).await {
                    return;
                }
                continue;
            };
            let step = self.draw();
            let doing = Doing {
                client: &client,
                session: &session,
                lane: self.number as usize,
                intended,
                operation: &world.operations[step],
            };
            let busy = session.busy();
            action::perform(&doing, &world.plan.scenario.steps[step].action, &mut self.choices).await;
            drop(busy);
            self.age(&session).await;
        }
    }

    /// When the next step is due, at that time. `None` when there are no more.
    async fn next(&mut self) -> Option<Instant> {
        let world = &self.client.world;
        if let Some(inbox) = &self.client.inbox {
            return inbox.next().await;
        }
        let think = world.plan.scenario.think.get();
        if !think.is_zero() {
            // The first one waits for a part of it, so that clients that begin together do not go on together.
            let share = if self.first { 0.0..1.0 } else { 0.5..1.5 };
            if !world.sleep(think.mul_f64(self.choices.random_range(share))).await {
                return None;
            }
        }
        self.first = false;
        let now = Instant::now();
        (now < world.end && !world.over.is_cancelled()).then_some(now)
    }

    /// Which step is next.
    fn draw(&mut self) -> usize {
        let world = &self.client.world;
        let mut drawn = self.choices.random_range(0..world.weights);
        let chosen = world.plan.scenario.steps.iter().position(|step| {
            let here = drawn < step.weight;
            drawn = drawn.saturating_sub(step.weight);
            here
        });
        chosen.unwrap_or(0)
    }

    async fn age(&mut self, session: &Rc<Session>) {
        let life = self.client.world.plan.scenario.life;
        session.steps.set(session.steps.get() + 1);
        if life.steps > 0 && session.steps.get() >= life.steps {
            let End { delete, abandon, refresh } = life.end;
            let way = self.choices.random_range(0..(delete + abandon + refresh).max(1));
            self.client.renew(session, way).await;
        }
    }
}
