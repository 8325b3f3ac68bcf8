//! The client's side of the connection: the user who answers questions, and what arrives unasked.

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
        ElicitationCapability, FormElicitationCapability, Implementation, ProgressNotificationParam,
        ProtocolVersion, ResourceUpdatedNotificationParam,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::Value;
use tokio::sync::watch;

use crate::events::Events;

/// What the user says to every question.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) action: ElicitationAction,
    pub(crate) content: Option<Value>,
}

/// The user, and a record of what the server sent.
#[derive(Debug)]
pub(crate) struct User {
    /// What `initialize` offers; `server/discover` has its own way.
    offer: ProtocolVersion,
    pub(crate) answer: watch::Sender<Answer>,
    /// The message and the schema of each question.
    pub(crate) asked: Events<(String, Value)>,
    pub(crate) progress: Events<ProgressNotificationParam>,
    pub(crate) updates: Events<String>,
}

// === impl User ===

impl User {
    pub(crate) fn new(offer: ProtocolVersion) -> Self {
        Self {
            offer,
            answer: watch::Sender::new(Answer { action: ElicitationAction::Cancel, content: None }),
            asked: Events::default(),
            progress: Events::default(),
            updates: Events::default(),
        }
    }
}

impl ClientHandler for User {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation =
            Some(ElicitationCapability::new().with_form(FormElicitationCapability::default()));
        ClientConfig::new(capabilities, Implementation::new("interop", "1"))
            .with_protocol_version(self.offer.clone())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request else {
            return Err(ErrorData::invalid_params("only forms are answered here", None));
        };
        let schema = serde_json::to_value(&requested_schema).unwrap_or_default();
        self.asked.put((message, schema));
        let Answer { action, content } = self.answer.borrow().clone();
        let mut result = ElicitResult::new(action);
        result.content = content;
        Ok(result)
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.progress.put(params);
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.updates.put(params.uri);
    }
}
