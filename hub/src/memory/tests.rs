//! What is particular to this hub: its bounds, its sweep, its gauges, its end.

use futures_util::FutureExt;

use super::*;
use crate::HubError;

const KEEP: Retention = Retention { entries: 1000, age: Duration::from_secs(60) };

fn hub_with(limits: impl FnOnce(&mut MemoryLimits)) -> MemoryHub {
    let mut all = MemoryLimits::default();
    limits(&mut all);
    MemoryHub::new(all)
}

fn topic(n: usize) -> Topic {
    Topic(format!("s/{n}").into())
}

async fn append(hub: &MemoryHub, topic: &Topic, payload: &'static [u8]) -> Result<Position, HubError> {
    hub.append(topic, None, KEEP, Bytes::from_static(payload), false).await
}

/// What comes without anything else being done. Waiting in vain fails: paused time runs out.
async fn soon<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(1), wait).await.expect("in time")
}

/// As they are with nothing in the hub.
fn empty() -> Gauges {
    Gauges::default()
}

#[tokio::test(start_paused = true)]
async fn a_full_hub_refuses_new_names_and_nothing_else() {
    let hub = hub_with(|limits| limits.logs = 3);
    append(&hub, &topic(0), b"x").await.unwrap();
    let fence = hub.claim(&topic(1), KEEP).await.unwrap();
    let waiting = hub.follow(&topic(2), Position::default()).await.unwrap();
    let full = |error| matches!(error, HubError::Full { what: "logs", limit: 3 });
    assert!(full(append(&hub, &topic(3), b"x").await.unwrap_err()));
    assert!(full(hub.claim(&topic(3), KEEP).await.unwrap_err()));
    assert!(hub.follow(&topic(3), Position::default()).await.is_err_and(full));

    let mut gone = hub.follow(&topic(3), Position { major: 1, minor: 1 }).await.unwrap();
    assert_eq!(gone.next().await.unwrap().unwrap(), Delivery::Gone);
    append(&hub, &topic(0), b"x").await.unwrap();
    append(&hub, &topic(2), b"x").await.unwrap();
    hub.append(&topic(1), Some(fence), KEEP, Bytes::new(), false).await.unwrap();
    let second = hub.follow(&topic(1), Position::default()).await.unwrap();

    hub.delete(&topic(0)).await.unwrap();
    append(&hub, &topic(3), b"x").await.unwrap();
    drop((waiting, second));
    assert_eq!(hub.gauges().logs, 3);
}

#[tokio::test(start_paused = true)]
async fn what_expired_does_not_fill_a_hub() {
    let hub = hub_with(|limits| limits.logs = 100);
    hub.sweep.abort();
    for n in 0..100 {
        append(&hub, &topic(n), b"x").await.unwrap();
    }
    tokio::time::advance(KEEP.age).await;
    assert_eq!(hub.gauges().logs, 100);
    append(&hub, &topic(100), b"x").await.unwrap();
    assert_eq!(hub.gauges().logs, 1);
}

#[tokio::test(start_paused = true)]
async fn all_entries_together_are_bounded() {
    let hub = hub_with(|limits| limits.bytes = 100_000);
    let payload: &[u8] = &[b'x'; 10_000];
    let mut taken = 0;
    let refused = loop {
        match append(&hub, &topic(taken % 3), payload).await {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 100);
    };
    assert!(matches!(refused, HubError::Full { what: "bytes", limit: 100_000 }));
    assert_eq!(taken, 9);
    let held = hub.gauges();
    assert!((90_000..=100_000).contains(&held.bytes), "{held:?}");
    assert_eq!(held.logs, 3);

    hub.delete(&topic(0)).await.unwrap();
    for _ in 0..3 {
        append(&hub, &topic(1), payload).await.unwrap();
    }
    append(&hub, &topic(1), payload).await.unwrap_err();
    hub.sweep.abort();
    tokio::time::advance(KEEP.age).await;
    append(&hub, &topic(4), payload).await.unwrap();
    assert!(hub.gauges().bytes < 11_000, "what expired made room");
}

#[tokio::test(start_paused = true)]
async fn one_log_is_bounded_in_bytes_and_its_oldest_go() {
    let hub = hub_with(|limits| limits.log_bytes = 10_000);
    for payload in [&[b'1'; 4000], &[b'2'; 4000], &[b'3'; 4000]] {
        append(&hub, &topic(0), payload).await.unwrap();
    }
    let mut follower = hub.follow(&topic(0), Position::default()).await.unwrap();
    assert_eq!(follower.next().await.unwrap().unwrap(), Delivery::Gap);
    for expected in *b"23" {
        let Some(Ok(Delivery::Entry(entry))) = follower.next().await else { panic!("no entry") };
        assert_eq!(entry.payload[0], expected);
    }
    assert!((8000..=10_000).contains(&hub.gauges().bytes));
    // Empty entries are not free, and the largest one leaves no other.
    for _ in 0..1000 {
        append(&hub, &topic(0), b"").await.unwrap();
    }
    assert!(hub.gauges().bytes <= 10_000);
    append(&hub, &topic(0), &[b'x'; 10_000]).await.unwrap();
    assert_eq!(hub.gauges().bytes, log::Log::cost(&Bytes::from_static(&[b'x'; 10_000])));
}

#[tokio::test(start_paused = true)]
async fn the_sweep_takes_what_nobody_asks_for() {
    let hub = MemoryHub::new(MemoryLimits::default());
    for n in 0..10_000 {
        append(&hub, &topic(n), b"hello").await.unwrap();
    }
    let before = hub.gauges();
    assert_eq!(before.logs, 10_000);
    tokio::time::sleep(KEEP.age - Duration::from_secs(1)).await;
    assert_eq!(hub.gauges(), before);
    tokio::time::sleep(SWEEP_EVERY * 10).await;
    assert_eq!(hub.gauges(), empty());
    assert!(hub.topics.is_empty(), "names too");
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_for_an_expired_log_finds_none() {
    let hub = MemoryHub::new(MemoryLimits::default());
    hub.sweep.abort();
    let fence = hub.claim(&topic(0), KEEP).await.unwrap();
    let mut places = Vec::new();
    for n in 1..5 {
        places.push(append(&hub, &topic(n), b"x").await.unwrap());
    }
    let mut follower = hub.follow(&topic(1), Position::default()).await.unwrap();
    tokio::time::advance(KEEP.age).await;
    let refused = hub.append(&topic(0), Some(fence), KEEP, Bytes::new(), false).await;
    assert!(matches!(refused, Err(HubError::Unknown)));
    assert_eq!(follower.next().await.unwrap().unwrap(), Delivery::Gone);
    assert_eq!(hub.position(&topic(1)).await.unwrap(), Position::default());
    let mut late = hub.follow(&topic(2), places[1]).await.unwrap();
    assert_eq!(late.next().await.unwrap().unwrap(), Delivery::Gone);
    hub.claim(&topic(3), KEEP).await.unwrap();
    assert_eq!(hub.position(&topic(3)).await.unwrap(), Position::default(), "a new log");
    append(&hub, &topic(4), b"y").await.unwrap();
    let mut resumed = hub.follow(&topic(4), places[3]).await.unwrap();
    assert_eq!(resumed.next().await.unwrap().unwrap(), Delivery::Gap);
    assert_eq!(hub.gauges().logs, 2);
}

#[tokio::test(start_paused = true)]
async fn the_gauges_return_to_zero_however_things_end() {
    let hub = MemoryHub::new(MemoryLimits::default());
    let from_start = Position::default();
    let channel = Channel("c".into());
    // Never polled; polled and waiting; of a log to come; dropped in the middle of a wait.
    append(&hub, &topic(0), b"x").await.unwrap();
    let unpolled = hub.follow(&topic(0), from_start).await.unwrap();
    let mut waiting = hub.follow(&topic(0), from_start).await.unwrap();
    waiting.next().await.unwrap().unwrap();
    assert!(waiting.next().now_or_never().is_none());
    let mut to_come = hub.follow(&topic(1), from_start).await.unwrap();
    assert!(to_come.next().now_or_never().is_none());
    let mut listener = hub.listen(&channel).await.unwrap();
    assert!(listener.next().now_or_never().is_none());
    let other = hub.listen(&channel).await.unwrap();
    let held = hub.gauges();
    assert_eq!((held.logs, held.followers, held.listeners), (1, 3, 2));
    drop((unpolled, waiting, to_come, listener, other));
    assert_eq!((hub.gauges().logs, hub.gauges().followers, hub.gauges().listeners), (1, 0, 0));

    // Told of the last entry, or of the end of the log: done, though the stream is still held.
    let mut ended = hub.follow(&topic(0), from_start).await.unwrap();
    let mut deleted = hub.follow(&topic(2), from_start).await.unwrap();
    append(&hub, &topic(2), b"x").await.unwrap();
    hub.append(&topic(0), None, KEEP, Bytes::new(), true).await.unwrap();
    hub.delete(&topic(2)).await.unwrap();
    assert_eq!(hub.gauges().followers, 2);
    ended.next().await.unwrap().unwrap();
    ended.next().await.unwrap().unwrap();
    deleted.next().await.unwrap().unwrap();
    assert_eq!((hub.gauges().followers, hub.gauges().logs), (0, 1));
    hub.delete(&topic(0)).await.unwrap();
    assert_eq!(hub.gauges(), empty());
    assert!(hub.topics.is_empty() && hub.signals.is_empty());
}

#[tokio::test(start_paused = true)]
async fn asking_leaves_nothing_behind() {
    let hub = MemoryHub::new(MemoryLimits::default());
    let (unknown, place) = (topic(0), Position { major: 1, minor: 1 });
    hub.position(&unknown).await.unwrap();
    hub.delete(&unknown).await.unwrap();
    hub.append(&unknown, Some(Fence(1)), KEEP, Bytes::new(), false).await.unwrap_err();
    drop(hub.follow(&unknown, place).await.unwrap());
    hub.signal(&Channel("c".into()), Bytes::new()).await.unwrap();
    assert_eq!(hub.gauges(), empty());
    assert!(hub.topics.is_empty() && hub.signals.is_empty());
}

#[tokio::test(start_paused = true)]
async fn slow_followers_cost_no_memory() {
    let hub = MemoryHub::new(MemoryLimits::default());
    let keep = Retention { entries: 10, ..KEEP };
    let mut followers = Vec::new();
    for _ in 0..1000 {
        followers.push(hub.follow(&topic(0), Position::default()).await.unwrap());
    }
    for _ in 0..1000 {
        hub.append(&topic(0), None, keep, Bytes::from(vec![b'x'; 1000]), false).await.unwrap();
    }
    assert!(hub.gauges().bytes < 11_000);
    for follower in &mut followers {
        assert_eq!(follower.next().await.unwrap().unwrap(), Delivery::Gap);
        for _ in 0..10 {
            assert!(matches!(follower.next().await.unwrap().unwrap(), Delivery::Entry(_)));
        }
        assert!(follower.next().now_or_never().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_listener_is_bounded_in_signals_and_in_bytes() {
    let hub = hub_with(|limits| (limits.pending_signals, limits.pending_bytes) = (3, 100));
    let channel = Channel("c".into());
    let mut listener = hub.listen(&channel).await.unwrap();
    for payload in ["1", "2", "3", "lost"] {
        hub.signal(&channel, Bytes::from(payload)).await.unwrap();
    }
    for expected in ["1", "2", "3"] {
        assert_eq!(soon(listener.next()).await.unwrap().payload, expected);
    }
    hub.signal(&channel, Bytes::from(vec![b'4'; 60])).await.unwrap();
    hub.signal(&channel, Bytes::from(vec![b'5'; 60])).await.unwrap();
    hub.signal(&channel, Bytes::from(vec![b'6'; 40])).await.unwrap();
    assert_eq!(soon(listener.next()).await.unwrap().payload[0], b'4');
    assert_eq!(soon(listener.next()).await.unwrap().payload[0], b'6');
    assert!(listener.next().now_or_never().is_none());
    assert_eq!(hub.gauges().lost_signals, 2);

    let large = Bytes::from(vec![b'x'; hub.limits.signal_bytes + 1]);
    assert!(matches!(hub.signal(&channel, large).await, Err(HubError::TooLarge { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_hub_ends_all() {
    let hub = MemoryHub::new(MemoryLimits::default());
    let channel = Channel("c".into());
    append(&hub, &topic(0), b"x").await.unwrap();
    let mut follower = hub.follow(&topic(0), Position::default()).await.unwrap();
    let mut to_come = hub.follow(&topic(1), Position::default()).await.unwrap();
    let mut listener = hub.listen(&channel).await.unwrap();
    hub.signal(&channel, Bytes::from("held")).await.unwrap();
    tokio::time::sleep(SWEEP_EVERY).await;
    let topics = Arc::downgrade(&hub.topics);
    let waiting = tokio::spawn(async move { to_come.next().await });
    tokio::task::yield_now().await;
    drop(hub);
    assert_eq!(soon(waiting).await.unwrap().unwrap().unwrap(), Delivery::Gone);
    assert_eq!(soon(follower.next()).await.unwrap().unwrap(), Delivery::Gone);
    assert!(soon(follower.next()).await.is_none());
    assert_eq!(soon(listener.next()).await.unwrap().payload, "held");
    assert!(soon(listener.next()).await.is_none());
    tokio::task::yield_now().await;
    assert_eq!(topics.strong_count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_leaks_when_everything_comes_and_goes_at_once() {
    let hub = Arc::new(MemoryHub::new(MemoryLimits::default()));
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let hub = Arc::clone(&hub);
            tokio::spawn(async move {
                for round in 0..500 {
                    let topic = topic(round % 5);
                    match task % 4 {
                        0 => drop(append(&hub, &topic, b"x").await),
                        1 => hub.delete(&topic).await.unwrap(),
                        2 => {
                            let mut follower = hub.follow(&topic, Position::default()).await.unwrap();
                            let _ = follower.next().now_or_never();
                            tokio::task::yield_now().await;
                        }
                        _ => drop(hub.listen(&Channel("c".into())).await.unwrap()),
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    for n in 0..5 {
        hub.delete(&topic(n)).await.unwrap();
    }
    assert_eq!(hub.gauges(), empty());
    assert!(hub.topics.is_empty() && hub.signals.is_empty());
}
