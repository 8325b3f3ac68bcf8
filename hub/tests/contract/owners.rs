//! Claims and fences.

use trunkline_hub::{Delivery, Fence, HubError, Position};

use super::{Fixture, assert_gone, end, next, numbers, plenty, say, to_the_end, topic};

pub(super) async fn a_claim_makes_a_log<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), plenty::<F>());
    here.claim(&topic, keep).await.unwrap();
    assert_eq!(there.position(&topic).await.unwrap(), Position::default(), "without an entry");
    let mut follower = there.follow(&topic, Position::default()).await.unwrap();
    here.delete(&topic).await.unwrap();
    assert_eq!(next(&mut follower).await, Some(Delivery::Gone), "it was there all the same");
    assert_eq!(next(&mut follower).await, None);
}

pub(super) async fn the_highest_fence_writes<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), plenty::<F>());
    let first = here.claim(&topic, keep).await.unwrap();
    say(&here, &topic, Some(first), keep, 1).await.unwrap();
    assert!(
        matches!(say(&here, &topic, None, keep, 99).await, Err(HubError::Fenced)),
        "nobody's, but claimed"
    );

    let second = there.claim(&topic, keep).await.unwrap();
    assert!(second > first);
    let mut follower = here.follow(&topic, Position::default()).await.unwrap();
    assert!(matches!(say(&here, &topic, Some(first), keep, 99).await, Err(HubError::Fenced)));
    assert!(matches!(end(&here, &topic, Some(first), keep, 99).await, Err(HubError::Fenced)));
    say(&there, &topic, Some(second), keep, 2).await.unwrap();

    let third = here.claim(&topic, keep).await.unwrap();
    assert!(third > second, "also for who had it before");
    assert!(matches!(say(&there, &topic, Some(second), keep, 99).await, Err(HubError::Fenced)));
    // The fence is the proof, whoever shows it.
    end(&there, &topic, Some(third), keep, 3).await.unwrap();
    assert!(
        matches!(say(&here, &topic, Some(first), keep, 99).await, Err(HubError::Fenced)),
        "rather than ended"
    );
    assert!(matches!(say(&here, &topic, Some(third), keep, 99).await, Err(HubError::Ended)));
    assert_eq!(numbers(&mut follower, 3).await, [1, 2, 3], "nothing of what was refused");
    assert_eq!(next(&mut follower).await, None);
}

pub(super) async fn an_owner_may_repeat_its_last_entry<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), plenty::<F>());
    let fence = here.claim(&topic, keep).await.unwrap();
    let append = |fence, previous, number: usize, last| {
        let (here, topic) = (here.clone(), topic.clone());
        async move {
            let payload = number.to_string().into_bytes().into();
            here.append_after(&topic, fence, previous, keep, payload, last).await
        }
    };
    let nothing = Position::default();
    let first = append(fence, nothing, 1, false).await.unwrap();
    assert_eq!(append(fence, nothing, 1, false).await.unwrap(), first, "it is there");
    let second = append(fence, first, 2, false).await.unwrap();
    assert!(second > first);
    assert_eq!(append(fence, first, 2, false).await.unwrap(), second);
    let last = append(fence, second, 3, true).await.unwrap();
    assert_eq!(append(fence, second, 3, true).await.unwrap(), last, "also the one that ended the log");
    assert!(matches!(append(fence, last, 4, true).await, Err(HubError::Ended)), "which nothing follows");
    assert_eq!(to_the_end(&there, &topic, nothing).await, [Some(1), Some(2), Some(3)], "once each");

    // Whoever was fenced off repeats in vain.
    there.delete(&topic).await.unwrap();
    assert!(matches!(append(fence, nothing, 1, false).await, Err(HubError::Unknown)));
    let older = here.claim(&topic, keep).await.unwrap();
    append(older, nothing, 1, false).await.unwrap();
    there.claim(&topic, keep).await.unwrap();
    assert!(matches!(append(older, nothing, 1, false).await, Err(HubError::Fenced)));
}

pub(super) async fn an_ended_log_has_no_new_owner<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), plenty::<F>());
    let fence = here.claim(&topic, keep).await.unwrap();
    end(&here, &topic, Some(fence), keep, 1).await.unwrap();
    assert!(matches!(there.claim(&topic, keep).await, Err(HubError::Ended)));
    assert!(
        matches!(say(&here, &topic, Some(fence), keep, 2).await, Err(HubError::Ended)),
        "still the owner's"
    );
    assert_eq!(to_the_end(&there, &topic, Position::default()).await, [Some(1)]);

    here.delete(&topic).await.unwrap();
    let new = there.claim(&topic, keep).await.unwrap();
    assert!(new > fence);
    end(&there, &topic, Some(new), keep, 2).await.unwrap();
}

pub(super) async fn a_fence_does_not_outlive_its_log<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), plenty::<F>());
    let fence = Some(here.claim(&topic, keep).await.unwrap());
    let place = say(&here, &topic, fence, keep, 1).await.unwrap();
    there.delete(&topic).await.unwrap();
    assert!(matches!(say(&here, &topic, fence, keep, 2).await, Err(HubError::Unknown)));
    assert!(matches!(end(&there, &topic, fence, keep, 2).await, Err(HubError::Unknown)));
    assert_gone(&here, &topic, place).await;
    let mut to_come = there.follow(&topic, Position::default()).await.unwrap();
    assert!(matches!(say(&here, &topic, fence, keep, 2).await, Err(HubError::Unknown)), "waited for or not");
    assert_gone(&here, &topic, place).await;

    // Another log of that name, which nobody claims, is not the one it was given for.
    say(&there, &topic, None, keep, 3).await.unwrap();
    assert_eq!(numbers(&mut to_come, 1).await, [3]);
    assert!(matches!(say(&here, &topic, fence, keep, 4).await, Err(HubError::Unknown)));
    there.delete(&topic).await.unwrap();
    let new = Some(there.claim(&topic, keep).await.unwrap());
    assert!(new > fence, "higher than any before");
    assert!(matches!(say(&here, &topic, fence, keep, 4).await, Err(HubError::Fenced)));
    end(&there, &topic, new, keep, 5).await.unwrap();
    assert_eq!(to_the_end(&here, &topic, Position::default()).await, [Some(5)]);
}

pub(super) async fn a_log_is_taken_over_from_one_owner<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), plenty::<F>());
    let unknown = |refused| matches!(refused, Err(HubError::Unknown));
    assert!(unknown(there.take_over(&topic, Fence(1), keep).await), "nothing to take over");
    assert_eq!(there.fence(&topic).await.unwrap(), None);
    say(&here, &topic, None, keep, 0).await.unwrap();
    assert_eq!(there.fence(&topic).await.unwrap(), None, "nobody's");

    let first = here.claim(&topic, keep).await.unwrap();
    assert_eq!(there.fence(&topic).await.unwrap(), Some(first));
    say(&here, &topic, Some(first), keep, 1).await.unwrap();
    let second = there.take_over(&topic, first, keep).await.unwrap();
    assert!(second > first);
    assert_eq!(here.fence(&topic).await.unwrap(), Some(second));
    assert!(matches!(say(&here, &topic, Some(first), keep, 99).await, Err(HubError::Fenced)));
    assert!(matches!(here.take_over(&topic, first, keep).await, Err(HubError::Fenced)), "once");
    say(&there, &topic, Some(second), keep, 2).await.unwrap();

    let third = here.take_over(&topic, second, keep).await.unwrap();
    end(&here, &topic, Some(third), keep, 3).await.unwrap();
    assert!(
        matches!(there.take_over(&topic, second, keep).await, Err(HubError::Fenced)),
        "rather than ended"
    );
    assert!(matches!(there.take_over(&topic, third, keep).await, Err(HubError::Ended)));
    assert_eq!(there.fence(&topic).await.unwrap(), Some(third), "still the owner's");
    assert_eq!(to_the_end(&there, &topic, Position::default()).await, [Some(0), Some(1), Some(2), Some(3)]);

    here.delete(&topic).await.unwrap();
    assert!(unknown(there.take_over(&topic, third, keep).await));
    assert_eq!(there.fence(&topic).await.unwrap(), None);
    say(&here, &topic, None, keep, 4).await.unwrap();
    assert!(unknown(there.take_over(&topic, third, keep).await), "another log of that name");
}
