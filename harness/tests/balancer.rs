//! Balancers in front of replicas: round robin, failures, and streams.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::timeout,
};
use trunkline_harness::{
    HarnessError,
    balancer::{Backend, Balancer, Kind, Policy},
    binary,
    cluster::Cluster,
    scratch::Scratch,
};

mod support;

async fn three_behind(kind: Kind) -> Cluster {
    let builder = Cluster::builder(binary::trunkline().unwrap()).replicas(3).balancer(kind);
    builder.key("server", "drain_delay", "30s").start().await.unwrap()
}

/// Waits until so many replicas answer. All calls on the way have to succeed.
async fn comes_to(cluster: &Cluster, replicas: usize) {
    let address = cluster.address();
    support::eventually("the right number of replicas answers", async || {
        support::answering(address, 12).await.len() == replicas
    })
    .await;
}

async fn loses_no_call_with_a_replica(kind: Kind) {
    let mut cluster = three_behind(kind).await;
    comes_to(&cluster, 3).await;
    assert_ne!(cluster.url(), cluster.replica(0).url());
    // Round robin: as many in a row as there are replicas are all different.
    assert_eq!(support::answering(cluster.address(), 3).await.len(), 3);
    for index in 0..3 {
        let address = cluster.replica(index).address();
        assert_eq!(support::answering(address, 3).await.len(), 1, "each is reached by itself, too");
    }

    cluster.replica(1).kill();
    comes_to(&cluster, 2).await;
    cluster.replica(1).restart().await.unwrap();
    comes_to(&cluster, 3).await;

    let (id, folder) = (cluster.balancer().unwrap().process().id(), cluster.scratch().path().to_owned());
    cluster.balancer().unwrap().kill();
    assert!(!support::is_alive(id));
    assert!(TcpStream::connect(cluster.address()).await.is_err());
    cluster.balancer().unwrap().restart().await.unwrap();
    comes_to(&cluster, 3).await;
    drop(cluster);
    assert!(!folder.exists());
}

#[tokio::test]
async fn haproxy_loses_no_call_with_a_replica() {
    loses_no_call_with_a_replica(Kind::Haproxy).await;
}

#[tokio::test]
async fn nginx_loses_no_call_with_a_replica() {
    loses_no_call_with_a_replica(Kind::Nginx).await;
}

#[tokio::test]
async fn haproxy_leaves_out_who_drains_and_says_503_for_nobody() {
    let mut cluster = three_behind(Kind::Haproxy).await;
    cluster.replica(0).begin_drain().unwrap();
    support::eventually("it is left out", async || {
        cluster.balancer().unwrap().up().await.unwrap() == ["replica-1", "replica-2"]
    })
    .await;
    assert!(cluster.replica(0).is_running());
    assert_eq!(support::answering(cluster.address(), 6).await.len(), 2);

    for replica in cluster.replicas() {
        replica.kill();
    }
    support::eventually("all are left out", async || {
        cluster.balancer().unwrap().up().await.unwrap().is_empty()
    })
    .await;
    let answer = support::call(cluster.address()).await.unwrap();
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")), "{answer:?}");
}

#[tokio::test]
async fn nginx_tells_nobody_who_is_up() {
    let cluster = three_behind(Kind::Nginx).await;
    let mut cluster = cluster;
    let error = cluster.balancer().unwrap().up().await.unwrap_err();
    assert!(matches!(error, HarnessError::Unsupported { .. }), "{error}");
}

/// A server that is ready, and answers anything else with a stream of two events, the second when it is told to.
async fn streaming(go_on: Arc<Notify>) -> Backend {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(stream_out(stream, go_on.clone()));
        }
    });
    Backend { name: "one".to_owned(), address, admin: address }
}

async fn stream_out(mut stream: TcpStream, go_on: Arc<Notify>) -> std::io::Result<()> {
    let mut buffer = [0; 4096];
    let length = stream.read(&mut buffer).await?;
    if buffer[..length].starts_with(b"GET /readyz") {
        return stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(format!("{head}b\r\ndata: one\n\n\r\n").as_bytes()).await?;
    go_on.notified().await;
    stream.write_all(b"b\r\ndata: two\n\n\r\n0\r\n\r\n").await
}

async fn passes_events_on_as_they_come(kind: Kind) {
    let (scratch, go_on) = (Scratch::new().unwrap(), Arc::new(Notify::new()));
    let backend = streaming(go_on.clone()).await;
    let balancer = Balancer::start(&scratch, kind, &[backend]).await.unwrap();
    let mut stream = TcpStream::connect(balancer.address()).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    for event in ["data: one", "data: two"] {
        let mut text = String::new();
        while !text.contains(event) {
            let mut buffer = [0; 4096];
            let read =
                timeout(support::DEADLINE, stream.read(&mut buffer)).await.expect("the event is passed on");
            let length = read.unwrap();
            assert!(length > 0, "closed after {text:?}");
            text.push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
        go_on.notify_one();
    }
}

#[tokio::test]
async fn haproxy_passes_events_on_as_they_come() {
    passes_events_on_as_they_come(Kind::Haproxy).await;
}

#[tokio::test]
async fn nginx_passes_events_on_as_they_come() {
    passes_events_on_as_they_come(Kind::Nginx).await;
}

#[tokio::test]
async fn a_stopped_balancer_keeps_its_clients_waiting() {
    let mut cluster = three_behind(Kind::Haproxy).await;
    let address = cluster.address();
    cluster.balancer().unwrap().stop().unwrap();
    let mut waiting = tokio::spawn(support::call(address));
    assert!(timeout(Duration::from_millis(200), &mut waiting).await.is_err());
    cluster.balancer().unwrap().resume().unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().status, 200);
}

/// A server that is ready, holds what asks for `/hold` until the test ends, and answers anything else with its name.
async fn named(name: &'static str) -> Backend {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(hold_or_answer(stream, name));
        }
    });
    Backend { name: name.to_owned(), address, admin: address }
}

async fn hold_or_answer(mut stream: TcpStream, name: &str) -> std::io::Result<()> {
    let mut buffer = [0; 4096];
    let length = stream.read(&mut buffer).await?;
    if buffer[..length].starts_with(b"GET /hold") {
        let head = format!("HTTP/1.1 200 OK\r\nX-Name: {name}\r\nTransfer-Encoding: chunked\r\n\r\n");
        stream.write_all(head.as_bytes()).await?;
        return std::future::pending().await;
    }
    let head = format!("HTTP/1.1 200 OK\r\nX-Name: {name}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    stream.write_all(head.as_bytes()).await
}

/// Who answers so many requests with this header, one after the other.
async fn who_answers(balancer: &Balancer, header: &str, requests: usize) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for _ in 0..requests {
        let request = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{header}Connection: close\r\n\r\n");
        let answer = support::exchange(balancer.address(), &request).await.unwrap();
        names.insert(answer.header("x-name").unwrap().to_owned());
    }
    names
}

async fn behind(kind: Kind, policy: &Policy) -> (Scratch, Balancer) {
    let scratch = Scratch::new().unwrap();
    let backends = [named("one").await, named("two").await, named("three").await];
    let balancer = Balancer::start_with(&scratch, kind, policy, &backends).await.unwrap();
    (scratch, balancer)
}

async fn keeps_a_client_with_its_replica(kind: Kind) {
    let (_scratch, balancer) = behind(kind, &Policy::Sticky { header: "X-Client".to_owned() }).await;
    let mut seen = BTreeSet::new();
    for client in 0..20 {
        let names = who_answers(&balancer, &format!("X-Client: client-{client}\r\n"), 4).await;
        assert_eq!(names.len(), 1, "client {client}: {names:?}");
        seen.extend(names);
    }
    assert_eq!(seen.len(), 3, "clients are spread: {seen:?}");
    assert_eq!(who_answers(&balancer, "", 60).await.len(), 3, "those without the header, too");
}

#[tokio::test]
async fn haproxy_keeps_a_client_with_its_replica() {
    keeps_a_client_with_its_replica(Kind::Haproxy).await;
}

#[tokio::test]
async fn nginx_keeps_a_client_with_its_replica() {
    keeps_a_client_with_its_replica(Kind::Nginx).await;
}

async fn prefers_who_has_the_fewest_connections(kind: Kind) {
    let (_scratch, balancer) = behind(kind, &Policy::LeastConnections).await;
    let mut held = TcpStream::connect(balancer.address()).await.unwrap();
    held.write_all(b"GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut head = String::new();
    while !head.contains("\r\n\r\n") {
        let mut buffer = [0; 4096];
        let length = timeout(support::DEADLINE, held.read(&mut buffer)).await.unwrap().unwrap();
        assert!(length > 0, "closed after {head:?}");
        head.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
    let busy =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("x-name: ").map(str::to_owned));
    let names = who_answers(&balancer, "", 12).await;
    assert!(!names.contains(&busy.unwrap()), "{head:?}: {names:?}");
}

#[tokio::test]
async fn haproxy_prefers_who_has_the_fewest_connections() {
    prefers_who_has_the_fewest_connections(Kind::Haproxy).await;
}

#[tokio::test]
async fn nginx_prefers_who_has_the_fewest_connections() {
    prefers_who_has_the_fewest_connections(Kind::Nginx).await;
}

#[tokio::test]
async fn a_header_that_is_none_is_refused() {
    let scratch = Scratch::new().unwrap();
    for header in ["", "a b", "x\ny"] {
        let policy = Policy::Sticky { header: header.to_owned() };
        let error = Balancer::start_with(&scratch, Kind::Haproxy, &policy, &[]).await.unwrap_err();
        assert!(matches!(error, HarnessError::Unsupported { .. }), "{error}");
    }
}
