//! Connections for what Redis says unasked: they come, tell, overflow, go, and come again.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

use std::{pin::pin, task::Poll, time::Duration};

use redis::{Cmd, Pipeline, PushInfo, PushKind, Value, cmd};
use trunkline_harness::{
    redis::{Cluster, Options, Standalone},
    wait::Wait,
};
use trunkline_redis::{Client, Event, Events, Failure, Line, NodeId, Pushes, Settings};

/// Far above what anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn open(url: &str, setup: Vec<Cmd>, queue: usize) -> (Client, Pushes, Events) {
    // A busy machine is no failure.
    let response_timeout = Duration::from_secs(10);
    let settings = Settings { response_timeout, ..Settings::new(url.parse().unwrap()) };
    let client = Client::open(settings).unwrap();
    let (pushes, events) = Pushes::open(&client, setup, queue);
    (client, pushes, events)
}

/// Every change of any key is told.
fn broadcasting() -> Vec<Cmd> {
    let mut tracking = cmd("CLIENT");
    tracking.arg("TRACKING").arg("ON").arg("BCAST");
    vec![tracking]
}

async fn next(events: &mut Events) -> Event {
    let next = tokio::time::timeout(PATIENCE, events.next()).await;
    next.expect("an event in time").expect("the pushes are there")
}

async fn up(events: &mut Events) -> Line {
    loop {
        if let Event::Up(line) = next(events).await {
            return line;
        }
    }
}

async fn down(events: &mut Events) -> NodeId {
    loop {
        if let Event::Down(node) = next(events).await {
            return node;
        }
    }
}

async fn push(events: &mut Events, kind: PushKind) -> PushInfo {
    loop {
        match next(events).await {
            Event::Push(_, push) if push.kind == kind => return push,
            Event::Push(..) | Event::Moved => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn what_is_subscribed_to_is_told() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let (client, pushes, mut events) = open(&redis.url(), Vec::new(), 100);
    let line = up(&mut events).await;
    assert_eq!(Some(line.node()), pushes.node_of(b"any").as_ref());
    let mut pipeline = Pipeline::new();
    pipeline.cmd("SUBSCRIBE").arg("a").cmd("SUBSCRIBE").arg("b");
    assert_eq!(line.run_all(&pipeline).await.unwrap().len(), 2);
    let heard_by: i64 = client.run(b"a", cmd("PUBLISH").arg("b").arg("hello")).await.unwrap();
    assert_eq!(heard_by, 1);
    let message = push(&mut events, PushKind::Message).await;
    assert_eq!(message.data, [Value::BulkString(b"b".to_vec()), Value::BulkString(b"hello".to_vec())]);
    // Commands are answered over the same connection.
    let pong: String = pushes.run(b"any", &cmd("PING")).await.unwrap();
    assert_eq!(pong, "PONG");
}

#[tokio::test]
async fn a_connection_that_says_too_much_is_given_up_and_told_so() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let (client, pushes, mut events) = open(&redis.url(), broadcasting(), 4);
    let line = up(&mut events).await;
    for n in 0..100 {
        let () = client.run(b"k", cmd("SET").arg("k").arg(n)).await.unwrap();
    }
    let wait = Wait::new("the end of the connection", PATIENCE);
    while line.is_alive() {
        wait.again("alive").await.unwrap();
    }
    // What was queued comes first, then the loss, and then another one that tells again.
    let mut told = 0;
    loop {
        match next(&mut events).await {
            Event::Push(_, push) if push.kind == PushKind::Invalidate => told += 1,
            Event::Down(_) => break,
            other => panic!("{other:?}"),
        }
    }
    assert!((1..=4).contains(&told), "{told}");
    let new = up(&mut events).await;
    assert!(new.is_alive());
    let () = client.run(b"k", cmd("SET").arg("k").arg("last")).await.unwrap();
    push(&mut events, PushKind::Invalidate).await;
    assert!(pushes.line(new.node()).is_some());
}

/// Nobody would be told of a change of what it read.
#[tokio::test]
async fn an_answer_over_a_connection_that_was_lost_meanwhile_is_none() {
    let mut redis = Standalone::start(Options::default()).await.unwrap();
    let (_client, pushes, mut events) = open(&redis.url(), Vec::new(), 100);
    let line = up(&mut events).await;
    let mut question = cmd("CLIENT");
    question.arg("ID");
    let old: i64 = line.run(&question).await.unwrap();
    redis.stop().unwrap();
    let mut by_key = pin!(pushes.run::<i64>(b"any", &question));
    let mut by_line = pin!(line.run::<i64>(&question));
    assert!(matches!(futures_util::poll!(by_key.as_mut()), Poll::Pending));
    assert!(matches!(futures_util::poll!(by_line.as_mut()), Poll::Pending));
    line.condemn();
    redis.resume().unwrap();
    assert!(matches!(by_line.await, Err(Failure::Unavailable(_))));
    // It is asked again over the next one.
    assert!(by_key.await.unwrap() > old);
    assert_eq!(down(&mut events).await, *line.node());
    up(&mut events).await;
}

#[tokio::test]
async fn a_restart_is_a_loss_and_a_return_that_is_set_up_again() {
    let mut redis = Standalone::start(Options::default()).await.unwrap();
    let (client, _pushes, mut events) = open(&redis.url(), broadcasting(), 100);
    let line = up(&mut events).await;
    redis.restart_empty().await.unwrap();
    down(&mut events).await;
    assert!(!line.is_alive());
    up(&mut events).await;
    let wait = Wait::new("a change", PATIENCE);
    while let Err(failure) = client.run::<Value>(b"k", cmd("SET").arg("k").arg("v")).await {
        wait.again(&failure).await.unwrap();
    }
    push(&mut events, PushKind::Invalidate).await;
}

#[tokio::test]
async fn dropped_pushes_end_their_connections_and_events() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let (client, pushes, mut events) = open(&redis.url(), broadcasting(), 100);
    up(&mut events).await;
    drop(pushes);
    while let Ok(Some(_)) = tokio::time::timeout(PATIENCE, events.next()).await {}
    let wait = Wait::new("the connections of the client alone", PATIENCE);
    loop {
        let list = redis.command(&["CLIENT", "LIST"]).await.unwrap().text().unwrap();
        let tracking =
            list.lines().filter(|line| line.contains("flags=t") || line.contains("flags=tB")).count();
        if tracking == 0 {
            break;
        }
        wait.again(&list).await.unwrap();
    }
    let pong: String = client.run(b"any", &cmd("PING")).await.unwrap();
    assert_eq!(pong, "PONG");
}

/// Redis ends a subscription itself when the slot of its channel goes elsewhere, with words that cannot be told from an answer.
#[tokio::test]
async fn a_subscription_that_moves_away_gives_its_connection_up() {
    let redis = Cluster::start().await.unwrap();
    let (client, pushes, mut events) = open(&redis.url(), Vec::new(), 100);
    let slot = redis.slot("channel").await.unwrap();
    let subscribe = {
        let mut subscribe = cmd("SSUBSCRIBE");
        subscribe.arg("channel");
        subscribe
    };
    let wait = Wait::new("the nodes", PATIENCE);
    let node = loop {
        match pushes.node_of(b"channel").filter(|node| pushes.line(node).is_some()) {
            Some(node) => break node,
            None => wait.again("none").await.unwrap(),
        }
    };
    let line = pushes.line(&node).unwrap();
    let _: Value = line.run(&subscribe).await.unwrap();
    // An end that was asked for is none of the connection.
    let _: Value = line.run(cmd("SUNSUBSCRIBE").arg("channel")).await.unwrap();
    let _: Value = line.run(&subscribe).await.unwrap();
    assert!(line.is_alive());

    let to = (redis.owner(slot).await.unwrap() + 1) % 3;
    redis.move_slot(slot, to).await.unwrap();
    loop {
        match next(&mut events).await {
            Event::Down(gone) if gone == node => break,
            _ => {}
        }
    }
    assert!(!line.is_alive());
    let wait = Wait::new("the new node", PATIENCE);
    while client.node_of(b"channel").as_ref() == Some(&node) {
        wait.again(&node).await.unwrap();
    }
    assert_eq!(client.nodes().len(), 3);
    let _: Value = pushes.run(b"channel", &subscribe).await.unwrap();
    let heard_by: i64 = client.run(b"channel", cmd("SPUBLISH").arg("channel").arg("hello")).await.unwrap();
    assert_eq!(heard_by, 1);
    loop {
        if let Event::Push(from, push) = next(&mut events).await
            && push.kind == PushKind::SMessage
        {
            assert_ne!(from, node);
            break;
        }
    }
}
