//! The person who answers a client's questions.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Map, Value};
use trunkline_client::{
    Questions,
    protocol::{
        RpcError,
        model::{ClientCapabilities, ElicitAction, ElicitParams, ElicitResult},
    },
};

/// A person who was told what will be asked, and says yes or no after some time. One of each client.
#[derive(Clone, Debug, Default)]
pub(super) struct Person(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// What will be asked, and what is answered after how long. One for each call under way.
    expected: Mutex<HashMap<String, (bool, Duration)>>,
    answered: AtomicU64,
    strange: AtomicU64,
}

// === impl Person ===

impl Person {
    pub(super) fn expect(&self, question: &str, yes: bool, delay: Duration) {
        self.0.expected.lock().insert(question.to_owned(), (yes, delay));
    }

    pub(super) fn forget(&self, question: &str) {
        self.0.expected.lock().remove(question);
    }

    /// Questions answered since the last time, and those that nobody had expected.
    pub(super) fn take(&self) -> (u64, u64) {
        (self.0.answered.swap(0, Ordering::Relaxed), self.0.strange.swap(0, Ordering::Relaxed))
    }
}

impl Questions for Person {
    fn capabilities(&self) -> ClientCapabilities {
        let form = serde_json::json!({ "elicitation": { "form": {} } });
        serde_json::from_value(form).unwrap_or_default()
    }

    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        let expected = self.0.expected.lock().get(params.message()).copied();
        let Some((yes, delay)) = expected else {
            self.0.strange.fetch_add(1, Ordering::Relaxed);
            return Ok(ElicitResult { action: ElicitAction::Decline, content: None, meta: None });
        };
        tokio::time::sleep(delay).await;
        self.0.answered.fetch_add(1, Ordering::Relaxed);
        let content = Some(Map::from_iter([("confirmed".to_owned(), Value::Bool(yes))]));
        Ok(ElicitResult { action: ElicitAction::Accept, content, meta: None })
    }
}
