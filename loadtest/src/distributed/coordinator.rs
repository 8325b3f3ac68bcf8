//! The coordinator: waits for its agents, starts them together, adds up what they count, and ends them together.
//!
//! One task owns everything and decides; each connection has a task of its own (`peer`) that speaks the
//! protocol and tells the owner what came. Clocks of machines are never compared: an agent is told to start in so many
//! microseconds from when it reads that, less half of the shortest round trip that was measured to it.

use std::{
    io,
    net::SocketAddr,
    time::{Duration, SystemTime},
};

use tokio::{
    net::TcpListener,
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    peer::{self, Command, Event, Greeting, Number},
    secret::Secret,
};
use crate::{
    driver::Observer,
    plan::{Plan, Share},
    report::Machine,
    tally::{SCHEMA, Tally},
};

/// The most agents: each has a few tasks and buffers here, and more machines than that have no one coordinator.
pub const AGENTS: u32 = 256;

/// How long before the start the agents are told of it, beyond the slowest round trip.
const LEAD: Duration = Duration::from_millis(300);

/// What agents have told that was not looked at yet. An agent waits where it is full, and nothing is lost.
const EVENTS: usize = 64;

/// How often the observer is told.
const SECOND: Duration = Duration::from_secs(1);

/// How long agents may take to end when they were told to: their clients have requests under way.
const END: Duration = Duration::from_secs(15);

/// What a coordinator needs to know.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many agents share the clients.
    pub agents: u32,
    /// The shared secret.
    pub secret: Secret,
    /// What is to be done.
    pub plan: Plan,
}

/// Told how a distributed run goes on.
pub trait Watcher: Observer {
    /// Something that a person should know.
    fn notice(&mut self, text: &str);
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Everything that was counted, by all agents.
    pub tally: Tally,
    /// When the clients began, by this machine's clock; for people.
    pub started: SystemTime,
    /// How long it was from then until the last agent had ended.
    pub length: Duration,
    /// Each agent, by its share.
    pub agents: Vec<AgentOutcome>,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// What became of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOutcome {
    /// Its name and address.
    pub name: String,
    /// Its share.
    pub share: Share,
    /// What it ran on.
    pub machine: Machine,
    /// When it was lost, from the start, and how; `None` if it did its share.
    pub lost: Option<(Duration, String)>,
}

/// Why there was no run.
#[derive(Debug, thiserror::Error)]
pub enum CoordinatorError {
    /// Nothing can listen there.
    #[error("cannot listen on {address}: {source}; mend --bind")]
    Bind {
        /// Where.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// An agent cannot begin, and no other could.
    #[error("{agent}: {reason}")]
    Hopeless {
        /// Which agent.
        agent: String,
        /// Why, and what to change.
        reason: String,
    },
    /// It was ended before all agents were there.
    #[error("ended before the start: {there} of {wanted} agents were ready")]
    Ended {
        /// How many were ready.
        there: usize,
        /// How many were to be.
        wanted: u32,
    },
    /// Nobody is left.
    #[error("every agent was lost before it had counted anything")]
    AllLost,
}

/// A coordinator that listens.
#[derive(Debug)]
pub struct Coordinator {
    listener: TcpListener,
    options: Options,
}

/// An agent's place.
#[derive(Debug)]
struct Slot {
    /// The connection that has it.
    number: Number,
    name: String,
    commands: mpsc::Sender<Command>,
    machine: Machine,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Joined,
    /// With the shortest round trip.
    Ready(Duration),
    Running,
    Done,
    Lost {
        at: Duration,
        why: String,
    },
}

/// The owner.
struct Owner<'a> {
    plan: &'a Plan,
    slots: Vec<Option<Slot>>,
    events: mpsc::Receiver<Event>,
    watcher: &'a mut dyn Watcher,
    tally: Tally,
    /// What the observer has not been told yet.
    news: Tally,
}

/// The time of the start.
#[derive(Clone, Copy)]
struct Started {
    at: Instant,
    wall: SystemTime,
}

// === impl Coordinator ===

impl Coordinator {
    /// Listens.
    ///
    /// # Errors
    /// [`CoordinatorError::Bind`].
    pub async fn bind(address: &str, options: Options) -> Result<Self, CoordinatorError> {
        let bind = |source| CoordinatorError::Bind { address: address.to_owned(), source };
        Ok(Self { listener: TcpListener::bind(address).await.map_err(bind)?, options })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// That the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Waits for the agents, runs the plan, and returns what all of them counted. `stop` ends it early and in order.
    ///
    /// # Errors
    /// See [`CoordinatorError`].
    pub async fn run(
        self,
        watcher: &mut dyn Watcher,
        stop: &CancellationToken,
    ) -> Result<Outcome, CoordinatorError> {
        let Options { agents, secret, plan } = self.options;
        let (to_owner, events) = mpsc::channel(EVENTS);
        let greeting = Greeting { secret, plan: plan.clone(), agents };
        let _accepting =
            AbortOnDropHandle::new(tokio::spawn(peer::accept(self.listener, greeting, to_owner)));
        let slots = (0..agents).map(|_| None).collect();
        let empty = || Tally { slot_seconds: plan.slot_seconds(), ..Tally::default() };
        let mut owner = Owner { plan: &plan, slots, events, watcher, tally: empty(), news: empty() };
        match owner.gather(stop).await {
            Ok(()) => {}
            Err(error) => {
                owner.dismiss().await;
                return Err(error);
            }
        }
        let started = owner.start().await;
        let stopped = owner.watch(started, stop).await;
        let length = started.at.elapsed();
        owner.dismiss().await;
        owner.outcome(started, length, stopped)
    }
}

// === impl Owner ===

impl Owner<'_> {
    /// Until every place has an agent that can begin.
    async fn gather(&mut self, stop: &CancellationToken) -> Result<(), CoordinatorError> {
        while !self.slots.iter().flatten().all(|slot| matches!(slot.state, State::Ready(_)))
            || self.slots.iter().any(Option::is_none)
        {
            let event = tokio::select! {
                event = self.events.recv() => event,
                () = stop.cancelled() => None,
            };
            let Some(event) = event else {
                let ready = |slot: &&Slot| matches!(slot.state, State::Ready(_));
                let there = self.slots.iter().flatten().filter(ready).count();
                return Err(CoordinatorError::Ended { there, wanted: self.wanted() });
            };
            self.gathering(event)?;
        }
        Ok(())
    }

    fn gathering(&mut self, event: Event) -> Result<(), CoordinatorError> {
        match event {
            Event::Join { number, name, commands, reply } => self.join(number, name, commands, reply),
            Event::Ready { number, round_trip, machine } => {
                let wanted = self.wanted();
                if let Some(slot) = self.slot(number) {
                    slot.state = State::Ready(round_trip);
                    slot.machine = *machine;
                    let name = slot.name.clone();
                    let ready = |slot: &&Slot| matches!(slot.state, State::Ready(_));
                    let there = self.slots.iter().flatten().filter(ready).count();
                    self.watcher.notice(&format!("agent {there} of {wanted} is ready: {name}"));
                }
            }
            Event::Unable { number, reason, hopeless } => {
                let Some(slot) = self.vacate(number) else { return Ok(()) };
                if hopeless {
                    return Err(CoordinatorError::Hopeless { agent: slot.name, reason });
                }
                self.watcher.notice(&format!("{} cannot take part: {reason}", slot.name));
            }
            Event::Lost { number, why } => {
                if let Some(slot) = self.vacate(number) {
                    self.watcher.notice(&format!("{} is gone before the start: {why}", slot.name));
                }
            }
            Event::Done { number, .. } => {
                if let Some(slot) = self.vacate(number) {
                    self.watcher.notice(&format!("{} has left before the start", slot.name));
                }
            }
            Event::Turned { text } => self.watcher.notice(&text),
            // Nothing is counted before the start.
            Event::Progress { .. } => {}
        }
        Ok(())
    }

    fn join(&mut self, number: Number, name: String, commands: mpsc::Sender<Command>, reply: peer::Reply) {
        let free = self.slots.iter().position(Option::is_none);
        if let Some(index) = free {
            self.slots[index] =
                Some(Slot { number, name, commands, machine: Machine::default(), state: State::Joined });
        } else {
            self.watcher.notice(&format!("{name} was turned away: there are {} agents", self.wanted()));
        }
        // One that is gone meanwhile says so by `Lost`.
        let _told = reply.send(free.and_then(|index| u32::try_from(index).ok()));
    }

    /// Tells every agent when to begin.
    async fn start(&mut self) -> Started {
        let round_trips = self.slots.iter().flatten().map(|slot| match slot.state {
            State::Ready(round_trip) => round_trip,
            _ => Duration::ZERO,
        });
        let wait = LEAD + round_trips.max().unwrap_or_default();
        let started = Started { at: Instant::now() + wait, wall: SystemTime::now() + wait };
        for slot in self.slots.iter_mut().flatten() {
            slot.state = State::Running;
            // One that is gone says so by `Lost`.
            let _told = slot.commands.send(Command::Start(started.at)).await;
        }
        tokio::time::sleep_until(started.at).await;
        self.watcher.begin();
        started
    }

    /// Until every agent is done or lost. Says whether it was stopped before.
    async fn watch(&mut self, started: Started, stop: &CancellationToken) -> bool {
        let mut tick = interval(SECOND);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut end = None;
        while self.slots.iter().flatten().any(|slot| slot.state == State::Running) {
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => self.running(event, started),
                    None => break,
                },
                _ = tick.tick() => {
                    self.tell_observer();
                    if end.is_some_and(|end| Instant::now() > end) {
                        self.lose_the_rest(started);
                    }
                }
                () = stop.cancelled(), if end.is_none() => {
                    self.watcher.notice("stopping every agent");
                    end = Some(Instant::now() + END);
                    self.command_all(&Command::Stop).await;
                }
            }
        }
        self.tell_observer();
        end.is_some()
    }

    fn running(&mut self, event: Event, started: Started) {
        let at = started.at.elapsed();
        match event {
            Event::Progress { number, tally } => {
                let fits = tally.schema == SCHEMA && tally.slot_seconds == self.plan.slot_seconds();
                if self.slot(number).is_none() {
                    // It was given up before this came.
                } else if fits {
                    self.tally.merge(&tally);
                    self.news.merge(&tally);
                } else {
                    self.lose(
                        number,
                        at,
                        "it counts differently: use the same release everywhere".to_owned(),
                    );
                }
            }
            Event::Done { number, early: false } => {
                if let Some(slot) = self.slot(number) {
                    slot.state = State::Done;
                }
            }
            Event::Done { number, early: true } => {
                self.lose(number, at, "it was ended at its machine".to_owned());
            }
            Event::Lost { number, why } => self.lose(number, at, why),
            Event::Unable { number, reason, .. } => self.lose(number, at, reason),
            Event::Join { name, reply, .. } => {
                self.watcher.notice(&format!("{name} was turned away: the run has begun"));
                // One that is gone need not know.
                let _told = reply.send(None);
            }
            Event::Turned { text } => self.watcher.notice(&text),
            // Once is enough.
            Event::Ready { .. } => {}
        }
    }

    fn lose(&mut self, number: Number, at: Duration, why: String) {
        if let Some(slot) = self.slot(number).filter(|slot| slot.state == State::Running) {
            let text = format!("lost {} after {:.1} s: {why}", slot.name, at.as_secs_f64());
            slot.state = State::Lost { at, why };
            self.watcher.notice(&text);
        }
    }

    fn lose_the_rest(&mut self, started: Started) {
        let running = |slot: &&Slot| slot.state == State::Running;
        let rest: Vec<Number> = self.slots.iter().flatten().filter(running).map(|slot| slot.number).collect();
        for number in rest {
            self.lose(number, started.at.elapsed(), format!("it did not end within {END:?}"));
        }
    }

    fn tell_observer(&mut self) {
        let empty = Tally { slot_seconds: self.plan.slot_seconds(), ..Tally::default() };
        let news = std::mem::replace(&mut self.news, empty);
        self.watcher.progress(&news);
    }

    /// Nothing more is wanted of anybody. Returns when they have been told.
    async fn dismiss(&mut self) {
        self.command_all(&Command::Bye).await;
        for slot in self.slots.iter_mut().flatten() {
            // Until its task has ended, or has not for as long as a frame may take.
            slot.commands.closed().await;
        }
    }

    async fn command_all(&mut self, command: &Command) {
        for slot in self.slots.iter().flatten() {
            // One that is gone needs no command.
            let _told = slot.commands.send(command.clone()).await;
        }
    }

    fn outcome(self, started: Started, length: Duration, stopped: bool) -> Result<Outcome, CoordinatorError> {
        let of = self.wanted();
        let agents: Vec<AgentOutcome> = self
            .slots
            .into_iter()
            .zip(0..)
            .filter_map(|(slot, index)| {
                let Slot { name, machine, state, .. } = slot?;
                let lost = if let State::Lost { at, why } = state { Some((at, why)) } else { None };
                Some(AgentOutcome { name, share: Share { index, of }, machine, lost })
            })
            .collect();
        if agents.iter().all(|agent| agent.lost.is_some()) && self.tally.timeline.is_empty() {
            return Err(CoordinatorError::AllLost);
        }
        Ok(Outcome { tally: self.tally, started: started.wall, length, agents, stopped })
    }

    fn wanted(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }

    /// The place of a connection.
    fn slot(&mut self, number: Number) -> Option<&mut Slot> {
        self.slots.iter_mut().flatten().find(|slot| slot.number == number)
    }

    fn vacate(&mut self, number: Number) -> Option<Slot> {
        self.slots.iter_mut().find(|slot| slot.as_ref().is_some_and(|slot| slot.number == number))?.take()
    }
}
