//! What the store knows of a session, as types.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::value::RawValue;
use trunkline_protocol::{
    Revision,
    model::{ClientCapabilities, Implementation, InitializeParams, LogLevel},
    params::read,
};
use trunkline_store::Record;

use crate::principal::Principal;

/// The shape of the fields below. A later version that adds fields keeps the number: unknown ones survive every change.
const SCHEMA: &str = "1";

/// Names of the fields of a session's record.
pub(crate) mod field {
    /// The shape of the record.
    pub(crate) const SCHEMA: &str = "schema";
    /// The negotiated revision.
    pub(crate) const REVISION: &str = "revision";
    /// `clientInfo`, as JSON.
    pub(crate) const CLIENT: &str = "client";
    /// The client's capabilities, as JSON.
    pub(crate) const CAPABILITIES: &str = "capabilities";
    /// The owner.
    pub(crate) const PRINCIPAL: &str = "principal";
    /// There once `initialize` was answered.
    pub(crate) const OPEN: &str = "open";
    /// The least severe log message that is wanted.
    pub(crate) const LOG_LEVEL: &str = "log_level";
    /// Counts the streams that listened.
    pub(crate) const LISTENERS: &str = "listeners";
    /// Before the URI of each subscribed resource.
    pub(crate) const SUBSCRIPTION: &str = "sub:";
    /// Before the name of each value of the application.
    pub(crate) const VALUE: &str = "v:";
}

/// A session as it was read from the store.
#[derive(Clone, Debug)]
pub(crate) struct SessionRecord {
    /// The negotiated revision.
    pub(crate) revision: Revision,
    /// Whether `initialize` was answered. HTTP+SSE makes a session before.
    pub(crate) open: bool,
    /// Who the client says it is.
    pub(crate) client: Option<Box<Implementation>>,
    /// What the client declared.
    pub(crate) capabilities: Box<ClientCapabilities>,
    /// The owner.
    pub(crate) principal: Principal,
    /// The least severe log message that is wanted; `None` until the client has said.
    pub(crate) log_level: Option<LogLevel>,
    /// The subscribed resources.
    pub(crate) subscriptions: BTreeSet<Box<str>>,
}

/// What a client says of itself in `initialize`, as it is stored.
pub(crate) struct Greeting {
    /// The revision that answers it.
    pub(crate) revision: Revision,
    /// `clientInfo`, as JSON.
    pub(crate) client: Bytes,
    /// The capabilities, as JSON.
    pub(crate) capabilities: Bytes,
}

/// A record that is no session, or one of a version that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the session's record cannot be read: {0}")]
pub(crate) struct UnreadableRecord(String);

// === impl Greeting ===

impl Greeting {
    /// Reads the parameters of `initialize`, and settles the revision. Capabilities that it has no words for are left out.
    ///
    /// # Errors
    /// What does not fit.
    pub(crate) fn read(params: Option<&RawValue>) -> Result<Self, String> {
        let raw = params.ok_or_else(|| "params are missing".to_owned())?;
        let params: InitializeParams = read(raw, "params")?;
        let revision = Revision::negotiate(&params.protocol_version);
        let json = |value: Result<Vec<u8>, serde_json::Error>| {
            value.map(Bytes::from).map_err(|error| format!("invalid params: {error}"))
        };
        Ok(Self {
            revision,
            client: json(serde_json::to_vec(&params.client_info))?,
            capabilities: json(serde_json::to_vec(&revision.known_capabilities(&params.capabilities)))?,
        })
    }
}

// === impl SessionRecord ===

impl SessionRecord {
    /// The record of a session that no client has introduced itself in yet.
    pub(crate) fn unopened(principal: &Principal) -> Record {
        Record::default()
            .with(field::SCHEMA, SCHEMA)
            .with(field::REVISION, Revision::V2024_11_05.as_str())
            .with(field::CAPABILITIES, "{}")
            .with(field::PRINCIPAL, principal.as_str().to_owned())
    }

    /// The fields that `initialize` adds, or replaces.
    pub(crate) fn opening(greeting: &Greeting) -> [(&'static str, Bytes); 4] {
        [
            (field::REVISION, Bytes::from_static(greeting.revision.as_str().as_bytes())),
            (field::CAPABILITIES, greeting.capabilities.clone()),
            (field::CLIENT, greeting.client.clone()),
            (field::OPEN, Bytes::from_static(b"1")),
        ]
    }

    /// Reads a session from its record.
    ///
    /// # Errors
    /// If a field without which it cannot be served is missing or unreadable.
    pub(crate) fn read(record: &Record) -> Result<Self, UnreadableRecord> {
        let unreadable = |what: &str| UnreadableRecord(what.to_owned());
        let schema = record.text(field::SCHEMA).ok_or_else(|| unreadable("no schema number"))?;
        if schema != SCHEMA {
            return Err(UnreadableRecord(format!("schema {schema}, this version reads {SCHEMA}")));
        }
        let revision = record
            .text(field::REVISION)
            .and_then(Revision::from_name)
            .ok_or_else(|| unreadable("the revision"))?;
        let principal = record.text(field::PRINCIPAL).ok_or_else(|| unreadable("the principal"))?;
        let capabilities = record
            .text(field::CAPABILITIES)
            .and_then(|json| serde_json::from_str(json).ok())
            .ok_or_else(|| unreadable("the capabilities"))?;
        let subscriptions = record
            .fields
            .keys()
            .filter_map(|name| name.strip_prefix(field::SUBSCRIPTION))
            .map(Into::into)
            .collect();
        Ok(Self {
            revision,
            open: record.fields.contains_key(field::OPEN),
            client: record.text(field::CLIENT).and_then(|json| serde_json::from_str(json).ok()),
            capabilities,
            principal: Principal::named(principal),
            log_level: record.text(field::LOG_LEVEL).and_then(LogLevel::from_name),
            subscriptions,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let params = r#"{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}"#;
        let params: Box<RawValue> = serde_json::from_str(params).unwrap();
        let greeting = Greeting::read(Some(&params)).unwrap();
        let opened = SessionRecord::opening(&greeting).into_iter();
        opened.fold(SessionRecord::unopened(&Principal::named("p")), |record, (field, value)| {
            record.with(field, value)
        })
    }

    #[test]
    fn fields_of_a_later_version_are_passed_over() {
        let later = record().with("a later field", "x").with("later:", "y");
        let read = SessionRecord::read(&later).unwrap();
        assert_eq!((read.revision, read.open), (Revision::V2025_06_18, true));
        assert!(read.capabilities.supports_roots());
    }

    #[test]
    fn a_record_of_another_shape_is_not_guessed_at() {
        for schema in ["0", "2", "", "01"] {
            let error = SessionRecord::read(&record().with(field::SCHEMA, schema)).unwrap_err();
            assert!(error.to_string().contains("this version reads 1"), "{error}");
        }
        for field in [field::SCHEMA, field::REVISION, field::PRINCIPAL, field::CAPABILITIES] {
            let mut record = record();
            record.fields.remove(field);
            assert!(SessionRecord::read(&record).is_err(), "without {field}");
        }
    }

    #[test]
    fn a_record_of_the_first_version_is_read() {
        // As it was written by 0.1.0; later versions must go on reading it.
        let written = [
            ("schema", "1"),
            ("revision", "2025-11-25"),
            ("client", r#"{"name":"c","version":"1"}"#),
            ("capabilities", r#"{"elicitation":{"form":{}}}"#),
            ("principal", "anonymous"),
            ("open", "1"),
            ("log_level", "error"),
            ("sub:x://a", "1"),
            ("v:key", "7"),
        ];
        let record =
            written.iter().fold(Record::default(), |record, (name, value)| record.with(name, *value));
        let read = SessionRecord::read(&record).unwrap();
        assert_eq!((read.revision, read.open), (Revision::V2025_11_25, true));
        assert_eq!(read.log_level, Some(LogLevel::Error));
        assert_eq!(read.subscriptions.iter().map(|uri| &**uri).collect::<Vec<_>>(), ["x://a"]);
        assert_eq!(read.client.unwrap().name, "c");
    }
}
