//! The coordinator's side of one connection.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout_at},
};

use super::{
    secret::{Nonce, Role, Secret},
    wire::{FromAgent, FromCoordinator, HEARTBEAT, Inbox, Outbox, SILENCE, VERSION, WireError},
};
use crate::{
    plan::{Plan, Share},
    report::Machine,
    tally::Tally,
};

/// Strangers who are greeted at one time. More wait, and each has little time.
const STRANGERS: usize = 64;

/// How long a stranger may take to prove himself.
const GREETING: Duration = Duration::from_secs(5);

/// Commands to one agent that are not sent yet: a start, a stop and a goodbye.
const COMMANDS: usize = 4;

/// How often the round trip is measured; the shortest is the one that nothing delayed.
const PINGS: u32 = 5;

/// The longest name of an agent that is shown.
const NAME: usize = 64;

/// Pause after a connection could not be accepted: when file descriptors are short, trying at once does not help.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A connection.
pub(super) type Number = u64;

/// Which share somebody who joins has; `None` when there is none for him.
pub(super) type Reply = oneshot::Sender<Option<u32>>;

/// What is the same for every connection.
#[derive(Clone, Debug)]
pub(super) struct Greeting {
    pub(super) secret: Secret,
    pub(super) plan: Plan,
    pub(super) agents: u32,
}

/// What a connection tells the owner.
#[derive(Debug)]
pub(super) enum Event {
    /// Somebody who knows the secret wants to take part.
    Join { number: Number, name: String, commands: mpsc::Sender<Command>, reply: Reply },
    /// Somebody was turned away.
    Turned { text: String },
    /// It can begin.
    Ready { number: Number, round_trip: Duration, machine: Box<Machine> },
    /// It cannot take part.
    Unable { number: Number, reason: String, hopeless: bool },
    /// It has counted something.
    Progress { number: Number, tally: Box<Tally> },
    /// It has done its share, or was ended at its own machine.
    Done { number: Number, early: bool },
    /// It is gone.
    Lost { number: Number, why: String },
}

/// What the owner has a connection do.
#[derive(Clone, Debug)]
pub(super) enum Command {
    /// Begin at this time.
    Start(Instant),
    /// End early.
    Stop,
    /// Everything has arrived.
    Bye,
}

/// A connection that has joined.
struct Peer {
    number: Number,
    inbox: Inbox<OwnedReadHalf>,
    outbox: Outbox<OwnedWriteHalf>,
    events: mpsc::Sender<Event>,
    commands: mpsc::Receiver<Command>,
    round_trip: Duration,
    ping: Option<Ping>,
    machine: Option<Box<Machine>>,
}

/// A measurement of the round trip.
struct Ping {
    number: u32,
    sent: Instant,
}

/// Who cannot join, and whether anybody should know.
enum Stranger {
    /// No agent, or one that has gone.
    Silent,
    /// Worth a line.
    Told(String),
}

/// Accepts connections for ever. Dropped, all of them are closed.
pub(super) async fn accept(listener: TcpListener, greeting: Greeting, events: mpsc::Sender<Event>) {
    let greeting = Arc::new(greeting);
    let strangers = Arc::new(Semaphore::new(STRANGERS));
    let mut connections = JoinSet::new();
    for number in 0.. {
        let Ok(permit) = strangers.clone().acquire_owned().await else { return };
        let (stream, address) = loop {
            match listener.accept().await {
                Ok(accepted) => break accepted,
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        };
        // Small messages must not wait for each other. Where it cannot be set they do, and nothing breaks.
        let _set = stream.set_nodelay(true);
        connections.spawn(serve(number, stream, address, greeting.clone(), events.clone(), permit));
        // Those that have ended are not kept.
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(
    number: Number,
    stream: TcpStream,
    address: SocketAddr,
    greeting: Arc<Greeting>,
    events: mpsc::Sender<Event>,
    stranger: OwnedSemaphorePermit,
) {
    let greeted =
        timeout_at(Instant::now() + GREETING, greet(number, stream, address, &greeting, &events)).await;
    drop(stranger);
    match greeted {
        Ok(Ok(mut peer)) => {
            if let Err(why) = peer.work().await {
                // An owner that is gone has no use for it.
                let _told = events.send(Event::Lost { number, why: why.to_string() }).await;
            }
        }
        Ok(Err(Stranger::Told(text))) => {
            let _told = events.send(Event::Turned { text }).await;
        }
        // Whoever looks whether the port is open, or is too slow.
        Ok(Err(Stranger::Silent)) | Err(_) => {
            let _told = events.send(Event::Lost { number, why: "it did not say who it is".to_owned() }).await;
        }
    }
}

/// Each proves to the other that it knows the secret; the agent gets its share.
async fn greet(
    number: Number,
    stream: TcpStream,
    address: SocketAddr,
    greeting: &Greeting,
    events: &mpsc::Sender<Event>,
) -> Result<Peer, Stranger> {
    let (read, write) = stream.into_split();
    let (mut inbox, mut outbox) = (Inbox::new(read), Outbox::new(write));
    let (version, theirs, name) = match inbox.next().await {
        Ok(FromAgent::Hello { version, nonce, name }) => (version, nonce, name),
        Ok(_) | Err(_) => return Err(Stranger::Silent),
    };
    let name = display_name(&name, address);
    if version != VERSION {
        let reason = format!(
            "this agent speaks version {version} of the protocol and the coordinator {VERSION}: use the same release \
             of both"
        );
        return Err(turn_away(&mut outbox, &name, &reason).await);
    }
    let mine = Nonce::draw();
    say(&mut outbox, &FromCoordinator::Challenge { version: VERSION, nonce: mine }).await?;
    let Ok(FromAgent::Proof { proof }) = inbox.next().await else { return Err(Stranger::Silent) };
    if !greeting.secret.verifies(&proof, Role::Agent, theirs, mine) {
        let reason = "the coordinator has another secret: use the same one on both sides";
        return Err(turn_away(&mut outbox, &name, reason).await);
    }
    inbox.trust();
    let (commands, from_owner) = mpsc::channel(COMMANDS);
    let (reply, answer) = oneshot::channel();
    let join = Event::Join { number, name: name.clone(), commands, reply };
    if events.send(join).await.is_err() {
        return Err(Stranger::Silent);
    }
    let Ok(Some(index)) = answer.await else {
        let reason = format!("no more agents are wanted: {} have joined", greeting.agents);
        turn_away(&mut outbox, &name, &reason).await;
        return Err(Stranger::Silent);
    };
    let welcome = FromCoordinator::Welcome {
        proof: greeting.secret.prove(Role::Coordinator, theirs, mine),
        plan: Box::new(greeting.plan.clone()),
        share: Share { index, of: greeting.agents },
    };
    say(&mut outbox, &welcome).await?;
    let (events, commands) = (events.clone(), from_owner);
    let (round_trip, ping, machine) = (Duration::MAX, None, None);
    Ok(Peer { number, inbox, outbox, events, commands, round_trip, ping, machine })
}

async fn say(outbox: &mut Outbox<OwnedWriteHalf>, message: &FromCoordinator) -> Result<(), Stranger> {
    outbox.say(message).await.map_err(|_gone| Stranger::Silent)
}

async fn turn_away(outbox: &mut Outbox<OwnedWriteHalf>, name: &str, reason: &str) -> Stranger {
    // One that is gone need not know.
    let _told = outbox.say(&FromCoordinator::Refused { reason: reason.to_owned() }).await;
    Stranger::Told(format!("{name} was turned away: {reason}"))
}

/// A name goes to a terminal: control characters do not, and it is short.
fn display_name(name: &str, address: SocketAddr) -> String {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(NAME).collect();
    format!("agent {shown} ({address})")
}

// === impl Peer ===

impl Peer {
    /// Until it is done, or gone.
    async fn work(&mut self) -> Result<(), WireError> {
        let mut beat = interval(HEARTBEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        loop {
            tokio::select! {
                message = timeout_at(heard + SILENCE, self.inbox.next()) => {
                    heard = Instant::now();
                    self.hear(message.unwrap_or(Err(WireError::Silent(SILENCE)))?).await?;
                }
                command = self.commands.recv() => match command {
                    Some(Command::Start(at)) => self.start(at).await?,
                    Some(Command::Stop) => self.outbox.say(&FromCoordinator::Stop).await?,
                    Some(Command::Bye) | None => return self.outbox.say(&FromCoordinator::Bye).await,
                },
                _ = beat.tick() => self.outbox.say(&FromCoordinator::Alive).await?,
            }
        }
    }

    async fn hear(&mut self, message: FromAgent) -> Result<(), WireError> {
        let number = self.number;
        let event = match message {
            FromAgent::Ready { machine } => {
                self.machine = Some(machine);
                return self.ping(1).await;
            }
            FromAgent::Pong { number } => return self.pong(number).await,
            FromAgent::Unable { reason, hopeless } => Event::Unable { number, reason, hopeless },
            FromAgent::Progress { tally } => Event::Progress { number, tally },
            FromAgent::Done { early } => Event::Done { number, early },
            FromAgent::Alive => return Ok(()),
            FromAgent::Hello { .. } | FromAgent::Proof { .. } => {
                return Err(WireError::Garbled("a message out of turn".to_owned()));
            }
        };
        self.tell(event).await
    }

    async fn ping(&mut self, number: u32) -> Result<(), WireError> {
        self.ping = Some(Ping { number, sent: Instant::now() });
        self.outbox.say(&FromCoordinator::Ping { number }).await
    }

    async fn pong(&mut self, number: u32) -> Result<(), WireError> {
        let Some(ping) = self.ping.take().filter(|ping| ping.number == number) else { return Ok(()) };
        self.round_trip = self.round_trip.min(ping.sent.elapsed());
        if number < PINGS {
            return self.ping(number + 1).await;
        }
        let machine = self.machine.take().unwrap_or_default();
        self.tell(Event::Ready { number: self.number, round_trip: self.round_trip, machine }).await
    }

    async fn start(&mut self, at: Instant) -> Result<(), WireError> {
        let left = at.saturating_duration_since(Instant::now()).saturating_sub(self.round_trip / 2);
        let in_us = u64::try_from(left.as_micros()).unwrap_or(u64::MAX);
        self.outbox.say(&FromCoordinator::Start { in_us }).await
    }

    async fn tell(&mut self, event: Event) -> Result<(), WireError> {
        // An owner that is gone has no use for it.
        self.events.send(event).await.map_err(|_gone| WireError::Closed)
    }
}
