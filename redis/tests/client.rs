//! The client on a real Redis: commands, scripts, connections that are lost, what is refused.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::time::Duration;

use redis::{Pipeline, Value, cmd};
use trunkline_harness::{
    cut::{Cut, Severed},
    redis::{Cluster, Node, Options, Sentinel, Standalone, User},
    wait::Wait,
};
use trunkline_redis::{Client, Failure, OpenError, Script, Settings};

/// Far above what anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// With more time than by default: a busy machine is no failure.
fn settings(url: &str) -> Settings {
    let long = Duration::from_secs(10);
    Settings { connect_timeout: long, response_timeout: long, ..Settings::new(url.parse().unwrap()) }
}

fn open(url: &str) -> Client {
    Client::open(settings(url)).unwrap()
}

async fn ping(client: &Client) -> Result<String, Failure> {
    client.run(b"any", &cmd("PING")).await
}

/// Waits until it answers.
async fn answers(client: &Client) {
    let wait = Wait::new("an answer", PATIENCE);
    while let Err(failure) = ping(client).await {
        wait.again(&failure).await.unwrap();
    }
}

/// The ids of the connections of clients, but for the one that asks.
async fn connections(redis: &Standalone) -> Vec<String> {
    let list = redis.command(&["CLIENT", "LIST"]).await.unwrap().text().unwrap();
    let others = list.lines().filter(|line| !line.contains("cmd=client|list"));
    others.map(|line| line.strip_prefix("id=").unwrap().split(' ').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn commands_and_scripts_are_answered() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let client = open(&redis.url());
    let () = client.run(b"k", cmd("SET").arg("k").arg(&b"\xff\x00\r\n"[..])).await.unwrap();
    let held: Vec<u8> = client.run(b"k", cmd("GET").arg("k")).await.unwrap();
    assert_eq!(held, b"\xff\x00\r\n");
    let absent: Option<String> = client.run(b"x", cmd("GET").arg("x")).await.unwrap();
    assert_eq!(absent, None);

    let script = Script::new("return {KEYS[1], ARGV[1], #ARGV}");
    for _ in 0..2 {
        let answer: (String, Vec<u8>, u8) =
            client.run_script(&script, &[b"k"], &[b"\xfe", b""]).await.unwrap();
        assert_eq!(answer, ("k".to_owned(), b"\xfe".to_vec(), 2));
        redis.command(&["SCRIPT", "FLUSH"]).await.unwrap();
    }
}

#[tokio::test]
async fn of_several_commands_the_first_failure_counts_and_others_stay_in_place() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let client = open(&redis.url());
    let mut pipeline = Pipeline::new();
    pipeline.cmd("SET").arg("k").arg("text").cmd("INCR").arg("k").cmd("GET").arg("k");
    let values = client.run_all(b"k", &pipeline).await.unwrap();
    assert_eq!(values.len(), 3);
    assert!(matches!(values[1], Value::ServerError(_)), "{values:?}");
    assert_eq!(values[2], Value::BulkString(b"text".to_vec()));

    let mut pipeline = Pipeline::new();
    pipeline.cmd("INCR").arg("k").cmd("GET").arg("k");
    let failure = client.run_all(b"k", &pipeline).await.unwrap_err();
    assert!(matches!(failure, Failure::Refused(_)), "{failure:?}");
}

#[tokio::test]
async fn failures_say_what_they_are() {
    let options = Options { maxmemory: Some("2mb".to_owned()), ..Options::default() };
    let redis = Standalone::start(options).await.unwrap();
    let client = open(&redis.url());
    let refused = client.run::<i64>(b"k", &cmd("NOSUCH")).await.unwrap_err();
    assert!(matches!(refused, Failure::Refused(_)), "{refused:?}");
    let large = vec![b'x'; 1 << 20];
    let wait = Wait::new("a full Redis", PATIENCE);
    let mut n = 0;
    loop {
        n += 1;
        let key = n.to_string();
        match client.run::<Value>(key.as_bytes(), cmd("SET").arg(&key).arg(&large)).await {
            Ok(_) => wait.again(&n).await.unwrap(),
            Err(Failure::Full(_)) => break,
            Err(other) => panic!("{other:?}"),
        }
    }
    // Whatever Redis says, it was there to say it.
    assert_eq!(client.health().failures, 0);
    assert_eq!(client.health().failing_for, None);
}

#[tokio::test]
async fn a_fixed_number_of_connections_is_shared_and_lost_ones_are_replaced() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let client = Client::open(Settings { connections: 3, ..settings(&redis.url()) }).unwrap();
    let at_once = (0..300).map(|n| {
        let client = client.clone();
        async move {
            let key = n.to_string();
            client.run::<i64>(key.as_bytes(), cmd("INCR").arg(&key)).await.unwrap()
        }
    });
    assert!(futures_util::future::join_all(at_once).await.into_iter().all(|sum| sum == 1));
    let wait = Wait::new("three connections", PATIENCE);
    let old = loop {
        let ids = connections(&redis).await;
        if ids.len() == 3 {
            break ids;
        }
        assert!(ids.len() < 3, "{ids:?}");
        wait.again(&ids).await.unwrap();
    };
    for id in &old {
        redis.command(&["CLIENT", "KILL", "ID", id]).await.unwrap();
    }
    answers(&client).await;
    let wait = Wait::new("three others", PATIENCE);
    loop {
        let ids = connections(&redis).await;
        if ids.len() == 3 && !ids.iter().any(|id| old.contains(id)) {
            break;
        }
        wait.again(&ids).await.unwrap();
    }
    drop(client);
    let wait = Wait::new("no connection", PATIENCE);
    while !connections(&redis).await.is_empty() {
        wait.again("some").await.unwrap();
    }
}

#[tokio::test]
async fn while_redis_is_away_everything_fails_at_once_and_health_says_so() {
    let mut redis = Standalone::start(Options::default()).await.unwrap();
    let client = open(&redis.url());
    answers(&client).await;
    redis.kill();
    let wait = Wait::new("a failure", PATIENCE);
    while client.health().failing_for.is_none() {
        let _ = ping(&client).await;
        wait.again("none").await.unwrap();
    }
    // Not one of them waits for anything.
    let began = std::time::Instant::now();
    for _ in 0..1000 {
        assert!(matches!(ping(&client).await, Err(Failure::Unavailable(_))));
    }
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let health = client.health();
    assert!(health.failures >= 1000 && health.failure.is_some(), "{health:?}");
    redis.restart_empty().await.unwrap();
    // Of itself: a connection that is made says that Redis is there.
    let wait = Wait::new("health", PATIENCE);
    while client.health().failing_for.is_some() {
        wait.again(&client.health()).await.unwrap();
    }
    answers(&client).await;
}

/// A network that swallows everything closes no connection.
#[tokio::test]
async fn a_silent_network_is_noticed() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let mut cut = Cut::start(redis.address()).await.unwrap();
    let mut settings = settings(&redis.url_at(cut.address()));
    settings.response_timeout = Duration::from_millis(200);
    settings.connect_timeout = Duration::from_millis(500);
    let client = Client::open(settings).unwrap();
    answers(&client).await;
    cut.sever(Severed::Frozen).await;
    // Nobody asks for anything.
    let wait = Wait::new("an unhealthy client", PATIENCE);
    while client.health().failing_for.is_none() {
        wait.again("healthy").await.unwrap();
    }
    assert!(matches!(ping(&client).await, Err(Failure::Unavailable(_))));
    cut.heal().await.unwrap();
    answers(&client).await;
}

#[tokio::test]
async fn wrong_credentials_are_named_and_not_shown() {
    let user = User { name: "app".to_owned(), password: "right".to_owned(), rules: "~* &* +@all".to_owned() };
    let redis = Standalone::start(Options { users: vec![user], ..Options::default() }).await.unwrap();
    answers(&open(&redis.url())).await;
    let client = open(&redis.url().replace("right", "hunter2"));
    let failure = ping(&client).await.unwrap_err();
    let shown = format!("{failure:?} {client:?} {:?} {:?}", client.health(), client.settings());
    assert!(shown.contains("WRONGPASS") || shown.contains("uthentication"), "{shown}");
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[tokio::test]
async fn tls_trusts_who_it_is_told_to_and_nobody_else() {
    let redis = Standalone::start(Options { tls: true, ..Options::default() }).await.unwrap();
    let ca_file = redis.authority().map(Into::into);
    answers(&Client::open(Settings { ca_file, ..settings(&redis.url()) }).unwrap()).await;
    let stranger = ping(&open(&redis.url())).await.unwrap_err();
    assert!(matches!(stranger, Failure::Unavailable(_)), "{stranger:?}");
    let plain = open(&redis.url().replace("rediss", "redis"));
    assert!(ping(&plain).await.is_err());

    let missing = Settings { ca_file: Some("/nowhere/ca.pem".into()), ..settings(&redis.url()) };
    let error = Client::open(missing).unwrap_err();
    assert!(matches!(error, OpenError::CaFile { .. }), "{error:?}");
}

#[tokio::test]
async fn sentinels_that_are_away_are_said_to_be_and_found_again() {
    let client = open("redis+sentinel://127.0.0.1:1,127.0.0.1:2/main");
    assert!(matches!(ping(&client).await, Err(Failure::Unavailable(_))));

    let mut redis = Sentinel::start().await.unwrap();
    // The first Sentinel is away, and then all of them are.
    redis.sentinels()[0].kill();
    let client = open(&redis.url());
    answers(&client).await;
    for sentinel in redis.sentinels() {
        sentinel.kill();
    }
    answers(&client).await;
    let unknown = open(&redis.url().replace("/trunkline", "/other"));
    assert!(ping(&unknown).await.is_err());
}

/// Between two nodes a slot is on both: what has been moved is asked for with leave, and what is new is made there.
#[tokio::test]
async fn a_key_on_its_way_to_another_node_is_found() {
    let mut redis = Cluster::start().await.unwrap();
    let client = open(&redis.url());
    let () = client.run(b"{k}", cmd("SET").arg("{k}").arg("v")).await.unwrap();
    let slot = redis.slot("{k}").await.unwrap();
    let from = redis.owner(slot).await.unwrap();
    let (nodes, slot) = (redis.nodes(), slot.to_string());
    let (source, target) = (&nodes[from], &nodes[(from + 1) % 3]);
    let id = async |node: &Node| node.command(&["CLUSTER", "MYID"]).await.unwrap().text().unwrap();
    target.command(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(source).await]).await.unwrap();
    source.command(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(target).await]).await.unwrap();
    let port = target.port().to_string();
    source.command(&["MIGRATE", "127.0.0.1", &port, "{k}", "0", "5000"]).await.unwrap();

    let held: String = client.run(b"{k}", cmd("GET").arg("{k}")).await.unwrap();
    assert_eq!(held, "v");
    let mut pipeline = Pipeline::new();
    pipeline.cmd("INCR").arg("{k}n").cmd("GET").arg("{k}").cmd("INCR").arg("{k}n");
    let values = client.run_all(b"{k}n", &pipeline).await.unwrap();
    assert_eq!(values, [Value::Int(1), Value::BulkString(b"v".to_vec()), Value::Int(2)]);
}

#[test]
fn a_client_needs_a_runtime() {
    let error = Client::open(settings("redis://127.0.0.1")).unwrap_err();
    assert!(matches!(error, OpenError::NoRuntime));
}
