//! Sessions, and the requests in them: what happens between a transport that has read a message and a handler.

mod actor;
mod admission;
mod asker;
mod connection;
mod directory;
mod encode;
mod lease;
mod live;
mod messages;
mod peers;
mod serve;
mod takeover;
mod tasks;
#[cfg(test)]
mod testing;

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use trunkline_protocol::{RequestId, jsonrpc::Response, lifecycle::ListenerToken};
use trunkline_store::{Key, Kind, StoreError};

use admission::Admission;
pub(crate) use connection::Calls;
pub(crate) use directory::Directory;
use lease::Leases;
pub(crate) use live::{LiveSession, StreamPermit};
pub(crate) use serve::{Context, Incoming, refused, serve};
pub(crate) use takeover::Watched;
use tasks::Tasks;

use crate::{
    error::Refusal,
    record::field,
    registry::{Registry, Services},
    telemetry::Backends,
};
use live::Listener;
use messages::{Listen, ListenerGone};
use peers::Signal;

/// How long a replica may be deaf and ready: subscriptions that are made again at once, as when Redis cut them all, are no
/// reason for every replica to leave its balancer together. What is said meanwhile is only late.
const DEAF: Duration = Duration::from_secs(2);

/// One replica's endpoint, without its transports.
pub(crate) struct Core {
    /// What is served.
    pub(crate) registry: Registry,
    /// What is shared.
    pub(crate) services: Arc<Services>,
    /// The sessions.
    pub(crate) directory: Directory,
    /// Who may open a session.
    admission: Arc<Admission>,
    /// The replicas that are there.
    leases: Leases,
    /// The tasks.
    tasks: Tasks,
    /// The pause between signs of life of a handler that says nothing.
    pub(crate) heartbeat: Duration,
}

/// A stream that listens for what belongs to no call of its session. It is the session's only one until a newer comes.
pub(crate) struct Listening {
    session: Arc<LiveSession>,
    /// None if a newer one was faster.
    token: Option<ListenerToken>,
    /// Fires when the stream is to end: a newer one has taken its place.
    pub(crate) end: CancellationToken,
}

// === impl Core ===

impl Core {
    /// An endpoint that serves `registry`. A session that never gets past `initialize` expires after `init_ttl`; a handler
    /// that says nothing gives a sign of life each `heartbeat`, where the caller asked for progress.
    pub(crate) fn new(
        registry: Registry,
        services: Arc<Services>,
        init_ttl: Duration,
        heartbeat: Duration,
    ) -> Self {
        let admission = Arc::new(Admission::new(services.store.clone(), services.recovery_rate));
        let directory = Directory::new(services.clone(), init_ttl, admission.clone());
        let leases = Leases::new(services.store.clone(), &services.replica);
        let tasks = Tasks::new(services.clone());
        Self { registry, services, directory, admission, leases, tasks, heartbeat }
    }

    /// Takes a client's answer to a question to the replica that waits for it. One to no question of ours is counted and
    /// dropped: it is no reason to refuse the client anything.
    ///
    /// # Errors
    /// That the hub cannot be reached.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        session: &Arc<LiveSession>,
        response: Response<'_>,
    ) -> Result<(), Refusal> {
        let Some((question, replica)) =
            response.id.as_ref().and_then(|id| asker::asking_replica(id).map(|replica| (id, replica)))
        else {
            self.services.metrics.late_answer();
            return Ok(());
        };
        if replica == &*self.services.replica {
            let answered = response.outcome.map(ToOwned::to_owned);
            peers::answered(self, session.id(), question, answered);
            return Ok(());
        }
        let (session, question) = (Box::from(&**session.id()), question.clone());
        let signal = match response.outcome {
            Ok(answer) => Signal::Answer { session, question: question.clone(), answer: answer.to_owned() },
            Err(error) => Signal::Refused { session, question: question.clone(), error },
        };
        Ok(peers::tell(&self.services, replica, &signal).await?)
    }

    /// Cancels a call of a session, wherever it runs.
    ///
    /// # Errors
    /// That the hub cannot be reached.
    pub(crate) async fn cancel(&self, session: &Arc<LiveSession>, call: RequestId) -> Result<(), Refusal> {
        if session.cancel_call(&call) {
            return Ok(());
        }
        let signal = Signal::Cancel { session: Box::from(&**session.id()), call };
        Ok(peers::tell_all(&self.services, &signal).await?)
    }

    /// Ends a session everywhere.
    ///
    /// # Errors
    /// That the store or the hub cannot be reached.
    pub(crate) async fn end(&self, session: &Arc<LiveSession>) -> Result<(), Refusal> {
        self.directory.delete(session).await?;
        let signal = Signal::Ended { session: Box::from(&**session.id()) };
        Ok(peers::tell_all(&self.services, &signal).await?)
    }

    /// Makes a stream the one that listens in its session, on all replicas.
    ///
    /// # Errors
    /// If the session is over, this replica shuts down, or the store or the hub cannot be reached.
    pub(crate) async fn listen(&self, session: &Arc<LiveSession>) -> Result<Listening, Refusal> {
        let key = Key::new(Kind::Session, session.id());
        let number = self.services.store.increment(&key, field::LISTENERS, 1).await?;
        let number = number.ok_or(Refusal::SessionUnknown)?;
        let end = CancellationToken::new();
        let opened = session.actor().send(Listen(Listener { number, end: end.clone() })).await;
        let token = opened.map_err(|_| Refusal::Draining)?.map_err(|_| Refusal::SessionUnknown)?;
        if token.is_none() {
            end.cancel();
        }
        let listening = Listening { session: session.clone(), token, end };
        let signal = Signal::Listening { session: Box::from(&**session.id()), number };
        peers::tell_all(&self.services, &signal).await?;
        Ok(listening)
    }

    /// Takes what other replicas signal, and lets go of idle sessions. Runs as long as the replica.
    pub(crate) async fn run(self: Arc<Self>) {
        /// Idle sessions are looked for this often; one is idle after a minute.
        const SWEEP: Duration = Duration::from_secs(15);
        let sweep = async {
            loop {
                tokio::time::sleep(SWEEP).await;
                self.directory.passivate();
            }
        };
        let fanout = self.services.fanout.run(&self.services.hub);
        tokio::join!(peers::listen(&self), self.directory.follow_changes(), self.show_life(), sweep, fanout);
    }

    /// Keeps the leases of this replica, and the mark that shows a loss, alive.
    async fn show_life(&self) {
        loop {
            if let Err((what, error)) = self.sign_of_life().await {
                tracing::debug!(%error, what, "was not renewed in the store");
            }
            tokio::time::sleep(lease::BEAT).await;
        }
    }

    /// Once all of it, in this order: what fails first says what is wrong.
    async fn sign_of_life(&self) -> Result<(), (&'static str, StoreError)> {
        self.leases.beat().await.map_err(|error| ("the lease", error))?;
        self.tasks.keep_lease().await.map_err(|error| ("the long lease", error))?;
        self.admission.look().await.map_err(|error| ("the mark", error))
    }

    /// Counters and gauges of this replica, in the text format of Prometheus.
    pub(crate) fn metrics(&self) -> String {
        let health = self.services.hub.health();
        self.services.metrics.render(&Backends {
            store_up: self.leases.is_held(),
            hub_up: health.deaf_for.is_none(),
            resubscriptions: health.resubscriptions,
            repairs: health.repairs,
            lost_signals: health.lost_signals,
        })
    }

    /// Why requests that need the store or the hub cannot be served now, if they cannot.
    pub(crate) fn unreachable(&self) -> Option<&'static str> {
        if !self.leases.is_held() {
            return Some("the session store cannot be reached");
        }
        let deaf = self.services.hub.health().deaf_for.filter(|deaf| *deaf >= DEAF);
        deaf.map(|_| "the hub cannot be reached")
    }

    /// Tells the other replicas that this one is gone: what it has not brought to its end is theirs.
    pub(crate) async fn leave(&self) {
        self.leases.release().await;
        self.tasks.release_lease().await;
    }
}

// === impl Listening ===

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(token) = self.token {
            // A full or stopped mailbox: the next listener takes the place all the same.
            let _sent = self.session.actor().try_send(ListenerGone(token));
        }
    }
}
