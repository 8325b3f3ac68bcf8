//! A histogram of durations that can be added to others exactly.

use std::{fmt, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::{
    Histogram,
    serialization::{Deserializer as HdrDeserializer, Serializer as HdrSerializer, V2Serializer},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The longest duration that is told apart, in microseconds: an hour. A longer one counts as this.
const LONGEST: u64 = 3_600_000_000;

/// Durations in microseconds, from 1 us to an hour, with `DIGITS` significant digits.
///
/// Two of the same precision hold the same buckets, so adding one to the other loses nothing: the percentiles of a sum do
/// not depend on how it was shared out. In JSON it is the V2 form of HDR histograms, in base64.
#[derive(Clone, PartialEq)]
pub struct Durations<const DIGITS: u8>(Histogram<u64>);

/// Of latencies over a whole run: three digits, 0.1 % off at most.
pub type Latencies = Durations<3>;

/// Of latencies in one second: two digits, 1 % off at most, a tenth of the memory.
pub type Sketch = Durations<2>;

// === impl Durations ===

impl<const DIGITS: u8> Durations<DIGITS> {
    /// Counts one duration.
    pub fn record(&mut self, duration: Duration) {
        self.record_micros(u64::try_from(duration.as_micros()).unwrap_or(LONGEST));
    }

    /// Counts one duration in microseconds.
    pub fn record_micros(&mut self, micros: u64) {
        self.0
            .record(micros.min(LONGEST))
            .expect("invariant: the histogram grows up to the longest duration");
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        if !other.is_empty() {
            self.0.add(&other.0).expect("invariant: the histogram grows to hold what another holds");
        }
    }

    /// Takes the counts out, and keeps the memory for new ones.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let taken = self.clone();
        self.0.reset();
        taken
    }

    /// How many durations were counted.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The duration that this share of all does not exceed, 0.0 to 100.0; zero if there are none.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Duration {
        Duration::from_micros(self.0.value_at_percentile(percent).min(self.0.max()))
    }

    /// The longest; zero if there are none.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_micros(self.0.max())
    }

    /// The shortest; zero if there are none.
    #[must_use]
    pub fn min(&self) -> Duration {
        Duration::from_micros(if self.is_empty() { 0 } else { self.0.min() })
    }

    /// The arithmetic mean; zero if there are none.
    #[must_use]
    pub fn mean(&self) -> Duration {
        Duration::from_secs_f64(self.0.mean() / 1e6)
    }

    /// The histogram itself, in microseconds, for plots.
    #[must_use]
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }
}

impl<const DIGITS: u8> Default for Durations<DIGITS> {
    fn default() -> Self {
        Self(Histogram::new(DIGITS).expect("invariant: 5 digits at most"))
    }
}

impl<const DIGITS: u8> fmt::Debug for Durations<DIGITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} durations, p50 {:?}, max {:?}", self.len(), self.percentile(50.0), self.max())
    }
}

impl<const DIGITS: u8> Serialize for Durations<DIGITS> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&self.0, &mut bytes).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&STANDARD.encode(bytes))
    }
}

impl<'de, const DIGITS: u8> Deserialize<'de> for Durations<DIGITS> {
    /// What it holds may come from another process: a precision of its own is refused, since it could not be added up.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(de::Error::custom)?;
        let mut read: Histogram<u64> =
            HdrDeserializer::new().deserialize(&mut &bytes[..]).map_err(de::Error::custom)?;
        if read.sigfig() != DIGITS || read.low() != 1 || read.max() > LONGEST + LONGEST / 100 {
            return Err(de::Error::custom("a histogram of another precision or range"));
        }
        read.auto(true);
        Ok(Self(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_the_same_however_it_was_shared_out() {
        let (mut whole, mut parts) = (Latencies::default(), vec![Latencies::default(); 3]);
        for micros in 1..5000u64 {
            let micros = micros * micros % 1_000_003;
            whole.record_micros(micros);
            parts[(micros % 3) as usize].record_micros(micros);
        }
        let mut sum = Latencies::default();
        parts.iter().for_each(|part| sum.add(part));
        assert_eq!(sum, whole);
        assert_eq!(sum.percentile(99.9), whole.percentile(99.9));
    }

    #[test]
    fn it_comes_back_from_json_as_it_was() {
        let mut durations = Sketch::default();
        durations.record(Duration::from_millis(12));
        durations.record(Duration::from_secs(7200));
        let json = serde_json::to_string(&durations).unwrap();
        let mut back: Sketch = serde_json::from_str(&json).unwrap();
        assert_eq!(back, durations);
        back.record(Duration::from_secs(3000));
        assert_eq!(back.len(), 3);
        assert!(serde_json::from_str::<Latencies>(&json).is_err(), "another precision");
        assert!(serde_json::from_str::<Sketch>("\"AAAA\"").is_err());
    }

    #[test]
    fn without_durations_there_is_nothing_to_say() {
        let none = Latencies::default();
        assert_eq!(
            (none.min(), none.max(), none.percentile(99.0)),
            (Duration::ZERO, Duration::ZERO, Duration::ZERO)
        );
    }
}
