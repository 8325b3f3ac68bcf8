//! Behind Sentinels, and on a Cluster.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use trunkline_harness::redis::{Cluster, Sentinel};
use trunkline_store::{Operation, Retry};

use super::*;

/// Far above what a failover takes on a busy machine.
const FAILOVER: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_the_death_of_the_primary() {
    survives_a_failover(async |redis| {
        redis.kill_primary();
        redis.await_failover(FAILOVER).await.unwrap();
        // It comes back as a replica, so that changes find one to wait for.
        redis.restart_with_data().await.unwrap();
    })
    .await;
}

/// The old primary believes that it still is one when it wakes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_the_sleep_of_the_primary() {
    survives_a_failover(async |redis| {
        redis.stop().unwrap();
        redis.await_failover(FAILOVER).await.unwrap();
        redis.resume().unwrap();
    })
    .await;
}

/// Replicas go on counting and creating while the primary is hurt; what was acknowledged is there afterwards.
async fn survives_a_failover(hurt: impl AsyncFnOnce(&mut Sentinel)) {
    let mut redis = Sentinel::start().await.unwrap();
    let patient = open(&redis.url());
    let stores = [(); 2].map(|()| Arc::new(open_with(by_default(&redis.url()))));
    let key = session("s");
    patient.create(&key, sample(), TTL).await.unwrap();
    assert!(at_last("a load", async || stores[1].load(&key).await).await.is_some());
    let mut changes = stores[1].changes();
    heard(&mut changes).await;

    let stop = Arc::new(AtomicBool::new(false));
    let writers = [0, 1].map(|n| {
        let (store, key, stop) = (Arc::clone(&stores[n]), key.clone(), Arc::clone(&stop));
        tokio::spawn(async move {
            let (mut counted, mut created, mut failed) = (0, Vec::new(), 0);
            while !stop.load(Ordering::Relaxed) {
                match store.increment(&key, &format!("n{n}"), 1).await {
                    Ok(Some(sum)) => counted = sum,
                    Ok(None) => panic!("the session is gone"),
                    Err(error) => {
                        assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
                        failed += 1;
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                }
                let id = format!("{n}-{}", created.len() + failed);
                if store.create(&session(&id), sample(), TTL).await.unwrap_or(false) {
                    created.push(id);
                }
            }
            (counted, created, failed)
        })
    });
    let some = Wait::new("some counting", PATIENCE);
    while patient.load(&key).await.unwrap().unwrap().text("n1").is_none() {
        some.again("none").await.unwrap();
    }
    hurt(&mut redis).await;
    let again = at_last("a change after the failover", async || stores[0].set(&key, "a", bytes("x")).await);
    assert!(again.await);
    stop.store(true, Ordering::Relaxed);

    hear(&mut changes, &Change::Unknown).await;
    for (n, writer) in writers.into_iter().enumerate() {
        let (counted, created, failed) = writer.await.unwrap();
        println!("replica {n}: counted to {counted}, created {}, failed {failed} times", created.len());
        assert!(failed > 0, "the failover was felt");
        let record = at_last("a load", async || stores[1].load(&key).await).await.unwrap();
        let there: i64 = record.text(&format!("n{n}")).unwrap().parse().unwrap();
        assert!(there >= counted, "counted to {counted}, and {there} is there");
        for id in created {
            let kept = at_last("a load", async || stores[1].load(&session(&id)).await).await;
            assert!(kept.is_some(), "{id} was acknowledged and is gone");
        }
    }
}

#[tokio::test]
async fn a_change_waits_for_a_replica_where_it_has_to() {
    let mut redis = Sentinel::start().await.unwrap();
    let strict = open_with(by_default(&redis.url()));
    let lenient = open(&format!("{}?replicas=0", redis.url()));
    let key = session("s");
    assert!(lenient.create(&key, sample(), TTL).await.unwrap());
    assert!(at_last("a change", async || strict.set(&key, "0", bytes("v")).await).await);
    let primary = redis.primary().port();
    let replica = redis.servers().iter().position(|server| server.port() != primary).unwrap();
    redis.servers()[replica].stop().unwrap();
    let error = strict.set(&key, "a", bytes("x")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { operation: Operation::Change, .. }), "{error:?}");
    assert_eq!(error.retry(), Retry::Later);
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "only 0 of 1 replicas confirmed the change");
    assert!(lenient.set(&key, "b", bytes("y")).await.unwrap());
    let read = at_last("a load", async || strict.load(&key).await).await;
    assert!(read.is_some(), "reading waits for nobody");
    redis.servers()[replica].resume().unwrap();
    assert!(at_last("a change", async || strict.set(&key, "c", bytes("z")).await).await);
}

/// The primary is replaced without being killed: it is a replica of the other from then on.
#[tokio::test]
async fn a_demoted_primary_is_left() {
    let mut redis = Sentinel::start().await.unwrap();
    let store = open(&redis.url());
    let key = session("s");
    store.create(&key, sample(), TTL).await.unwrap();
    store.load(&key).await.unwrap();
    let mut changes = store.changes();
    heard(&mut changes).await;
    let service = redis.service();
    redis.sentinels()[0].command(&["SENTINEL", "FAILOVER", service]).await.unwrap();
    redis.await_failover(FAILOVER).await.unwrap();
    assert!(at_last("a change", async || store.set(&key, "a", bytes("x")).await).await);
    hear(&mut changes, &Change::Unknown).await;
    let record = at_last("a load", async || store.load(&key).await).await.unwrap();
    assert_eq!(record.text("a"), Some("x"));
    let role = redis.command(&["ROLE"]).await.unwrap();
    assert_eq!(role.list()[0].text().as_deref(), Some("master"));
}

/// Its connections stay open, and for a while the Sentinels go on naming it. What it holds may be old.
#[tokio::test]
async fn a_server_that_is_no_primary_any_more_is_not_read_from() {
    let mut redis = Sentinel::start().await.unwrap();
    let store = open(&redis.url());
    let key = session("s");
    store.create(&key, sample(), TTL).await.unwrap();
    store.load(&key).await.unwrap();
    let mut changes = store.changes();
    heard(&mut changes).await;
    redis.primary().command(&["REPLICAOF", "127.0.0.1", "1"]).await.unwrap();
    hear(&mut changes, &Change::Unknown).await;
    let error = store.load(&key).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { operation: Operation::Load, .. }), "{error:?}");
    redis.primary().command(&["REPLICAOF", "NO", "ONE"]).await.unwrap();
    assert!(at_last("a load", async || store.load(&key).await).await.is_some());
}

/// Nobody feels it: what is sent elsewhere goes there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_moved_slot_is_followed() {
    let redis = Cluster::start().await.unwrap();
    let stores = [open(&redis.url()), open(&redis.url())];
    let key = session("s");
    stores[0].create(&key, sample(), TTL).await.unwrap();
    stores[1].load(&key).await.unwrap();
    let slot = redis.slot("test:{s}").await.unwrap();
    for round in 1..=6 {
        let mut changes = stores[1].changes();
        let to = (redis.owner(slot).await.unwrap() + 1) % 3;
        let moving = redis.move_slot(slot, to);
        let counting = async {
            for _ in 0..50 {
                stores[0].increment(&key, "n", 1).await.unwrap();
                stores[1].load(&key).await.unwrap().unwrap();
            }
        };
        let (moved, ()) = tokio::join!(moving, counting);
        moved.unwrap();
        assert_eq!(stores[0].increment(&key, "n", 0).await.unwrap(), Some(round * 50));
        let record = stores[1].load(&key).await.unwrap().unwrap();
        assert_eq!(record.text("n"), Some(&*(round * 50).to_string()));
        hear(&mut changes, &Change::Unknown).await;
        // Where it is now, it is tracked.
        stores[1].load(&key).await.unwrap();
        heard(&mut changes).await;
        stores[0].set(&key, "a", bytes("x")).await.unwrap();
        hear_of(&mut changes, &key).await;
    }
}

#[tokio::test]
async fn a_lost_node_takes_only_its_own_keys_away() {
    let mut redis = Cluster::start().await.unwrap();
    let store = open(&redis.url());
    let mut keys = Vec::new();
    for n in 0..30 {
        let key = session(&n.to_string());
        store.create(&key, sample(), TTL).await.unwrap();
        let slot = redis.slot(&format!("test:{{{n}}}")).await.unwrap();
        keys.push((key, redis.owner(slot).await.unwrap()));
    }
    let mut changes = store.changes();
    for node in redis.nodes() {
        node.command(&["CONFIG", "SET", "cluster-require-full-coverage", "no"]).await.unwrap();
    }
    redis.nodes()[1].kill();
    hear(&mut changes, &Change::Unknown).await;
    for (key, owner) in &keys {
        let loaded = store.load(key).await;
        assert_eq!(loaded.is_ok(), *owner != 1, "{key:?} on node {owner}: {loaded:?}");
    }
    redis.restart_with_data().await.unwrap();
    for (key, _) in &keys {
        assert!(at_last("a load", async || store.load(key).await).await.is_some());
    }
}
