//! Waiting for something to become true, never longer than a deadline.

use std::{
    fmt::Debug,
    time::{Duration, Instant},
};

/// After this, what has not happened will not happen. Far above what anything takes on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(5);

/// Waits until `look` sees `expected`.
#[track_caller]
pub(crate) fn eventually<T: PartialEq + Debug>(what: &str, expected: &T, mut look: impl FnMut() -> T) {
    let mut seen = look();
    let reached = within(DEADLINE, || {
        seen = look();
        seen == *expected
    });
    assert!(reached, "{what}: expected {expected:?}, and it is still {seen:?}");
}

/// Whether `happened` turns true in time.
pub(crate) fn within(deadline: Duration, mut happened: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + deadline;
    loop {
        if happened() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        pause();
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's own thread serves nobody")]
fn pause() {
    std::thread::sleep(LOOK);
}
