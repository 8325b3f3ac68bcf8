//! Tasks in the store: changed in one step each, and what is too large for a field in a record of its own.

use std::{sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::{Bytes, BytesMut};
use tokio::time::Instant;
use trunkline_store::{Key, Kind, Operation, Record, Retry, SessionStore, StoreError};

use super::{
    ending::Ending,
    record::{STATE, Said, State, TaskRecord},
};

/// The records of all tasks.
pub(super) struct Records {
    store: Arc<dyn SessionStore>,
    /// Bytes of a large value in one field.
    part: usize,
}

/// What became of a change.
#[derive(Debug)]
pub(super) enum Changed {
    /// It was made; the task as it is now.
    Yes(Box<TaskRecord>),
    /// There was nothing to change; the task as it is.
    No(Box<TaskRecord>),
    /// There is no such task any more.
    Gone,
}

/// How often a change that lost a race is tried again. A task is changed by its handler and by its client's requests, of
/// which a few come at the same moment.
const RACES: usize = 32;

/// The pause before a store that could not be reached is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// The name of a task's record.
pub(super) fn key(id: &str) -> Key {
    Key::new(Kind::Task, id)
}

/// Tries again for as long as the store cannot be reached, until `deadline`: for what a running task has to write down.
///
/// # Errors
/// The store's, after the deadline or if trying again is in vain.
pub(super) async fn insist<T, F>(deadline: Instant, mut attempt: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    loop {
        match attempt().await {
            Err(error) if error.retry() == Retry::Later && Instant::now() + PAUSE < deadline => {
                tracing::debug!(%error, "a task's change is tried again");
                tokio::time::sleep(PAUSE).await;
            }
            result => return result,
        }
    }
}

// === impl Records ===

impl Records {
    /// Records in a store that takes values of `value_bytes`.
    pub(super) fn new(store: Arc<dyn SessionStore>, value_bytes: usize) -> Self {
        Self { store, part: value_bytes.max(1) }
    }

    /// Begins a task. `false` if there is one with this id.
    pub(super) async fn create(&self, id: &str, record: Record, ttl: Duration) -> Result<bool, StoreError> {
        self.store.create(&key(id), record, ttl).await
    }

    /// Reads a task; `None` if there is none that can be served.
    pub(super) async fn load(&self, id: &str) -> Result<Option<TaskRecord>, StoreError> {
        let record = self.store.load(&key(id)).await?;
        let unreadable = |error: &_| tracing::error!(%error, "a task cannot be served");
        Ok(record.and_then(|record| TaskRecord::read(&record).inspect_err(unreadable).ok()))
    }

    /// Changes a task's state. `step` says whether there is anything to change, and is called again if the task has changed
    /// meanwhile.
    pub(super) async fn change(
        &self,
        id: &str,
        mut step: impl FnMut(&mut State) -> bool,
    ) -> Result<Changed, StoreError> {
        for _ in 0..RACES {
            let Some(record) = self.load(id).await? else { return Ok(Changed::Gone) };
            let mut state = record.state.clone();
            if !step(&mut state) {
                return Ok(Changed::No(Box::new(record)));
            }
            state.updated = super::timestamp::now();
            let (expected, written) = (record.written.clone(), state.write());
            let new = Some(written.clone());
            match self.store.compare_and_set(&key(id), STATE, Some(expected), new).await? {
                Some(true) => return Ok(Changed::Yes(Box::new(record.with_state(state, written)))),
                Some(false) => {}
                None => return Ok(Changed::Gone),
            }
        }
        let source = "the record changed each time".into();
        Err(StoreError::Unavailable { operation: Operation::Change, source })
    }

    /// Ends a task, unless it has ended before.
    ///
    /// # Errors
    /// The store's; [`StoreError::TooLarge`] if it cannot hold the payload.
    pub(super) async fn end(&self, id: &str, ttl: Duration, ending: &Ending) -> Result<Changed, StoreError> {
        let mut end = ending.end.clone();
        if let Some(payload) = &ending.payload {
            end.payload = Some(self.put_blob(id, payload, ttl).await?);
        }
        // After an error it is not known whether the task has ended so: the payload is left to expire.
        let changed = self.change(id, |state| state.end(end.clone())).await?;
        if !matches!(changed, Changed::Yes(_))
            && let Some(payload) = &end.payload
        {
            self.drop_blob(id, payload).await;
        }
        Ok(changed)
    }

    /// Hands over what a client said to some questions. Questions that nobody asks any more, or that were answered before, are
    /// let be. Whether anything was taken.
    pub(super) async fn give(
        &self,
        id: &str,
        ttl: Duration,
        said: &[(String, Said)],
    ) -> Result<bool, StoreError> {
        let mut given = Vec::with_capacity(said.len());
        for (key, said) in said {
            let json = serde_json::to_vec(said).map(Bytes::from).unwrap_or_default();
            given.push((key, self.put_blob(id, &json, ttl).await?));
        }
        let mut taken = Vec::new();
        let changed = self.change(id, |state| {
            taken = given.iter().map(|(key, blob)| state.answer(key, blob)).collect();
            taken.contains(&true)
        });
        let changed = matches!(changed.await?, Changed::Yes(_));
        for (at, (_, blob)) in given.iter().enumerate() {
            if !changed || taken.get(at) != Some(&true) {
                self.drop_blob(id, blob).await;
            }
        }
        Ok(changed)
    }

    /// A large value; `None` if it has expired.
    pub(super) async fn blob(&self, id: &str, name: &str) -> Result<Option<Bytes>, StoreError> {
        let Some(record) = self.store.load(&blob_key(id, name)).await? else { return Ok(None) };
        let mut parts = record.fields.into_values();
        let first = parts.next().unwrap_or_default();
        if parts.len() == 0 {
            return Ok(Some(first));
        }
        let mut whole = BytesMut::from(&*first);
        parts.for_each(|part| whole.extend_from_slice(&part));
        Ok(Some(whole.freeze()))
    }

    /// Lets go of a large value. If that fails, its expiry does it.
    pub(super) async fn drop_blob(&self, id: &str, name: &str) {
        if let Err(error) = self.store.delete(&blob_key(id, name)).await {
            tracing::debug!(%error, "a part of a task was not deleted");
        }
    }

    /// Keeps a large value under a new name, which is returned. It expires by itself.
    async fn put_blob(&self, id: &str, value: &Bytes, ttl: Duration) -> Result<String, StoreError> {
        let name = URL_SAFE_NO_PAD.encode(rand::random::<[u8; 12]>());
        let mut record = Record::default();
        // An empty value is one empty part.
        for at in 0..value.len().div_ceil(self.part).max(1) {
            let part = value.slice(at * self.part..value.len().min((at + 1) * self.part));
            record = record.with(&format!("{at:06}"), part);
        }
        self.store.create(&blob_key(id, &name), record, ttl).await?;
        Ok(name)
    }
}

fn blob_key(id: &str, name: &str) -> Key {
    Key::new(Kind::Task, &format!("{id}.{name}"))
}

#[cfg(test)]
mod tests {
    use trunkline_store::memory::{MemoryLimits, MemoryStore};

    use super::*;

    #[tokio::test]
    async fn a_large_value_comes_back_whole() {
        let records = Records::new(Arc::new(MemoryStore::new(MemoryLimits::default())), 100);
        for size in [0, 1, 99, 100, 101, 1105] {
            let value = Bytes::from_iter((0..size).map(|at| u8::try_from(at % 251).unwrap()));
            let name = records.put_blob("t", &value, PAUSE).await.unwrap();
            assert_eq!(records.blob("t", &name).await.unwrap(), Some(value), "{size}");
            records.drop_blob("t", &name).await;
            assert_eq!(records.blob("t", &name).await.unwrap(), None);
        }
    }
}
