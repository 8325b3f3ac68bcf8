//! Replicas and clusters of them: they start, serve, are hurt, and come back.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use tokio::time::timeout;
use trunkline_harness::{
    HarnessError, binary,
    cluster::{Builder, Cluster},
    redis::{Options, Topology},
    replica::{Replica, Settings},
    scratch::Scratch,
};

mod support;

fn builder() -> Builder {
    Cluster::builder(binary::trunkline().unwrap())
}

#[tokio::test]
async fn a_replica_serves_is_measured_is_hurt_and_comes_back() {
    let mut cluster = builder().start().await.unwrap();
    let (address, url) = (cluster.address(), cluster.url());
    assert_eq!(url, cluster.replica(0).url());
    support::answering(address, 3).await;
    let replica = cluster.replica(0);
    assert_eq!(replica.liveness().await.unwrap().status, 200);
    assert_eq!(replica.metrics().await.unwrap().get("trunkline_requests_total"), Some(3.0));
    assert!((1 << 20..1 << 30).contains(&replica.rss().unwrap()), "{:?}", replica.rss());
    assert!((5..500).contains(&replica.open_fds().unwrap()), "{:?}", replica.open_fds());
    assert!(replica.process().cpu().unwrap() < Duration::from_secs(60));

    replica.stop().unwrap();
    let mut waiting = tokio::spawn(support::call(address));
    assert!(timeout(Duration::from_millis(200), &mut waiting).await.is_err());
    replica.resume().unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().status, 200);

    let id = replica.process().id();
    replica.kill();
    assert!(!support::is_alive(id));
    assert_eq!((replica.rss(), replica.open_fds()), (None, None));
    assert!(matches!(replica.stop(), Err(HarnessError::NotRunning { .. })));
    assert!(support::call(address).await.is_err());
    replica.restart().await.unwrap();
    support::answering(address, 1).await;

    let (status, took) = replica.drain(support::DEADLINE).await.unwrap();
    assert!(status.success(), "{status}\n{}", replica.logs_tail());
    assert!(took < support::DEADLINE);
    assert!(!replica.is_running());
    replica.restart().await.unwrap();
    support::answering(address, 1).await;
    assert!(replica.logs_tail().contains("serving"), "{}", replica.logs_tail());

    let (id, folder) = (replica.process().id(), cluster.scratch().path().to_owned());
    drop(cluster);
    assert!(!support::is_alive(id));
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_replica_that_is_mistaken_says_why_it_does_not_start() {
    let error = builder().key("server", "drain_grace", "soon").start().await.unwrap_err();
    let HarnessError::Ended { program, logs, .. } = error else { panic!("{error}") };
    assert_eq!(program, "replica-0");
    assert!(logs.contains("DRAIN_GRACE"), "{logs}");
}

#[tokio::test]
async fn a_binary_that_is_absent_is_an_error_with_a_remedy() {
    let scratch = Scratch::new().unwrap();
    let settings = Settings::demo("/no/such/binary");
    let error = Replica::start(&scratch, "replica", settings).await.unwrap_err();
    assert_eq!(error.to_string(), "/no/such/binary was not found: cargo build -p trunkline");
}

#[tokio::test]
async fn a_rolling_update_ends_with_every_replica_ready() {
    let mut cluster = builder().replicas(2).start().await.unwrap();
    let ids: Vec<u32> = cluster.replicas().iter_mut().map(|replica| replica.process().id()).collect();
    cluster.roll(support::DEADLINE).await.unwrap();
    for (replica, before) in cluster.replicas().iter_mut().zip(ids) {
        assert_ne!(replica.process().id(), before);
        assert_eq!(replica.readiness().await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn replicas_share_a_ring() {
    let cluster = builder().replicas(2).start().await.unwrap();
    let other = builder().start().await.unwrap();
    assert!(cluster.ring().starts_with("test:"));
    assert_ne!(cluster.ring(), other.ring());
}

#[tokio::test]
async fn there_is_no_cut_to_a_redis_that_tells_its_own_addresses() {
    let error = builder().redis(Topology::Cluster).cut(true).start().await.unwrap_err();
    assert!(matches!(error, HarnessError::Unsupported { .. }), "{error}");
}

#[tokio::test]
async fn everything_is_killed_when_a_test_panics() {
    let (send, receive) = std::sync::mpsc::channel();
    let panicked = tokio::spawn(async move {
        let mut cluster = builder().replicas(2).start().await.unwrap();
        let ids = cluster.replicas().iter_mut().map(|replica| replica.process().id()).collect::<Vec<u32>>();
        send.send((ids, cluster.scratch().path().to_owned())).unwrap();
        panic!("on purpose");
    });
    assert!(panicked.await.unwrap_err().is_panic());
    let (ids, folder) = receive.recv().unwrap();
    assert!(ids.into_iter().all(|id| !support::is_alive(id)));
    assert!(!folder.exists());
}

#[tokio::test]
async fn options_of_redis_reach_the_server() {
    let options =
        Options { arguments: vec!["--maxclients".to_owned(), "77".to_owned()], ..Options::default() };
    let mut redis = Topology::Standalone(options).start().await.unwrap();
    let redis = redis.standalone().unwrap();
    let reply = redis.command(&["CONFIG", "GET", "maxclients"]).await.unwrap();
    assert_eq!(reply.list()[1].integer(), Some(77));
}
