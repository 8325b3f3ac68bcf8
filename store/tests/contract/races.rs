//! What holds when everybody does it at once, on both replicas.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use tokio::{sync::Barrier, task::JoinSet};
use trunkline_store::{Change, Record};

use super::{Fixture, sample, session};

pub(super) async fn increments_are_exact<F: Fixture>(fixture: F) {
    let stores = fixture.replicas().await;
    let key = session("s");
    stores[0].create(&key, sample(), F::TICK * 1000).await.unwrap();
    let sums = at_once(64, |n| {
        let (store, key) = (Arc::clone(&stores[n % 2]), key.clone());
        async move {
            let mut sums = Vec::new();
            for _ in 0..100 {
                sums.push(store.increment(&key, "n", 1).await.unwrap().unwrap());
            }
            sums
        }
    });
    let mut sums = sums.await.concat();
    sums.sort_unstable();
    assert!(sums.into_iter().eq(1..=6400), "each sum is returned once");
    assert_eq!(stores[1].load(&key).await.unwrap().unwrap().text("n"), Some("6400"));
}

pub(super) async fn one_creator_wins<F: Fixture>(fixture: F) {
    let stores = fixture.replicas().await;
    for round in 0..F::ROUNDS {
        let key = session(&format!("s{round}"));
        let created = at_once(8, |n| {
            let (store, key) = (Arc::clone(&stores[n % 2]), key.clone());
            let record = Record::default().with("winner", n.to_string());
            async move { store.create(&key, record, F::TICK * 1000).await.unwrap() }
        });
        let winner = the_one(&created.await);
        let record = stores[0].load(&key).await.unwrap();
        assert_eq!(record, Some(Record::default().with("winner", winner.to_string())));
        stores[0].delete(&key).await.unwrap();
    }
}

pub(super) async fn one_deleter_wins<F: Fixture>(fixture: F) {
    let stores = fixture.replicas().await;
    let key = session("s");
    for _ in 0..F::ROUNDS {
        stores[0].create(&key, sample(), F::TICK * 1000).await.unwrap();
        let deleted = at_once(8, |n| {
            let (store, key) = (Arc::clone(&stores[n % 2]), key.clone());
            async move { store.delete(&key).await.unwrap() }
        });
        the_one(&deleted.await);
    }
}

pub(super) async fn one_of_those_who_compare_wins<F: Fixture>(fixture: F) {
    let stores = fixture.replicas().await;
    let key = session("s");
    stores[0].create(&key, sample(), F::TICK * 1000).await.unwrap();
    let mut current = None;
    for round in 0..F::ROUNDS {
        let done = at_once(8, |n| {
            let (store, key, current) = (Arc::clone(&stores[n % 2]), key.clone(), current.clone());
            // Now and then the field is removed rather than replaced.
            let new = (round % 3 != 0 || current.is_none()).then(|| Bytes::from(format!("{round}-{n}")));
            async move { store.compare_and_set(&key, "f", current, new).await.unwrap().unwrap() }
        });
        let removes = round % 3 == 0 && current.is_some();
        let winner = the_one(&done.await);
        current = stores[1].load(&key).await.unwrap().unwrap().fields.get("f").cloned();
        let expected = (!removes).then(|| Bytes::from(format!("{round}-{winner}")));
        assert_eq!(current, expected);
    }
}

pub(super) async fn compare_and_set_loses_no_step<F: Fixture>(fixture: F) {
    let stores = fixture.replicas().await;
    let key = session("s");
    stores[0].create(&key, Record::default().with("n", "0"), F::TICK * 1000).await.unwrap();
    at_once(8, |n| {
        let (store, key) = (Arc::clone(&stores[n % 2]), key.clone());
        async move {
            let mut done = 0;
            while done < 25 {
                let held = store.load(&key).await.unwrap().unwrap().fields["n"].clone();
                let next = std::str::from_utf8(&held).unwrap().parse::<u32>().unwrap() + 1;
                let new = Bytes::from(next.to_string());
                if store.compare_and_set(&key, "n", Some(held), Some(new)).await.unwrap().unwrap() {
                    done += 1;
                }
            }
        }
    })
    .await;
    assert_eq!(stores[0].load(&key).await.unwrap().unwrap().text("n"), Some("200"));
}

pub(super) async fn different_fields_never_conflict<F: Fixture>(fixture: F) {
    let stores = fixture.replicas().await;
    let key = session("s");
    let record = (0..16).fold(sample(), |record, n| record.with(&format!("old{n}"), "x"));
    for _ in 0..F::ROUNDS / 10 {
        stores[0].create(&key, record.clone(), F::TICK * 1000).await.unwrap();
        at_once(16, |n| {
            let (store, key) = (Arc::clone(&stores[n % 2]), key.clone());
            async move {
                let value = Bytes::from(n.to_string());
                assert!(store.set(&key, &format!("new{n}"), value).await.unwrap());
                assert_eq!(store.remove(&key, &format!("old{n}")).await.unwrap(), Some(true));
                assert_eq!(store.increment(&key, &format!("sum{n}"), 1).await.unwrap(), Some(1));
            }
        })
        .await;
        let expected = (0..16).fold(sample(), |record, n| {
            record.with(&format!("new{n}"), n.to_string()).with(&format!("sum{n}"), "1")
        });
        assert_eq!(stores[1].load(&key).await.unwrap(), Some(expected));
        stores[1].delete(&key).await.unwrap();
    }
}

pub(super) async fn nothing_resurrects_a_deleted_record<F: Fixture>(fixture: F) {
    let stores = fixture.replicas().await;
    for round in 0..F::ROUNDS {
        let key = session(&format!("s{round}"));
        stores[0].create(&key, sample(), F::TICK * 1000).await.unwrap();
        at_once(6, |n| {
            let (store, key) = (Arc::clone(&stores[(n + round) % 2]), key.clone());
            async move {
                match n {
                    0 => assert!(store.delete(&key).await.unwrap()),
                    1 => drop(store.set(&key, "a", Bytes::from("x")).await.unwrap()),
                    2 => drop(store.remove(&key, "schema").await.unwrap()),
                    3 => drop(store.increment(&key, "n", 1).await.unwrap()),
                    4 => drop(store.compare_and_set(&key, "c", None, Some(Bytes::new())).await.unwrap()),
                    _ => drop(store.touch(&key, F::TICK * 1000).await.unwrap()),
                }
            }
        })
        .await;
        assert_eq!(stores[round % 2].load(&key).await.unwrap(), None, "round {round}");
    }
}

pub(super) async fn a_record_is_read_at_one_moment<F: Fixture>(fixture: F) {
    let stores = fixture.replicas().await;
    let key = session("s");
    stores[0].create(&key, sample(), F::TICK * 1000).await.unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (store, key, stop) = (Arc::clone(&stores[0]), key.clone(), Arc::clone(&stop));
        async move {
            // The first is never behind the second, nor ahead by more than one.
            while !stop.load(Ordering::Relaxed) {
                store.increment(&key, "1", 1).await.unwrap();
                store.increment(&key, "2", 1).await.unwrap();
                tokio::task::yield_now().await;
            }
        }
    });
    for _ in 0..F::ROUNDS {
        let record = stores[1].load(&key).await.unwrap().unwrap();
        let number = |field| record.text(field).map_or(0, |text| text.parse::<i64>().unwrap());
        let ahead = number("1") - number("2");
        assert!((0..=1).contains(&ahead), "{record:?}");
        tokio::task::yield_now().await;
    }
    stop.store(true, Ordering::Relaxed);
    writer.await.unwrap();
}

pub(super) async fn no_change_escapes_a_listener<F: Fixture>(fixture: F) {
    let stores = fixture.replicas().await;
    for round in 0..F::ROUNDS / 10 {
        let key = session(&format!("s{round}"));
        stores[0].create(&key, Record::default().with("n", "0"), F::TICK * 1000).await.unwrap();
        let writers = at_once(4, |n| {
            let (store, key) = (Arc::clone(&stores[n % 2]), key.clone());
            async move { store.increment(&key, "n", 1).await.unwrap() }
        });
        // What is kept is honest at last: nothing was told after the load that made it 4.
        let reader = async {
            let mut changes = stores[1].changes();
            while stores[1].load(&key).await.unwrap().unwrap().text("n") != Some("4") {
                while matches!(changes.next().await.unwrap(), Change::Record(changed) if changed != key) {}
            }
        };
        tokio::join!(writers, reader);
        stores[0].delete(&key).await.unwrap();
    }
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

/// The index of the only `true`.
fn the_one(answers: &[bool]) -> usize {
    let winners: Vec<usize> =
        answers.iter().enumerate().filter(|(_, won)| **won).map(|(index, _)| index).collect();
    assert_eq!(winners.len(), 1, "{answers:?}");
    winners[0]
}
