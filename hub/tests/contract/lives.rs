//! How logs go: deleted or expired, and made anew.

use trunkline_hub::{Delivery, HubError, Position, Retention};

use super::{Fixture, assert_gone, end, next, number, numbers, plenty, say, to_the_end, topic};

pub(super) async fn a_deleted_log_is_gone<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), plenty::<F>());
    let first = say(&here, &topic, None, keep, 1).await.unwrap();
    let mut behind = there.follow(&topic, Position::default()).await.unwrap();
    let mut current = there.follow(&topic, first).await.unwrap();
    let waiting = tokio::spawn(async move { (next(&mut current).await, next(&mut current).await) });
    fixture.pass(F::TICK).await;
    here.delete(&topic).await.unwrap();
    assert_eq!(waiting.await.unwrap(), (Some(Delivery::Gone), None));
    assert_eq!(next(&mut behind).await, Some(Delivery::Gone), "whatever it has not read");
    assert_eq!(next(&mut behind).await, None);
    assert_gone(&here, &topic, first).await;
    assert_gone(&there, &topic, first).await;

    let last = end(&here, &topic, None, keep, 2).await.unwrap();
    here.delete(&topic).await.unwrap();
    assert_gone(&there, &topic, last).await;
}

pub(super) async fn a_new_log_is_not_the_old_one<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), plenty::<F>());
    let mut old = Vec::new();
    for n in 1..=3 {
        old.push(say(&here, &topic, None, keep, n).await.unwrap());
    }
    let mut follower = there.follow(&topic, Position::default()).await.unwrap();
    assert_eq!(numbers(&mut follower, 2).await, [1, 2]);
    here.delete(&topic).await.unwrap();
    let first = say(&here, &topic, None, keep, 11).await.unwrap();
    fixture.pass(F::TICK).await;
    assert_eq!(next(&mut follower).await, Some(Delivery::Gone), "it followed the old one");
    assert_eq!(next(&mut follower).await, None);
    assert!(old.iter().all(|place| *place < first), "{old:?} then {first}");

    // Told while nothing is new, too.
    let mut resumed = there.follow(&topic, old[2]).await.unwrap();
    assert_eq!(next(&mut resumed).await, Some(Delivery::Gap));
    assert_eq!(number(&mut resumed).await, 11);
    end(&here, &topic, None, keep, 12).await.unwrap();
    assert_eq!(number(&mut resumed).await, 12);
    assert_eq!(next(&mut resumed).await, None);
    for place in old {
        assert_eq!(to_the_end(&here, &topic, place).await, [None, Some(11), Some(12)]);
    }
    assert_eq!(to_the_end(&here, &topic, first).await, [Some(12)]);
    assert_eq!(to_the_end(&here, &topic, Position::default()).await, [Some(11), Some(12)]);
}

pub(super) async fn deleting_nothing_disturbs_nobody<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), plenty::<F>());
    here.delete(&topic).await.unwrap();
    let mut follower = there.follow(&topic, Position::default()).await.unwrap();
    here.delete(&topic).await.unwrap();
    there.delete(&topic).await.unwrap();
    end(&here, &topic, None, keep, 1).await.unwrap();
    assert_eq!(number(&mut follower).await, 1, "it waited on");
    assert_eq!(next(&mut follower).await, None);
}

pub(super) async fn an_idle_log_expires<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let keep = Retention { entries: 10, age: F::TICK * 2 };
    let (claimed, open, ended) = (topic("s/claimed"), topic("s/open"), topic("s/ended"));
    let fence = here.claim(&claimed, keep).await.unwrap();
    let mut waiting = there.follow(&claimed, Position::default()).await.unwrap();
    let in_open = say(&here, &open, None, keep, 1).await.unwrap();
    let mut behind = there.follow(&open, Position::default()).await.unwrap();
    let in_ended = end(&here, &ended, None, keep, 1).await.unwrap();

    // Nobody does anything: whoever follows is told all the same.
    assert_eq!(next(&mut waiting).await, Some(Delivery::Gone));
    assert_eq!(next(&mut waiting).await, None);
    fixture.pass(F::TICK * 2).await;
    assert_eq!(next(&mut behind).await, Some(Delivery::Gone), "whatever it has not read");
    assert_eq!(next(&mut behind).await, None);
    assert_gone(&here, &open, in_open).await;
    assert_gone(&there, &ended, in_ended).await;
    assert!(matches!(say(&here, &claimed, Some(fence), keep, 1).await, Err(HubError::Unknown)));
    assert!(matches!(there.take_over(&claimed, fence, keep).await, Err(HubError::Unknown)));
    assert_eq!(there.fence(&claimed).await.unwrap(), None);
    let new = end(&here, &ended, None, keep, 2).await.unwrap();
    assert!(new > in_ended);
    assert_eq!(to_the_end(&there, &ended, Position::default()).await, [Some(2)], "a new log");

    // What is waited for has no age.
    let topic = topic("s/to-come");
    let mut patient = there.follow(&topic, Position::default()).await.unwrap();
    fixture.pass(F::TICK * 4).await;
    end(&here, &topic, None, keep, 1).await.unwrap();
    assert_eq!(number(&mut patient).await, 1);
}

pub(super) async fn appends_and_claims_renew_the_age<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let keep = Retention { entries: 10, age: F::TICK * 4 };
    let topic = topic("s/1");
    say(&here, &topic, None, keep, 1).await.unwrap();
    fixture.pass(F::TICK * 2).await;
    say(&there, &topic, None, keep, 2).await.unwrap();
    fixture.pass(F::TICK * 2).await;
    let fence = Some(there.claim(&topic, keep).await.unwrap());
    fixture.pass(F::TICK * 2).await;
    // Reading does not.
    let place = here.position(&topic).await.unwrap();
    let mut follower = here.follow(&topic, Position::default()).await.unwrap();
    assert_eq!(numbers(&mut follower, 2).await, [1, 2]);
    fixture.pass(F::TICK * 3).await;
    assert_gone(&here, &topic, place).await;
    assert!(matches!(say(&there, &topic, fence, keep, 3).await, Err(HubError::Unknown)));
    assert_eq!(next(&mut follower).await, Some(Delivery::Gone));
}
