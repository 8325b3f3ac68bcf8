//! A counter that only one client counts, one request after the other.

/// Counts whose fate is unknown, at most; with more the counter begins anew.
const UNKNOWN: usize = 12;

/// What is known of a counter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter {
    /// Its value after the last answer; 0 at first.
    value: i64,
    /// What was added, or will yet be, by requests that had no answer.
    unknown: Vec<i64>,
}

// === impl Counter ===

impl Counter {
    /// A request to add so much had no answer and may have been served.
    pub(crate) fn unanswered(&mut self, by: i64) {
        self.unknown.push(by);
    }

    /// Whether too little is known to go on with it.
    pub(crate) const fn is_hopeless(&self) -> bool {
        self.unknown.len() > UNKNOWN
    }

    /// Takes the answer to a request to add so much.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn answered(&mut self, by: i64, value: i64) -> Result<(), String> {
        let before = std::mem::replace(&mut self.value, value);
        let more = value - before - by;
        match subset(&self.unknown, more) {
            Some(served) => {
                let mut at = 0;
                self.unknown.retain(|_| {
                    at += 1;
                    served & (1 << (at - 1)) == 0
                });
                Ok(())
            }
            None => Err(format!("the counter stood at {before}, {by} was added, and it says {value}")),
        }
    }
}

/// Which of the summands make the sum, as bits; the fewest first where several do.
fn subset(summands: &[i64], sum: i64) -> Option<u32> {
    let all = 1_u32 << summands.len().min(UNKNOWN + 1);
    let of = |bits: u32| {
        (0..).zip(summands).filter(|(at, _)| bits & (1 << at) != 0).map(|(_, by)| by).sum::<i64>()
    };
    (0..all).filter(|bits| of(*bits) == sum).min_by_key(|bits| bits.count_ones())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_up_by_what_was_added() {
        let mut counter = Counter::default();
        assert!(counter.answered(3, 3).is_ok());
        assert!(counter.answered(2, 5).is_ok());
        assert!(counter.answered(2, 5).unwrap_err().contains("stood at 5"));
        assert!(counter.answered(1, 6).is_ok(), "one mistake is told once");
        assert!(counter.answered(1, 8).is_err());
    }

    #[test]
    fn what_had_no_answer_may_have_been_served() {
        let mut counter = Counter::default();
        counter.unanswered(5);
        counter.unanswered(7);
        assert!(counter.answered(1, 1).is_ok(), "neither, yet");
        assert!(counter.answered(1, 9).is_ok(), "the second");
        assert!(counter.answered(1, 17).is_err(), "the second cannot have been twice");
        assert!(counter.answered(1, 23).is_ok());
    }
}
