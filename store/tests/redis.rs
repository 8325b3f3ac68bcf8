//! What is particular to the store in Redis: what it costs there, and what happens when Redis is hurt.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]
#![expect(clippy::print_stdout, reason = "what was measured is worth reading")]

#[path = "redis/costs.rs"]
mod costs;
#[path = "redis/losses.rs"]
mod losses;
#[path = "redis/modes.rs"]
mod modes;

use std::time::Duration;

use bytes::Bytes;
use trunkline_harness::{resp::Reply, wait::Wait};
use trunkline_redis::{Client, Settings};
use trunkline_store::{
    Change, Changes, Key, Kind, Record, RecordLimits, SessionStore, StoreError, redis::RedisStore,
};

const TTL: Duration = Duration::from_secs(600);

/// Far above what anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// With more time than by default: a busy machine is no failure.
fn open(url: &str) -> RedisStore {
    open_with(Settings {
        connect_timeout: Duration::from_secs(10),
        response_timeout: Duration::from_secs(10),
        replicas_timeout: Duration::from_secs(5),
        ..by_default(url)
    })
}

fn by_default(url: &str) -> Settings {
    Settings::new(url.parse().unwrap())
}

fn open_with(settings: Settings) -> RedisStore {
    RedisStore::new(Client::open(settings).unwrap(), "test", RecordLimits::default())
}

fn session(id: &str) -> Key {
    Key::new(Kind::Session, id)
}

fn sample() -> Record {
    Record::default().with("schema", "1").with("principal", "alice")
}

/// Waits until this change is told; everything before it is passed over.
async fn hear(changes: &mut Changes, change: &Change) {
    let heard = async { while changes.next().await.expect("the store is there") != *change {} };
    tokio::time::timeout(PATIENCE, heard).await.unwrap_or_else(|_| panic!("{change:?} was not told"));
}

/// Waits until this record has to be forgotten: it was changed, or changes may have been missed.
async fn hear_of(changes: &mut Changes, key: &Key) {
    let heard = async {
        loop {
            match changes.next().await.expect("the store is there") {
                Change::Record(changed) if changed != *key => {}
                Change::Record(_) | Change::Unknown => return,
            }
        }
    };
    tokio::time::timeout(PATIENCE, heard)
        .await
        .unwrap_or_else(|_| panic!("a change of {key:?} was not told"));
}

/// What has been told and not been heard.
async fn heard(changes: &mut Changes) -> Vec<Change> {
    let mut heard = Vec::new();
    while let Ok(change) = tokio::time::timeout(Duration::ZERO, changes.next()).await {
        heard.push(change.unwrap());
    }
    heard
}

/// Tries again while the store is not available.
async fn at_last<T>(what: &str, mut operation: impl AsyncFnMut() -> Result<T, StoreError>) -> T {
    let wait = Wait::new(what, PATIENCE);
    loop {
        match operation().await {
            Ok(answer) => return answer,
            Err(error) => {
                assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
                wait.again(&error).await.unwrap();
            }
        }
    }
}

/// The ids of the connections on which what was read is tracked.
async fn trackers(command: impl AsyncFn(&[&str]) -> Reply) -> Vec<String> {
    let list = command(&["CLIENT", "LIST"]).await.text().unwrap();
    let tracks = |line: &&str| {
        line.split(' ').any(|part| part.strip_prefix("flags=").is_some_and(|flags| flags.contains('t')))
    };
    let id = |line: &str| line.strip_prefix("id=").unwrap().split(' ').next().unwrap().to_owned();
    list.lines().filter(tracks).map(id).collect()
}

fn bytes(text: &'static str) -> Bytes {
    Bytes::from(text)
}
