//! What every store does, one function a behaviour. A function's name says what holds.

mod changes;
mod races;
mod records;

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use trunkline_store::{Key, Kind, Record, RecordLimits, SessionStore};

/// How to get a store of one kind, and how its time passes.
pub(crate) trait Fixture: Clone + Send + Sync + 'static {
    /// The shortest time that its expiry tells apart for certain, late announcements included. Times to live are a few.
    const TICK: Duration;
    /// How often a race is run.
    const ROUNDS: usize;
    /// So many changes are more than a listener may be behind.
    const BACKLOG: usize;

    /// Two replicas' views of one new and empty store.
    fn replicas(&self) -> impl Future<Output = [Arc<dyn SessionStore>; 2]> + Send;

    /// The bounds that the store was made with.
    fn limits(&self) -> RecordLimits;

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
        ("what was created is loaded", |f| Box::pin(records::what_was_created_is_loaded(f))),
        ("creating leaves what exists", |f| Box::pin(records::creating_leaves_what_exists(f))),
        ("a record without fields exists", |f| Box::pin(records::a_record_without_fields_exists(f))),
        ("nothing changes an absent record", |f| Box::pin(records::nothing_changes_an_absent_record(f))),
        ("kinds do not share keys", |f| Box::pin(records::kinds_do_not_share_keys(f))),
        ("set and remove touch one field", |f| Box::pin(records::set_and_remove_touch_one_field(f))),
        ("increment adds", |f| Box::pin(records::increment_adds(f))),
        ("increment refuses what is no integer", |f| {
            Box::pin(records::increment_refuses_what_is_no_integer(f))
        }),
        ("compare and set compares", |f| Box::pin(records::compare_and_set_compares(f))),
        ("a record expires without touch", |f| Box::pin(records::a_record_expires_without_touch(f))),
        ("touch renews", |f| Box::pin(records::touch_renews(f))),
        ("an expired record does not exist", |f| Box::pin(records::an_expired_record_does_not_exist(f))),
        ("a deleted record does not exist", |f| Box::pin(records::a_deleted_record_does_not_exist(f))),
        ("what is too large changes nothing", |f| Box::pin(records::what_is_too_large_changes_nothing(f))),
        ("what is at its bound is taken", |f| Box::pin(records::what_is_at_its_bound_is_taken(f))),
        ("each change is told", |f| Box::pin(changes::each_change_is_told(f))),
        ("a change has taken effect when told", |f| {
            Box::pin(changes::a_change_has_taken_effect_when_told(f))
        }),
        ("an expiry is told", |f| Box::pin(changes::an_expiry_is_told(f))),
        ("who falls behind is told so", |f| Box::pin(changes::who_falls_behind_is_told_so(f))),
    ]
}

/// Behaviours that only threads can break.
pub(crate) fn races<F: Fixture>() -> Vec<Behaviour<F>> {
    vec![
        ("increments are exact", |f| Box::pin(races::increments_are_exact(f))),
        ("one creator wins", |f| Box::pin(races::one_creator_wins(f))),
        ("one deleter wins", |f| Box::pin(races::one_deleter_wins(f))),
        ("one of those who compare wins", |f| Box::pin(races::one_of_those_who_compare_wins(f))),
        ("compare and set loses no step", |f| Box::pin(races::compare_and_set_loses_no_step(f))),
        ("different fields never conflict", |f| Box::pin(races::different_fields_never_conflict(f))),
        ("nothing resurrects a deleted record", |f| Box::pin(races::nothing_resurrects_a_deleted_record(f))),
        ("a record is read at one moment", |f| Box::pin(races::a_record_is_read_at_one_moment(f))),
        ("no change escapes a listener", |f| Box::pin(races::no_change_escapes_a_listener(f))),
    ]
}

/// A session's key; a new store knows none.
fn session(id: &str) -> Key {
    Key::new(Kind::Session, id)
}

/// A record that an earlier version might have written.
fn sample() -> Record {
    Record::default().with("schema", "1").with("principal", "alice").with("from-the-future", "kept")
}
