//! When a request is sent again, and how long to wait before.

use std::time::Duration;

use rand::Rng;

/// How often and how soon the client tries again, where trying again cannot run anything twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The most repetitions of one request.
    pub attempts: u32,
    /// The most attempts in a row to resume a stream that bring nothing new.
    pub resumes: u32,
    /// The first wait; it doubles each time.
    pub base: Duration,
    /// The longest wait, also where the server asks for a longer one.
    pub cap: Duration,
}

// === impl Retry ===

impl Retry {
    /// Never sends anything again: every failure is the caller's to see. Streams are not resumed either.
    #[must_use]
    pub const fn none() -> Self {
        Self { attempts: 0, resumes: 0, base: Duration::ZERO, cap: Duration::ZERO }
    }

    /// How long to wait before attempt `attempt` (from 0), given what the server asked for, if it did.
    ///
    /// Half of the wait is random, and drawn after the cap was applied: clients that were turned away together, by a cap
    /// together, would come back together. What the server asks for is waited out in full, and up to half of it more.
    #[must_use]
    pub fn wait(&self, attempt: u32, asked: Option<Duration>) -> Duration {
        self.wait_drawn(attempt, asked, rand::rng().random_range(0.0..1.0))
    }

    fn wait_drawn(&self, attempt: u32, asked: Option<Duration>, drawn: f64) -> Duration {
        if let Some(asked) = asked {
            return asked.min(self.cap).mul_f64(1.0 + drawn / 2.0);
        }
        let doubled = self.base.saturating_mul(1_u32.checked_shl(attempt).unwrap_or(u32::MAX));
        doubled.min(self.cap).mul_f64(0.5 + drawn / 2.0)
    }
}

impl Default for Retry {
    /// 8 attempts from 250 ms up to 10 s: 40 s in all, which outlasts the restart of a server.
    fn default() -> Self {
        Self { attempts: 8, resumes: 8, base: Duration::from_millis(250), cap: Duration::from_secs(10) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_and_are_spread_after_it() {
        let retry = Retry::default();
        let at = |attempt, drawn| retry.wait_drawn(attempt, None, drawn).as_millis();
        assert_eq!((at(0, 1.0), at(1, 1.0), at(2, 1.0)), (250, 500, 1000));
        assert_eq!((at(20, 0.0), at(20, 0.5), at(40, 1.0)), (5_000, 7_500, 10_000));
    }

    #[test]
    fn what_the_server_asks_for_is_waited_out() {
        let retry = Retry::default();
        let asked =
            |seconds, drawn| retry.wait_drawn(0, Some(Duration::from_secs(seconds)), drawn).as_millis();
        assert_eq!((asked(2, 0.0), asked(2, 1.0)), (2_000, 3_000));
        assert_eq!((asked(3600, 0.0), asked(3600, 1.0)), (10_000, 15_000));
    }
}
