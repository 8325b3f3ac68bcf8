//! Round trips, memory, expiries, connections.

use std::sync::Arc;

use tokio::task::JoinSet;
use trunkline_harness::redis::{Options, Standalone};

use super::*;

#[tokio::test]
async fn each_operation_is_one_round_trip() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let store = open(&redis.url());
    let key = session("s");
    let exercise = async || {
        store.create(&key, sample(), TTL).await.unwrap();
        store.load(&key).await.unwrap();
        store.set(&key, "a", bytes("x")).await.unwrap();
        store.remove(&key, "a").await.unwrap();
        store.increment(&key, "n", 1).await.unwrap();
        store.compare_and_set(&key, "n", Some(bytes("1")), None).await.unwrap();
        store.touch(&key, TTL).await.unwrap();
        store.delete(&key).await.unwrap();
    };
    // Once for Redis to know the scripts.
    exercise().await;
    redis.command(&["CONFIG", "RESETSTAT"]).await.unwrap();
    exercise().await;
    let info = redis.command(&["INFO", "commandstats"]).await.unwrap().text().unwrap();
    let calls = |name: &str| info.contains(&format!("cmdstat_{name}:calls="));
    let count = |name: &str| {
        let figures = info.split_once(&format!("cmdstat_{name}:calls=")).map(|(_, figures)| figures);
        figures.map_or(0, |figures| figures.split(',').next().unwrap().parse::<u64>().unwrap())
    };
    // Five of the eight are scripts, and the others commands of their own.
    let counts = ["evalsha", "eval", "hgetall", "pexpire", "del"].map(count);
    // One of the renewals is that of the creation, within its script.
    assert_eq!(counts, [5, 0, 1, 2, 1], "{info}");
    for unwanted in ["script|load", "watch", "multi", "wait", "hmget"] {
        assert!(!calls(unwanted), "{unwanted}: {info}");
    }
}

/// As Redis comes, it keeps a hash small whose values have at most 64 bytes each; as recommended, at most 256.
#[tokio::test]
async fn a_session_costs_less_than_512_bytes() {
    let short = Record::default()
        .with("schema", "1")
        .with("revision", "2025-11-25")
        .with("client", r#"{"name":"claude-code","version":"2.0.31"}"#)
        .with("capabilities", r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{}}"#)
        .with("principal", "3f8a52b0-7f2d-4c5e-9a11-5d6be1f0a7cc")
        .with("open", "1")
        .with("log_level", "info");
    let long = short
        .clone()
        .with("client", r#"{"name":"a-desktop-client","title":"A Desktop Client","version":"1.24.3"}"#)
        .with("principal", "https://issuer.example.com/realms/company|3f8a52b0-7f2d-4c5e-9a11-5d6be1f0a7cc");
    let recommended = ["--hash-max-listpack-value", "256"].map(str::to_owned).to_vec();
    for (record, arguments) in [(short, Vec::new()), (long, recommended)] {
        let redis = Standalone::start(Options { arguments, ..Options::default() }).await.unwrap();
        let store = open(&redis.url());
        let id = "k1.0123456789abcdefghijklmnopqrstuvwxyz012";
        assert!(store.create(&session(id), record.clone(), TTL).await.unwrap());
        let name = format!("test:{{{id}}}");
        let usage = redis.command(&["MEMORY", "USAGE", &name]).await.unwrap().integer().unwrap();
        // Of all that is there, the tables of keys and of expiries too.
        let used = async || {
            let info = redis.command(&["INFO", "memory"]).await.unwrap().text().unwrap();
            let line = info.lines().find_map(|line| line.strip_prefix("used_memory_dataset:")).unwrap();
            line.trim().parse::<i64>().unwrap()
        };
        let before = used().await;
        for n in 0..10_000 {
            store.create(&session(&format!("k1.{n:039}")), record.clone(), TTL).await.unwrap();
        }
        let each = (used().await - before) / 10_000;
        println!("a session in Redis: {usage} bytes by MEMORY USAGE, {each} by what 10 000 of them added");
        assert!((200..512).contains(&usage), "{usage}");
        assert!((200..512).contains(&each), "{each}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_key_expires_whatever_happens_to_it() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let store = Arc::new(open(&redis.url()));
    store.create(&session("untouched"), sample(), TTL).await.unwrap();
    store.set(&session("untouched"), "a", bytes("x")).await.unwrap();
    let mut tasks = JoinSet::new();
    for n in 0..200u32 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            let key =
                Key::new([Kind::Session, Kind::Handle, Kind::Nonce][n as usize % 3], &format!("k{}", n % 20));
            store.create(&key, sample(), TTL).await.unwrap();
            store.set(&key, "a", bytes("x")).await.unwrap();
            if n % 7 == 0 {
                store.delete(&key).await.unwrap();
            }
            store.increment(&key, "n", 1).await.unwrap();
            store.compare_and_set(&key, "c", None, Some(bytes("y"))).await.unwrap();
            store.remove(&key, "a").await.unwrap();
            if n % 2 == 0 {
                store.touch(&key, TTL).await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let keys = redis.command(&["KEYS", "*"]).await.unwrap();
    assert!(!keys.list().is_empty());
    for key in keys.list() {
        let name = key.text().unwrap();
        let left = redis.command(&["PTTL", &name]).await.unwrap().integer().unwrap();
        assert!((1..=600_000).contains(&left), "{name} lives for {left} ms");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_count_exactly() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let stores: Vec<_> = (0..4).map(|_| Arc::new(open(&redis.url()))).collect();
    let key = session("s");
    stores[0].create(&key, sample(), TTL).await.unwrap();
    let mut tasks = JoinSet::new();
    for n in 0..64 {
        let (store, key) = (Arc::clone(&stores[n % 4]), key.clone());
        tasks.spawn(async move { store.increment(&key, "n", 1).await.unwrap().unwrap() });
    }
    let mut sums = tasks.join_all().await;
    sums.sort_unstable();
    assert!(sums.into_iter().eq(1..=64));
}

#[tokio::test]
async fn connections_are_few_and_close_with_the_store() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let connected = async || {
        let info = redis.command(&["INFO", "clients"]).await.unwrap().text().unwrap();
        let line = info.lines().find_map(|line| line.strip_prefix("connected_clients:")).unwrap();
        // The one that asks is one of them.
        line.trim().parse::<usize>().unwrap() - 1
    };
    let store = open(&redis.url());
    let mut changes = store.changes();
    let keys: Vec<Key> = (0..500).map(|n| session(&n.to_string())).collect();
    let at_once = keys.iter().map(|key| store.create(key, sample(), TTL));
    assert!(futures_util::future::join_all(at_once).await.into_iter().all(Result::unwrap));
    store.load(&keys[0]).await.unwrap();
    // Four that all share, and one that tells of changes.
    assert_eq!(connected().await, 5);
    drop(store);
    let wait = Wait::new("the connections to close", PATIENCE);
    loop {
        match connected().await {
            0 => break,
            left => wait.again(&left).await.unwrap(),
        }
    }
    while let Some(change) = changes.next().await {
        assert_eq!(change, Change::Unknown);
    }
}

#[tokio::test]
async fn nothing_shows_a_secret() {
    let store = open("redis://app:hunter2@127.0.0.1:1/0");
    let error = store.load(&session("a-secret-id")).await.unwrap_err();
    let shown = format!("{store:?} {error:?} {error} {:?}", store.client().health());
    assert!(!shown.contains("hunter2") && !shown.contains("secret-id"), "{shown}");
}
