//! What it leaves behind: in Redis, in logs, under another prefix or in another database.

use trunkline_harness::redis::{Options, User};
use trunkline_hub::Channel;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_key_has_an_expiry() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let hub = hub(&redis.url(), limits());
    let keep = Retention { entries: 3, age: Duration::from_secs(60) };
    for n in 0..4 {
        let claimed = topic(&format!("s/{n}"));
        let fence = hub.claim(&claimed, keep).await.unwrap();
        if n > 0 {
            for _ in 0..10 {
                hub.append(&claimed, Some(fence), keep, Bytes::from("x"), false).await.unwrap();
            }
            hub.take_over(&claimed, fence, keep).await.unwrap();
        }
        hub.append(&topic(&format!("open/{n}")), None, keep, Bytes::from("x"), n == 2).await.unwrap();
    }
    hub.delete(&topic("s/3")).await.unwrap();
    hub.signal(&Channel("inbox".into()), Bytes::from("x")).await.unwrap();
    let keys = redis.command(&["KEYS", "*"]).await.unwrap();
    let names: Vec<_> = keys.list().iter().map(|key| key.text().unwrap()).collect();
    assert_eq!(names.len(), 4 + 2 + 8, "{names:?}");
    for name in names {
        assert!(name.starts_with("trunkline:log:{"), "{name}");
        let left = redis.command(&["PTTL", &name]).await.unwrap().integer().unwrap();
        assert!((1..=660_000).contains(&left), "{name} has {left} ms");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_is_bounded_in_bytes_and_its_oldest_go() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let hub = hub(&redis.url(), RedisLimits { log_bytes: 100_000, ..limits() });
    let topic = topic("s/1");
    for n in 0..1000_u32 {
        let payload = Bytes::from(vec![u8::try_from(n % 251).unwrap(); 1000]);
        hub.append(&topic, None, KEEP, payload, false).await.unwrap();
    }
    let kept = redis.command(&["XLEN", "trunkline:log:{s}/1:stream"]).await.unwrap().integer().unwrap();
    assert_eq!(kept, 100_000 / 1064);
    let mut follower = hub.follow(&topic, Position::default()).await.unwrap();
    assert_eq!(next(&mut follower).await, Some(Delivery::Gap));
    for n in 1000 - kept..1000 {
        assert_eq!(i64::from(entry(&mut follower).await.payload[0]), n % 251);
    }
    // The largest leaves no other, and many empty ones are not free.
    hub.append(&topic, None, KEEP, Bytes::from(vec![0; 100_000]), false).await.unwrap();
    let length = || async { redis.command(&["XLEN", "trunkline:log:{s}/1:stream"]).await.unwrap().integer() };
    assert_eq!(length().await, Some(1));
    for _ in 0..2000 {
        hub.append(&topic, None, KEEP, Bytes::new(), false).await.unwrap();
    }
    assert_eq!(length().await, Some(100_000 / 64));
    let (mut resumed, place) = (follower, hub.position(&topic).await.unwrap());
    assert_eq!(next(&mut resumed).await, Some(Delivery::Gap));
    let mut count = 1;
    while entry(&mut resumed).await.position != place {
        count += 1;
    }
    assert_eq!(count, 100_000 / 64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prefixes_and_databases_do_not_mix() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let client = |url: &str| Client::open(Settings::new(url.parse().unwrap())).unwrap();
    let other = format!("{}/1", redis.url());
    let hubs = [
        RedisHub::new(client(&redis.url()), "a", limits()),
        RedisHub::new(client(&redis.url()), "b", limits()),
        RedisHub::new(client(&other), "a", limits()),
    ];
    let (topic, channel) = (topic("s/1"), Channel("inbox".into()));
    let (mut followers, mut listeners) = (Vec::new(), Vec::new());
    for hub in &hubs {
        followers.push(hub.follow(&topic, Position::default()).await.unwrap());
        listeners.push(hub.listen(&channel).await.unwrap());
    }
    for (n, hub) in hubs.iter().enumerate() {
        say(hub, &topic, None, n).await.unwrap();
        hub.signal(&channel, Bytes::from(n.to_string())).await.unwrap();
        end(hub, &topic, None, n).await.unwrap();
    }
    for (n, (follower, mut listener)) in followers.into_iter().zip(listeners).enumerate() {
        assert_eq!(to_the_end(follower).await, [n, n]);
        assert_eq!(soon("a signal", listener.next()).await.unwrap().payload, n.to_string());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restricted_user_is_enough() {
    let commands = "+hello +ping +time +eval +evalsha +hmget +hset +xadd +xlen +xtrim +xrange +del \
                    +pexpire +publish +subscribe +unsubscribe";
    let user = |name: &str, rules: String| User { name: name.into(), password: "secret".into(), rules };
    let enough = user("enough", format!("~trunkline:log:* &trunkline:* {commands}"));
    let deaf = user("deaf", format!("~trunkline:log:* &other:* {commands}"));
    let options = Options { users: vec![enough, deaf.clone()], ..Options::default() };
    let redis = Standalone::start(options).await.unwrap();
    let hub = hub(&redis.url(), limits());
    let mut follower = hub.follow(&topic("s/1"), Position::default()).await.unwrap();
    let mut listener = hub.listen(&Channel("inbox".into())).await.unwrap();
    let fence = Some(hub.claim(&topic("s/1"), KEEP).await.unwrap());
    say(&hub, &topic("s/1"), fence, 1).await.unwrap();
    assert_eq!(number(&entry(&mut follower).await), 1);
    hub.signal(&Channel("inbox".into()), Bytes::from("x")).await.unwrap();
    assert_eq!(soon("a signal", listener.next()).await.unwrap().payload, "x");
    hub.delete(&topic("s/1")).await.unwrap();
    assert_eq!(next(&mut follower).await, Some(Delivery::Gone));

    // What Redis refuses is said at once.
    let deaf = super::hub(&redis.url_of(&deaf), limits());
    let refused = deaf.follow(&topic("s/1"), Position::default()).await.map(drop).unwrap_err();
    assert!(format!("{refused:?}").contains("NoPerm"), "{refused:?}");
    assert!(deaf.listen(&Channel("inbox".into())).await.is_err());
    assert!(deaf.signal(&Channel("inbox".into()), Bytes::new()).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_shown_names_a_session() {
    let redis = Standalone::start(Options::default()).await.unwrap();
    let hub = hub(&redis.url(), limits());
    let topic = topic("very-secret-session/1");
    let _follower = hub.follow(&topic, Position::default()).await.unwrap();
    say(&hub, &topic, None, 1).await.unwrap();
    let key = "trunkline:log:{very-secret-session}/1:meta";
    redis.command(&["SET", key, "rubbish"]).await.unwrap();
    let error = say(&hub, &topic, None, 1).await.unwrap_err();
    for shown in [format!("{hub:?}"), format!("{error:?}"), format!("{error}"), format!("{topic:?}")] {
        assert!(!shown.contains("secret-session"), "{shown}");
    }
}
