//! Any replica answers any request: replicas on one Redis, each request to another one of them.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test")]

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use trunkline_harness::{
    binary,
    cluster::Cluster,
    cut::Severed,
    redis::{Options, Topology},
};

use self::client::{LEGACY, Session, Stream, initialize, output};

#[path = "any_replica/client.rs"]
mod client;
mod support;

/// A counter of the server: sessions read from the store.
const RESTORED: &str = "trunkline_sessions_restored_total";

/// How fast every replica has to know that a session was deleted.
const KNOWN_WITHIN: Duration = Duration::from_millis(100);

async fn cluster(replicas: usize) -> Cluster {
    let builder = Cluster::builder(binary::trunkline().unwrap()).replicas(replicas);
    builder.redis(Topology::Standalone(Options::default())).start().await.unwrap()
}

fn addresses(cluster: &mut Cluster) -> Vec<SocketAddr> {
    cluster.replicas().iter().map(|replica| replica.address()).collect()
}

async fn restored(cluster: &mut Cluster, replica: usize) -> f64 {
    cluster.replica(replica).metrics().await.unwrap().get(RESTORED).unwrap()
}

/// 1008 calls of a revision, from every replica that opened a session to every replica.
async fn every_pair(revision: &'static str) {
    const CALLS: u64 = 112;
    let mut cluster = cluster(3).await;
    let replicas = addresses(&mut cluster);
    let mut answered = 0;
    for (i, &first) in replicas.iter().enumerate() {
        for (j, &second) in replicas.iter().enumerate() {
            let session = Session::open(first, revision).await;
            // It may reach any replica, and later than the first call.
            session.initialized(replicas[(i + j + 1) % 3]).await;
            let mut calls = JoinSet::new();
            for number in 0..CALLS {
                let session = session.clone();
                calls.spawn(async move {
                    let sum = session.result(second, "add", &json!({"a": number, "b": 1000 * i + j})).await;
                    assert_eq!(sum["sum"], json!(number + 1000 * i as u64 + j as u64), "{sum}");
                });
                // Below the bound on one session's calls in flight.
                if calls.len() == 16 {
                    calls.join_next().await.unwrap().unwrap();
                    answered += 1;
                }
            }
            answered += calls.join_all().await.len();
        }
    }
    assert_eq!(answered, 9 * 112);
}

#[tokio::test]
async fn every_pair_of_replicas_2024_11_05() {
    every_pair(LEGACY[0]).await;
}

#[tokio::test]
async fn every_pair_of_replicas_2025_03_26() {
    every_pair(LEGACY[1]).await;
}

#[tokio::test]
async fn every_pair_of_replicas_2025_06_18() {
    every_pair(LEGACY[2]).await;
}

#[tokio::test]
async fn every_pair_of_replicas_2025_11_25() {
    every_pair(LEGACY[3]).await;
}

/// The transport of 2024-11-05: the stream is at one replica, the messages go to another one, and each answer comes on the
/// stream, once.
#[tokio::test]
async fn messages_at_any_replica_are_answered_on_the_stream_of_another() {
    const CALLS: u64 = 112;
    let mut cluster = cluster(3).await;
    let replicas = addresses(&mut cluster);
    for &first in &replicas {
        for &second in &replicas {
            let mut stream = Stream::open(first, "/sse", "Accept: text/event-stream\r\n").await;
            let path = stream.data().await.unwrap();
            say(second, &path, &initialize("2024-11-05")).await;
            let answer: Value = serde_json::from_str(&stream.data().await.unwrap()).unwrap();
            assert_eq!(answer["result"]["protocolVersion"], "2024-11-05", "{answer}");
            for number in 0..CALLS {
                let params = json!({"name": "add", "arguments": {"a": number, "b": 1}});
                let id = number + 1;
                say(
                    second,
                    &path,
                    &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}),
                )
                .await;
            }
            let mut expected: BTreeSet<u64> = (1..=CALLS).collect();
            while !expected.is_empty() {
                let answer: Value = serde_json::from_str(&stream.data().await.unwrap()).unwrap();
                let id = answer["id"].as_u64().unwrap();
                assert!(expected.remove(&id), "{id} was answered already: {answer}");
                assert_eq!(output(&answer)["sum"], json!(id), "{answer}");
            }
        }
    }
}

async fn say(replica: SocketAddr, path: &str, message: &Value) {
    let body = message.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {replica}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = support::exchange(replica, &request).await.unwrap();
    assert_eq!(answer.status, 202, "{answer:?}");
}

/// 100 rounds of 64 increments at the same time, from 4 replicas: every value is seen once, in its round.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_counter_is_exact_from_every_replica_at_once() {
    const ROUNDS: u64 = 100;
    const PARALLEL: u64 = 64;
    let mut cluster = cluster(4).await;
    let replicas = addresses(&mut cluster);
    let session = Session::open(replicas[0], LEGACY[3]).await;
    for round in 0..ROUNDS {
        let mut calls = JoinSet::new();
        for number in 0..PARALLEL {
            let (session, replica) = (session.clone(), replicas[(number % 4) as usize]);
            calls.spawn(async move {
                let counted = session.result(replica, "counter", &json!({"key": "hits", "by": 1})).await;
                counted["value"].as_u64().unwrap()
            });
        }
        let seen: BTreeSet<u64> = calls.join_all().await.into_iter().collect();
        let expected: BTreeSet<u64> = (round * PARALLEL + 1..=(round + 1) * PARALLEL).collect();
        assert_eq!(seen, expected, "round {round}");
    }
}

/// 50 requests at the same time to a replica that has never seen the session: it is loaded once, and serves all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_loaded_once_however_many_ask_for_it() {
    const SESSIONS: u16 = 20;
    let mut cluster = cluster(2).await;
    let replicas = addresses(&mut cluster);
    for loaded in 0..SESSIONS {
        let session = Session::open(replicas[0], LEGACY[usize::from(loaded) % LEGACY.len()]).await;
        assert_eq!(restored(&mut cluster, 1).await, f64::from(loaded), "nobody has asked for this one");
        let before = loads(&mut cluster).await;
        let mut calls = JoinSet::new();
        for number in 0..50_u64 {
            let (session, replica) = (session.clone(), replicas[1]);
            calls.spawn(async move { session.result(replica, "add", &json!({"a": number, "b": 1})).await });
        }
        let sums: BTreeSet<u64> =
            calls.join_all().await.iter().map(|sum| sum["sum"].as_u64().unwrap()).collect();
        assert_eq!(sums, (1..=50).collect());
        // The renewal of its expiry has it read again, once unless two see that in the same instant.
        let loads = loads(&mut cluster).await - before;
        assert!((1..5).contains(&loads), "{loads}");
        assert_eq!(restored(&mut cluster, 1).await, f64::from(loaded + 1));
    }
}

/// How often Redis was asked for a whole record.
async fn loads(cluster: &mut Cluster) -> u64 {
    let redis = cluster.redis().unwrap().standalone().unwrap();
    let stats = redis.command(&["INFO", "commandstats"]).await.unwrap().text().unwrap();
    let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_hgetall:calls="));
    line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
}

/// While calls that write and streams run everywhere, one replica is told to delete the session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_session_is_unknown_everywhere_and_stays_so() {
    const DELETIONS: usize = 20;
    let mut cluster = cluster(3).await;
    let replicas = addresses(&mut cluster);
    let mut times = Vec::new();
    for deletion in 0..DELETIONS {
        let session = Session::open(replicas[deletion % 3], LEGACY[deletion % LEGACY.len()]).await;
        let stream = session.listen(replicas[(deletion + 1) % 3]).await;
        let mut busy = JoinSet::new();
        for &replica in &replicas {
            busy.spawn(writes_until_unknown(session.clone(), replica));
            // Still running when the session is gone.
            let (session, slow) = (session.clone(), json!({"ms": 300, "steps": 3}));
            busy.spawn(async move { drop(session.call(replica, "slow", &slow).await) });
        }
        // All of it is under way.
        support::eventually("every replica has the session", async || {
            session.result(replicas[0], "counter", &json!({"key": "hits", "by": 0})).await["value"].as_u64()
                > Some(10)
        })
        .await;
        let answer = session.delete(replicas[deletion % 3]).await;
        assert!(matches!(answer.status, 200 | 204), "{answer:?}");
        let deleted = Instant::now();
        for &replica in &replicas {
            support::eventually("the session is unknown", async || status(&session, replica).await == 404)
                .await;
        }
        times.push(deleted.elapsed());
        stream.ends().await;
        busy.join_all().await;
        for &replica in &replicas {
            for _ in 0..5 {
                assert_eq!(status(&session, replica).await, 404, "nothing brings it back");
            }
        }
        assert_eq!(keys(&mut cluster, &session).await, 0, "nothing is left of it");
    }
    times.sort();
    let median = times[DELETIONS / 2];
    println!("known everywhere after {median:?} in the median, {:?} at worst", times[DELETIONS - 1]);
    // The median: a machine that is busy with something else delays this test's own polling.
    assert!(median < KNOWN_WITHIN, "{times:?}");
}

/// Writes to the session at one replica until that replica does not know it.
async fn writes_until_unknown(session: Session, replica: SocketAddr) {
    loop {
        let answer = session.call(replica, "counter", &json!({"key": "hits", "by": 1})).await;
        match answer.status {
            404 => break,
            // 202: it was under way, and was cancelled with its session.
            status => assert!(matches!(status, 200 | 202), "{answer:?}"),
        }
    }
}

/// What a replica says of the session by itself: this tool asks the store for nothing.
async fn status(session: &Session, replica: SocketAddr) -> u16 {
    session.call(replica, "add", &json!({"a": 1, "b": 1})).await.status
}

/// How many keys of Redis are the session's.
async fn keys(cluster: &mut Cluster, session: &Session) -> usize {
    let redis = cluster.redis().unwrap().standalone().unwrap();
    let keys = redis.command(&["KEYS", "trunkline:*"]).await.unwrap();
    keys.list().iter().filter(|key| key.text().is_some_and(|key| key.contains(&session.id))).count()
}

/// A replica that cannot reach the store says so, with 503; the others do not notice, and it is back once the store is.
#[tokio::test]
async fn a_replica_that_is_cut_off_says_503_and_never_404() {
    let builder = Cluster::builder(binary::trunkline().unwrap()).replicas(2).cut(true);
    let mut cluster = builder.redis(Topology::Standalone(Options::default())).start().await.unwrap();
    let replicas = addresses(&mut cluster);
    let session = Session::open(replicas[0], LEGACY[3]).await;
    assert_eq!(status(&session, replicas[1]).await, 200);
    cluster.cut(1).unwrap().sever(Severed::Refused).await;
    support::eventually("it is cut off", async || {
        let status = status(&session, replicas[1]).await;
        assert!(matches!(status, 200 | 503), "{status}");
        status == 503
    })
    .await;
    assert_eq!(status(&session, replicas[0]).await, 200);
    cluster.cut(1).unwrap().heal().await.unwrap();
    support::eventually("it is back", async || {
        let status = status(&session, replicas[1]).await;
        assert!(matches!(status, 200 | 503), "{status}");
        status == 200
    })
    .await;
}
