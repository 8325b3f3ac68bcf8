//! Tasks in the store: changed in one step each, and what is too large for a field in a record of its own.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::{Bytes, BytesMut};
use tokio::time::Instant;
use trunkline_store::{Key, Kind, Operation, Record, Retry, SessionStore, StoreError};

use super::{
    ending::Ending,
    record::{STATE, Said, State, TaskRecord},
};

/// Bytes of a large value in one field: below the store's bound on a value, which is 64 KiB.
const PART: usize = 60 * 1024;

/// How often a change that lost a race is tried again. A task is changed by its handler and by its client's requests, of
/// which a few come at the same moment.
const RACES: usize = 32;

/// The pause before a store that could not be reached is tried again.
const PAUSE: Duration = Duration::from_secs(1);

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

/// The name of a task's record.
pub(super) fn key(id: &str) -> Key {
    Key::new(Kind::Task, id)
}

/// Reads a task; `None` if there is none that can be served.
pub(super) async fn load(store: &dyn SessionStore, id: &str) -> Result<Option<TaskRecord>, StoreError> {
    Ok(store.load(&key(id)).await?.as_ref().and_then(readable))
}

/// Changes a task's state. `step` says whether there is anything to change, and is called again if the task has changed
/// meanwhile.
pub(super) async fn change(
    store: &dyn SessionStore,
    id: &str,
    mut step: impl FnMut(&mut State) -> bool,
) -> Result<Changed, StoreError> {
    for _ in 0..RACES {
        let Some(record) = load(store, id).await? else { return Ok(Changed::Gone) };
        let mut state = record.state.clone();
        if !step(&mut state) {
            return Ok(Changed::No(Box::new(record)));
        }
        state.updated = super::timestamp::now();
        let (expected, written) = (record.written.clone(), state.write());
        match store.compare_and_set(&key(id), STATE, Some(expected), Some(written.clone())).await? {
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
pub(super) async fn end(
    store: &dyn SessionStore,
    id: &str,
    ttl: Duration,
    ending: &Ending,
) -> Result<Changed, StoreError> {
    let mut end = ending.end.clone();
    if let Some(payload) = &ending.payload {
        end.payload = Some(put_blob(store, id, payload, ttl).await?);
    }
    let changed = change(store, id, |state| state.end(end.clone())).await;
    if !matches!(changed, Ok(Changed::Yes(_)))
        && let Some(payload) = &end.payload
    {
        drop_blob(store, id, payload).await;
    }
    changed
}

/// Hands over what a client said to some questions. Questions that nobody asks any more, or that were answered before, are let
/// be. Whether anything was taken.
pub(super) async fn give(
    store: &dyn SessionStore,
    id: &str,
    ttl: Duration,
    said: &[(String, Said)],
) -> Result<bool, StoreError> {
    let mut given = Vec::with_capacity(said.len());
    for (key, said) in said {
        let json = serde_json::to_vec(said).map(Bytes::from).unwrap_or_default();
        given.push((key, put_blob(store, id, &json, ttl).await?));
    }
    let mut taken = Vec::new();
    let changed = change(store, id, |state| {
        taken = given.iter().map(|(key, blob)| state.answer(key, blob)).collect();
        taken.contains(&true)
    })
    .await?;
    let changed = matches!(changed, Changed::Yes(_));
    for (at, (_, blob)) in given.iter().enumerate() {
        if !changed || taken.get(at) != Some(&true) {
            drop_blob(store, id, blob).await;
        }
    }
    Ok(changed)
}

/// Keeps a large value under a new name, which is returned. It expires by itself.
pub(super) async fn put_blob(
    store: &dyn SessionStore,
    id: &str,
    value: &Bytes,
    ttl: Duration,
) -> Result<String, StoreError> {
    let name = URL_SAFE_NO_PAD.encode(rand::random::<[u8; 12]>());
    let mut record = Record::default();
    // An empty value is one empty part.
    for at in 0..value.len().div_ceil(PART).max(1) {
        let part = value.slice(at * PART..value.len().min((at + 1) * PART));
        record = record.with(&format!("{at:06}"), part);
    }
    store.create(&blob_key(id, &name), record, ttl).await?;
    Ok(name)
}

/// A large value; `None` if it has expired.
pub(super) async fn blob(
    store: &dyn SessionStore,
    id: &str,
    name: &str,
) -> Result<Option<Bytes>, StoreError> {
    let Some(record) = store.load(&blob_key(id, name)).await? else { return Ok(None) };
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
pub(super) async fn drop_blob(store: &dyn SessionStore, id: &str, name: &str) {
    if let Err(error) = store.delete(&blob_key(id, name)).await {
        tracing::debug!(%error, "a part of a task was not deleted");
    }
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

fn blob_key(id: &str, name: &str) -> Key {
    Key::new(Kind::Task, &format!("{id}.{name}"))
}

fn readable(record: &Record) -> Option<TaskRecord> {
    TaskRecord::read(record)
        .inspect_err(|error| tracing::error!(%error, "a task cannot be served"))
        .ok()
}

#[cfg(test)]
mod tests {
    use trunkline_store::memory::{MemoryLimits, MemoryStore};

    use super::*;

    #[tokio::test]
    async fn a_large_value_comes_back_whole() {
        let store = MemoryStore::new(MemoryLimits::default());
        for size in [0, 1, PART - 1, PART, PART + 1, 11 * PART + 5] {
            let value = Bytes::from_iter((0..size).map(|at| u8::try_from(at % 251).unwrap()));
            let name = put_blob(&store, "t", &value, PAUSE).await.unwrap();
            assert_eq!(blob(&store, "t", &name).await.unwrap(), Some(value), "{size}");
            drop_blob(&store, "t", &name).await;
            assert_eq!(blob(&store, "t", &name).await.unwrap(), None);
        }
    }
}
