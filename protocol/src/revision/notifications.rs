//! How each revision writes the notifications of a server, envelope and all.

use serde::Serialize;

use super::{
    Related, Revision,
    object::{ObjectWriter, write_meta},
};
use crate::{
    Method,
    ids::RequestId,
    model::{ListenFilter, LogMessageParams, ProgressParams},
};

/// A list that can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// Of tools.
    Tools,
    /// Of prompts.
    Prompts,
    /// Of resources and their templates.
    Resources,
}

// === impl ListKind ===

impl ListKind {
    /// All lists.
    pub const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];

    /// The notification that the list changed.
    #[must_use]
    pub const fn changed(self) -> Method {
        match self {
            Self::Tools => Method::ToolsListChanged,
            Self::Prompts => Method::PromptsListChanged,
            Self::Resources => Method::ResourcesListChanged,
        }
    }
}

// === impl Revision ===

impl Revision {
    /// `notifications/progress`.
    pub fn write_progress(self, out: &mut Vec<u8>, params: &ProgressParams, related: Related<'_>) {
        if params.message.is_some() && !self.features().progress_message {
            let silent = ProgressParams { message: None, ..params.clone() };
            return self.write_serialized(out, Method::Progress, &silent, related);
        }
        self.write_serialized(out, Method::Progress, params, related);
    }

    /// `notifications/message`.
    pub fn write_log_message(self, out: &mut Vec<u8>, params: &LogMessageParams, related: Related<'_>) {
        self.write_serialized(out, Method::Message, params, related);
    }

    /// One of the `list_changed` notifications.
    pub fn write_list_changed(self, out: &mut Vec<u8>, list: ListKind, related: Related<'_>) {
        self.write_notification(out, list.changed(), related, |_| {});
    }

    /// `notifications/resources/updated`.
    pub fn write_resource_updated(self, out: &mut Vec<u8>, uri: &str, related: Related<'_>) {
        self.write_notification(out, Method::ResourcesUpdated, related, |params| params.field("uri", uri));
    }

    /// `notifications/subscriptions/acknowledged`: the first message on the stream of `listen` (from 2026-07-28).
    /// `granted` is the part of what was asked for that will be delivered.
    pub fn write_subscriptions_acknowledged(
        self,
        out: &mut Vec<u8>,
        granted: &ListenFilter,
        listen: &RequestId,
    ) {
        let related = Related { subscription: Some(listen), task: None };
        self.write_notification(out, Method::SubscriptionsAcknowledged, related, |params| {
            params.field("notifications", granted);
        });
    }

    /// `notifications/cancelled`: takes back a question of ours (up to 2025-11-25).
    pub fn write_cancelled(self, out: &mut Vec<u8>, request: &RequestId, reason: Option<&str>) {
        self.write_notification(out, Method::Cancelled, Related::default(), |params| {
            params.field("requestId", request);
            params.option("reason", reason);
        });
    }

    /// `notifications/elicitation/complete`: the user is done with a page (2025-11-25).
    pub fn write_elicitation_complete(self, out: &mut Vec<u8>, elicitation_id: &str) {
        self.write_notification(out, Method::ElicitationComplete, Related::default(), |params| {
            params.field("elicitationId", elicitation_id);
        });
    }

    fn write_serialized<T: Serialize>(
        self,
        out: &mut Vec<u8>,
        method: Method,
        params: &T,
        related: Related<'_>,
    ) {
        self.write_notification(out, method, related, |object| object.members(params));
    }

    pub(super) fn write_notification(
        self,
        out: &mut Vec<u8>,
        method: Method,
        related: Related<'_>,
        params: impl FnOnce(&mut ObjectWriter<'_>),
    ) {
        let mut notification = ObjectWriter::begin(out);
        notification.field("jsonrpc", "2.0");
        notification.field("method", method.name());
        notification.object("params", |object| {
            params(object);
            write_meta(self, object, None, None, related);
        });
        notification.end();
    }
}
