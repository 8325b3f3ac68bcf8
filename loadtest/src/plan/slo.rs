//! What has to hold at the end of a run: `p99<50ms`, `errors<0.1%`, `rate>1000/s`, `tools/call:p99.9<1s`.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{
    tally::{OperationTally, Tally},
    units::{Rate, Span, UnitError},
};

/// A threshold, of all requests or of one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Slo {
    /// Which operation; `None` for all requests together.
    pub operation: Option<String>,
    /// What is measured.
    pub measure: Measure,
    /// Its bound.
    pub limit: Limit,
    text: String,
}

/// What a threshold measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// The latency from the intended start that so many per cent do not exceed.
    Percentile(f64),
    /// The mean latency.
    Mean,
    /// The greatest latency.
    Max,
    /// The share of requests that did not end well, of those that ended, in per cent. Dropped starts are failures, too.
    Errors,
    /// Requests that ended well per second.
    Rate,
}

/// A bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Whether the value has to lie above it; below it otherwise.
    pub above: bool,
    /// Whether the bound itself will do.
    pub inclusive: bool,
    /// The bound: seconds, per cent or events per second.
    pub value: f64,
}

/// Whether a threshold held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The threshold, as it was written.
    pub slo: String,
    /// Whether it held. One of something that never happened did not.
    pub held: bool,
    /// What was measured, in words: `p99 is 12.3ms`.
    pub measured: String,
}

/// Why a text is no threshold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SloError {
    /// Its form.
    #[error(
        "{0:?} is no threshold; write a measure, < or >, and a bound, as p99<50ms, errors<0.1%, rate>1000/s or tools/call:p99.9<1s"
    )]
    Form(String),
    /// What is measured.
    #[error("{0:?} cannot be measured; there are p50 to p99.999, mean, max, errors and rate")]
    Measure(String),
    /// The bound is of the wrong kind.
    #[error("the bound {bound:?} does not fit {measure}: {source}")]
    Unit {
        /// The bound.
        bound: String,
        /// What is measured.
        measure: String,
        /// What is wrong with it.
        source: UnitError,
    },
    /// The bound is no share.
    #[error("the bound {0:?} is no share; write 0.1% or 0.001")]
    Share(String),
}

// === impl Slo ===

impl Slo {
    /// The threshold as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it holds for what was counted over so long a time.
    #[must_use]
    pub fn judge(&self, tally: &Tally, measured_for: Duration) -> Verdict {
        let subject = match &self.operation {
            None => Some(tally.overall()),
            Some(name) => tally.operation(name),
        };
        let dropped = if self.operation.is_none() { tally.arrivals.dropped } else { 0 };
        let value = subject.and_then(|subject| self.measure.of(&subject, dropped, measured_for));
        let (held, measured) = match value {
            Some(value) => {
                (self.limit.holds(value), format!("{} is {}", self.measure, self.measure.show(value)))
            }
            None => (false, "nothing was measured".to_owned()),
        };
        Verdict { slo: self.text.clone(), held, measured }
    }
}

impl FromStr for Slo {
    type Err = SloError;

    fn from_str(text: &str) -> Result<Self, SloError> {
        let form = || SloError::Form(text.to_owned());
        let at = text.find(['<', '>']).ok_or_else(form)?;
        let (subject, bound) = text.split_at(at);
        let (above, bound) = (bound.starts_with('>'), &bound[1..]);
        let inclusive = bound.starts_with('=');
        let bound = bound.trim_start_matches('=').trim();
        let (operation, measure) = match subject.rsplit_once(':') {
            Some((operation, measure)) => (Some(operation.trim()), measure.trim()),
            None => (None, subject.trim()),
        };
        if operation == Some("") || measure.is_empty() {
            return Err(form());
        }
        let measure: Measure = measure.parse()?;
        let limit = Limit { above, inclusive, value: measure.bound(bound)? };
        Ok(Self { operation: operation.map(str::to_owned), measure, limit, text: text.to_owned() })
    }
}

impl Serialize for Slo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Slo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

// === impl Measure ===

impl Measure {
    /// The value in the unit of bounds; `None` where nothing ended.
    fn of(self, tally: &OperationTally, dropped: u64, time: Duration) -> Option<f64> {
        let latency = &tally.latency;
        match self {
            Self::Rate => Some(tally.succeeded as f64 / time.as_secs_f64().max(1e-9)),
            Self::Errors => {
                let (all, failed) = (tally.ended() + dropped, tally.failures() + dropped);
                (all > 0).then(|| 100.0 * failed as f64 / all as f64)
            }
            _ if latency.is_empty() => None,
            Self::Percentile(percent) => Some(latency.percentile(percent).as_secs_f64()),
            Self::Mean => Some(latency.mean().as_secs_f64()),
            Self::Max => Some(latency.max().as_secs_f64()),
        }
    }

    fn bound(self, text: &str) -> Result<f64, SloError> {
        let unit = |source| SloError::Unit { bound: text.to_owned(), measure: self.to_string(), source };
        match self {
            Self::Percentile(_) | Self::Mean | Self::Max => {
                text.parse::<Span>().map(|span| span.get().as_secs_f64()).map_err(unit)
            }
            Self::Rate => text.parse::<Rate>().map(Rate::per_second).map_err(unit),
            Self::Errors => {
                let (number, times) = text.strip_suffix('%').map_or((text, 100.0), |number| (number, 1.0));
                let share = number.trim().parse::<f64>().ok().map(|share| share * times);
                share
                    .filter(|share| (0.0..=100.0).contains(share))
                    .ok_or_else(|| SloError::Share(text.to_owned()))
            }
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::Errors => format!("{value:.4}%"),
            Self::Rate => format!("{value:.1}/s"),
            _ => format!("{:?}", Duration::from_secs_f64(value)),
        }
    }
}

impl FromStr for Measure {
    type Err = SloError;

    fn from_str(text: &str) -> Result<Self, SloError> {
        match text {
            "mean" => Ok(Self::Mean),
            "max" => Ok(Self::Max),
            "errors" => Ok(Self::Errors),
            "rate" => Ok(Self::Rate),
            _ => {
                let percent = text.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok());
                let known = percent.filter(|percent| *percent > 0.0 && *percent < 100.0);
                known.map(Self::Percentile).ok_or_else(|| SloError::Measure(text.to_owned()))
            }
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percentile(percent) => write!(f, "p{percent}"),
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
            Self::Errors => f.write_str("errors"),
            Self::Rate => f.write_str("rate"),
        }
    }
}

// === impl Limit ===

impl Limit {
    fn holds(self, value: f64) -> bool {
        if self.inclusive && value == self.value {
            return true;
        }
        if self.above { value > self.value } else { value < self.value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::{ErrorKind, Operation};

    fn tally() -> Tally {
        let mut tally = Tally::default();
        let add = tally.operations.entry(Operation::tool("add")).or_default();
        (0..999).for_each(|_| add.latency.record(Duration::from_millis(10)));
        add.latency.record(Duration::from_secs(1));
        add.succeeded = 1000;
        let echo = tally.operations.entry(Operation::tool("echo")).or_default();
        echo.errors.insert(ErrorKind::Status(503), 10);
        tally
    }

    fn holds(slo: &str) -> bool {
        slo.parse::<Slo>().unwrap().judge(&tally(), Duration::from_secs(10)).held
    }

    #[test]
    fn thresholds_hold_or_do_not() {
        for slo in [
            "p99<50ms",
            "p99.99>900ms",
            "max<=1.1s",
            "errors<1%",
            "errors>=0.009",
            "rate>99/s",
            "tools/call add:errors<=0%",
            "tools/call:p50 < 11ms",
        ] {
            assert!(holds(slo), "{slo}");
        }
        for slo in ["p99<5ms", "errors<0.1%", "rate>1000/s", "tools/call echo:p50<1s", "tools/list:rate>1/s"]
        {
            assert!(!holds(slo), "{slo}");
        }
    }

    #[test]
    fn what_was_dropped_failed() {
        let mut tally = tally();
        tally.arrivals.dropped = 1000;
        assert!(!"errors<10%".parse::<Slo>().unwrap().judge(&tally, Duration::from_secs(10)).held);
    }

    #[test]
    fn mistakes_are_explained() {
        for (text, expected) in [
            ("p99", "no threshold"),
            (":p99<1s", "no threshold"),
            ("p100<1s", "cannot be measured"),
            ("latency<1s", "cannot be measured"),
            ("p99<50", "not a duration"),
            ("errors<lots", "no share"),
            ("errors<200%", "no share"),
            ("rate>5ms", "not a rate"),
        ] {
            let error = text.parse::<Slo>().unwrap_err();
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
    }
}
