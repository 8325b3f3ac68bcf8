//! Answers that come on a stream: what comes before them, and how a broken stream is taken up again.

use std::{future::pending, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{task::AbortHandle, time::sleep};
use tokio_util::sync::CancellationToken;
use trunkline_protocol::{RequestId, sse::Received};

use super::{
    events::Events,
    link::{Broken, Link},
    reply::{Media, Reply},
    session::Session,
};
use crate::{
    error::{Error, Phase},
    notifications::{Notification, Source},
    shared::Ctx,
    wire::{self, Said},
};

/// The questions of one call that are being answered. When the call ends they are moot.
#[derive(Default)]
pub(in crate::transport::http) struct Asked(Vec<(RequestId, AbortHandle)>);

/// Where a call's stream stands.
struct Position {
    last: Option<Arc<str>>,
    retry: Option<Duration>,
    /// Attempts to take it up again since the last event that was new.
    attempts: u32,
}

/// Why a stream cannot be taken up now.
enum Setback {
    /// Later, perhaps.
    Later(Error),
    Never(Error),
}

// === impl Link ===

impl Link {
    /// Reads a call's stream up to its answer.
    pub(super) async fn follow(
        self: &Arc<Self>,
        session: &Arc<Session>,
        mut events: Events,
        id: i64,
        ctx: &mut Ctx<'_>,
    ) -> Result<Bytes, Error> {
        ctx.trace.streamed = true;
        let mut asked = Asked::default();
        let mut position = Position { last: None, retry: None, attempts: 0 };
        loop {
            let cut = ctx.call.cut.clone().filter(|_| ctx.trace.cut == 0);
            let outcome = tokio::select! {
                biased;
                outcome = self.read(session, &mut events, id, ctx, &mut asked, &mut position) => outcome,
                () = fired(cut.as_ref()) => {
                    ctx.trace.cut += 1;
                    Err(Error::in_flight(Phase::Read, "it was cut"))
                }
            };
            ctx.trace.bytes_in += events.take_bytes();
            let broken = match outcome {
                Ok(Some(answer)) => {
                    self.give_back(events).await;
                    return answer;
                }
                Ok(None) => Events::cut_short(),
                Err(error @ Error::InFlight { .. }) => error,
                Err(error) => return Err(error),
            };
            // Its connection is closed before another is opened.
            drop(events);
            events = self.resume(session, broken, ctx, &mut position).await?;
        }
    }

    /// The answer, or nothing if the stream ended before it.
    async fn read(
        self: &Arc<Self>,
        session: &Arc<Session>,
        events: &mut Events,
        id: i64,
        ctx: &mut Ctx<'_>,
        asked: &mut Asked,
        position: &mut Position,
    ) -> Result<Option<Result<Bytes, Error>>, Error> {
        loop {
            let Some(event) = events.next().await? else {
                position.retry = events.decoder().retry().or(position.retry);
                return Ok(None);
            };
            position.note(&event);
            // A place to come back to, and nothing else.
            if event.data.is_empty() {
                continue;
            }
            let event_id = event.id.as_deref().map(Arc::from);
            let mut answer = None;
            let data = Bytes::from(event.data);
            let read = wire::read(&data, |said| match said {
                Said::Answer(Some(RequestId::Number(got)), outcome) if got == id && answer.is_none() => {
                    answer = Some(outcome.map_err(Error::from));
                }
                Said::Answer(..) => {
                    self.shared.count_stray();
                    ctx.trace.stray += 1;
                }
                Said::Notification { method, params } => {
                    if &*method == "notifications/cancelled" {
                        asked.take_back(&params);
                        return;
                    }
                    let event_id = event_id.clone();
                    ctx.notify(
                        &self.shared,
                        Notification { method, params, event_id, source: Source::Call(id) },
                    );
                }
                Said::Request { id, method, params } => self.ask(session, asked, id, method, params),
            });
            if let Err(error) = read {
                tracing::debug!(%error, "an event makes no sense");
                self.shared.count_nonsense();
            }
            if answer.is_some() {
                return Ok(answer);
            }
        }
    }

    /// Puts a question of the server to whoever answers, without holding up the stream.
    pub(super) fn ask(
        self: &Arc<Self>,
        session: &Arc<Session>,
        asked: &mut Asked,
        id: RequestId,
        method: Box<str>,
        params: Bytes,
    ) {
        // 2026-07-28 has no requests of servers; and more than twice what is answered at once is not even refused.
        asked.0.retain(|(_, task)| !task.is_finished());
        if session.dialect.is_modern() || asked.0.len() > 2 * self.shared.config.limits.questions {
            self.shared.count_nonsense();
            return;
        }
        let (link, session, key) = (self.clone(), session.clone(), id.clone());
        let task = tokio::spawn(async move {
            let answer = link.shared.answer(&id, &method, &params).await;
            if let Err(error) = link.tell(&session, answer).await {
                tracing::debug!(%error, "an answer to the server was not taken");
            }
        });
        asked.0.push((key, task.abort_handle()));
    }

    /// Takes a broken stream up again after its last event, where the revision lets it.
    async fn resume(
        &self,
        session: &Session,
        mut broken: Error,
        ctx: &mut Ctx<'_>,
        position: &mut Position,
    ) -> Result<Events, Error> {
        let retry = self.shared.config.retry;
        if !session.revision().features().resumable {
            return Err(broken);
        }
        let Some(last) = position.last.clone() else { return Err(broken) };
        while position.attempts < retry.resumes {
            sleep(resume_wait(retry, position)).await;
            position.attempts += 1;
            let reply = match self.request(session.get(Some(&last))?).await {
                Ok(reply) => reply,
                Err(error) => {
                    broken = error;
                    continue;
                }
            };
            match self.taken_up(session, reply).await {
                Ok(events) => {
                    ctx.trace.resumed += 1;
                    return Ok(events);
                }
                Err(Setback::Later(error)) => broken = error,
                Err(Setback::Never(error)) => return Err(error),
            }
        }
        Err(Error::in_flight(Phase::Read, broken))
    }

    async fn taken_up(&self, session: &Session, reply: Reply) -> Result<Events, Setback> {
        match (reply.status, reply.media()) {
            (200, Media::Events) => Ok(Events::new(reply.body, self.shared.config.limits)),
            (404, _) if session.id.is_some() => {
                Err(Setback::Never(Error::SessionLost { may_have_run: true }))
            }
            (200..400, _) => {
                let seen = reply.not_mcp().await;
                Err(Setback::Never(Error::in_flight(Phase::Read, seen)))
            }
            _ => {
                let (Broken::Error(error), _) = reply.refusal(true).await else {
                    return Err(Setback::Never(Events::cut_short()));
                };
                // A place already taken (409) is the ghost of the connection that broke.
                let later = error.is_transient() || matches!(error.status(), Some(409 | 500));
                Err(if later {
                    Setback::Later(error)
                } else {
                    Setback::Never(Error::in_flight(Phase::Read, error))
                })
            }
        }
    }

    async fn give_back(&self, events: Events) {
        let (rest, body) = events.into_rest();
        if !rest.is_empty() {
            self.late(&rest);
        }
        self.pool.put_tail(body, &mut |late| self.late(late)).await;
    }
}

/// Waits for a token, if there is one.
async fn fired(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => pending().await,
    }
}

/// The server's own word on how long to wait, spread a little; or ours.
fn resume_wait(retry: crate::retry::Retry, position: &Position) -> Duration {
    retry.wait(position.attempts, position.retry.filter(|_| position.attempts == 0))
}

// === impl Position ===

impl Position {
    fn note(&mut self, event: &Received) {
        self.retry = event.retry.or(self.retry);
        if let Some(id) = event.id.as_deref().filter(|id| self.last.as_deref() != Some(*id)) {
            self.last = (!id.is_empty()).then(|| id.into());
            self.attempts = 0;
        }
    }
}

// === impl Asked ===

impl Asked {
    /// The server does not want to know any more.
    pub(super) fn take_back(&mut self, params: &Bytes) {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Cancelled {
            request_id: RequestId,
        }
        if let Ok(cancelled) = serde_json::from_slice::<Cancelled>(params) {
            for (_, task) in self.0.iter().filter(|(id, _)| *id == cancelled.request_id) {
                task.abort();
            }
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        for (_, task) in &self.0 {
            task.abort();
        }
    }
}
