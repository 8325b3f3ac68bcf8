//! What the server asks, and how its tools put the answer.

use rmcp::{
    ErrorData, RoleServer,
    model::{CreateMessageRequest, ElicitRequest, InputRequest, JsonObject, ListRootsRequest},
    service::RequestContext,
};
use serde_json::{Value, json};

use crate::internal;

/// Whom a question is put to.
#[derive(Clone, Copy)]
pub enum Kind {
    Person,
    Model,
    Folders,
}

// === impl Kind ===

impl Kind {
    pub fn as_round(self, arguments: &JsonObject) -> Result<InputRequest, ErrorData> {
        let params = self.params(arguments);
        Ok(match self {
            Self::Person => InputRequest::Elicitation(ElicitRequest::new(read(params)?)),
            Self::Model => InputRequest::CreateMessage(CreateMessageRequest::new(read(params)?)),
            Self::Folders => InputRequest::ListRoots(ListRootsRequest::default()),
        })
    }

    pub async fn as_request(
        self,
        arguments: &JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let params = self.params(arguments);
        let answer = match self {
            Self::Person => {
                serde_json::to_value(context.peer.create_elicitation(read(params)?).await.map_err(internal)?)
            }
            Self::Model => {
                serde_json::to_value(context.peer.create_message(read(params)?).await.map_err(internal)?)
            }
            Self::Folders => serde_json::to_value(context.peer.list_roots().await.map_err(internal)?),
        };
        answer.map_err(internal)
    }

    fn params(self, arguments: &JsonObject) -> Value {
        match self {
            Self::Person => json!({
                "mode": "form",
                "message": arguments["question"],
                "requestedSchema":
                    {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]},
            }),
            Self::Model => json!({
                "messages": [{"role": "user", "content": {"type": "text", "text": arguments["prompt"]}}],
                "maxTokens": 10,
            }),
            Self::Folders => json!({}),
        }
    }

    pub fn words(self, answer: &Value) -> String {
        let word = |at: &str| answer.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
        match self {
            Self::Person if answer["action"] == "accept" => format!("accept: {}", word("/content/answer")),
            Self::Person => word("/action"),
            Self::Model => format!("{}: {}", word("/model"), word("/content/text")),
            Self::Folders => word("/roots/0/uri"),
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(internal)
}
