//! Who answers the server's questions.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use trunkline_client::Questions;
use trunkline_protocol::{
    RpcError,
    model::{
        ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitParams,
        ElicitResult, ListRootsResult, Role, Root,
    },
};

/// The folder that the client works on.
pub(crate) const ROOT: &str = "file:///srv/interop";

/// A person with a model and a folder.
#[derive(Clone, Default)]
pub(crate) struct Person {
    /// What is said to the next questions; `None` declines.
    answer: Arc<Mutex<Option<String>>>,
    /// What was asked.
    asked: Arc<Mutex<Vec<String>>>,
}

// === impl Person ===

impl Person {
    pub(crate) fn will_say(&self, answer: Option<&str>) {
        *self.answer.lock() = answer.map(str::to_owned);
    }

    /// What was asked since this was called last.
    pub(crate) fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock())
    }
}

impl Questions for Person {
    fn capabilities(&self) -> ClientCapabilities {
        serde_json::from_value(json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} }))
            .unwrap_or_default()
    }

    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        self.asked.lock().push(params.message().to_owned());
        let answer = self.answer.lock().clone();
        let action = if answer.is_some() { ElicitAction::Accept } else { ElicitAction::Decline };
        let content = answer.map(|answer| Map::from_iter([("answer".to_owned(), Value::String(answer))]));
        Ok(ElicitResult { action, content, meta: None })
    }

    async fn sample(&self, params: CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
        let asked =
            params.messages.first().and_then(|message| message.content.first()?.as_text().map(str::to_owned));
        let asked = asked.unwrap_or_default();
        Ok(CreateMessageResult {
            role: Role::Assistant,
            content: vec![format!("{asked}, indeed").into()],
            model: "parrot".to_owned(),
            stop_reason: Some("endTurn".to_owned()),
            meta: None,
        })
    }

    async fn roots(&self) -> Result<ListRootsResult, RpcError> {
        let root = Root { uri: ROOT.to_owned(), name: None, meta: None };
        Ok(ListRootsResult { roots: vec![root], meta: None })
    }
}
