//! What every hub does, one function a behaviour. A function's name says what holds.

mod lives;
mod logs;
mod owners;
mod races;
mod signals;

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt;
use trunkline_hub::{Delivery, Entry, Fence, Follower, Hub, HubError, Position, Retention, Topic};

/// How to get a hub of one kind, and how its time passes.
pub(crate) trait Fixture: Clone + Send + Sync + 'static {
    /// The shortest time that its expiry tells apart for certain, late announcements included. Ages are a few.
    const TICK: Duration;
    /// How often a race is run.
    const ROUNDS: usize;
    /// So many signals are more than a listener may be behind.
    const BURST: usize;
    /// The most bytes of an entry.
    const ENTRY_BYTES: usize;

    /// Two replicas' views of one new and empty hub.
    fn replicas(&self) -> impl Future<Output = [Arc<dyn Hub>; 2]> + Send;

    /// No behaviour takes longer, unless it hangs.
    fn patience(&self) -> Duration;

    /// Lets time pass.
    fn pass(&self, time: Duration) -> impl Future<Output = ()> + Send;
}

/// A named behaviour.
pub(crate) type Behaviour<F> = (&'static str, fn(F) -> Pin<Box<dyn Future<Output = ()> + Send>>);

/// Runs each behaviour as a task of its own, and says which of them do not hold.
pub(crate) async fn run<F: Fixture>(fixture: &F, behaviours: Vec<Behaviour<F>>) {
    let mut broken = Vec::new();
    for (name, behaviour) in behaviours {
        let task = tokio::spawn(behaviour(fixture.clone()));
        match tokio::time::timeout(fixture.patience(), task).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => broken.push(format!("{name} does not hold")),
            Err(_) => broken.push(format!("{name} hangs")),
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Behaviours that need no two threads.
pub(crate) fn behaviours<F: Fixture>() -> Vec<Behaviour<F>> {
    vec![
        ("the past is read, then what comes", |f| Box::pin(logs::the_past_is_read_then_what_comes(f))),
        ("payloads are any bytes", |f| Box::pin(logs::payloads_are_any_bytes(f))),
        ("reading resumes from any place", |f| Box::pin(logs::reading_resumes_from_any_place(f))),
        ("followers keep their own places", |f| Box::pin(logs::followers_keep_their_own_places(f))),
        ("a log to come is waited for", |f| Box::pin(logs::a_log_to_come_is_waited_for(f))),
        ("position is the newest place", |f| Box::pin(logs::position_is_the_newest_place(f))),
        ("what was trimmed is a gap", |f| Box::pin(logs::what_was_trimmed_is_a_gap(f))),
        ("a slow follower meets a gap", |f| Box::pin(logs::a_slow_follower_meets_a_gap(f))),
        ("the retention given last counts", |f| Box::pin(logs::the_retention_given_last_counts(f))),
        ("nothing follows the last entry", |f| Box::pin(logs::nothing_follows_the_last_entry(f))),
        ("topics do not mix", |f| Box::pin(logs::topics_do_not_mix(f))),
        ("what is too large changes nothing", |f| Box::pin(logs::what_is_too_large_changes_nothing(f))),
        ("a claim makes a log", |f| Box::pin(owners::a_claim_makes_a_log(f))),
        ("the highest fence writes", |f| Box::pin(owners::the_highest_fence_writes(f))),
        ("an owner may repeat its last entry", |f| Box::pin(owners::an_owner_may_repeat_its_last_entry(f))),
        ("an ended log has no new owner", |f| Box::pin(owners::an_ended_log_has_no_new_owner(f))),
        ("a fence does not outlive its log", |f| Box::pin(owners::a_fence_does_not_outlive_its_log(f))),
        ("a log is taken over from one owner", |f| Box::pin(owners::a_log_is_taken_over_from_one_owner(f))),
        ("a deleted log is gone", |f| Box::pin(lives::a_deleted_log_is_gone(f))),
        ("a new log is not the old one", |f| Box::pin(lives::a_new_log_is_not_the_old_one(f))),
        ("deleting nothing disturbs nobody", |f| Box::pin(lives::deleting_nothing_disturbs_nobody(f))),
        ("an idle log expires", |f| Box::pin(lives::an_idle_log_expires(f))),
        ("appends and claims renew the age", |f| Box::pin(lives::appends_and_claims_renew_the_age(f))),
        ("who listens hears in order", |f| Box::pin(signals::who_listens_hears_in_order(f))),
        ("who does not listen yet misses", |f| Box::pin(signals::who_does_not_listen_yet_misses(f))),
        ("channels do not mix", |f| Box::pin(signals::channels_do_not_mix(f))),
        ("a slow listener holds nobody up", |f| Box::pin(signals::a_slow_listener_holds_nobody_up(f))),
        ("a channel's name is bounded", |f| Box::pin(signals::a_channels_name_is_bounded(f))),
    ]
}

/// Behaviours that only threads can break.
pub(crate) fn races<F: Fixture>() -> Vec<Behaviour<F>> {
    vec![
        ("whoever follows misses nothing", |f| Box::pin(races::whoever_follows_misses_nothing(f))),
        ("following from the newest place misses nothing", |f| {
            Box::pin(races::following_from_the_newest_place_misses_nothing(f))
        }),
        ("all followers see one order", |f| Box::pin(races::all_followers_see_one_order(f))),
        ("one claim is the highest", |f| Box::pin(races::one_claim_is_the_highest(f))),
        ("one of many takes a log over", |f| Box::pin(races::one_of_many_takes_a_log_over(f))),
        ("a takeover silences the owner before", |f| {
            Box::pin(races::a_takeover_silences_the_owner_before(f))
        }),
        ("a log ends once", |f| Box::pin(races::a_log_ends_once(f))),
        ("nothing resurrects a deleted log", |f| Box::pin(races::nothing_resurrects_a_deleted_log(f))),
        ("a delete is told to all", |f| Box::pin(races::a_delete_is_told_to_all(f))),
        ("no wake-up is lost", |f| Box::pin(races::no_wake_up_is_lost(f))),
        ("a signal after listening is heard", |f| Box::pin(races::a_signal_after_listening_is_heard(f))),
    ]
}

fn topic(name: &str) -> Topic {
    Topic(name.into())
}

/// More than any behaviour appends, for longer than any takes.
fn plenty<F: Fixture>() -> Retention {
    Retention { entries: 10_000, age: F::TICK * 1000 }
}

/// Appends a number, not as the last.
async fn say(
    hub: &Arc<dyn Hub>,
    topic: &Topic,
    fence: Option<Fence>,
    retention: Retention,
    number: usize,
) -> Result<Position, HubError> {
    hub.append(topic, fence, retention, Bytes::from(number.to_string()), false).await
}

/// Appends a number as the last.
async fn end(
    hub: &Arc<dyn Hub>,
    topic: &Topic,
    fence: Option<Fence>,
    retention: Retention,
    number: usize,
) -> Result<Position, HubError> {
    hub.append(topic, fence, retention, Bytes::from(number.to_string()), true).await
}

/// The next delivery, or `None` at the end.
async fn next(follower: &mut Follower) -> Option<Delivery> {
    follower.next().await.map(|delivery| delivery.expect("the hub is there"))
}

/// The next delivery, which is an entry.
async fn entry(follower: &mut Follower) -> Entry {
    match next(follower).await {
        Some(Delivery::Entry(entry)) => entry,
        other => panic!("no entry but {other:?}"),
    }
}

/// The number that the next delivery says.
async fn number(follower: &mut Follower) -> usize {
    std::str::from_utf8(&entry(follower).await.payload).unwrap().parse().unwrap()
}

/// What the next deliveries say.
async fn numbers(follower: &mut Follower, count: usize) -> Vec<usize> {
    let mut numbers = Vec::new();
    for _ in 0..count {
        numbers.push(number(follower).await);
    }
    numbers
}

/// Follows, and reads to the end: numbers, with a gap as `None`.
async fn to_the_end(hub: &Arc<dyn Hub>, topic: &Topic, after: Position) -> Vec<Option<usize>> {
    let mut follower = hub.follow(topic, after).await.unwrap();
    let mut heard = Vec::new();
    while let Some(delivery) = next(&mut follower).await {
        match delivery {
            Delivery::Entry(entry) => {
                heard.push(Some(std::str::from_utf8(&entry.payload).unwrap().parse().unwrap()));
            }
            Delivery::Gap => heard.push(None),
            Delivery::Gone => panic!("gone after {heard:?}"),
        }
        assert!(heard.len() < 10_000, "no end");
    }
    heard
}

/// The log does not exist: not for whoever asks, and not for whoever was there.
async fn assert_gone(hub: &Arc<dyn Hub>, topic: &Topic, place: Position) {
    assert_ne!(place, Position::default());
    assert_eq!(hub.position(topic).await.unwrap(), Position::default());
    let mut follower = hub.follow(topic, place).await.unwrap();
    assert_eq!(next(&mut follower).await, Some(Delivery::Gone));
    assert_eq!(next(&mut follower).await, None);
}
