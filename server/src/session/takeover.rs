//! What becomes of a call whose replica died: whoever resumes its stream ends it, once. A call that has no effect, or the same
//! one, runs again; of any other the client is told that nobody knows what became of it.

use std::{collections::HashSet, sync::Arc, time::Duration};

use bytes::Bytes;
use serde::Deserialize;
use trunkline_hub::{Delivery, Fence, HubError, Position};
use trunkline_protocol::{
    Method, RequestId, RpcError,
    jsonrpc::{Body, Bounds, Message, parse, write_error},
};

use super::{Context, Core, Incoming, LiveSession, lease::TERM, refused, serve};
use crate::{
    cancel::Cancel,
    following::{Following, Life},
    outbox::{LogCarrier, Note, Outbox, Reply, Undeliverable, is_silent, topic},
    registry::Services,
};

/// How often it is asked whether the replica behind a stream is there.
const LOOK: Duration = Duration::from_millis(500);

/// Bounds on what we have written or read before: none that it could meet.
pub(super) const ANY: Bounds = Bounds { depth: 1 << 30, batch: 1 };

/// The log of a stream as it stands.
#[derive(Debug, Default)]
struct Past {
    /// Who runs the call, by its own word.
    note: Option<Note>,
    /// The requests that have their answer.
    answered: HashSet<RequestId>,
    /// The last progress that the client was told.
    progress: Option<f64>,
    /// What the client was asked, answered or not.
    questions: Vec<RequestId>,
    /// The newest entry.
    place: Position,
    /// Whether nothing follows.
    over: bool,
}

/// A stream of a session.
pub(crate) struct Watched {
    /// This replica.
    pub(crate) core: Arc<Core>,
    /// The session.
    pub(crate) session: Arc<LiveSession>,
    /// The stream's name.
    pub(crate) stream: Box<str>,
}

// === impl Watched ===

impl Watched {
    /// Watches over a stream that this replica only repeats, until it has ended or was taken over. May be dropped at any time.
    pub(crate) async fn watch(self) {
        let watched = Arc::new(self);
        // Whose claim was in the way when the stream was last tried.
        let mut stuck = None;
        while let Some(past) = watched.past().await {
            let Some(note) = past.note.filter(|_| !past.over) else { return };
            watched.until_gone(&note.owner).await;
            let from = stuck.take().unwrap_or(Fence(note.fence));
            // What has been taken over is brought to its end, whoever still listens.
            let taken = tokio::spawn(watched.clone().take_over(note, from)).await;
            match taken {
                Ok(Err(HubError::Fenced)) => {
                    // Somebody was faster, and will say so in the log; or died before it did.
                    tokio::time::sleep(TERM).await;
                    stuck = watched.still_silent(from).await;
                }
                Ok(Err(HubError::Unavailable { .. })) => tokio::time::sleep(LOOK).await,
                Ok(_) | Err(_) => return,
            }
        }
    }

    fn services(&self) -> &Arc<Services> {
        &self.core.services
    }

    /// Waits until a replica is gone.
    async fn until_gone(&self, owner: &str) {
        while !self.core.leases.is_gone(owner).await.unwrap_or(false) {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The claim that stands in the way, if its owner has said nothing for a while.
    async fn still_silent(&self, tried: Fence) -> Option<Fence> {
        let topic = topic(self.session.id(), &self.stream);
        let now = self.services().hub.fence(&topic).await.ok().flatten()?;
        let said = self.past().await?.note.map(|note| Fence(note.fence));
        (said != Some(now) && now != tried).then_some(now)
    }

    /// Everything that is in the log; `None` if there is none any more. Waits for a hub that is away.
    async fn past(&self) -> Option<Past> {
        loop {
            match self.read().await {
                Ok(past) => return past,
                Err(HubError::Unavailable { .. }) => tokio::time::sleep(LOOK).await,
                Err(_) => return None,
            }
        }
    }

    async fn read(&self) -> Result<Option<Past>, HubError> {
        let (hub, topic) = (&self.services().hub, topic(self.session.id(), &self.stream));
        let newest = hub.position(&topic).await?;
        if newest == Position::default() {
            return Ok(None);
        }
        let mut log = Following::open(hub.clone(), topic, Position::default(), Life::Once).await?;
        let mut past = Past::default();
        while past.place < newest {
            match log.next().await {
                Some(Delivery::Entry(entry)) => {
                    past.place = entry.position;
                    past.over |= entry.last;
                    past.read(&entry.payload);
                }
                Some(Delivery::Gap) => {}
                Some(Delivery::Gone) | None => return Ok(None),
            }
        }
        Ok(Some(past))
    }

    /// Takes the stream over, and sees to it that every request on it has its answer.
    async fn take_over(self: Arc<Self>, note: Note, from: Fence) -> Result<(), HubError> {
        let services = self.services();
        let topic = topic(self.session.id(), &self.stream);
        let fence = services.hub.take_over(&topic, from, services.retention()).await?;
        services.metrics.taken_over();
        tracing::info!(replica = %note.owner, "a stream of a replica that is gone was taken over");
        // From here on nobody else writes: what is in the log now stays what it is.
        let Some(past) = self.past().await else { return Ok(()) };
        let open: Vec<_> = note.ids.iter().filter(|id| !past.answered.contains(id)).collect();
        let body = note.body.as_ref().map(|body| Bytes::copy_from_slice(body.get().as_bytes()));
        let (logs, session) = (services.logs.clone(), self.session.id().clone());
        let carrier = LogCarrier::of_stream(logs, session, &self.stream, body.clone().unwrap_or_default());
        let progress = past.progress.unwrap_or(f64::NEG_INFINITY);
        let outbox = Arc::new(Outbox::taken_over(carrier, fence, past.place, open.len(), progress));
        let finished =
            self.finish(&note.taken_over(&services.replica, fence), &past, &open, body, &outbox).await;
        if let Err(error) = finished {
            tracing::warn!(%error, "a stream that was taken over was not brought to its end");
        }
        Ok(())
    }

    /// Says who writes now, takes back what the client was asked, and answers what is open.
    async fn finish(
        &self,
        note: &Note,
        past: &Past,
        open: &[&RequestId],
        body: Option<Bytes>,
        outbox: &Arc<Outbox>,
    ) -> Result<(), Undeliverable> {
        outbox.send(note.to_entry()).await?;
        for question in &past.questions {
            // One that was answered the client passes over.
            let mut frame = Vec::with_capacity(160);
            let why = Some("the replica that asked is gone");
            self.session.record().revision.write_cancelled(&mut frame, question, why);
            outbox.send(frame.into()).await?;
        }
        match (body, open) {
            // All is answered; what was missing is the end.
            (_, []) => outbox.respond(Reply { status: 202, body: Bytes::new() }).await,
            (Some(body), [id]) => {
                self.services().metrics.run_again();
                match repeat(&self.core, self.session.clone(), &body, outbox).await {
                    Ok(()) => Ok(()),
                    Err(error) => outbox.respond(refused(Some(id), &error, 200)).await,
                }
            }
            (_, open) => {
                for id in open {
                    outbox.respond(Reply { status: 200, body: lost_answer(id) }).await?;
                }
                Ok(())
            }
        }
    }
}

/// Serves a request of a session once more.
pub(super) async fn repeat(
    core: &Arc<Core>,
    session: Arc<LiveSession>,
    body: &Bytes,
    outbox: &Arc<Outbox>,
) -> Result<(), RpcError> {
    let Ok(Body::Single(Message::Request(mut request))) = parse(body, ANY) else { return Err(lost()) };
    let params = request.take_params().map_err(RpcError::invalid_params)?;
    let method = Method::from_name(&request.method);
    let incoming = Incoming { request: &request, method, params: &params, body };
    let context = Context::of_session(session);
    let served = serve(core, &context, &incoming, outbox, &Cancel::default()).await;
    served.map_err(|refusal| refusal.answer().error)
}

/// What a client is told of a call that may or may not have had its effect.
fn lost() -> RpcError {
    RpcError::internal(
        "the replica that ran this call is gone, and its outcome is unknown; look before you call again",
    )
}

/// The answer to such a call.
pub(super) fn lost_answer(id: &RequestId) -> Bytes {
    let mut out = Vec::with_capacity(192);
    write_error(&mut out, Some(id), &lost());
    out.into()
}

// === impl Past ===

impl Past {
    fn read(&mut self, entry: &[u8]) {
        #[derive(Deserialize)]
        struct Progress {
            progress: f64,
        }
        if is_silent(entry) {
            self.note = Note::read(entry).or_else(|| self.note.take());
            return;
        }
        match parse(entry, ANY) {
            Ok(Body::Single(Message::Response(response))) => self.answered.extend(response.id),
            Ok(Body::Single(Message::Request(question))) => self.questions.push(question.id),
            Ok(Body::Single(Message::Notification(told)))
                if Method::from_name(&told.method) == Some(Method::Progress) =>
            {
                let told = told.params.and_then(|raw| serde_json::from_str::<Progress>(raw.get()).ok());
                self.progress = told.map(|told| told.progress).or(self.progress);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
