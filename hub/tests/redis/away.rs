//! Redis away for a while, and back with its data or without.

use trunkline_harness::redis::Options;
use trunkline_hub::Channel;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_wait_for_redis_and_go_on() {
    let options = Options { appendonly: true, ..Options::default() };
    let mut redis = Standalone::start(options).await.unwrap();
    let hub = hub(&redis.url(), blind());
    let (mine, open) = (topic("s/mine"), topic("open"));
    let fence = Some(hub.claim(&mine, KEEP).await.unwrap());
    let place = say(&hub, &mine, fence, 0).await.unwrap();
    say(&hub, &open, None, 0).await.unwrap();
    let mut current = hub.follow(&mine, place).await.unwrap();
    let behind = hub.follow(&mine, Position::default()).await.unwrap();
    let broadcast = hub.follow(&open, Position::default()).await.unwrap();
    let to_come = hub.follow(&topic("to-come"), Position::default()).await.unwrap();
    let waiting = tokio::spawn(async move { (entry(&mut current).await, current) });
    let readers = [behind, broadcast, to_come].map(|follower| tokio::spawn(to_the_end(follower)));

    for round in 1..=2 {
        redis.kill();
        until("it to be missed", || async { hub.health().deaf_for }, Option::is_some).await;
        refuses_everything(&hub).await;
        redis.restart_with_data().await.unwrap();
        insist(&hub, &mine, fence, round).await;
        insist(&hub, &open, None, round).await;
        until("it to be heard", || async { hub.health().deaf_for }, Option::is_none).await;
    }
    let (first, mut current) = soon("an entry", waiting).await.unwrap();
    assert_eq!(number(&first), 1);
    end(&hub, &mine, fence, 3).await.unwrap();
    end(&hub, &open, None, 3).await.unwrap();
    end(&hub, &topic("to-come"), None, 3).await.unwrap();
    let [behind, broadcast, to_come] = readers;
    assert_eq!(entry(&mut current).await.payload, "2");
    assert_eq!(soon("the end", behind).await.unwrap(), [0, 1, 2, 3]);
    assert_eq!(soon("the end", broadcast).await.unwrap(), [0, 1, 2, 3]);
    assert_eq!(soon("the end", to_come).await.unwrap(), [3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_redis_has_lost_is_gone() {
    let mut redis = Standalone::start(Options::default()).await.unwrap();
    let hub = hub(&redis.url(), limits());
    let (claimed, open) = (topic("s/claimed"), topic("open"));
    for flush in [true, false] {
        let fence = hub.claim(&claimed, KEEP).await.unwrap();
        let mut of_claimed = hub.follow(&claimed, Position::default()).await.unwrap();
        let old = say(&hub, &open, None, 1).await.unwrap();
        let mut of_open = hub.follow(&open, old).await.unwrap();
        let mut to_come = hub.follow(&topic("to-come"), Position::default()).await.unwrap();
        if flush {
            redis.command(&["FLUSHALL"]).await.unwrap();
        } else {
            redis.kill();
            redis.restart_empty().await.unwrap();
        }
        assert_eq!(next(&mut of_claimed).await, Some(Delivery::Gone));
        assert_eq!(next(&mut of_claimed).await, None);
        assert_eq!(next(&mut of_open).await, Some(Delivery::Gone));
        let wait = Wait::new("an answer", PATIENCE);
        loop {
            match say(&hub, &claimed, Some(fence), 2).await {
                Err(HubError::Unknown) => break,
                other => wait.again(&other).await.unwrap(),
            }
        }
        // What is made anew lies after what was, and who waited is served.
        let new = insist(&hub, &open, None, 2).await;
        assert!(new > old, "{old} then {new}");
        insist(&hub, &topic("to-come"), None, 3).await;
        assert_eq!(number(&entry(&mut to_come).await), 3);
        let mut resumed = hub.follow(&open, old).await.unwrap();
        assert_eq!(next(&mut resumed).await, Some(Delivery::Gap));
        assert_eq!(number(&entry(&mut resumed).await), 2);
        for topic in [&claimed, &open, &topic("to-come")] {
            hub.delete(topic).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_stands_still_is_missed_and_nothing_is_lost() {
    let mut redis = Standalone::start(Options::default()).await.unwrap();
    let hub = hub(&redis.url(), limits());
    let topic = topic("s/1");
    let mut follower = hub.follow(&topic, Position::default()).await.unwrap();
    say(&hub, &topic, None, 0).await.unwrap();
    assert_eq!(number(&entry(&mut follower).await), 0);
    redis.stop().unwrap();
    refuses_everything(&hub).await;
    until("it to be missed", || async { hub.health().deaf_for }, Option::is_some).await;
    redis.resume().unwrap();
    until("it to be heard", || async { hub.health().deaf_for }, Option::is_none).await;
    let mut heard = number(&entry_after(&hub, &topic, &mut follower).await);
    // What was refused may have been taken when it went on: once.
    if heard == 77 {
        heard = number(&entry(&mut follower).await);
    }
    assert_eq!(heard, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_needs_no_redis_to_begin() {
    let mut redis = Standalone::start(Options::default()).await.unwrap();
    redis.kill();
    let hub = hub(&redis.url(), limits());
    assert!(hub.health().deaf_for.is_some());
    refuses_everything(&hub).await;
    redis.restart_empty().await.unwrap();
    insist(&hub, &topic("s/1"), None, 1).await;
    let wait = Wait::new("it to follow", PATIENCE);
    let mut follower = loop {
        match hub.follow(&topic("s/1"), Position::default()).await {
            Ok(follower) => break follower,
            Err(error) => wait.again(&error).await.unwrap(),
        }
    };
    assert_eq!(number(&entry(&mut follower).await), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_hub_ends_all() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let hub = hub(&redis.url(), limits());
    let mut follower = hub.follow(&topic("s/1"), Position::default()).await.unwrap();
    let mut listener = hub.listen(&Channel("inbox".into())).await.unwrap();
    let waiting = tokio::spawn(async move { (follower.next().await, follower.next().await) });
    tokio::task::yield_now().await;
    drop(Arc::into_inner(hub).unwrap());
    let (told, end) = soon("the end", waiting).await.unwrap();
    assert!(matches!(told, Some(Err(HubError::Unavailable { .. }))), "the log is not gone");
    assert!(end.is_none());
    assert_eq!(soon("the end", listener.next()).await, None);
    drop(listener);
    until("no connection", || channels(&redis), |count| *count == 0).await;
}

/// Within a few seconds each, and as what may work later.
async fn refuses_everything(hub: &Arc<RedisHub>) {
    let (topic, channel) = (topic("s/away"), Channel("away".into()));
    let begun = std::time::Instant::now();
    let refused = tokio::join!(
        async { hub.claim(&topic, KEEP).await.map(drop) },
        async { hub.take_over(&topic, Fence(1), KEEP).await.map(drop) },
        async { hub.fence(&topic).await.map(drop) },
        async { say(hub, &topic, None, 77).await.map(drop) },
        async { hub.follow(&topic, Position::default()).await.map(drop) },
        async { hub.position(&topic).await.map(drop) },
        async { hub.delete(&topic).await },
        async { hub.signal(&channel, Bytes::new()).await },
        async { hub.listen(&channel).await.map(drop) },
    );
    let refused =
        [refused.0, refused.1, refused.2, refused.3, refused.4, refused.5, refused.6, refused.7, refused.8];
    for outcome in refused {
        assert!(matches!(outcome, Err(HubError::Unavailable { .. })), "{outcome:?}");
    }
    assert!(begun.elapsed() < Duration::from_secs(10));
}

/// Appends 1, as soon as that works, and takes the next entry.
async fn entry_after(hub: &Arc<RedisHub>, topic: &Topic, follower: &mut Follower) -> Entry {
    insist(hub, topic, None, 1).await;
    entry(follower).await
}
