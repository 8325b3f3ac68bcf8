//! What listeners are told. A store may tell more than it must, so each looks for what it must hear.

use bytes::Bytes;
use trunkline_store::{Change, Changes, Key};

use super::{Fixture, sample, session};

pub(super) async fn each_change_is_told<F: Fixture>(fixture: F) {
    let stores = fixture.replicas().await;
    for (writer, reader) in [(0, 1), (1, 0), (0, 0)] {
        let (writer, reader) = (&stores[writer], &stores[reader]);
        let key = session("s");
        let mut changes = reader.changes();
        writer.create(&key, sample(), F::TICK * 100).await.unwrap();
        // Between changes the record is loaded, as one that is kept would be.
        reader.load(&key).await.unwrap();
        writer.set(&key, "f", Bytes::from("x")).await.unwrap();
        hear(&mut changes, &key).await;
        reader.load(&key).await.unwrap();
        writer.increment(&key, "n", 1).await.unwrap();
        hear(&mut changes, &key).await;
        reader.load(&key).await.unwrap();
        writer.compare_and_set(&key, "n", Some(Bytes::from("1")), Some(Bytes::from("2"))).await.unwrap();
        hear(&mut changes, &key).await;
        reader.load(&key).await.unwrap();
        writer.compare_and_set(&key, "n", Some(Bytes::from("2")), None).await.unwrap();
        hear(&mut changes, &key).await;
        reader.load(&key).await.unwrap();
        writer.remove(&key, "f").await.unwrap();
        hear(&mut changes, &key).await;
        reader.load(&key).await.unwrap();
        writer.delete(&key).await.unwrap();
        hear(&mut changes, &key).await;
    }
}

pub(super) async fn a_change_has_taken_effect_when_told<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let key = session("s");
    here.create(&key, sample(), F::TICK * 100).await.unwrap();
    let (mut one, mut two) = (there.changes(), there.changes());
    for round in 1..=20 {
        there.load(&key).await.unwrap();
        here.increment(&key, "n", 1).await.unwrap();
        for changes in [&mut one, &mut two] {
            // What is told may be of an earlier round; what this round did is told at last.
            loop {
                hear(changes, &key).await;
                let record = there.load(&key).await.unwrap().unwrap();
                if record.text("n") == Some(&round.to_string()) {
                    break;
                }
            }
        }
    }
    here.delete(&key).await.unwrap();
    while there.load(&key).await.unwrap().is_some() {
        hear(&mut one, &key).await;
    }
}

pub(super) async fn an_expiry_is_told<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (abandoned, replaced) = (session("abandoned"), session("replaced"));
    for key in [&abandoned, &replaced] {
        here.create(key, sample(), F::TICK * 2).await.unwrap();
        there.load(key).await.unwrap();
    }
    // Nobody asks for the first again.
    let mut changes = there.changes();
    hear(&mut changes, &abandoned).await;

    let mut changes = there.changes();
    here.create(&replaced, sample(), F::TICK * 2).await.unwrap();
    there.load(&replaced).await.unwrap();
    fixture.pass(F::TICK * 3).await;
    assert!(here.create(&replaced, sample(), F::TICK * 2).await.unwrap());
    hear(&mut changes, &replaced).await;
}

pub(super) async fn who_falls_behind_is_told_so<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let key = session("s");
    here.create(&key, sample(), F::TICK * 1000).await.unwrap();
    let mut changes = there.changes();
    for _ in 0..F::BACKLOG {
        there.load(&key).await.unwrap();
        here.increment(&key, "n", 1).await.unwrap();
    }
    while changes.next().await.expect("the store is there") != Change::Unknown {}

    // And it goes on listening.
    let late = session("late");
    here.create(&late, sample(), F::TICK * 1000).await.unwrap();
    there.load(&late).await.unwrap();
    here.delete(&late).await.unwrap();
    while changes.next().await.expect("the store is there") != Change::Record(late.clone()) {}
}

/// Waits until a listener has to forget this record.
async fn hear(changes: &mut Changes, key: &Key) {
    loop {
        match changes.next().await.expect("the store is there") {
            Change::Record(changed) if changed != *key => {}
            Change::Record(_) | Change::Unknown => return,
        }
    }
}
