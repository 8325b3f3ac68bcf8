//! What a handler sees of the request it serves.

use std::{
    borrow::Cow,
    future::{Future, pending},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};
use tokio_util::sync::CancellationToken;
use trunkline_protocol::{
    Method, ProgressToken, RequestId, Revision,
    model::{
        ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult,
        Implementation, InputRequest, InputResponse, LogLevel, LogMessageParams, ProgressParams, Root,
    },
    revision::{Era, Related},
};

use trunkline_store::{Key, Kind, Record};

use super::{
    ask::{AskError, Asker, covers, read_answer},
    becoming::Becoming,
    outcome::HandlerError,
    rounds::{Call, Rounds},
    services::{Broadcast, Services},
    state::State,
};
use crate::{cancel::Cancel, outbox::Outbox, principal::Principal, record::SessionRecord};

/// What a handler sees of the request it serves: who asks, what the client can do, and the ways to say something before the
/// answer is there. Cheap to clone.
///
/// Nothing in it depends on the revision the client speaks.
#[derive(Clone)]
pub struct Exchange(Arc<Inner>);

/// Who asks, and how its client may be spoken to.
#[derive(Clone)]
pub(crate) struct Caller {
    /// Who asks.
    pub(crate) principal: Principal,
    /// The revision it is answered in.
    pub(crate) revision: Revision,
    /// Where what the client said of itself is found.
    pub(crate) client: Client,
}

/// What is known of the client.
#[derive(Clone)]
pub(crate) enum Client {
    /// What it said when the session began.
    Session {
        /// The session's id.
        id: Arc<str>,
        /// The session as it was when the request came.
        record: Arc<SessionRecord>,
    },
    /// What it says in this request.
    Request {
        /// `clientInfo`, raw.
        info: Option<Bytes>,
        /// `clientCapabilities`, raw.
        capabilities: Bytes,
    },
    /// Nothing: an older revision without a session.
    Unknown,
}

/// The request itself.
pub(crate) struct Asked {
    /// Its id.
    pub(crate) id: RequestId,
    /// Its method.
    pub(crate) method: Method,
    /// The tool, prompt or resource.
    pub(crate) target: Box<str>,
    /// The arguments, raw.
    pub(crate) arguments: Option<Bytes>,
    /// Asks for progress.
    pub(crate) progress: Option<ProgressToken>,
    /// The least severe log message it wants; `None` for none.
    pub(crate) log_level: Option<LogLevel>,
}

/// How questions are asked.
pub(crate) enum Asking {
    /// In rounds; made when the first question needs them, or when an earlier round is resumed.
    Rounds(OnceLock<Rounds>),
    /// In rounds as long as it is an ordinary call, and through the task once it is one.
    BeforeTask(OnceLock<Rounds>, Arc<Becoming>),
    /// While the call goes on.
    During(Arc<dyn Asker>),
    /// Not at all.
    Never,
}

struct Inner {
    services: Arc<Services>,
    caller: Caller,
    asked: Asked,
    asking: Asking,
    outbox: Arc<Outbox>,
    cancelled: Cancel,
    /// The bits of the last progress value, or of negative infinity: it must increase.
    progress: AtomicU64,
    capabilities: OnceLock<ClientCapabilities>,
}

/// How long the state of a call in rounds may wait for its answers.
const ROUND_LIFETIME: Duration = Duration::from_secs(600);

// === impl Exchange ===

impl Exchange {
    pub(crate) fn new(
        services: Arc<Services>,
        caller: Caller,
        asked: Asked,
        asking: Asking,
        outbox: Arc<Outbox>,
        cancelled: Cancel,
    ) -> Self {
        Self(Arc::new(Inner {
            services,
            caller,
            asked,
            asking,
            progress: AtomicU64::new(outbox.progress().to_bits()),
            outbox,
            cancelled,
            capabilities: OnceLock::new(),
        }))
    }

    /// Who asks.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.0.caller.principal
    }

    /// What the client says it is. For display and logs; it proves nothing.
    #[must_use]
    pub fn client_info(&self) -> Option<Implementation> {
        match &self.0.caller.client {
            Client::Session { record, .. } => record.client.as_deref().cloned(),
            Client::Request { info, .. } => info.as_ref().and_then(|json| serde_json::from_slice(json).ok()),
            Client::Unknown => None,
        }
    }

    /// What the client declared that it can do.
    #[must_use]
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        match &self.0.caller.client {
            Client::Session { record, .. } => &record.capabilities,
            Client::Request { capabilities, .. } => {
                self.0.capabilities.get_or_init(|| serde_json::from_slice(capabilities).unwrap_or_default())
            }
            Client::Unknown => self.0.capabilities.get_or_init(ClientCapabilities::default),
        }
    }

    /// Checks that the client declared all of this, for work that would be in vain otherwise. A question checks for itself.
    ///
    /// # Errors
    /// [`AskError::Unsupported`]; returned with `?` it tells the client what it lacks, the way its revision does.
    pub fn require(&self, needs: ClientCapabilities) -> Result<(), AskError> {
        if covers(self.client_capabilities(), &needs) { Ok(()) } else { Err(self.unsupported(needs)) }
    }

    /// Whether the call was cancelled. A handler that works long without waiting should look now and then.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.is_cancelled()
    }

    /// Fires when the call is cancelled. The handler's future is dropped then too; this is for work it has started elsewhere.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        self.0.cancelled.token()
    }

    /// Reports progress to a caller that asked for it, and does nothing for others. Values that do not increase are not sent
    /// (*Progress*).
    pub async fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(token) = &self.0.asked.progress else { return };
        if !self.advance(progress) {
            return;
        }
        let params = ProgressParams {
            progress_token: token.clone(),
            progress,
            total,
            message: message.map(str::to_owned),
        };
        self.notify(|revision, out| revision.write_progress(out, &params, Related::default())).await;
    }

    /// Sends a log message to the client, if it wants messages of this level.
    pub async fn log(&self, level: LogLevel, logger: Option<&str>, data: &impl Serialize) {
        if self.0.asked.log_level.is_none_or(|wanted| level < wanted) {
            return;
        }
        let Ok(data) = to_raw_value(data) else { return };
        let params = LogMessageParams { level, logger: logger.map(str::to_owned), data };
        self.notify(|revision, out| revision.write_log_message(out, &params, Related::default())).await;
    }

    /// Asks the user. `key` names the question within this call.
    ///
    /// Where the client's revision asks in rounds, the handler is stopped here and runs again from its beginning when the
    /// answer is there: what it does before must be repeatable, or be done in [`Exchange::once`]. Several questions asked
    /// together, with `join!`, are asked in one round.
    ///
    /// # Errors
    /// See [`AskError`]. Declining is an answer, not an error.
    pub async fn elicit(&self, key: &str, params: ElicitParams) -> Result<ElicitResult, AskError> {
        match self.ask(key, params.into()).await? {
            InputResponse::Elicit(result) => Ok(result),
            _ => Err(other_kind()),
        }
    }

    /// Asks the client's model. See [`Exchange::elicit`].
    ///
    /// # Errors
    /// See [`AskError`].
    pub async fn sample(
        &self,
        key: &str,
        params: CreateMessageParams,
    ) -> Result<CreateMessageResult, AskError> {
        match self.ask(key, params.into()).await? {
            InputResponse::Sample(result) => Ok(*result),
            _ => Err(other_kind()),
        }
    }

    /// Asks which directories the client works in. See [`Exchange::elicit`].
    ///
    /// # Errors
    /// See [`AskError`].
    pub async fn roots(&self, key: &str) -> Result<Vec<Root>, AskError> {
        match self.ask(key, InputRequest::Roots).await? {
            InputResponse::Roots(result) => Ok(result.roots),
            _ => Err(other_kind()),
        }
    }

    /// Goes on as a task from here on, where the tool says [`Tool::ask_before_task`](crate::Tool::ask_before_task) and the
    /// client takes a task for an answer: the client gets the task now, and fetches the result when it is there. Until then
    /// it is an ordinary call, so that what is asked before is asked before there is a task. Does nothing where the call is a
    /// task already, or cannot be one.
    ///
    /// # Errors
    /// If there can be no task now: too many, or the store cannot be reached. The call goes on as an ordinary one if the
    /// handler does.
    pub async fn begin_task(&self) -> Result<(), HandlerError> {
        match &self.0.asking {
            Asking::BeforeTask(_, becoming) => becoming.begin().await,
            Asking::Rounds(_) | Asking::During(_) | Asking::Never => Ok(()),
        }
    }

    /// Does something once, however often the call comes back with answers: its result travels with the call's state.
    ///
    /// Results are a few KiB at most: they go to the client and back. Put a handle there for anything larger.
    ///
    /// # Errors
    /// Those of `work`, or if the result of an earlier round is no `T`.
    pub async fn once<T, W>(&self, key: &str, work: W) -> Result<T, HandlerError>
    where
        T: Serialize + DeserializeOwned,
        W: Future<Output = Result<T, HandlerError>>,
    {
        let Some(rounds) = self.rounds() else { return work.await };
        if let Some(earlier) = rounds.step(key) {
            return Ok(serde_json::from_str(earlier.get())?);
        }
        let result = work.await?;
        rounds.keep_step(key, to_raw_value(&result)?);
        Ok(result)
    }

    /// Says that the answers of this round may be used once, before the handler does something with them that must not be done
    /// twice. A client whose connection broke may send the same answers again, to any replica: the second call ends here.
    ///
    /// Where questions are asked while the call goes on, answers cannot come twice, and this does nothing.
    ///
    /// # Errors
    /// If the answers were used before, or the store cannot be reached.
    pub async fn use_answers_once(&self) -> Result<(), HandlerError> {
        let Some(state) = self.started_rounds().and_then(Rounds::resumed) else { return Ok(()) };
        let used = Key::new(Kind::Nonce, state);
        // The state itself lapses before, by whichever replica's clock.
        let kept = ROUND_LIFETIME * 2;
        if self.services().store.create(&used, Record::default(), kept).await? {
            return Ok(());
        }
        Err(HandlerError::new(
            "these answers were used already; call again without requestState to be asked anew",
        ))
    }

    /// Values that outlive this call: the session's where the client has one. Without a session they belong to a handle,
    /// which the tool takes as an argument and returns in its result; with `None` a new one is made.
    ///
    /// # Errors
    /// If the handle is unknown, has expired, or belongs to somebody else, or the store cannot be reached.
    pub async fn state(&self, handle: Option<&str>) -> Result<State, HandlerError> {
        let Inner { services, caller, .. } = &*self.0;
        let store = services.store.clone();
        match (&caller.client, handle) {
            (Client::Session { id, .. }, None) => Ok(State::of_session(store, id)),
            (_, Some(handle)) => {
                State::of_handle(store, &caller.principal, handle, services.session_ttl).await
            }
            (_, None) => State::create(store, &caller.principal, services.session_ttl).await,
        }
    }

    /// Tells every client that subscribed to it that a resource changed, on all replicas.
    ///
    /// # Errors
    /// If the hub cannot be reached.
    pub async fn resource_updated(&self, uri: &str) -> Result<(), HandlerError> {
        Ok(self.0.services.publish(&Broadcast::Resource(uri.into())).await?)
    }

    /// Tells every client that the list of tools changed, on all replicas.
    ///
    /// # Errors
    /// If the hub cannot be reached.
    pub async fn tools_changed(&self) -> Result<(), HandlerError> {
        Ok(self.0.services.publish(&Broadcast::Tools).await?)
    }

    /// Tells every client that the list of prompts changed, on all replicas.
    ///
    /// # Errors
    /// If the hub cannot be reached.
    pub async fn prompts_changed(&self) -> Result<(), HandlerError> {
        Ok(self.0.services.publish(&Broadcast::Prompts).await?)
    }

    /// Tells every client that the list of resources changed, on all replicas.
    ///
    /// # Errors
    /// If the hub cannot be reached.
    pub async fn resources_changed(&self) -> Result<(), HandlerError> {
        Ok(self.0.services.publish(&Broadcast::Resources).await?)
    }

    /// A sign of life to a caller that asked for progress, for clients that count messages and not bytes.
    pub(crate) async fn heartbeat(&self) {
        let last = f64::from_bits(self.0.progress.load(Ordering::Relaxed));
        // The least that is more: the handler's own values go on where they were.
        self.progress(last.max(1e-6).next_up(), None, None).await;
    }

    pub(crate) fn services(&self) -> &Arc<Services> {
        &self.0.services
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.0.caller
    }

    pub(crate) fn asked(&self) -> &Asked {
        &self.0.asked
    }

    pub(crate) fn outbox(&self) -> &Arc<Outbox> {
        &self.0.outbox
    }

    /// The rounds of this call, where its questions are asked in rounds.
    pub(crate) fn rounds(&self) -> Option<&Rounds> {
        let (Asking::Rounds(rounds) | Asking::BeforeTask(rounds, _)) = &self.0.asking else { return None };
        Some(rounds.get_or_init(|| Rounds::first(&self.call(), ROUND_LIFETIME)))
    }

    /// The rounds of this call, if a question was asked or an earlier round resumed.
    pub(crate) fn started_rounds(&self) -> Option<&Rounds> {
        match &self.0.asking {
            Asking::Rounds(rounds) | Asking::BeforeTask(rounds, _) => rounds.get(),
            Asking::During(_) | Asking::Never => None,
        }
    }

    /// Resumes an earlier round.
    ///
    /// # Errors
    /// What to tell the caller.
    pub(crate) fn resume(&self, state: Option<&str>, responses: Option<&RawValue>) -> Result<(), String> {
        if let Asking::Rounds(rounds) | Asking::BeforeTask(rounds, _) = &self.0.asking {
            let keys = &self.0.services.keys;
            let resumed = Rounds::resume(keys, &self.call(), state, responses, ROUND_LIFETIME)?;
            // Nothing has asked yet: the handler has not started.
            let _first = rounds.set(resumed);
        }
        Ok(())
    }

    fn call(&self) -> Call<'_> {
        Call {
            principal: &self.0.caller.principal,
            method: self.0.asked.method,
            target: &self.0.asked.target,
            arguments: self.0.asked.arguments.as_deref(),
        }
    }

    async fn ask(&self, key: &str, question: InputRequest) -> Result<InputResponse, AskError> {
        if !question.is_served_by(self.client_capabilities()) {
            return Err(self.unsupported(question.needs()));
        }
        if let Some(asker) = self.task_asker() {
            return self.ask_during(&*asker, key, &question).await;
        }
        match &self.0.asking {
            Asking::Never => Err(AskError::NoWay),
            Asking::During(asker) => self.ask_during(&**asker, key, &question).await,
            Asking::Rounds(_) | Asking::BeforeTask(..) => {
                let Some(rounds) = self.rounds() else { return Err(AskError::NoWay) };
                if let Some(answer) = rounds.answer(key)
                    && let Ok(answer) = read_answer(self.0.caller.revision, &question, &answer)
                {
                    return Ok(answer);
                }
                rounds.note(key, &question);
                pending().await
            }
        }
    }

    async fn ask_during(
        &self,
        asker: &dyn Asker,
        key: &str,
        question: &InputRequest,
    ) -> Result<InputResponse, AskError> {
        let asking = asker.ask(&self.0.asked.id, &self.0.outbox, key, question);
        let answer = tokio::select! {
            answer = asking => answer?,
            () = self.cancellation().cancelled() => return Err(AskError::Cancelled),
        };
        read_answer(self.0.caller.revision, question, &answer).map_err(AskError::Malformed)
    }

    /// How a call that has become a task asks.
    fn task_asker(&self) -> Option<Arc<dyn Asker>> {
        match &self.0.asking {
            Asking::BeforeTask(_, becoming) => becoming.asker(),
            Asking::Rounds(_) | Asking::During(_) | Asking::Never => None,
        }
    }

    fn unsupported(&self, needs: ClientCapabilities) -> AskError {
        let modern = self.0.caller.revision.era() == Era::Modern;
        AskError::Unsupported { needs: Box::new(needs), modern }
    }

    fn advance(&self, progress: f64) -> bool {
        let ordering = Ordering::Relaxed;
        self.0
            .progress
            .fetch_update(ordering, ordering, |last| {
                (progress > f64::from_bits(last)).then(|| progress.to_bits())
            })
            .is_ok()
    }

    /// Sends a notification to the caller. That it could not be delivered is not the handler's concern: the outcome of the
    /// call does not depend on it.
    async fn notify(&self, write: impl FnOnce(Revision, &mut Vec<u8>)) {
        // The request of a call that has become a task is answered, and nothing may follow it.
        if self.task_asker().is_some() {
            return;
        }
        let mut frame = Vec::with_capacity(192);
        write(self.0.caller.revision, &mut frame);
        if let Err(error) = self.0.outbox.send(frame.into()).await {
            tracing::debug!(%error, "a notification was not delivered");
        }
    }
}

/// An answer is read as the kind that was asked for; this is never seen.
fn other_kind() -> AskError {
    AskError::Malformed("it answers a question of another kind".to_owned())
}

/// The URI or name of what a request is about, for a log line.
pub(crate) fn shown(target: &str) -> Cow<'_, str> {
    const MOST: usize = 80;
    match target.char_indices().nth(MOST) {
        Some((end, _)) => Cow::Owned(format!("{}…", &target[..end])),
        None => Cow::Borrowed(target),
    }
}
