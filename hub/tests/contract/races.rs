//! What holds when everybody does it at once, on both replicas.

use std::{future::Future, sync::Arc};

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::{sync::Barrier, task::JoinSet};
use trunkline_hub::{Channel, Delivery, HubError, Position};

use super::{Fixture, assert_gone, end, entry, next, plenty, say, to_the_end, topic};

pub(super) async fn whoever_follows_misses_nothing<F: Fixture>(fixture: F) {
    let hubs = fixture.replicas().await;
    for round in 0..F::ROUNDS {
        let (topic, keep) = (topic(&format!("s/{round}")), plenty::<F>());
        // One appends while the others begin to follow.
        let heard = at_once(4, |n| {
            let (hub, topic) = (Arc::clone(&hubs[n % 2]), topic.clone());
            async move {
                if n > 0 {
                    return to_the_end(&hub, &topic, Position::default()).await;
                }
                for number in 0..10 {
                    say(&hub, &topic, None, keep, number).await.unwrap();
                }
                end(&hub, &topic, None, keep, 10).await.unwrap();
                (0..=10).map(Some).collect()
            }
        });
        let expected: Vec<_> = (0..=10).map(Some).collect();
        assert!(heard.await.iter().all(|heard| *heard == expected), "round {round}");
        hubs[0].delete(&topic).await.unwrap();
    }
}

pub(super) async fn following_from_the_newest_place_misses_nothing<F: Fixture>(fixture: F) {
    let hubs = fixture.replicas().await;
    for round in 0..F::ROUNDS {
        let (topic, keep) = (topic(&format!("s/{round}")), plenty::<F>());
        say(&hubs[0], &topic, None, keep, 0).await.unwrap();
        at_once(4, |n| {
            let (hub, topic) = (Arc::clone(&hubs[n % 2]), topic.clone());
            async move {
                if n > 0 {
                    let place = hub.position(&topic).await.unwrap();
                    let heard = to_the_end(&hub, &topic, place).await;
                    let first = heard.first().copied().flatten().unwrap_or(11);
                    assert!(heard.into_iter().eq((first..=10).map(Some)));
                    return;
                }
                for number in 1..10 {
                    say(&hub, &topic, None, keep, number).await.unwrap();
                }
                end(&hub, &topic, None, keep, 10).await.unwrap();
            }
        })
        .await;
        hubs[0].delete(&topic).await.unwrap();
    }
}

pub(super) async fn all_followers_see_one_order<F: Fixture>(fixture: F) {
    let hubs = fixture.replicas().await;
    let (topic, keep) = (topic("broadcast"), plenty::<F>());
    let mut followers = Vec::new();
    for n in 0..4 {
        followers.push(hubs[n % 2].follow(&topic, Position::default()).await.unwrap());
    }
    let readers: Vec<_> = followers
        .into_iter()
        .map(|mut follower| {
            tokio::spawn(async move {
                let mut entries = Vec::new();
                for _ in 0..400 {
                    entries.push(entry(&mut follower).await);
                }
                entries
            })
        })
        .collect();
    let written = at_once(8, |n| {
        let (hub, topic) = (Arc::clone(&hubs[n % 2]), topic.clone());
        async move {
            let mut written = Vec::new();
            for number in n * 50..(n + 1) * 50 {
                let place = say(&hub, &topic, None, keep, number).await.unwrap();
                written.push((place, Bytes::from(number.to_string())));
            }
            assert!(written.is_sorted_by(|a, b| a.0 < b.0), "one writer's entries keep their order");
            written
        }
    });
    let mut written = written.await.concat();
    written.sort_unstable();
    for reader in readers {
        let read = reader.await.unwrap().into_iter().map(|entry| (entry.position, entry.payload));
        assert!(read.eq(written.iter().cloned()));
    }
}

pub(super) async fn one_claim_is_the_highest<F: Fixture>(fixture: F) {
    let hubs = fixture.replicas().await;
    for round in 0..F::ROUNDS {
        let (topic, keep) = (topic(&format!("s/{round}")), plenty::<F>());
        let mut fences = at_once(8, |n| {
            let (hub, topic) = (Arc::clone(&hubs[n % 2]), topic.clone());
            async move { hub.claim(&topic, keep).await.unwrap() }
        })
        .await;
        fences.sort_unstable();
        assert!(fences.is_sorted_by(|a, b| a < b), "no two have the same");
        let highest = fences.pop();
        for fence in fences {
            assert!(matches!(say(&hubs[0], &topic, Some(fence), keep, 99).await, Err(HubError::Fenced)));
        }
        end(&hubs[1], &topic, highest, keep, 1).await.unwrap();
        assert_eq!(to_the_end(&hubs[0], &topic, Position::default()).await, [Some(1)]);
        hubs[0].delete(&topic).await.unwrap();
    }
}

pub(super) async fn one_of_many_takes_a_log_over<F: Fixture>(fixture: F) {
    let hubs = fixture.replicas().await;
    for round in 0..F::ROUNDS {
        let (topic, keep) = (topic(&format!("s/{round}")), plenty::<F>());
        let dead = hubs[0].claim(&topic, keep).await.unwrap();
        let taken = at_once(8, |n| {
            let (hub, topic) = (Arc::clone(&hubs[n % 2]), topic.clone());
            async move {
                match hub.take_over(&topic, dead, keep).await {
                    Ok(fence) => Some(fence),
                    Err(HubError::Fenced) => None,
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let winners: Vec<_> = taken.await.into_iter().flatten().collect();
        assert_eq!(winners.len(), 1);
        assert_eq!(hubs[1].fence(&topic).await.unwrap(), Some(winners[0]));
        hubs[0].delete(&topic).await.unwrap();
    }
}

pub(super) async fn a_takeover_silences_the_owner_before<F: Fixture>(fixture: F) {
    let hubs = fixture.replicas().await;
    for round in 0..F::ROUNDS {
        let (topic, keep) = (topic(&format!("s/{round}")), plenty::<F>());
        let fence = Some(hubs[0].claim(&topic, keep).await.unwrap());
        let said = at_once(2, |n| {
            let (hub, topic) = (Arc::clone(&hubs[n]), topic.clone());
            async move {
                if n == 1 {
                    let fence = Some(hub.claim(&topic, keep).await.unwrap());
                    tokio::task::yield_now().await;
                    end(&hub, &topic, fence, keep, 1000).await.unwrap();
                    return 0;
                }
                for said in 0.. {
                    match say(&hub, &topic, fence, keep, said).await {
                        Ok(_) => tokio::task::yield_now().await,
                        Err(HubError::Fenced) => return said,
                        Err(error) => panic!("{error}"),
                    }
                }
                unreachable!("it is fenced at last")
            }
        });
        // What was taken is there, and nothing else.
        let expected: Vec<_> = (0..said.await[0]).chain([1000]).map(Some).collect();
        assert_eq!(to_the_end(&hubs[0], &topic, Position::default()).await, expected);
        hubs[0].delete(&topic).await.unwrap();
    }
}

pub(super) async fn a_log_ends_once<F: Fixture>(fixture: F) {
    let hubs = fixture.replicas().await;
    for round in 0..F::ROUNDS {
        let (topic, keep) = (topic(&format!("s/{round}")), plenty::<F>());
        let ended = at_once(8, |n| {
            let (hub, topic) = (Arc::clone(&hubs[n % 2]), topic.clone());
            async move {
                let ended = end(&hub, &topic, None, keep, n).await;
                assert!(matches!(ended, Ok(_) | Err(HubError::Ended)));
                ended.ok().map(|_| n)
            }
        });
        let winners: Vec<_> = ended.await.into_iter().flatten().map(Some).collect();
        assert_eq!(winners.len(), 1);
        assert_eq!(to_the_end(&hubs[1], &topic, Position::default()).await, winners);
        hubs[0].delete(&topic).await.unwrap();
    }
}

pub(super) async fn nothing_resurrects_a_deleted_log<F: Fixture>(fixture: F) {
    let hubs = fixture.replicas().await;
    for round in 0..F::ROUNDS {
        let (topic, keep) = (topic(&format!("s/{round}")), plenty::<F>());
        let fence = Some(hubs[0].claim(&topic, keep).await.unwrap());
        let place = say(&hubs[0], &topic, fence, keep, 0).await.unwrap();
        at_once(3, |n| {
            let (hub, topic) = (Arc::clone(&hubs[(n + round) % 2]), topic.clone());
            async move {
                match n {
                    0 => hub.delete(&topic).await.unwrap(),
                    1 => drop(say(&hub, &topic, fence, keep, 1).await),
                    _ => drop(hub.follow(&topic, Position::default()).await.unwrap()),
                }
            }
        })
        .await;
        assert_gone(&hubs[round % 2], &topic, place).await;
    }
}

pub(super) async fn a_delete_is_told_to_all<F: Fixture>(fixture: F) {
    let hubs = fixture.replicas().await;
    for round in 0..F::ROUNDS {
        let (topic, keep) = (topic(&format!("s/{round}")), plenty::<F>());
        let place = say(&hubs[0], &topic, None, keep, 0).await.unwrap();
        at_once(4, |n| {
            let (hub, topic) = (Arc::clone(&hubs[n % 2]), topic.clone());
            async move {
                if n == 0 {
                    return hub.delete(&topic).await.unwrap();
                }
                // Whether it came before or after the delete.
                let mut follower = hub.follow(&topic, place).await.unwrap();
                assert_eq!(next(&mut follower).await, Some(Delivery::Gone));
                assert_eq!(next(&mut follower).await, None);
            }
        })
        .await;
    }
}

pub(super) async fn a_signal_after_listening_is_heard<F: Fixture>(fixture: F) {
    let hubs = fixture.replicas().await;
    for round in 0..F::ROUNDS {
        let channel = Channel(format!("c{}", round % 3).into());
        at_once(4, |n| {
            let (hubs, channel) = (hubs.clone(), channel.clone());
            async move {
                let mut listener = hubs[n % 2].listen(&channel).await.unwrap();
                let mine = Bytes::from(format!("{round} {n}"));
                hubs[n / 2].signal(&channel, mine.clone()).await.unwrap();
                while listener.next().await.unwrap().payload != mine {}
            }
        })
        .await;
    }
    // None is lost, or overtakes another, while the listener keeps up.
    let channel = Channel("steady".into());
    let mut listener = hubs[1].listen(&channel).await.unwrap();
    let sender = tokio::spawn({
        let (hub, channel) = (Arc::clone(&hubs[0]), channel.clone());
        async move {
            for n in 0..200 {
                hub.signal(&channel, Bytes::from(n.to_string())).await.unwrap();
            }
        }
    });
    for n in 0..200 {
        assert_eq!(listener.next().await.unwrap().payload, n.to_string());
    }
    sender.await.unwrap();
}

pub(super) async fn no_wake_up_is_lost<F: Fixture>(fixture: F) {
    let hubs = fixture.replicas().await;
    // Two hand a ball to each other, over signals and over logs: each goes to wait just when the ball may come.
    at_once(2, |n| {
        let hubs = hubs.clone();
        async move {
            let (mine, other) = (Channel(format!("c{n}").into()), Channel(format!("c{}", 1 - n).into()));
            let mut listener = hubs[n].listen(&mine).await.unwrap();
            let (my_log, other_log) = (topic(&format!("s/{n}")), topic(&format!("s/{}", 1 - n)));
            let mut follower = hubs[n].follow(&other_log, Position::default()).await.unwrap();
            // Both are there before the first throw.
            say(&hubs[n], &my_log, None, plenty::<F>(), 0).await.unwrap();
            entry(&mut follower).await;
            for round in 0..F::ROUNDS * 20 {
                if n == 0 {
                    hubs[n].signal(&other, Bytes::new()).await.unwrap();
                    listener.next().await.unwrap();
                } else {
                    listener.next().await.unwrap();
                    hubs[n].signal(&other, Bytes::new()).await.unwrap();
                }
                if round % 4 == 0 {
                    say(&hubs[n], &my_log, None, plenty::<F>(), round).await.unwrap();
                    entry(&mut follower).await;
                }
            }
        }
    })
    .await;
}

/// What tasks return that begin together, each on a thread that is free.
async fn at_once<T: Send + 'static, Fut: Future<Output = T> + Send + 'static>(
    tasks: usize,
    task: impl Fn(usize) -> Fut,
) -> Vec<T> {
    let barrier = Arc::new(Barrier::new(tasks));
    let mut set = JoinSet::new();
    for n in 0..tasks {
        let (barrier, task) = (Arc::clone(&barrier), task(n));
        set.spawn(async move {
            barrier.wait().await;
            (n, task.await)
        });
    }
    let mut answers = set.join_all().await;
    answers.sort_by_key(|(n, _)| *n);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
