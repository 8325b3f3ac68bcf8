//! Answers that may be used again (2026-07-28 *Caching*).
//!
//! A cache belongs to one client, and so to one identity: what is private to it may be kept as well. What a notification
//! says has changed is forgotten.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::time::Instant;
use trunkline_protocol::{Method, Revision, revision::Era};

use crate::{call::Call, limits::Limits};

/// Answers by what was asked.
#[derive(Debug)]
pub(crate) struct Cache {
    entries: Mutex<HashMap<Asked, Kept>>,
    most: usize,
    longest: usize,
}

/// The method and its parameters.
type Asked = (Method, Bytes);

#[derive(Debug)]
struct Kept {
    result: Bytes,
    until: Instant,
}

/// How long a server lets an answer be used.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hint {
    #[serde(default)]
    ttl_ms: i64,
}

// === impl Cache ===

impl Cache {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { entries: Mutex::default(), most: limits.cache, longest: limits.cached }
    }

    /// The cache, if answers to this call may be in it.
    pub(crate) fn of(&self, revision: Revision, call: &Call) -> Option<&Self> {
        (revision.era() == Era::Modern && self.most > 0 && kept(&call.method).is_some()).then_some(self)
    }

    pub(crate) fn get(&self, call: &Call) -> Option<Bytes> {
        let asked = (kept(&call.method)?, call.params.clone());
        let mut entries = self.entries.lock();
        let kept = entries.get(&asked)?;
        if Instant::now() < kept.until {
            return Some(kept.result.clone());
        }
        entries.remove(&asked);
        None
    }

    pub(crate) fn put(&self, call: &Call, result: &Bytes) {
        let Some(method) = kept(&call.method) else { return };
        let asked = (method, call.params.clone());
        let hint = serde_json::from_slice::<Hint>(result).map_or(0, |hint| hint.ttl_ms);
        let mut entries = self.entries.lock();
        let until = Instant::now().checked_add(Duration::from_millis(hint.try_into().unwrap_or(0)));
        let Some(until) = until.filter(|_| hint > 0 && result.len() <= self.longest) else {
            entries.remove(&asked);
            return;
        };
        if entries.len() >= self.most && !entries.contains_key(&asked) {
            make_room(&mut entries, self.most);
        }
        entries.insert(asked, Kept { result: result.clone(), until });
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.entries.lock().clear();
    }

    /// Forgets what this notification says has changed.
    pub(crate) fn notified(&self, method: &str, params: &[u8]) {
        match method {
            "notifications/tools/list_changed" => self.forget(&[Method::ToolsList]),
            "notifications/prompts/list_changed" => self.forget(&[Method::PromptsList]),
            "notifications/resources/list_changed" => {
                self.forget(&[Method::ResourcesList, Method::ResourcesTemplatesList]);
            }
            "notifications/resources/updated" => self.forget_resource(params),
            _ => {}
        }
    }

    fn forget(&self, methods: &[Method]) {
        self.entries.lock().retain(|(method, _), _| !methods.contains(method));
    }

    /// A notification may name a part of what was read, or what it is a part of: all that begins alike is forgotten.
    fn forget_resource(&self, params: &[u8]) {
        #[derive(Deserialize)]
        struct Named {
            uri: String,
        }
        let uri = |params: &[u8]| serde_json::from_slice::<Named>(params).map(|named| named.uri).ok();
        let Some(changed) = uri(params) else { return self.forget(&[Method::ResourcesRead]) };
        self.entries.lock().retain(|(method, params), _| {
            let same = |read: String| read.starts_with(&changed) || changed.starts_with(&read);
            *method != Method::ResourcesRead || !uri(params).is_some_and(same)
        });
    }
}

/// The method, if its answers may be kept.
fn kept(method: &str) -> Option<Method> {
    Method::from_name(method).filter(|method| {
        matches!(
            method,
            Method::ServerDiscover
                | Method::ToolsList
                | Method::PromptsList
                | Method::ResourcesList
                | Method::ResourcesTemplatesList
                | Method::ResourcesRead
        )
    })
}

/// Lets go of what is too old, or else of what will be first.
fn make_room(entries: &mut HashMap<Asked, Kept>, most: usize) {
    let now = Instant::now();
    entries.retain(|_, kept| now < kept.until);
    while entries.len() >= most {
        let Some(first) = entries.iter().min_by_key(|(_, kept)| kept.until).map(|(asked, _)| asked.clone())
        else {
            return;
        };
        entries.remove(&first);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn answer(ttl: i64) -> Bytes {
        format!("{{\"tools\":[],\"ttlMs\":{ttl}}}").into()
    }

    fn read(uri: &str) -> Call {
        Call::new("resources/read", format!("{{\"uri\":\"{uri}\"}}"))
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_used_as_long_as_the_server_says() {
        let cache = Cache::new(&Limits::default());
        let (list, page) = (Call::new("tools/list", ""), Call::new("tools/list", "{\"cursor\":\"x\"}"));
        cache.put(&list, &answer(1000));
        assert_eq!(cache.get(&list), Some(answer(1000)));
        assert_eq!(cache.get(&page), None, "another page is another answer");
        advance(Duration::from_millis(999)).await;
        assert!(cache.get(&list).is_some());
        advance(Duration::from_millis(1)).await;
        assert_eq!(cache.get(&list), None);
        for ttl in [0, -5] {
            cache.put(&list, &answer(ttl));
            assert_eq!(cache.get(&list), None, "{ttl}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_changed_is_forgotten_and_nothing_else() {
        let cache = Cache::new(&Limits::default());
        let calls = [Call::new("tools/list", ""), read("file:///a"), read("file:///b")];
        calls.iter().for_each(|call| cache.put(call, &answer(1000)));
        let known = |cache: &Cache| calls.each_ref().map(|call| cache.get(call).is_some());
        cache.notified("notifications/prompts/list_changed", b"");
        assert_eq!(known(&cache), [true; 3]);
        cache.notified("notifications/resources/updated", br#"{"uri":"file:///a/part"}"#);
        assert_eq!(known(&cache), [true, false, true]);
        cache.notified("notifications/tools/list_changed", b"{}");
        assert_eq!(known(&cache), [false, false, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_bounded_and_keeps_what_lasts_longest() {
        let cache = Cache::new(&Limits { cache: 2, cached: 100, ..Limits::default() });
        cache.put(&read("a"), &answer(1000));
        cache.put(&read("b"), &answer(2000));
        cache.put(&read("c"), &answer(3000));
        assert_eq!(["a", "b", "c"].map(|uri| cache.get(&read(uri)).is_some()), [false, true, true]);
        cache.put(&read("b"), &Bytes::from(format!("{{\"ttlMs\":9,\"x\":\"{}\"}}", "x".repeat(100))));
        assert_eq!(cache.get(&read("b")), None, "too long to be kept, and the old one is not it");
    }

    #[test]
    fn only_what_the_specification_names_is_kept() {
        let cache = Cache::new(&Limits::default());
        let modern = Revision::NEWEST;
        assert!(cache.of(modern, &Call::new("tools/list", "")).is_some());
        assert!(cache.of(modern, &Call::tool("add", "")).is_none());
        assert!(cache.of(Revision::V2025_11_25, &Call::new("tools/list", "")).is_none());
        let off = Cache::new(&Limits { cache: 0, ..Limits::default() });
        assert!(off.of(modern, &Call::new("tools/list", "")).is_none());
    }
}
