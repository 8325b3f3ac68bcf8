//! Sessions, and the requests in them: what happens between a transport that has read a message and a handler.

mod actor;
mod asker;
mod directory;
mod encode;
mod live;
mod messages;
mod peers;
mod serve;
mod tasks;
#[cfg(test)]
mod testing;

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use trunkline_protocol::{RequestId, jsonrpc::Response, lifecycle::ListenerToken};

pub(crate) use directory::Directory;
pub(crate) use live::{LiveSession, StreamPermit};
pub(crate) use serve::{Context, Incoming, refused, serve};
use tasks::Tasks;

use crate::{
    error::Refusal,
    registry::{Registry, Services},
};
use messages::{Cancel, Listen, ListenerGone};
use peers::Signal;

/// One replica's endpoint, without its transports.
pub(crate) struct Core {
    /// What is served.
    pub(crate) registry: Registry,
    /// What is shared.
    pub(crate) services: Arc<Services>,
    /// The sessions.
    pub(crate) directory: Directory,
    /// The tasks.
    tasks: Tasks,
    /// The pause between signs of life of a handler that says nothing.
    pub(crate) heartbeat: Duration,
}

/// A stream that listens for what belongs to no call of its session. It is the session's only one until a newer comes.
pub(crate) struct Listening {
    session: Arc<LiveSession>,
    token: ListenerToken,
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
        let directory = Directory::new(services.clone(), init_ttl);
        let tasks = Tasks::new(services.clone());
        Self { registry, services, directory, tasks, heartbeat }
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
            peers::answered(self, session.id(), question.clone(), answered).await;
            return Ok(());
        }
        let (session, question) = (Box::from(&**session.id()), question.clone());
        let signal = match response.outcome {
            Ok(answer) => Signal::Answer { session, question: question.clone(), answer: answer.to_owned() },
            Err(error) => Signal::Refused { session, question: question.clone(), error },
        };
        Ok(peers::send(&self.services, &peers::inbox(replica), &signal).await?)
    }

    /// Cancels a call of a session, wherever it runs.
    ///
    /// # Errors
    /// That the hub cannot be reached.
    pub(crate) async fn cancel(&self, session: &Arc<LiveSession>, call: RequestId) -> Result<(), Refusal> {
        let here = session.actor().send(Cancel(call.clone())).await.unwrap_or(false);
        if here {
            return Ok(());
        }
        let signal = Signal::Cancel { session: Box::from(&**session.id()), call };
        Ok(peers::send(&self.services, &peers::everybody(), &signal).await?)
    }

    /// Ends a session everywhere.
    ///
    /// # Errors
    /// That the store or the hub cannot be reached.
    pub(crate) async fn end(&self, session: &Arc<LiveSession>) -> Result<(), Refusal> {
        self.directory.delete(session).await?;
        let signal = Signal::Ended { session: Box::from(&**session.id()) };
        Ok(peers::send(&self.services, &peers::everybody(), &signal).await?)
    }

    /// Makes a stream the one that listens in its session.
    ///
    /// # Errors
    /// If the session is over or this replica shuts down.
    pub(crate) async fn listen(&self, session: &Arc<LiveSession>) -> Result<Listening, Refusal> {
        let end = CancellationToken::new();
        let opened = session.actor().send(Listen { end: end.clone() }).await;
        let token = opened.map_err(|_| Refusal::Draining)?.map_err(|_| Refusal::SessionUnknown)?;
        Ok(Listening { session: session.clone(), token, end })
    }

    /// Takes what other replicas signal, and lets go of idle sessions. Runs as long as the replica.
    pub(crate) async fn run(self: Arc<Self>) {
        /// Idle sessions are looked for this often; one is idle after a minute.
        const SWEEP: Duration = Duration::from_secs(15);
        let peers = async {
            if let Err(error) = peers::listen(&self).await {
                tracing::error!(%error, "signals of other replicas are not received");
            }
        };
        let sweep = async {
            loop {
                tokio::time::sleep(SWEEP).await;
                self.directory.passivate();
            }
        };
        tokio::join!(peers, self.directory.follow_changes(), sweep);
    }
}

// === impl Listening ===

impl Drop for Listening {
    fn drop(&mut self) {
        // A full or stopped mailbox: the next listener takes the place all the same.
        let _sent = self.session.actor().try_send(ListenerGone(self.token));
    }
}
