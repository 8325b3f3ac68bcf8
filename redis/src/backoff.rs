//! How long to wait before connecting again.

use std::time::Duration;

use rand::Rng;

/// The first wait is at most this; a lost connection is replaced soon.
const FIRST: Duration = Duration::from_millis(50);

/// The longest wait: how late a Redis that is back may be noticed.
const LONGEST: Duration = Duration::from_secs(2);

/// Doubles with each failure. Half of each wait is chance, so that replicas that lost Redis together do not return together.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

// === impl Backoff ===

impl Backoff {
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    pub(crate) fn next(&mut self) -> Duration {
        let most = LONGEST.min(FIRST * 2u32.saturating_pow(self.failures.min(10)));
        self.failures = self.failures.saturating_add(1);
        most.mul_f64(rand::rng().random_range(0.5..1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_bound_and_start_again() {
        let mut backoff = Backoff::default();
        assert!(backoff.next() <= FIRST);
        let waits: Vec<_> = (0..40).map(|_| backoff.next()).collect();
        assert!(waits.iter().all(|wait| *wait <= LONGEST));
        assert!(waits[20..].iter().all(|wait| *wait >= LONGEST / 2));
        let differ = waits[20..].windows(2).any(|pair| pair[0] != pair[1]);
        assert!(differ, "chance has its part");
        backoff.reset();
        assert!(backoff.next() <= FIRST);
    }
}
