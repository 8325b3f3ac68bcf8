//! What the store knows of a task, as types, and how a task changes. Nothing here waits.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use trunkline_protocol::{
    Revision, RpcError,
    model::{InputRequest, OrderedMap, Task, TaskDetail, TaskStatus},
};
use trunkline_store::Record;

use super::owner::Owner;

/// The shape of the fields below. A later version that adds fields keeps the number: unknown ones survive every change.
const SCHEMA: &str = "1";

/// How often a client should ask, in milliseconds. Changes that it waits for take longer as a rule, and asking is cheap.
pub(super) const POLL_INTERVAL_MS: u64 = 1000;

/// Names of the fields of a task's record. All but the state are written once.
mod field {
    pub(super) const SCHEMA: &str = "schema";
    pub(super) const PRINCIPAL: &str = "principal";
    pub(super) const SESSION: &str = "session";
    /// The revision that its answer is written in. Who asks for it speaks the same dialect; this is for whoever looks.
    pub(super) const REVISION: &str = "revision";
    pub(super) const TOOL: &str = "tool";
    pub(super) const REPLICA: &str = "replica";
    pub(super) const CREATED: &str = "created";
    pub(super) const TTL: &str = "ttl_ms";
    pub(super) const STATE: &str = "state";
}

/// The field that changes, in one step each.
pub(super) const STATE: &str = field::STATE;

/// A task as it was read from the store.
#[derive(Clone, Debug)]
pub(super) struct TaskRecord {
    /// Whose it is.
    pub(super) principal: Box<str>,
    /// The session that began it, where it is bound to one.
    pub(super) session: Option<Box<str>>,
    /// The replica it runs on.
    pub(super) replica: Box<str>,
    /// When it began, for display.
    pub(super) created: String,
    /// How long it is kept from its beginning.
    pub(super) ttl: Duration,
    /// Where it stands.
    pub(super) state: State,
    /// The state as it is written: what a change replaces.
    pub(super) written: Bytes,
}

/// Where a task stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct State {
    /// In one word.
    pub(super) status: TaskStatus,
    /// When it last changed, for display.
    pub(super) updated: String,
    /// The same for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    /// Whether the answer is a tool's failure.
    #[serde(default)]
    pub(super) is_error: bool,
    /// The record that holds the answer, or the error, of a task that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) payload: Option<String>,
    /// The questions that wait for an answer, in the order they were asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    questions: Vec<Question>,
    /// Answers that have come, until the handler has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answers: Vec<Given>,
    /// What a later version has added.
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// A question that waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Question {
    key: String,
    /// As JSON in a string: what is read through a buffer cannot hold raw JSON.
    request: String,
}

/// An answer that has come.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Given {
    key: String,
    /// The record that holds it.
    blob: String,
}

/// What a client said to a question, as it is stored until the handler has it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Said {
    /// An answer.
    Answer(Box<RawValue>),
    /// An error.
    Refused(RpcError),
}

/// How a task ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// A terminal status.
    pub(super) status: TaskStatus,
    /// For people.
    pub(super) message: Option<String>,
    /// Whether the answer is a tool's failure.
    pub(super) is_error: bool,
    /// The record that holds the answer or the error.
    pub(super) payload: Option<String>,
}

/// A record that is no task, or one of a version that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the task's record cannot be read: {0}")]
pub(super) struct Unreadable(String);

// === impl TaskRecord ===

impl TaskRecord {
    /// The record of a task that begins, and the task as the client is told of it.
    pub(super) fn begin(
        owner: &Owner,
        revision: Revision,
        tool: &str,
        replica: &str,
        ttl: Duration,
    ) -> (Record, Self) {
        let created = super::timestamp::now();
        let state = State::working(created.clone());
        let written = state.write();
        let mut record = Record::default()
            .with(field::SCHEMA, SCHEMA)
            .with(field::PRINCIPAL, owner.principal().as_str().to_owned())
            .with(field::REVISION, revision.as_str())
            .with(field::TOOL, tool.to_owned())
            .with(field::REPLICA, replica.to_owned())
            .with(field::CREATED, created.clone())
            .with(field::TTL, ttl.as_millis().to_string())
            .with(field::STATE, written.clone());
        if let Some(session) = owner.session() {
            record = record.with(field::SESSION, session.to_owned());
        }
        let task = Self {
            principal: owner.principal().as_str().into(),
            session: owner.session().map(Into::into),
            replica: replica.into(),
            created,
            ttl,
            state,
            written,
        };
        (record, task)
    }

    /// Reads a task from its record.
    ///
    /// # Errors
    /// If a field without which it cannot be served is missing or unreadable.
    pub(super) fn read(record: &Record) -> Result<Self, Unreadable> {
        let text = |name: &str| record.text(name).ok_or_else(|| Unreadable(name.to_owned()));
        let schema = text(field::SCHEMA)?;
        if schema != SCHEMA {
            return Err(Unreadable(format!("schema {schema}, this version reads {SCHEMA}")));
        }
        let ttl = text(field::TTL)?.parse().map_err(|_| Unreadable(field::TTL.to_owned()))?;
        let state = serde_json::from_str(text(field::STATE)?);
        Ok(Self {
            principal: text(field::PRINCIPAL)?.into(),
            session: record.text(field::SESSION).map(Into::into),
            replica: text(field::REPLICA)?.into(),
            created: text(field::CREATED)?.to_owned(),
            ttl: Duration::from_millis(ttl),
            state: state.map_err(|error| Unreadable(format!("{}: {error}", field::STATE)))?,
            written: record.fields.get(field::STATE).cloned().unwrap_or_default(),
        })
    }

    /// The same task in another state.
    pub(super) fn with_state(mut self, state: State, written: Bytes) -> Self {
        self.state = state;
        self.written = written;
        self
    }

    /// Whether it is this owner's.
    pub(super) fn belongs_to(&self, owner: &Owner) -> bool {
        *self.principal == *owner.principal().as_str() && self.session.as_deref() == owner.session()
    }

    /// The task as clients are told of it.
    pub(super) fn to_model(&self, id: &str) -> Task {
        let millis = u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX);
        let mut task = Task::new(id, &self.created, Some(millis));
        task.status = self.state.status;
        task.status_message.clone_from(&self.state.message);
        task.last_updated_at.clone_from(&self.state.updated);
        task.poll_interval_ms = (!task.status.is_terminal()).then_some(POLL_INTERVAL_MS);
        task.is_error = self.state.is_error;
        task
    }
}

// === impl State ===

impl State {
    /// A task that has just begun.
    fn working(now: String) -> Self {
        Self {
            status: TaskStatus::Working,
            updated: now,
            message: None,
            is_error: false,
            payload: None,
            questions: Vec::new(),
            answers: Vec::new(),
            other: Map::new(),
        }
    }

    /// As it is stored.
    pub(super) fn write(&self) -> Bytes {
        serde_json::to_vec(self).map(Bytes::from).unwrap_or_default()
    }

    /// Whether nothing changes it any more.
    pub(super) fn is_terminal(&self) -> bool {
        self.status.is_terminal()
    }

    /// The keys and questions that wait for an answer.
    pub(super) fn questions(&self) -> OrderedMap<InputRequest> {
        let read = |question: &Question| {
            let request = serde_json::from_str(&question.request).ok()?;
            Some((question.key.clone(), request))
        };
        self.questions.iter().filter_map(read).collect()
    }

    /// What `tasks/get` says beside the status of a task that goes on or was called off.
    pub(super) fn detail(&self) -> TaskDetail {
        match self.status {
            TaskStatus::InputRequired => TaskDetail::InputRequests(self.questions()),
            _ => TaskDetail::None,
        }
    }

    /// Whether nobody has answered this question yet.
    pub(super) fn is_asking(&self, key: &str) -> bool {
        self.questions.iter().any(|question| question.key == key)
    }

    /// How many questions wait.
    pub(super) fn open_questions(&self) -> usize {
        self.questions.len()
    }

    /// Adds a question. Whether it could be: an ended task asks nothing. Adding it again, since it was not known whether the
    /// first time took effect, changes nothing.
    pub(super) fn ask(&mut self, key: &str, request: &InputRequest) -> bool {
        let Ok(request) = serde_json::to_string(request) else { return false };
        if self.is_terminal() {
            return false;
        }
        if self.is_asking(key) || self.answered(key).is_some() {
            return true;
        }
        self.questions.push(Question { key: key.to_owned(), request });
        self.status = TaskStatus::InputRequired;
        true
    }

    /// Takes an answer, which `blob` holds. Whether its question was waiting: the first answer counts.
    pub(super) fn answer(&mut self, key: &str, blob: &str) -> bool {
        let waiting = self.forget(key);
        if waiting {
            self.answers.push(Given { key: key.to_owned(), blob: blob.to_owned() });
        }
        waiting
    }

    /// Takes a question back. Whether it was waiting.
    pub(super) fn withdraw(&mut self, key: &str) -> bool {
        self.forget(key)
    }

    /// What holds the answer to a question, if it has come.
    pub(super) fn answered(&self, key: &str) -> Option<&str> {
        self.answers.iter().find(|given| given.key == key).map(|given| &*given.blob)
    }

    /// Lets go of an answer that the handler has.
    pub(super) fn take(&mut self, key: &str) -> bool {
        let before = self.answers.len();
        self.answers.retain(|given| given.key != key);
        self.answers.len() < before
    }

    /// Ends the task. Whether it had not ended before: the first end counts.
    pub(super) fn end(&mut self, end: End) -> bool {
        if self.is_terminal() {
            return false;
        }
        self.status = end.status;
        self.message = end.message;
        self.is_error = end.is_error;
        self.payload = end.payload;
        self.questions.clear();
        self.answers.clear();
        true
    }

    fn forget(&mut self, key: &str) -> bool {
        let before = self.questions.len();
        self.questions.retain(|question| question.key != key);
        let forgotten = self.questions.len() < before;
        if forgotten && self.questions.is_empty() {
            self.status = TaskStatus::Working;
        }
        forgotten
    }
}

// === impl End ===

impl End {
    /// The client called it off.
    pub(super) fn cancelled() -> Self {
        let message = Some("The task was cancelled by request.".to_owned());
        Self { status: TaskStatus::Cancelled, message, is_error: false, payload: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State::working("t".into())
    }

    fn completed() -> End {
        End { status: TaskStatus::Completed, message: None, is_error: false, payload: Some("p".into()) }
    }

    #[test]
    fn one_answer_of_two_leaves_the_other_question() {
        let mut state = state();
        assert!(state.ask("a", &InputRequest::Roots) && state.ask("b", &InputRequest::Roots));
        assert_eq!(state.status, TaskStatus::InputRequired);
        assert!(state.answer("a", "x"));
        assert!(!state.answer("a", "y"), "the first answer counts");
        assert!(!state.answer("c", "z"), "nobody asked that");
        assert_eq!(state.status, TaskStatus::InputRequired);
        assert_eq!(state.questions().iter().map(|(key, _)| key).collect::<Vec<_>>(), ["b"]);
        assert!(state.withdraw("b"));
        assert_eq!(state.status, TaskStatus::Working);
        assert_eq!(state.answered("a"), Some("x"));
        assert!(state.take("a") && !state.take("a"));
    }

    #[test]
    fn a_question_that_is_added_again_is_asked_once() {
        let mut state = state();
        assert!(state.ask("a", &InputRequest::Roots) && state.ask("a", &InputRequest::Roots));
        assert_eq!(state.open_questions(), 1);
        state.answer("a", "x");
        assert!(state.ask("a", &InputRequest::Roots));
        assert_eq!((state.open_questions(), state.status), (0, TaskStatus::Working));
    }

    #[test]
    fn nothing_changes_a_task_that_has_ended() {
        for end in [End::cancelled(), completed()] {
            let mut state = state();
            state.ask("a", &InputRequest::Roots);
            assert!(state.end(end));
            let ended = state.write();
            assert!(!state.ask("b", &InputRequest::Roots));
            assert!(!state.answer("a", "x") && !state.withdraw("a") && !state.take("a"));
            assert!(!state.end(completed()) && !state.end(End::cancelled()));
            assert_eq!(state.write(), ended);
        }
    }

    #[test]
    fn what_a_later_version_adds_survives_a_change() {
        let later = r#"{"status":"working","updated":"t","is_error":false,"colour":{"of":["later"]}}"#;
        let mut state: State = serde_json::from_str(later).unwrap();
        state.ask("a", &InputRequest::Roots);
        let written = String::from_utf8(state.write().to_vec()).unwrap();
        assert!(written.contains(r#""colour":{"of":["later"]}"#), "{written}");
        let again: State = serde_json::from_str(&written).unwrap();
        assert_eq!(again.questions().len(), 1);
    }
}
