//! An agent without clients: it says what the test has it say.

use std::{net::SocketAddr, time::Duration};

use tokio::net::{
    TcpStream,
    tcp::{OwnedReadHalf, OwnedWriteHalf},
};
use trunkline_loadtest::{
    distributed::{
        secret::{Nonce, Proof, Role, Secret},
        wire::{FromAgent, FromCoordinator, Inbox, Outbox, VERSION},
    },
    plan::{Plan, Share},
    report::Machine,
    tally::Tally,
};

use crate::stage::DEADLINE;

/// Both halves of a connection.
pub(crate) struct Scripted {
    inbox: Inbox<OwnedReadHalf>,
    outbox: Outbox<OwnedWriteHalf>,
    pub(crate) share: Share,
}

impl Scripted {
    /// A stranger.
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let (read, write) = TcpStream::connect(address).await.unwrap().into_split();
        Self { inbox: Inbox::new(read), outbox: Outbox::new(write), share: Share::WHOLE }
    }

    /// Joins and can begin. Also returns the plan that it was told.
    pub(crate) async fn ready(address: SocketAddr, secret: &Secret, name: &str) -> (Self, Plan) {
        let mut agent = Self::connect(address).await;
        let mine = Nonce::draw();
        let theirs = agent.challenged(VERSION, mine, name).await;
        agent.prove(secret.prove(Role::Agent, mine, theirs)).await;
        let FromCoordinator::Welcome { proof, plan, share } = agent.hear().await else { panic!("welcome") };
        assert!(secret.verifies(&proof, Role::Coordinator, mine, theirs));
        agent.share = share;
        let machine = Machine { process: share.to_string(), ..Machine::default() };
        agent.say(FromAgent::Ready { machine: Box::new(machine) }).await;
        (agent, *plan)
    }

    /// Says hello, and returns the coordinator's nonce.
    pub(crate) async fn challenged(&mut self, version: u32, nonce: Nonce, name: &str) -> Nonce {
        self.say(FromAgent::Hello { version, nonce, name: name.to_owned() }).await;
        match self.hear().await {
            FromCoordinator::Challenge { nonce, .. } => nonce,
            other => panic!("not a challenge: {other:?}"),
        }
    }

    pub(crate) async fn prove(&mut self, proof: Proof) {
        self.say(FromAgent::Proof { proof }).await;
    }

    /// Answers pings until it is told to begin, and waits until then.
    pub(crate) async fn begin(&mut self) {
        loop {
            match self.hear().await {
                FromCoordinator::Ping { number } => self.say(FromAgent::Pong { number }).await,
                FromCoordinator::Start { in_us } => {
                    return tokio::time::sleep(Duration::from_micros(in_us)).await;
                }
                FromCoordinator::Alive => {}
                other => panic!("not a start: {other:?}"),
            }
        }
    }

    pub(crate) async fn progress(&mut self, tally: &Tally) {
        self.say(FromAgent::Progress { tally: Box::new(tally.clone()) }).await;
    }

    /// Says that its share is done, and waits until it is let go.
    pub(crate) async fn done(mut self) {
        self.say(FromAgent::Done { early: false }).await;
        self.until(|message| matches!(message, FromCoordinator::Bye)).await;
    }

    /// Waits for a message, whatever comes before it.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&FromCoordinator) -> bool) -> FromCoordinator {
        loop {
            let message = self.hear().await;
            if wanted(&message) {
                return message;
            }
        }
    }

    pub(crate) async fn say(&mut self, message: FromAgent) {
        self.outbox.say(&message).await.unwrap();
    }

    pub(crate) async fn hear(&mut self) -> FromCoordinator {
        self.inbox.trust();
        self.inbox.next_within(DEADLINE).await.unwrap()
    }
}

/// Listens like a coordinator and knows no secret.
pub(crate) struct Impostor {
    inbox: Inbox<OwnedReadHalf>,
    outbox: Outbox<OwnedWriteHalf>,
}

impl Impostor {
    pub(crate) fn of(stream: TcpStream) -> Self {
        let (read, write) = stream.into_split();
        Self { inbox: Inbox::new(read), outbox: Outbox::new(write) }
    }

    /// Gives an agent's own proof back to it, with a plan.
    pub(crate) async fn lure(&mut self, plan: &Plan) {
        let FromAgent::Hello { nonce, .. } = self.hear().await else { panic!("hello") };
        // Its own nonce too: were the roles not in the proofs, the same proof would do for both.
        self.outbox.say(&FromCoordinator::Challenge { version: VERSION, nonce }).await.unwrap();
        let FromAgent::Proof { proof } = self.hear().await else { panic!("proof") };
        let plan = Box::new(plan.clone());
        self.outbox.say(&FromCoordinator::Welcome { proof, plan, share: Share::WHOLE }).await.unwrap();
    }

    async fn hear(&mut self) -> FromAgent {
        self.inbox.next_within(DEADLINE).await.unwrap()
    }
}
