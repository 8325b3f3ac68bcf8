//! What it costs: connections, commands, memory.

use tokio::task::JoinSet;
use trunkline_harness::redis::Options;
use trunkline_hub::redis::RedisGauges;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_followers_take_no_connection_and_leave_no_subscription() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let hub = hub(&redis.url(), RedisLimits::default());
    say(&hub, &topic("warm"), None, 0).await.unwrap();
    until("all lanes", || connections(&redis), |count| *count == 5).await;

    let mut followers = Vec::new();
    for batch in 0..100 {
        let mut joining = JoinSet::new();
        for n in 0..100 {
            let hub = Arc::clone(&hub);
            joining.spawn(async move {
                hub.follow(&topic(&format!("s{batch}/{}", n % 25)), Position::default()).await.unwrap()
            });
        }
        followers.extend(joining.join_all().await);
    }
    assert_eq!(connections(&redis).await, 5, "four lanes and one that is spoken over");
    assert_eq!(channels(&redis).await, 2500);
    assert_eq!((hub.gauges().followers, hub.gauges().subscriptions), (10_000, 2500));

    // Beside its share of the topic's: what it is subscribed with.
    let follower = size_of_val(&*followers[0]);
    assert!(follower < 1024, "a follower takes {follower} bytes");

    // Each of them is served.
    for n in 0..25 {
        say(&hub, &topic(&format!("s7/{n}")), None, n).await.unwrap();
    }
    let served = followers[700..800].iter_mut().map(entry);
    let mut numbers: Vec<_> = futures_util::future::join_all(served).await.iter().map(number).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq((0..25).flat_map(|n| [n; 4])));

    drop(followers);
    until("no subscription", || channels(&redis), |count| *count == 0).await;
    until("no seat", || async { hub.gauges() }, |gauges| *gauges == RedisGauges::default()).await;
    assert_eq!(connections(&redis).await, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broadcast_reaches_ten_thousand_followers_once_each_for_one_message() {
    const FOLLOWERS: usize = 10_000;
    const ENTRIES: usize = 20;
    let redis = Standalone::start(Options::default()).await.unwrap();
    let [here, there] = [hub(&redis.url(), limits()), hub(&redis.url(), limits())];
    let topic = topic("broadcast");
    say(&here, &topic, None, 0).await.unwrap();
    let place = there.position(&topic).await.unwrap();
    let mut readers = JoinSet::new();
    for _ in 0..FOLLOWERS {
        let (there, topic) = (Arc::clone(&there), topic.clone());
        readers.spawn(async move {
            let mut follower = there.follow(&topic, place).await.unwrap();
            move || async move {
                let mut sizes = Vec::new();
                while let Some(Delivery::Entry(entry)) = next(&mut follower).await {
                    sizes.push(entry.payload.len());
                }
                sizes
            }
        });
    }
    let begun = readers.join_all().await;
    let mut readers: JoinSet<_> = begun.into_iter().map(|read| read()).collect();

    let before = (calls(&redis, "evalsha").await, calls(&redis, "xrange").await);
    // Every fourth is too large for a message and is read, once for all.
    let size = |n: usize| if n.is_multiple_of(4) { 20_000 + n } else { n };
    for n in 1..=ENTRIES {
        here.append(&topic, None, KEEP, Bytes::from(vec![b'x'; size(n)]), n == ENTRIES).await.unwrap();
    }
    while let Some(sizes) = soon("all readers", readers.join_next()).await {
        assert!(sizes.unwrap().into_iter().eq((1..=ENTRIES).map(size)));
    }
    let scripts = calls(&redis, "evalsha").await - before.0;
    let reads = calls(&redis, "xrange").await - before.1;
    assert!(scripts <= (ENTRIES + ENTRIES / 4 + 5) as u64, "{scripts} scripts for {ENTRIES} entries");
    assert!(reads <= (ENTRIES / 4 + 5) as u64, "{reads} readings for {} large entries", ENTRIES / 4);
    assert_eq!(there.health().repairs, 0);
    until("nothing held", || async { there.gauges().held_bytes }, |held| *held == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_is_one_script() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let hub = hub(&redis.url(), RedisLimits::default());
    let topic = topic("s/1");
    // Redis has seen all scripts after this.
    let fence = hub.claim(&topic, KEEP).await.unwrap();
    say(&hub, &topic, Some(fence), 0).await.unwrap();
    hub.position(&topic).await.unwrap();
    hub.delete(&topic).await.unwrap();
    redis.command(&["CONFIG", "RESETSTAT"]).await.unwrap();

    let mut fence = hub.claim(&topic, KEEP).await.unwrap();
    for n in 0..100 {
        say(&hub, &topic, Some(fence), n).await.unwrap();
    }
    assert_eq!(calls(&redis, "evalsha").await, 101);
    assert_eq!(calls(&redis, "publish").await, 100);
    fence = hub.take_over(&topic, fence, KEEP).await.unwrap();
    assert_eq!(hub.fence(&topic).await.unwrap(), Some(fence));
    hub.delete(&topic).await.unwrap();
    assert_eq!(calls(&redis, "evalsha").await, 104);
    assert_eq!((calls(&redis, "eval").await, calls(&redis, "script|load").await), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_followers_hold_little() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let small = RedisLimits { held_bytes: 1_000_000, ..limits() };
    let [here, there] = [hub(&redis.url(), limits()), hub(&redis.url(), small)];
    let keep = Retention { entries: 1000, ..KEEP };
    let topics: Vec<_> = (0..20).map(|n| topic(&format!("s/{n}"))).collect();
    let mut followers = Vec::new();
    for topic in &topics {
        for _ in 0..5 {
            followers.push(there.follow(topic, Position::default()).await.unwrap());
        }
    }
    let (payload, large) = (Bytes::from(vec![b'x'; 5000]), Bytes::from(vec![b'x'; 300_000]));
    for topic in &topics {
        for n in 0..100 {
            let payload = if n == 50 { &large } else { &payload };
            here.append(topic, None, keep, payload.clone(), n == 99).await.unwrap();
            let held = there.gauges().held_bytes;
            assert!(held < 1_400_000, "{held} bytes are held");
        }
    }
    // What nobody takes is let go of.
    until("little", || async { there.gauges().held_bytes }, |held| *held == 0).await;
    // Nothing is lost, since the log has it.
    for follower in &mut followers {
        let mut count = 0;
        while let Some(delivery) = next(follower).await {
            assert!(matches!(delivery, Delivery::Entry(_)));
            count += 1;
        }
        assert_eq!(count, 100);
    }
    drop(followers);
    assert_eq!(there.gauges().held_bytes, 0);
}

/// Connections to a server, without the test's own.
async fn connections(redis: &Standalone) -> usize {
    let clients = redis.command(&["CLIENT", "LIST", "TYPE", "NORMAL"]).await.unwrap().text().unwrap();
    let subscribers = redis.command(&["CLIENT", "LIST", "TYPE", "PUBSUB"]).await.unwrap().text().unwrap();
    clients.lines().filter(|client| !client.contains("addr=/")).count() + subscribers.lines().count()
}
