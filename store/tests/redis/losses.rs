//! What happens when connections are lost, and Redis with them.

use trunkline_harness::redis::{Options, Standalone};
use trunkline_store::{Operation, Retry};

use super::*;

#[tokio::test]
async fn a_change_by_another_replica_is_told() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let (here, there) = (open(&redis.url()), open(&redis.url()));
    let key = session("s");
    here.create(&key, sample(), TTL).await.unwrap();
    there.load(&key).await.unwrap();
    let mut changes = there.changes();
    here.set(&key, "a", bytes("x")).await.unwrap();
    hear(&mut changes, &Change::Record(key.clone())).await;
    // By hand, as an operator would.
    there.load(&key).await.unwrap();
    redis.command(&["DEL", "test:{s}"]).await.unwrap();
    hear(&mut changes, &Change::Record(key.clone())).await;
    there.load(&key).await.unwrap();
    redis.command(&["FLUSHALL"]).await.unwrap();
    hear(&mut changes, &Change::Unknown).await;
}

/// The connection that tells of changes is cut again and again, and meanwhile another replica changes a record. Whoever forgets
/// what is told to be changed never keeps a value that is not the last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_stale_is_kept_when_the_connection_is_lost() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let (here, there) = (open(&redis.url()), open(&redis.url()));
    let key = session("s");
    here.create(&key, Record::default().with("n", "0"), TTL).await.unwrap();
    there.load(&key).await.unwrap();
    let command = async |command: &[&str]| redis.command(command).await.unwrap();
    for round in 1..=30 {
        let mut changes = there.changes();
        let mut kept = at_last("a load", async || there.load(&key).await).await.unwrap();
        for id in trackers(command).await {
            // Those that are gone by now are no error.
            let _ = redis.command(&["CLIENT", "KILL", "ID", &id]).await;
        }
        here.increment(&key, "n", 1).await.unwrap();
        while kept.text("n") != Some(&round.to_string()) {
            hear_of(&mut changes, &key).await;
            kept = at_last("a load", async || there.load(&key).await).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_lost_tracking_connection_is_told_and_replaced() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let store = open(&redis.url());
    let key = session("s");
    store.create(&key, sample(), TTL).await.unwrap();
    store.load(&key).await.unwrap();
    let mut changes = store.changes();
    heard(&mut changes).await;
    let command = async |command: &[&str]| redis.command(command).await.unwrap();
    let ids = trackers(command).await;
    assert_eq!(ids.len(), 1, "one connection tracks");
    redis.command(&["CLIENT", "KILL", "ID", &ids[0]]).await.unwrap();
    // Once for the loss, and once for the new one.
    hear(&mut changes, &Change::Unknown).await;
    hear(&mut changes, &Change::Unknown).await;
    // It is not felt: a load waits for the new one.
    assert_eq!(store.load(&key).await.unwrap(), Some(sample()));
    let new = trackers(command).await;
    assert!(new.len() == 1 && new != ids, "{new:?} instead of {ids:?}");
    store.set(&key, "a", bytes("x")).await.unwrap();
    hear(&mut changes, &Change::Record(key)).await;
}

#[tokio::test]
async fn a_restarted_redis_is_found_again() {
    let mut redis = Standalone::start(Options { appendonly: true, ..Options::default() }).await.unwrap();
    let store = open(&redis.url());
    let key = session("s");
    store.create(&key, sample(), TTL).await.unwrap();
    store.load(&key).await.unwrap();
    let mut changes = store.changes();
    heard(&mut changes).await;

    redis.kill();
    hear(&mut changes, &Change::Unknown).await;
    let error = store.load(&key).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { operation: Operation::Load, .. }), "{error:?}");
    assert_eq!(error.retry(), Retry::Later);
    let error = store.set(&key, "a", bytes("x")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { operation: Operation::Change, .. }), "{error:?}");
    assert!(store.client().health().failing_for.is_some());

    redis.restart_with_data().await.unwrap();
    // Told again, of itself: nobody asked for anything.
    hear(&mut changes, &Change::Unknown).await;
    assert_eq!(at_last("a load", async || store.load(&key).await).await, Some(sample()));
    assert!(at_last("a change", async || store.set(&key, "a", bytes("x")).await).await);
    hear(&mut changes, &Change::Record(key.clone())).await;
    assert_eq!(store.client().health().failing_for, None);

    redis.restart_empty().await.unwrap();
    hear(&mut changes, &Change::Unknown).await;
    assert_eq!(at_last("a load", async || store.load(&key).await).await, None);
    assert!(at_last("a creation", async || store.create(&key, sample(), TTL).await).await);
}

#[tokio::test]
async fn a_redis_that_is_not_there_yet_is_found_when_it_comes() {
    let mut redis = Standalone::start(Options::default()).await.unwrap();
    redis.kill();
    let store = open(&redis.url());
    let key = session("s");
    let error = store.create(&key, sample(), TTL).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { operation: Operation::Create, .. }), "{error:?}");
    redis.restart_empty().await.unwrap();
    assert!(at_last("a creation", async || store.create(&key, sample(), TTL).await).await);
}

#[tokio::test]
async fn a_redis_that_stands_still_is_waited_for_no_longer_than_an_answer_may_take() {
    let mut redis = Standalone::start(Options::default()).await.unwrap();
    let patient = open(&redis.url());
    let response_timeout = Duration::from_millis(300);
    let store = open_with(Settings { response_timeout, ..by_default(&redis.url()) });
    let key = session("s");
    patient.create(&key, sample(), TTL).await.unwrap();
    at_last("a load", async || store.load(&key).await).await;
    let mut changes = store.changes();
    heard(&mut changes).await;

    redis.stop().unwrap();
    let began = std::time::Instant::now();
    for _ in 0..3 {
        assert!(store.load(&key).await.is_err());
        assert!(store.set(&key, "a", bytes("x")).await.is_err());
    }
    let each = began.elapsed() / 6;
    assert!(each < Duration::from_secs(1), "{each:?}");
    // Nobody closed anything: that nothing answers has to be noticed.
    hear(&mut changes, &Change::Unknown).await;

    redis.resume().unwrap();
    hear(&mut changes, &Change::Unknown).await;
    assert!(at_last("a load", async || store.load(&key).await).await.is_some());
    assert!(at_last("a change", async || store.set(&key, "b", bytes("y")).await).await);
}

#[tokio::test]
async fn a_flushed_script_is_loaded_again() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let store = open(&redis.url());
    let key = session("s");
    store.create(&key, sample(), TTL).await.unwrap();
    assert_eq!(store.increment(&key, "n", 1).await.unwrap(), Some(1));
    redis.command(&["SCRIPT", "FLUSH"]).await.unwrap();
    assert_eq!(store.increment(&key, "n", 1).await.unwrap(), Some(2));
}

#[tokio::test]
async fn a_full_redis_refuses_what_is_new_and_keeps_the_rest() {
    let options = Options { maxmemory: Some("6mb".to_owned()), ..Options::default() };
    let redis = Standalone::start(options).await.unwrap();
    let store = open(&redis.url());
    let (key, value) = (session("s"), Bytes::from(vec![b'v'; 60_000]));
    store.create(&key, sample(), TTL).await.unwrap();
    let mut made = 0;
    let error = loop {
        let record = Record::default().with("f", value.clone());
        match store.create(&session(&made.to_string()), record, TTL).await {
            Ok(created) => assert!(created),
            Err(error) => break error,
        }
        made += 1;
        assert!(made < 200, "it is full at some point");
    };
    assert!(matches!(error, StoreError::Unavailable { operation: Operation::Create, .. }), "{error:?}");
    assert_eq!(store.load(&session(&made.to_string())).await.unwrap(), None, "nothing was left of it");
    assert_eq!(store.load(&key).await.unwrap(), Some(sample()));
    assert!(store.delete(&session("0")).await.unwrap(), "room can be made");
}

/// The runtime that opened the store carries its connections; one that only used it may end.
#[test]
fn a_worker_that_ends_breaks_nothing() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let main = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let redis = main.block_on(Standalone::start(Options::default())).unwrap();
    let store = std::sync::Arc::new(main.block_on(async { open(&redis.url()) }));
    let key = session("s");
    for n in 1..=3 {
        let (store, key) = (std::sync::Arc::clone(&store), key.clone());
        let worker = std::thread::spawn(move || {
            runtime().block_on(async {
                store.create(&key, sample(), TTL).await.unwrap();
                assert_eq!(store.increment(&key, "n", 1).await.unwrap(), Some(n));
                assert!(store.load(&key).await.unwrap().is_some());
            });
        });
        worker.join().unwrap();
    }
}
