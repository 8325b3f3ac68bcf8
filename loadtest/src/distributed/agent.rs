//! An agent: joins a coordinator, and runs the share of the plan that it is given.

use std::{
    sync::mpsc as blocking,
    time::{Duration, Instant},
};

use tokio::{
    net::TcpStream,
    sync::mpsc,
    time::{Instant as TokioInstant, MissedTickBehavior, interval, sleep, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    address::Address,
    secret::{Nonce, Role, Secret},
    wire::{FromAgent, FromCoordinator, HEARTBEAT, Inbox, Outbox, SILENCE, VERSION, WireError},
};
use crate::{
    driver::{self, Observer, RunError},
    limits::{Allowed, LimitError},
    plan::{Plan, Share},
    report::Machine,
    tally::Tally,
};

/// Time between two attempts to reach the coordinator.
const RETRY: Duration = Duration::from_millis(250);

/// Time for one attempt.
const CONNECT: Duration = Duration::from_secs(5);

/// Seconds' tallies that wait to be sent. More are not needed: a coordinator that takes none for so long is gone.
const UNSENT: usize = 16;

/// How long the clients may take to end when the coordinator is gone.
const END: Duration = Duration::from_secs(5);

/// What an agent needs to know.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the coordinator is.
    pub coordinator: Address,
    /// The shared secret.
    pub secret: Secret,
    /// Its name, for people.
    pub name: String,
    /// How long it tries to reach the coordinator.
    pub patience: Duration,
}

/// Why an agent did not do its share.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Nobody listens there.
    #[error("no coordinator at {address} within {}: {reason}; start it, or mend --join", crate::units::Span(*.patience))]
    Unreachable {
        /// Where.
        address: Address,
        /// How long it was tried.
        patience: Duration,
        /// What happened last.
        reason: String,
    },
    /// It wants no part of this agent.
    #[error("{0}")]
    Refused(String),
    /// It does not know the secret.
    #[error("the coordinator at {0} does not know this secret: use the same one on both sides")]
    Impostor(Address),
    /// It speaks another version of the protocol.
    #[error(
        "the coordinator speaks version {theirs} of the protocol and this agent {VERSION}: use the same release of both"
    )]
    Version {
        /// The coordinator's.
        theirs: u32,
    },
    /// Something else listens there, or the connection failed before the agent had joined.
    #[error("what listens at {address} is no coordinator: {source}; mend --join")]
    NoCoordinator {
        /// Where.
        address: Address,
        /// What happened.
        source: WireError,
    },
    /// This machine cannot run its share.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Limits(Vec<LimitError>),
    /// The limits cannot be asked for.
    #[error("cannot raise the limit of file descriptors: {0}")]
    Raise(std::io::Error),
    /// The clients could not begin.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The coordinator went away.
    #[error("the coordinator is gone ({0}): the clients were ended")]
    Gone(WireError),
    /// It ended everything before the start.
    #[error("the coordinator ended before the start")]
    Over,
    /// Somebody ended this agent before its share was done.
    #[error("ended before its share was done")]
    Ended,
}

/// What the thread with the clients tells.
enum Event {
    Ready,
    Progress(Box<Tally>),
    Ended(Result<(), RunError>),
}

/// Passes on what the clients did, and has them wait for the start.
struct Reporter {
    events: mpsc::Sender<Event>,
    start: blocking::Receiver<Instant>,
}

/// Both halves of the connection, after the greeting.
struct Joined {
    inbox: Inbox<tokio::net::tcp::OwnedReadHalf>,
    outbox: Outbox<tokio::net::tcp::OwnedWriteHalf>,
    plan: Plan,
    share: Share,
}

/// The agent at work.
struct Worker {
    outbox: Outbox<tokio::net::tcp::OwnedWriteHalf>,
    events: mpsc::Receiver<Event>,
    /// Dropped, the clients do not begin.
    start: Option<blocking::SyncSender<Instant>>,
    /// Ends the clients.
    halt: CancellationToken,
    share: Share,
    done: bool,
}

/// What comes next.
enum Next {
    Message(Result<FromCoordinator, WireError>),
    Event(Option<Event>),
    Beat,
    Stop,
}

/// Joins, does its share, and returns when the coordinator has everything. `stop` ends it early. `say` is told what a
/// person should know.
///
/// # Errors
/// See [`AgentError`].
pub async fn run(
    options: &Options,
    stop: &CancellationToken,
    say: &(dyn Fn(&str) + Sync),
) -> Result<(), AgentError> {
    let stream = tokio::select! {
        stream = connect(options) => stream?,
        () = stop.cancelled() => return Err(AgentError::Ended),
    };
    let joined = tokio::select! {
        joined = join(stream, options) => joined?,
        () = stop.cancelled() => return Err(AgentError::Ended),
    };
    let Joined { inbox, mut outbox, plan, share } = joined;
    say(&format!(
        "joined {}: share {share} of {} clients against {}",
        options.coordinator, plan.clients, plan.url
    ));
    let enough = Allowed::raised()
        .map_err(AgentError::Raise)
        .and_then(|allowed| allowed.suffices(&plan, share).map_err(AgentError::Limits));
    if let Err(error) = enough {
        // A coordinator that is gone need not be told.
        let _told = outbox.say(&FromAgent::Unable { reason: error.to_string(), hopeless: false }).await;
        return Err(error);
    }
    Worker::begin(outbox, plan, share).work(inbox, stop).await
}

async fn connect(options: &Options) -> Result<TcpStream, AgentError> {
    let end = TokioInstant::now() + options.patience;
    loop {
        let attempt = timeout(CONNECT, TcpStream::connect(options.coordinator.as_str())).await;
        let reason = match attempt {
            Ok(Ok(stream)) => {
                // Small messages must not wait for each other. Where it cannot be set they do, and nothing breaks.
                let _set = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => error.to_string(),
            Err(_elapsed) => "no answer".to_owned(),
        };
        if TokioInstant::now() + RETRY > end {
            let (address, patience) = (options.coordinator.clone(), options.patience);
            return Err(AgentError::Unreachable { address, patience, reason });
        }
        sleep(RETRY).await;
    }
}

/// The greeting: each proves to the other that it knows the secret.
async fn join(stream: TcpStream, options: &Options) -> Result<Joined, AgentError> {
    let (read, write) = stream.into_split();
    let (mut inbox, mut outbox) = (Inbox::new(read), Outbox::new(write));
    let address = &options.coordinator;
    let strange = |source| AgentError::NoCoordinator { address: address.clone(), source };
    let unexpected = || strange(WireError::Garbled("a message out of turn".to_owned()));
    let mine = Nonce::draw();
    let hello = FromAgent::Hello { version: VERSION, nonce: mine, name: options.name.clone() };
    outbox.say(&hello).await.map_err(strange)?;
    let theirs = match inbox.next_within(SILENCE).await.map_err(strange)? {
        FromCoordinator::Challenge { version: VERSION, nonce } => nonce,
        FromCoordinator::Challenge { version, .. } => return Err(AgentError::Version { theirs: version }),
        FromCoordinator::Refused { reason } => return Err(AgentError::Refused(reason)),
        _ => return Err(unexpected()),
    };
    let proof = options.secret.prove(Role::Agent, mine, theirs);
    outbox.say(&FromAgent::Proof { proof }).await.map_err(strange)?;
    // What comes now may be a whole plan. Whoever listens there sends it unproved, but no more than the bound of a frame.
    inbox.trust();
    match inbox.next_within(SILENCE).await.map_err(strange)? {
        FromCoordinator::Welcome { proof, plan, share } => {
            if !options.secret.verifies(&proof, Role::Coordinator, mine, theirs) {
                return Err(AgentError::Impostor(address.clone()));
            }
            Ok(Joined { inbox, outbox, plan: *plan, share })
        }
        FromCoordinator::Refused { reason } => Err(AgentError::Refused(reason)),
        _ => Err(unexpected()),
    }
}

// === impl Worker ===

impl Worker {
    /// Starts the thread with the clients, which prepares everything and waits for the start.
    fn begin(outbox: Outbox<tokio::net::tcp::OwnedWriteHalf>, plan: Plan, share: Share) -> Self {
        let (to_worker, events) = mpsc::channel(UNSENT);
        let (start, from_worker) = blocking::sync_channel(1);
        let halt = CancellationToken::new();
        let stop = halt.clone();
        // Not joined: it ends with `halt`, and with the process at the latest.
        let _thread = std::thread::spawn(move || {
            let mut reporter = Reporter { events: to_worker.clone(), start: from_worker };
            let ended = driver::run(&plan, share, &mut reporter, &stop).map(drop);
            // Nobody waits for it when the coordinator is gone.
            let _told = to_worker.blocking_send(Event::Ended(ended));
        });
        Self { outbox, events, start: Some(start), halt, share, done: false }
    }

    async fn work(
        mut self,
        mut inbox: Inbox<tokio::net::tcp::OwnedReadHalf>,
        stop: &CancellationToken,
    ) -> Result<(), AgentError> {
        let mut beat = interval(HEARTBEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = TokioInstant::now();
        let mut early = false;
        loop {
            let next = tokio::select! {
                message = timeout_at(heard + SILENCE, inbox.next()) => {
                    heard = TokioInstant::now();
                    Next::Message(message.unwrap_or(Err(WireError::Silent(SILENCE))))
                }
                event = self.events.recv(), if !self.done => Next::Event(event),
                _ = beat.tick() => Next::Beat,
                () = stop.cancelled(), if !early => Next::Stop,
            };
            let gone = match next {
                Next::Message(Ok(FromCoordinator::Bye)) if self.done => {
                    return if early { Err(AgentError::Ended) } else { Ok(()) };
                }
                Next::Message(Ok(FromCoordinator::Bye)) => return self.give_up(AgentError::Over).await,
                Next::Message(Ok(FromCoordinator::Refused { reason })) => {
                    return self.give_up(AgentError::Refused(reason)).await;
                }
                Next::Message(Ok(message)) => self.obey(&message).await,
                Next::Message(Err(error)) => Err(error),
                Next::Event(event) => match self.tell(event, early).await {
                    Err(Untold::Run(error)) => return Err(error.into()),
                    Err(Untold::Wire(error)) => Err(error),
                    Ok(()) => Ok(()),
                },
                Next::Beat => self.outbox.say(&FromAgent::Alive).await,
                Next::Stop => {
                    early = true;
                    self.end_clients();
                    Ok(())
                }
            };
            if let Err(error) = gone {
                return self.give_up(AgentError::Gone(error)).await;
            }
        }
    }

    async fn obey(&mut self, message: &FromCoordinator) -> Result<(), WireError> {
        match message {
            FromCoordinator::Ping { number } => {
                return self.outbox.say(&FromAgent::Pong { number: *number }).await;
            }
            FromCoordinator::Start { in_us } => {
                if let Some(start) = &self.start {
                    // Sent once; the thread waits for it, or has ended.
                    let _told = start.try_send(Instant::now() + Duration::from_micros(*in_us));
                }
            }
            FromCoordinator::Stop => self.end_clients(),
            FromCoordinator::Alive => {}
            FromCoordinator::Challenge { .. }
            | FromCoordinator::Welcome { .. }
            | FromCoordinator::Refused { .. }
            | FromCoordinator::Bye => {
                return Err(WireError::Garbled("a message out of turn".to_owned()));
            }
        }
        Ok(())
    }

    async fn tell(&mut self, event: Option<Event>, early: bool) -> Result<(), Untold> {
        let message = match event {
            Some(Event::Ready) => {
                FromAgent::Ready { machine: Box::new(Machine::here(&self.share.to_string())) }
            }
            Some(Event::Progress(tally)) => FromAgent::Progress { tally },
            Some(Event::Ended(Ok(()))) => {
                self.done = true;
                FromAgent::Done { early }
            }
            Some(Event::Ended(Err(error))) => {
                let unable = FromAgent::Unable { reason: error.to_string(), hopeless: true };
                // It fails either way.
                let _told = self.outbox.say(&unable).await;
                return Err(Untold::Run(error));
            }
            None => return Err(Untold::Wire(WireError::Garbled("the clients' thread panicked".to_owned()))),
        };
        self.outbox.say(&message).await.map_err(Untold::Wire)
    }

    fn end_clients(&mut self) {
        self.halt.cancel();
        // A thread that waits for the start is woken.
        self.start = None;
    }

    /// Ends the clients, whose figures nobody wants any more.
    async fn give_up(mut self, error: AgentError) -> Result<(), AgentError> {
        self.end_clients();
        // Their requests are to end in order where that is quick, so that the server sees no crash of all clients.
        let ended = async { while self.events.recv().await.is_some() {} };
        let _in_time = timeout(END, ended).await;
        Err(error)
    }
}

/// Why an event was not told.
enum Untold {
    Run(RunError),
    Wire(WireError),
}

// === impl Reporter ===

impl Observer for Reporter {
    fn begin(&mut self) {
        if self.events.blocking_send(Event::Ready).is_err() {
            return;
        }
        // Without a start the run is halted, and does not begin when this returns.
        if let Ok(start) = self.start.recv() {
            let left = start.saturating_duration_since(Instant::now());
            // Nothing else comes: this waits, and ends at once when the run is halted.
            let _waited = self.start.recv_timeout(left);
        }
    }

    fn progress(&mut self, delta: &Tally) {
        // When the coordinator is gone, the run is halted.
        let _told = self.events.blocking_send(Event::Progress(Box::new(delta.clone())));
    }
}
