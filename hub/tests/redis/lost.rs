//! Lost connections, and messages that never came.

use std::sync::atomic::{AtomicUsize, Ordering};

use trunkline_harness::redis::Options;
use trunkline_hub::{Channel, Signal, redis::RedisGauges};

use super::*;

/// The script that appends, as replicas run it.
const APPEND: &str = concat!(
    include_str!("../../src/redis/scripts/log.lua"),
    include_str!("../../src/redis/scripts/append.lua")
);
/// And the one that deletes.
const DELETE: &str = concat!(
    include_str!("../../src/redis/scripts/log.lua"),
    include_str!("../../src/redis/scripts/delete.lua")
);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_subscription_loses_and_repeats_nothing() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let [here, there] = [hub(&redis.url(), blind()), hub(&redis.url(), blind())];
    let topic = topic("s/1");
    let fence = Some(here.claim(&topic, KEEP).await.unwrap());
    let heard = Arc::new(AtomicUsize::new(0));
    let mut readers = Vec::new();
    for _ in 0..2 {
        let (mut follower, heard) =
            (there.follow(&topic, Position::default()).await.unwrap(), Arc::clone(&heard));
        readers.push(tokio::spawn(async move {
            let mut numbers = Vec::new();
            while let Some(Delivery::Entry(entry)) = next(&mut follower).await {
                numbers.push(number(&entry));
                heard.fetch_add(1, Ordering::SeqCst);
            }
            numbers
        }));
    }

    let mut said = 0;
    for round in 0..5 {
        for _ in 0..200 {
            say(&here, &topic, fence, said).await.unwrap();
            said += 1;
        }
        if round % 2 == 0 {
            redis.client_kill_pubsub().await.unwrap();
        } else {
            kill_subscribers(&redis).await;
        }
        // Some are appended while nobody is subscribed, and some before that is noticed.
        for _ in 0..200 {
            say(&here, &topic, fence, said).await.unwrap();
            said += 1;
        }
        let again =
            move |health: &trunkline_hub::Health| health.resubscriptions > round && health.deaf_for.is_none();
        until("a new connection", || async { there.health() }, again).await;
        // Though no message comes that would show what is missing.
        until("both to be there", || async { heard.load(Ordering::SeqCst) }, |heard| *heard == said * 2)
            .await;
    }
    end(&here, &topic, fence, said).await.unwrap();
    for reader in readers {
        assert!(soon("the end", reader).await.unwrap().into_iter().eq(0..=said));
    }
    assert!(there.health().repairs > 0, "{:?}", there.health());
    assert_eq!(there.health().gaps, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn coming_and_going_over_lost_connections_misses_nothing() {
    const ROUNDS: usize = 150;
    let redis = Standalone::start(Options::default()).await.unwrap();
    let hubs = [hub(&redis.url(), blind()), hub(&redis.url(), blind())];
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let hub = Arc::clone(&hubs[task % 2]);
            tokio::spawn(async move {
                let channel = Channel(format!("c{}", task % 3).into());
                for round in 0..ROUNDS {
                    let topic = topic(&format!("s/{}", (round + task) % 3));
                    let mut follower = insist_on_following(&hub, &topic).await;
                    insist(&hub, &topic, None, task * ROUNDS + round).await;
                    while number(&entry(&mut follower).await) != task * ROUNDS + round {}
                    drop(follower);
                    drop(hub.listen(&channel).await);
                }
            })
        })
        .collect();
    let kills = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(150)).await;
            redis.client_kill_pubsub().await.unwrap();
            if channels(&redis).await == 0 {
                return redis;
            }
        }
    });
    for task in tasks {
        soon("all rounds", task).await.unwrap();
    }
    let redis = soon("no subscription", kills).await.unwrap();
    until("no subscription", || channels(&redis), |count| *count == 0).await;
    for hub in hubs {
        let empty = |gauges: &RedisGauges| *gauges == RedisGauges::default();
        until("nothing held", || async { hub.gauges() }, empty).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_never_came_delays_and_loses_nothing() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let hub = hub(&redis.url(), limits());
    let topic = topic("s/1");
    let mut follower = hub.follow(&topic, Position::default()).await.unwrap();
    // Nothing comes after it: only a look finds it.
    whisper(&redis, "1").await;
    assert_eq!(number(&entry(&mut follower).await), 1);
    whisper(&redis, "2").await;
    assert_eq!(number(&entry(&mut follower).await), 2);
    // The next message shows what was missed.
    whisper(&redis, "3").await;
    say(&hub, &topic, None, 4).await.unwrap();
    assert_eq!(number(&entry(&mut follower).await), 3);
    assert_eq!(number(&entry(&mut follower).await), 4);
    assert!(hub.health().repairs >= 2);
    // Without an entry that was missed there is nothing to repair.
    let repairs = hub.health().repairs;
    for n in 5..500 {
        say(&hub, &topic, None, n).await.unwrap();
        assert_eq!(number(&entry(&mut follower).await), n);
    }
    assert_eq!(hub.health().repairs, repairs);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_message_disturbs_nobody() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let hub = hub(&redis.url(), limits());
    let topic = topic("s/1");
    say(&hub, &topic, None, 1).await.unwrap();
    let mut follower = hub.follow(&topic, Position::default()).await.unwrap();
    assert_eq!(number(&entry(&mut follower).await), 1);
    for rubbish in
        ["", "\n", "rubbish", "e 1 2 3\n", "e 9 9 9 9 \nfrom the past", "d 5\n", "z 1\n", "e -1 0 0 0\n"]
    {
        redis.command(&["PUBLISH", "trunkline:log:{s}/1", rubbish]).await.unwrap();
    }
    // One that looks true, and is not in the log.
    redis.command(&["PUBLISH", "trunkline:log:{s}/2", "e 1 1 0 0 \nof another"]).await.unwrap();
    say(&hub, &topic, None, 2).await.unwrap();
    assert_eq!(number(&entry(&mut follower).await), 2);

    // One that looks true, and is of no log that there ever was: whoever heard it ends, and the next one knows better.
    let forged = "e 9000000000000000 1 0 0 \nforged";
    redis.command(&["PUBLISH", "trunkline:log:{s}/1", forged]).await.unwrap();
    assert_eq!(next(&mut follower).await, Some(Delivery::Gone));
    let mut follower = hub.follow(&topic, Position::default()).await.unwrap();
    say(&hub, &topic, None, 3).await.unwrap();
    for expected in 1..=3 {
        assert_eq!(number(&entry(&mut follower).await), expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listeners_listen_again() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let [here, there] = [hub(&redis.url(), limits()), hub(&redis.url(), limits())];
    let channel = Channel("inbox".into());
    let mut listener = there.listen(&channel).await.unwrap();
    for round in 0..3 {
        let payload = Bytes::from(round.to_string());
        here.signal(&channel, payload.clone()).await.unwrap();
        let heard = soon("a signal", listener.next()).await.unwrap();
        assert_eq!(heard, Signal { channel: channel.clone(), payload });
        redis.client_kill_pubsub().await.unwrap();
        let again = move |seen: &(u64, usize)| *seen == (round + 1, 1);
        until("it to listen", || async { (there.health().resubscriptions, channels(&redis).await) }, again)
            .await;
    }
}

async fn insist_on_following(hub: &RedisHub, topic: &Topic) -> Follower {
    let wait = Wait::new("to follow", PATIENCE);
    loop {
        let followed = match hub.position(topic).await {
            Ok(place) => hub.follow(topic, place).await,
            Err(error) => Err(error),
        };
        match followed {
            Ok(follower) => return follower,
            Err(HubError::Unavailable { .. }) => wait.again(topic).await.unwrap(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Kills, one by one and by their ids, the connections that subscribe.
async fn kill_subscribers(redis: &Standalone) {
    let clients = redis.command(&["CLIENT", "LIST"]).await.unwrap().text().unwrap();
    let mut killed = 0;
    for client in clients.lines().filter(|client| !client.contains(" sub=0 ")) {
        let id = client.split(' ').find_map(|field| field.strip_prefix("id=")).unwrap();
        redis.command(&["CLIENT", "KILL", "ID", id]).await.unwrap();
        killed += 1;
    }
    assert!(killed > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_begins_to_follow_knows_what_nobody_was_told() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let hub = hub(&redis.url(), blind());
    let topic = topic("s/1");
    let place = say(&hub, &topic, None, 1).await.unwrap();
    let mut early = hub.follow(&topic, Position::default()).await.unwrap();
    assert_eq!(number(&entry(&mut early).await), 1);
    // Longer than it is known here.
    whisper(&redis, "2").await;
    let mut late = hub.follow(&topic, place).await.unwrap();
    assert_eq!(number(&entry(&mut late).await), 2);
    assert_eq!(number(&entry(&mut early).await), 2, "it profits");
    // Gone, though it is known here.
    let keys = ["trunkline:log:{s}/1:meta", "trunkline:log:{s}/1:stream"];
    redis.command(&["EVAL", DELETE, "2", keys[0], keys[1], "PUBLISH", "nowhere"]).await.unwrap();
    let mut to_come = hub.follow(&topic, Position::default()).await.unwrap();
    let mut resumed = hub.follow(&topic, place).await.unwrap();
    assert_eq!(next(&mut resumed).await, Some(Delivery::Gone));
    assert_eq!(next(&mut early).await, Some(Delivery::Gone), "it profits");
    say(&hub, &topic, None, 3).await.unwrap();
    assert_eq!(number(&entry(&mut to_come).await), 3);
}

/// Appends to `s/1`, and tells nobody.
async fn whisper(redis: &Standalone, payload: &str) {
    let (meta, stream) = ("trunkline:log:{s}/1:meta", "trunkline:log:{s}/1:stream");
    let eval = [
        "EVAL", APPEND, "2", meta, stream, "", "1000", "600000", "1000000", "", "PUBLISH", "nowhere", "16384",
    ];
    redis.command(&[&eval[..], &[payload]].concat()).await.unwrap();
}
