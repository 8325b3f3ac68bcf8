//! What is particular to this store: its bound, its sweep, its end.

use super::*;
use crate::{Kind, Retry};

const TTL: Duration = Duration::from_secs(60);

fn limited_to(records: usize) -> MemoryStore {
    MemoryStore::new(MemoryLimits { records, ..MemoryLimits::default() })
}

fn key(n: usize) -> Key {
    Key::new(Kind::Session, &n.to_string())
}

#[tokio::test(start_paused = true)]
async fn a_full_store_refuses_what_is_new_and_nothing_else() {
    let store = limited_to(3);
    for n in 0..3 {
        assert!(store.create(&key(n), Record::default(), TTL).await.unwrap());
    }
    let error = store.create(&key(3), Record::default(), TTL).await.unwrap_err();
    assert!(matches!(error, StoreError::Full { limit: 3 }));
    assert_eq!(error.retry(), Retry::Later);
    assert_eq!(store.len(), 3);
    assert!(!store.create(&key(0), Record::default(), TTL).await.unwrap(), "what exists is no new record");
    assert!(store.set(&key(0), "f", Bytes::new()).await.unwrap());

    store.delete(&key(1)).await.unwrap();
    assert!(store.create(&key(3), Record::default(), TTL).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn what_expired_does_not_fill_a_store() {
    let store = limited_to(100);
    // The sweep has not run since: time jumps without it.
    tokio::time::advance(SWEEP_EVERY * 100).await;
    for n in 0..100 {
        store.create(&key(n), Record::default(), Duration::from_millis(10)).await.unwrap();
    }
    store.sweep.abort();
    tokio::time::advance(Duration::from_millis(10)).await;
    assert_eq!(store.len(), 100);
    assert!(store.create(&key(100), Record::default(), TTL).await.unwrap());
    assert_eq!(store.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_full_store_looks_for_room_once_a_second_at_most() {
    let store = limited_to(1);
    store.sweep.abort();
    store.create(&key(0), Record::default(), Duration::from_millis(10)).await.unwrap();
    assert!(store.create(&key(1), Record::default(), TTL).await.is_err());
    tokio::time::advance(Duration::from_millis(10)).await;
    assert!(store.create(&key(1), Record::default(), TTL).await.is_err(), "it has looked just now");
    tokio::time::advance(SWEEP_EVERY).await;
    assert!(store.create(&key(1), Record::default(), TTL).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn creators_at_once_stay_within_the_bound() {
    let store = Arc::new(limited_to(100));
    let creators = (0..4).map(|creator| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let mut created = 0;
            for n in 0..100 {
                created +=
                    usize::from(store.create(&key(creator * 100 + n), Record::default(), TTL).await.is_ok());
                tokio::task::yield_now().await;
            }
            created
        })
    });
    let mut created = 0;
    for creator in creators.collect::<Vec<_>>() {
        created += creator.await.unwrap();
    }
    assert_eq!((created, store.len()), (100, 100));
}

#[tokio::test(start_paused = true)]
async fn the_sweep_takes_what_nobody_asks_for_and_leaves_the_rest() {
    let store = MemoryStore::new(MemoryLimits::default());
    for n in 0..10_000 {
        let ttl = if n % 1000 == 0 { TTL * 100 } else { TTL };
        store.create(&key(n), Record::default().with("f", "x"), ttl).await.unwrap();
    }
    let mut changes = store.changes();
    tokio::time::sleep(TTL - Duration::from_secs(1)).await;
    assert_eq!(store.len(), 10_000);
    tokio::time::sleep(SWEEP_EVERY * 10).await;
    assert_eq!(store.len(), 10);
    let capacity: usize = store.shared.shards.iter().map(|shard| shard.lock().capacity()).sum();
    assert!(capacity <= SHARDS * SMALL_TABLE, "the tables shrank: {capacity}");
    assert_eq!(changes.next().await, Some(Change::Unknown), "more expired than a listener can be told of");
    for n in (0..10_000).step_by(1000) {
        assert!(store.load(&key(n)).await.unwrap().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn the_count_is_right_however_a_record_goes() {
    let store = MemoryStore::new(MemoryLimits::default());
    for n in 0..5 {
        store.create(&key(n), Record::default(), Duration::from_millis(10)).await.unwrap();
    }
    assert!(!store.create(&key(0), Record::default(), TTL).await.unwrap());
    assert_eq!(store.len(), 5);
    store.delete(&key(0)).await.unwrap();
    store.delete(&key(0)).await.unwrap();
    assert_eq!(store.len(), 4);
    tokio::time::advance(Duration::from_millis(10)).await;
    assert_eq!(store.load(&key(1)).await.unwrap(), None);
    assert!(!store.delete(&key(2)).await.unwrap());
    assert!(store.create(&key(3), Record::default(), TTL).await.unwrap());
    assert_eq!(store.len(), 2);
    tokio::time::sleep(SWEEP_EVERY * 10).await;
    assert_eq!(store.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_upon_an_expired_record_tells() {
    let store = MemoryStore::new(MemoryLimits::default());
    store.sweep.abort();
    for n in 0..3 {
        store.create(&key(n), Record::default(), Duration::from_millis(10)).await.unwrap();
    }
    tokio::time::advance(Duration::from_millis(10)).await;
    let mut changes = store.changes();
    store.load(&key(0)).await.unwrap();
    store.create(&key(1), Record::default(), TTL).await.unwrap();
    store.delete(&key(2)).await.unwrap();
    for n in 0..3 {
        assert_eq!(changes.next().await, Some(Change::Record(key(n))));
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_store_ends_its_sweep_and_its_listeners() {
    let store = MemoryStore::new(MemoryLimits::default());
    let shared = Arc::downgrade(&store.shared);
    let mut changes = store.changes();
    tokio::time::sleep(SWEEP_EVERY).await;
    drop(store);
    // Waiting in vain fails: paused time runs out.
    assert_eq!(tokio::time::timeout(TTL, changes.next()).await, Ok(None));
    assert_eq!(shared.strong_count(), 0);
}
