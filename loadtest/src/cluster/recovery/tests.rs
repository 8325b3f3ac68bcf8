use super::*;
use crate::tally::ErrorKind;

/// 1000 requests per second of 10 ms, for 30 seconds.
fn usual() -> BTreeMap<u32, Second> {
    (0..30).map(|number| (number, second(1000, 0, 10))).collect()
}

fn second(succeeded: u64, failed: u64, millis: u64) -> Second {
    let mut second = Second { started: succeeded + failed, succeeded, ..Second::default() };
    (0..succeeded).for_each(|_| second.latency.record(Duration::from_millis(millis)));
    if failed > 0 {
        second.errors.insert(ErrorKind::Status(503), failed);
    }
    second
}

fn done(begun: f64, over: f64) -> Done {
    Done { begun: Duration::from_secs_f64(begun), over: Duration::from_secs_f64(over) }
}

fn after(timeline: &BTreeMap<u32, Second>, faults: &[Done]) -> Vec<Recovery> {
    recoveries(timeline, 1, Duration::ZERO, Duration::from_secs(30), faults)
}

fn seconds(seconds: f64) -> Recovery {
    Recovery::After { after: Span(Duration::from_secs_f64(seconds)) }
}

#[test]
fn without_an_effect_it_was_not_felt() {
    assert_eq!(after(&usual(), &[done(10.0, 10.1)]), [Recovery::NotFelt]);
}

#[test]
fn errors_slowness_and_silence_each_count() {
    for bad in [second(900, 100, 10), second(1000, 0, 60), second(100, 0, 10), Second::default()] {
        let mut timeline = usual();
        timeline.insert(10, bad.clone());
        timeline.insert(11, bad);
        assert_eq!(after(&timeline, &[done(10.5, 10.6)]), [seconds(1.5)]);
    }
    let mut silent = usual();
    silent.remove(&10);
    assert_eq!(after(&silent, &[done(10.0, 10.0)]), [seconds(1.0)]);
}

#[test]
fn noise_is_no_effect() {
    let mut timeline = usual();
    timeline.insert(10, second(700, 0, 14));
    assert_eq!(after(&timeline, &[done(10.0, 10.0)]), [Recovery::NotFelt]);
}

#[test]
fn what_shows_only_when_the_fault_is_over_counts() {
    // A replica stands still from 10 to 15: the requests that waited for it are seen when it goes on.
    let mut timeline = usual();
    timeline.insert(15, second(1000, 0, 4000));
    assert_eq!(after(&timeline, &[done(10.0, 15.0)]), [seconds(6.0)]);
}

#[test]
fn who_is_not_missed_is_recovered_from_before_he_is_back() {
    let mut timeline = usual();
    timeline.insert(10, second(900, 100, 10));
    assert_eq!(after(&timeline, &[done(10.0, 20.0)]), [seconds(1.0)]);
}

#[test]
fn one_good_second_is_no_recovery() {
    let mut timeline = usual();
    for bad in [10, 12] {
        timeline.insert(bad, second(0, 100, 10));
    }
    assert_eq!(after(&timeline, &[done(10.0, 10.0)]), [seconds(3.0)]);
}

#[test]
fn what_never_comes_back_is_said() {
    let mut timeline = usual();
    (10..30).for_each(|number| drop(timeline.insert(number, second(100, 900, 10))));
    assert_eq!(
        after(&timeline, &[done(10.0, 10.0)]),
        [Recovery::Not { watched: Span(Duration::from_secs(20)) }]
    );
}

#[test]
fn what_cannot_be_told_is_said() {
    let mut timeline = usual();
    timeline.insert(10, second(0, 10, 10));
    let unknown = |faults: &[Done]| {
        let found = after(&timeline, faults);
        assert!(matches!(found[0], Recovery::Unknown { .. }), "{found:?}");
        found[0].to_string()
    };
    assert!(unknown(&[done(3.0, 3.0)]).contains("fewer than 3 seconds"));
    assert!(unknown(&[done(10.0, 10.0), done(12.0, 12.0)]).contains("the next fault came too soon"));
    assert!(unknown(&[done(28.0, 28.0)]).contains("the run ended too soon"));
    assert!(unknown(&[done(10.0, 40.0)]).contains("the run ended too soon"));
}

#[test]
fn each_fault_is_compared_with_what_was_before_it() {
    let mut timeline = usual();
    for bad in [10, 11, 20, 21, 22] {
        timeline.insert(bad, second(500, 500, 10));
    }
    let found = after(&timeline, &[done(10.0, 10.0), done(20.0, 20.0)]);
    assert_eq!(found, [seconds(2.0), seconds(3.0)]);
}

#[test]
fn the_warm_up_is_no_level() {
    let timeline = usual();
    let found =
        recoveries(&timeline, 1, Duration::from_secs(8), Duration::from_secs(30), &[done(10.0, 10.0)]);
    assert!(matches!(found[0], Recovery::Unknown { .. }), "{found:?}");
}
