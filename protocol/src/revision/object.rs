//! Writes JSON objects straight into bytes, without building them first.

use serde::Serialize;
use serde_json::value::RawValue;

use super::Revision;
use crate::{
    ids::RequestId,
    jsonrpc::write_json,
    model::{CacheScope, Caching, MetaMap, keys},
};

/// What ties a message to something else. Each part is written by the one revision that has it and by no other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Related<'a> {
    /// The `subscriptions/listen` request on whose stream the message travels (from 2026-07-28).
    pub subscription: Option<&'a RequestId>,
    /// The task it belongs to (2025-11-25).
    pub task: Option<&'a str>,
}

/// An object being written. [`ObjectWriter::end`] closes it.
///
/// Keys are names of this protocol, which JSON writes as they are.
pub(super) struct ObjectWriter<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

// === impl ObjectWriter ===

impl<'a> ObjectWriter<'a> {
    pub(super) fn begin(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, empty: true }
    }

    /// Writes a key; its value must follow.
    pub(super) fn key(&mut self, key: &'static str) -> &mut Vec<u8> {
        self.comma();
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    pub(super) fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) {
        write_json(self.key(key), value);
    }

    pub(super) fn option<T: Serialize + ?Sized>(&mut self, key: &'static str, value: Option<&T>) {
        if let Some(value) = value {
            self.field(key, value);
        }
    }

    pub(super) fn raw(&mut self, key: &'static str, json: &RawValue) {
        self.key(key).extend_from_slice(json.get().as_bytes());
    }

    pub(super) fn array<T: Serialize>(&mut self, key: &'static str, items: impl IntoIterator<Item = T>) {
        let out = self.key(key);
        out.push(b'[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_json(out, &item);
        }
        out.push(b']');
    }

    pub(super) fn object(&mut self, key: &'static str, write: impl FnOnce(&mut ObjectWriter<'_>)) {
        let mut inner = ObjectWriter::begin(self.key(key));
        write(&mut inner);
        inner.end();
    }

    /// Writes the members of a value that is an object as members of this one.
    pub(super) fn members<T: Serialize>(&mut self, value: &T) {
        let mut json = Vec::new();
        write_json(&mut json, value);
        let inner = json.strip_prefix(b"{").and_then(|json| json.strip_suffix(b"}")).unwrap_or_default();
        if !inner.is_empty() {
            self.comma();
            self.out.extend_from_slice(inner);
        }
    }

    pub(super) fn end(self) {
        self.out.push(b'}');
    }

    fn comma(&mut self) {
        if !std::mem::replace(&mut self.empty, false) {
            self.out.push(b',');
        }
    }

    fn member(&mut self, key: &str, value: &impl Serialize) {
        self.comma();
        write_json(self.out, key);
        self.out.push(b':');
        write_json(self.out, value);
    }
}

/// A result being written: the members that every result of a revision has are added here.
pub(super) struct ResultWriter<'a> {
    object: ObjectWriter<'a>,
    revision: Revision,
}

// === impl ResultWriter ===

impl<'a> ResultWriter<'a> {
    /// A finished result.
    pub(super) fn complete(revision: Revision, out: &'a mut Vec<u8>) -> Self {
        Self::of_type(revision, out, "complete")
    }

    pub(super) fn of_type(revision: Revision, out: &'a mut Vec<u8>, result_type: &'static str) -> Self {
        let mut object = ObjectWriter::begin(out);
        if revision.features().result_type {
            object.field("resultType", result_type);
        }
        Self { object, revision }
    }

    pub(super) fn caching(&mut self, caching: Caching) {
        if self.revision.features().caching {
            self.object.field("ttlMs", &caching.ttl_ms);
            let scope = match caching.scope {
                CacheScope::Public => "public",
                CacheScope::Private => "private",
            };
            self.object.field("cacheScope", scope);
        }
    }

    /// Ends the result with its `_meta`, where there is anything to say in it.
    pub(super) fn end(self, server: Option<&RawValue>, meta: Option<&MetaMap>) {
        self.end_related(server, meta, Related::default());
    }

    pub(super) fn end_related(
        mut self,
        server: Option<&RawValue>,
        meta: Option<&MetaMap>,
        related: Related<'_>,
    ) {
        let server = server.filter(|_| self.revision.features().result_type);
        write_meta(self.revision, &mut self.object, server, meta, related);
        self.object.end();
    }
}

impl<'a> std::ops::Deref for ResultWriter<'a> {
    type Target = ObjectWriter<'a>;

    fn deref(&self) -> &Self::Target {
        &self.object
    }
}

impl std::ops::DerefMut for ResultWriter<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.object
    }
}

/// Writes `_meta`: ours first, then the handler's members, of which those of our names are left out.
pub(super) fn write_meta(
    revision: Revision,
    object: &mut ObjectWriter<'_>,
    server: Option<&RawValue>,
    meta: Option<&MetaMap>,
    related: Related<'_>,
) {
    let features = revision.features();
    let subscription = related.subscription.filter(|_| features.result_type);
    let task = related.task.filter(|_| features.tasks == Some(super::TaskDialect::Core));
    let meta = meta.filter(|meta| !meta.is_empty());
    if server.is_none() && subscription.is_none() && task.is_none() && meta.is_none() {
        return;
    }
    object.object("_meta", |object| {
        if let Some(server) = server {
            object.raw(keys::SERVER_INFO, server);
        }
        object.option(keys::SUBSCRIPTION_ID, subscription);
        if let Some(task) = task {
            object.object(keys::RELATED_TASK, |object| object.field("taskId", task));
        }
        for (key, value) in meta.into_iter().flatten() {
            let ours = (key == keys::SERVER_INFO && server.is_some())
                || (key == keys::SUBSCRIPTION_ID && subscription.is_some())
                || (key == keys::RELATED_TASK && task.is_some());
            if !ours {
                object.member(key, value);
            }
        }
    });
}
