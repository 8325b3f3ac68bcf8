//! Another server takes over, or a part of the keys goes elsewhere.

use trunkline_harness::redis::{Cluster, Options, Sentinel};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_loses_nothing_that_was_answered() {
    let mut redis = Sentinel::start().await.unwrap();
    let [here, there] = [hub(&redis.url(), limits()), hub(&redis.url(), limits())];
    let topic = topic("s/1");
    let fence = Some(here.claim(&topic, KEEP).await.unwrap());
    let follower = there.follow(&topic, Position::default()).await.unwrap();
    let reader = tokio::spawn(to_the_end(follower));
    let mut places = Vec::new();
    for n in 0..300 {
        places.push(insist(&here, &topic, fence, n).await);
    }
    redis.kill_primary();
    let writer = tokio::spawn({
        let (here, topic) = (Arc::clone(&here), topic.clone());
        async move {
            for n in 300..1100 {
                places.push(insist(&here, &topic, fence, n).await);
            }
            places
        }
    });
    redis.await_failover(PATIENCE).await.unwrap();
    // Without a replica nothing counts as done.
    redis.restart_with_data().await.unwrap();
    let places = soon("the rest", writer).await.unwrap();
    assert!(places.is_sorted_by(|a, b| a < b));
    finish(&here, &topic, fence, 1100).await;
    let heard = soon("the end", reader).await.unwrap();
    // One that was not answered may be there twice; in order all the same.
    assert!(heard.is_sorted());
    let mut once = heard;
    once.dedup();
    assert!(once.iter().copied().eq(0..=1100), "{} of 1101: {once:?}", once.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_moves_to_another_node_is_followed_there() {
    let redis = Cluster::start().await.unwrap();
    let [here, there] = [hub(&redis.url(), limits()), hub(&redis.url(), limits())];
    let topics: Vec<_> = (0..6).map(|n| topic(&format!("s{n}/1"))).collect();
    let mut readers = Vec::new();
    for topic in &topics {
        insist(&here, topic, None, 0).await;
        let follower = there.follow(topic, Position::default()).await.unwrap();
        readers.push(tokio::spawn(to_the_end(follower)));
    }
    for round in 1..=4 {
        let key = format!("trunkline:log:{{s{}}}/1", round % 2);
        let slot = redis.slot(&key).await.unwrap();
        let owner = redis.owner(slot).await.unwrap();
        for topic in &topics {
            insist(&here, topic, None, round * 2 - 1).await;
        }
        redis.move_slot(slot, (owner + 1) % 3).await.unwrap();
        for topic in &topics {
            insist(&here, topic, None, round * 2).await;
        }
    }
    for topic in &topics {
        finish(&here, topic, None, 9).await;
    }
    for reader in readers {
        let mut heard = soon("the end", reader).await.unwrap();
        assert!(heard.is_sorted());
        heard.dedup();
        assert!(heard.into_iter().eq(0..=9));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_connections_to_all_nodes_lose_nothing() {
    let redis = Cluster::start().await.unwrap();
    let [here, there] = [hub(&redis.url(), blind()), hub(&redis.url(), blind())];
    let topics: Vec<_> = (0..12).map(|n| topic(&format!("s{n}/1"))).collect();
    let mut followers = Vec::new();
    for topic in &topics {
        insist(&here, topic, None, 0).await;
        followers.push(there.follow(topic, Position::default()).await.unwrap());
    }
    for round in 1..=5 {
        redis.client_kill_pubsub().await.unwrap();
        for topic in &topics {
            say(&here, topic, None, round).await.unwrap();
        }
        for follower in &mut followers {
            assert_eq!(number(&entry(follower).await), round - 1);
        }
    }
    // What came last comes without another message.
    for follower in &mut followers {
        assert_eq!(number(&entry(follower).await), 5);
    }
    until("all to be heard", || async { there.health().deaf_for }, Option::is_none).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_goes_back_does_not_take_places_along() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let hub = hub(&redis.url(), limits());
    let topic = topic("s/1");
    let fence = hub.claim(&topic, KEEP).await.unwrap();
    let first = say(&hub, &topic, Some(fence), 1).await.unwrap();
    // As if what was given had been given by a clock an hour ahead.
    let ahead = first.major + 3_600_000_000;
    let meta = "trunkline:log:{s}/1:meta";
    redis.command(&["HSET", meta, "s", &ahead.to_string(), "n", "3600000000"]).await.unwrap();
    let second = say(&hub, &topic, Some(fence), 2).await.unwrap();
    assert_eq!(second, Position { minor: 3_600_000_001, ..first });
    let later = hub.take_over(&topic, fence, KEEP).await.unwrap();
    assert_eq!(later, Fence(ahead + 1));
    hub.delete(&topic).await.unwrap();
    let third = say(&hub, &topic, None, 3).await.unwrap();
    assert_eq!(third.major, ahead + 2, "what is known of the name outlives the log");
    let left = redis.command(&["PTTL", meta]).await.unwrap().integer().unwrap();
    assert!(left > 600_000, "and more so with a new one: {left}");
}

/// Appends the last number until that is known to be there.
async fn finish(hub: &RedisHub, topic: &Topic, fence: Option<Fence>, number: usize) {
    let wait = Wait::new("the last append", PATIENCE);
    loop {
        match end(hub, topic, fence, number).await {
            Ok(_) | Err(HubError::Ended) => return,
            Err(HubError::Unavailable { .. }) => wait.again(&number).await.unwrap(),
            Err(error) => panic!("{error}"),
        }
    }
}
