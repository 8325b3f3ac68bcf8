//! The list of an owner's tasks, for `tasks/list` (2025-11-25): a record of their ids in the order they began.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::try_join_all;
use trunkline_store::{Key, Kind, Record, SessionStore, StoreError};

use super::{owner::Owner, records};
use crate::registry::Services;

/// Tasks of one owner that can be listed: so many fields a record of the store has at least.
const MOST: usize = 1000;

/// Tasks on one page. Each is one read of the store.
pub(super) const PAGE: usize = 50;

/// Tasks that are looked at for expired ones when the list is full.
const LOOKED_AT: usize = 32;

/// The field that counts the tasks there were. Adding to it is what puts them in order, the same on every replica.
const COUNT: &str = "count";

/// Before the number of each task.
const TASK: &str = "t:";

/// A place in the list: the number of a task.
pub(super) type Place = u64;

/// Adds a task that is kept for `ttl`. `false` if the list is full.
pub(super) async fn add(
    services: &Services,
    owner: &Owner,
    id: &str,
    ttl: Duration,
) -> Result<bool, StoreError> {
    let (store, key) = (&*services.store, key(owner));
    let most = services.limits.tasks_per_principal.min(MOST);
    // As long as any task may be kept.
    let ttl = ttl.max(services.limits.task_ttl);
    if store.touch(&key, ttl).await? {
        let record = store.load(&key).await?.unwrap_or_default();
        let tasks: Vec<_> = tasks(&record).collect();
        if tasks.len() >= most && forget_expired(store, &key, &tasks).await? == 0 {
            return Ok(false);
        }
    } else {
        store.create(&key, Record::default(), ttl).await?;
    }
    let Some(number) = store.increment(&key, COUNT, 1).await? else { return Ok(false) };
    store.set(&key, &field(number.unsigned_abs()), Bytes::copy_from_slice(id.as_bytes())).await
}

/// The ids of a page after a place, each with its own place, and whether there are more.
pub(super) async fn page(
    store: &dyn SessionStore,
    owner: &Owner,
    after: Place,
) -> Result<(Vec<(Place, Box<str>)>, bool), StoreError> {
    let record = store.load(&key(owner)).await?.unwrap_or_default();
    let mut rest = tasks(&record).filter(|(place, _)| *place > after);
    let page: Vec<_> = rest.by_ref().take(PAGE).map(|(place, id)| (place, id.into())).collect();
    let more = rest.next().is_some();
    Ok((page, more))
}

/// Takes a task out that is no more. If that fails, the next reader does it.
pub(super) async fn forget(store: &dyn SessionStore, owner: &Owner, place: Place) {
    if let Err(error) = store.remove(&key(owner), &field(place)).await {
        tracing::debug!(%error, "an expired task was not taken out of its list");
    }
}

/// Takes out what has expired among some tasks from a random one on: those that are kept longest, whichever they are, do not
/// hide the others. How many there were.
async fn forget_expired(
    store: &dyn SessionStore,
    key: &Key,
    tasks: &[(Place, &str)],
) -> Result<usize, StoreError> {
    let from = rand::random_range(0..tasks.len());
    let looked_at = tasks.iter().cycle().skip(from).take(LOOKED_AT.min(tasks.len()));
    let removed = try_join_all(looked_at.map(|(place, id)| async move {
        match store.load(&records::key(id)).await? {
            Some(_) => Ok(None),
            None => store.remove(key, &field(*place)).await,
        }
    }))
    .await?;
    Ok(removed.into_iter().flatten().count())
}

fn tasks(record: &Record) -> impl Iterator<Item = (Place, &str)> {
    record.fields.keys().filter_map(|name| {
        let place = name.strip_prefix(TASK)?.parse().ok()?;
        Some((place, record.text(name)?))
    })
}

fn field(place: Place) -> String {
    format!("{TASK}{place:019}")
}

fn key(owner: &Owner) -> Key {
    Key::new(Kind::Task, &format!("list.{}", owner.digest()))
}
