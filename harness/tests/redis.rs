//! Redis in each of its modes: it starts, serves, is hurt, heals, and leaves nothing behind.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use trunkline_harness::{
    HarnessError,
    redis::{Cluster, Node, Options, Sentinel, Standalone, User},
    resp::Reply,
};

mod support;

/// Far above what a failover takes on a busy machine.
const FAILOVER: Duration = Duration::from_secs(90);

fn text(text: &str) -> Reply {
    Reply::Bytes(text.as_bytes().to_vec())
}

/// Sends a command to a port as a client would, and reads what comes within a second; `None` for nothing.
async fn over_tcp(address: SocketAddr, command: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("{command}\r\n").as_bytes()).await.unwrap();
    let mut buffer = [0; 256];
    let read = tokio::time::timeout(Duration::from_secs(1), stream.read(&mut buffer)).await.ok()?;
    Some(String::from_utf8_lossy(&buffer[..read.unwrap()]).into_owned())
}

#[tokio::test]
async fn standalone_serves_is_hurt_and_leaves_nothing() {
    let mut redis = Standalone::start(Options::default()).await.unwrap();
    let (id, url) = (redis.process().id(), redis.url());
    let folder: PathBuf = redis.process().log().parent().unwrap().to_owned();
    assert_eq!(url, format!("redis://{}", redis.address()));
    assert_eq!(redis.command(&["SET", "a", "1"]).await.unwrap(), text("OK"));
    assert_eq!(over_tcp(redis.address(), "GET a").await.unwrap(), "$1\r\n1\r\n");

    redis.stop().unwrap();
    assert_eq!(over_tcp(redis.address(), "PING").await, None);
    redis.resume().unwrap();
    assert_eq!(over_tcp(redis.address(), "PING").await.unwrap(), "+PONG\r\n");

    redis.restart_with_data().await.unwrap();
    assert_eq!(redis.command(&["GET", "a"]).await.unwrap(), text("1"));
    redis.kill();
    assert!(!support::is_alive(id));
    assert!(matches!(redis.command(&["PING"]).await, Err(HarnessError::Connection { .. })));
    assert!(matches!(redis.restart_with_data().await, Err(HarnessError::Unsupported { .. })));
    redis.restart_empty().await.unwrap();
    assert_eq!(redis.command(&["GET", "a"]).await.unwrap(), Reply::Nil);
    assert_eq!(redis.url(), url);

    let id = redis.process().id();
    drop(redis);
    assert!(!support::is_alive(id));
    assert!(!folder.exists());
}

#[tokio::test]
async fn an_append_only_file_survives_a_kill() {
    let mut redis = Standalone::start(Options { appendonly: true, ..Options::default() }).await.unwrap();
    redis.command(&["SET", "a", "1"]).await.unwrap();
    redis.kill();
    redis.restart_with_data().await.unwrap();
    assert_eq!(redis.command(&["GET", "a"]).await.unwrap(), text("1"));
    redis.restart_empty().await.unwrap();
    assert_eq!(redis.command(&["DBSIZE"]).await.unwrap(), Reply::Integer(0));
}

#[tokio::test]
async fn the_answers_to_commands_are_told_apart() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    assert_eq!(redis.command(&["INCRBY", "n", "41"]).await.unwrap(), Reply::Integer(41));
    let error = redis.command(&["NOSUCH"]).await.unwrap_err();
    assert!(error.to_string().starts_with("Redis refused NOSUCH: ERR unknown command"), "{error}");
    let nested = "return {1, {'a', {}, {2, false}}, redis.error_reply('ERR x')}";
    let expected = Reply::List(vec![
        Reply::Integer(1),
        Reply::List(vec![text("a"), Reply::List(vec![]), Reply::List(vec![Reply::Integer(2), Reply::Nil])]),
        Reply::Error("ERR x".to_owned()),
    ]);
    assert_eq!(redis.command(&["EVAL", nested, "0"]).await.unwrap(), expected);
}

#[tokio::test]
async fn users_may_do_what_their_rules_say() {
    let user = |name: &str, rules: &str| User {
        name: name.to_owned(),
        password: "s3cret".to_owned(),
        rules: rules.to_owned(),
    };
    let options =
        Options { users: vec![user("app", "~t:* +@all"), user("other", "+ping")], ..Options::default() };
    let redis = Standalone::start(options.clone()).await.unwrap();
    let address = redis.address();
    assert_eq!(redis.url(), format!("redis://app:s3cret@{address}"));
    assert_eq!(redis.url_of(&options.users[1]), format!("redis://other:s3cret@{address}"));
    assert!(over_tcp(address, "PING").await.unwrap().starts_with("-NOAUTH"));
    let as_app = |command: &str| format!("AUTH app s3cret\r\n{command}");
    assert!(over_tcp(address, &as_app("SET t:a 1")).await.unwrap().starts_with("+OK"));
    redis.command(&["SET", "elsewhere", "1"]).await.unwrap();
}

#[tokio::test]
async fn tls_is_served_with_a_private_authority() {
    let redis = Standalone::start(Options { tls: true, ..Options::default() }).await.unwrap();
    assert_eq!(redis.url(), format!("rediss://{}", redis.address()));
    let port = redis.address().port().to_string();
    let ping = |extra: &[&str]| {
        let mut command = std::process::Command::new("redis-cli");
        command.args(["-h", "127.0.0.1", "-p", &port]).args(extra).arg("PING");
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let authority = redis.authority().unwrap().to_str().unwrap();
    assert_eq!(ping(&["--tls", "--cacert", authority]), "PONG");
    assert_ne!(ping(&["--tls"]), "PONG", "who does not trust the authority");
    assert_ne!(ping(&[]), "PONG", "without TLS");
}

#[tokio::test]
async fn writes_over_maxmemory_are_refused() {
    let redis =
        Standalone::start(Options { maxmemory: Some("1mb".to_owned()), ..Options::default() }).await.unwrap();
    let error = async {
        for number in 0..64 {
            redis.command(&["SET", &number.to_string(), &"x".repeat(64 * 1024)]).await?;
        }
        Ok::<(), HarnessError>(())
    };
    let error = error.await.unwrap_err();
    assert!(error.to_string().contains("OOM"), "{error}");
}

/// Subscribes, has the subscribers killed, and sees the connection end.
async fn loses_its_subscription(address: SocketAddr, kill: impl AsyncFnOnce() -> Result<(), HarnessError>) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"SUBSCRIBE c\r\n").await.unwrap();
    let mut buffer = [0; 256];
    assert!(stream.read(&mut buffer).await.unwrap() > 0);
    kill().await.unwrap();
    assert_eq!(stream.read(&mut buffer).await.unwrap(), 0);
}

#[tokio::test]
async fn subscribers_are_disconnected() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    loses_its_subscription(redis.address(), async || redis.client_kill_pubsub().await).await;
}

#[tokio::test]
async fn a_replica_takes_the_place_of_its_primary() {
    let mut redis = Sentinel::start().await.unwrap();
    assert_eq!(redis.url().matches("127.0.0.1:").count(), 3);
    let first = redis.primary().port();
    redis.command(&["SET", "a", "1"]).await.unwrap();
    redis.kill_primary();
    let took = redis.await_failover(FAILOVER).await.unwrap();
    assert!(took > Duration::from_millis(500), "sentinels need longer than {took:?} to see it");
    assert_ne!(redis.primary().port(), first);
    assert_eq!(redis.command(&["GET", "a"]).await.unwrap(), text("1"));
    redis.command(&["SET", "b", "2"]).await.unwrap();

    // The old primary comes back, and is in step: whichever is killed, the other takes over. On a busy machine the
    // sentinels may have changed their minds meanwhile.
    redis.restart_with_data().await.unwrap();
    let second = redis.primary().port();
    redis.kill_primary();
    redis.await_failover(FAILOVER).await.unwrap();
    assert_ne!(redis.primary().port(), second);
    assert_eq!(redis.command(&["GET", "b"]).await.unwrap(), text("2"));

    redis.restart_empty().await.unwrap();
    assert_eq!(redis.command(&["DBSIZE"]).await.unwrap(), Reply::Integer(0));
    let address = redis.primary().address();
    loses_its_subscription(address, async || redis.client_kill_pubsub().await).await;
    let ids = ids(redis.servers()).into_iter().chain(ids(redis.sentinels())).collect::<Vec<_>>();
    drop(redis);
    assert!(ids.into_iter().all(|id| !support::is_alive(id)));
}

#[tokio::test]
async fn a_cluster_serves_loses_a_node_and_has_it_back() {
    let mut redis = Cluster::start().await.unwrap();
    assert_eq!(redis.url().matches("127.0.0.1:").count(), 3);
    let mut owners = [0; 3];
    for number in 0..50 {
        let key = format!("key-{number}");
        redis.command(&key, &["SET", &key, "1"]).await.unwrap();
        let slot = redis.slot(&key).await.unwrap();
        owners[redis.owner(slot).await.unwrap()] += 1;
    }
    assert!(owners.iter().all(|keys| *keys > 0), "{owners:?}");

    redis.nodes()[1].kill();
    redis.restart_with_data().await.unwrap();
    for number in 0..50 {
        let key = format!("key-{number}");
        assert_eq!(redis.command(&key, &["GET", &key]).await.unwrap(), text("1"), "{key}");
    }
    let address = redis.nodes()[0].address();
    loses_its_subscription(address, async || redis.client_kill_pubsub().await).await;

    redis.restart_empty().await.unwrap();
    for node in redis.nodes() {
        assert_eq!(node.command(&["DBSIZE"]).await.unwrap(), Reply::Integer(0));
    }
    let ids = ids(redis.nodes());
    drop(redis);
    assert!(ids.into_iter().all(|id| !support::is_alive(id)));
}

#[tokio::test]
async fn a_slot_moves_with_its_keys() {
    let mut redis = Cluster::start().await.unwrap();
    redis.command("a", &["SET", "a", "1"]).await.unwrap();
    let slot = redis.slot("a").await.unwrap();
    let from = redis.owner(slot).await.unwrap();
    let to = (from + 1) % 3;
    redis.move_slot(slot, to).await.unwrap();
    assert_eq!(redis.owner(slot).await.unwrap(), to);
    assert_eq!(redis.command("a", &["GET", "a"]).await.unwrap(), text("1"));
    let error = redis.nodes()[from].command(&["GET", "a"]).await.unwrap_err();
    assert!(error.to_string().contains("MOVED"), "{error}");
}

fn ids(nodes: &mut [Node]) -> Vec<u32> {
    nodes.iter_mut().map(|node| node.process().id()).collect()
}
