//! Durations and rates as people write them.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Nanoseconds of each unit, from the largest down. A bare number is no duration: seconds to some, milliseconds to others.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// The longest duration: a year.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// The greatest rate, per second: more than a machine's clock can tell apart.
const FASTEST: f64 = 1e8;

/// A duration that reads and writes as `1.5s`, `250ms` or `1m30s`. What it writes reads back as the same duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// Events per second, read from `500`, `500/s`, `30/m` or `2.5k/s`; never below 0 or infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Rate(pub f64);

/// Why a text is no duration, rate or number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {what}; {remedy}")]
pub struct UnitError {
    text: String,
    what: &'static str,
    remedy: &'static str,
}

// === impl Span ===

impl Span {
    /// The duration.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl FromStr for Span {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let bad = || UnitError {
            text: text.to_owned(),
            what: "a duration",
            remedy: "write a number and a unit of h, m, s, ms, us or ns, as 30s, 250ms or 1m30s",
        };
        let mut rest = text.trim();
        if rest == "0" {
            return Ok(Self::default());
        }
        let mut total = Duration::ZERO;
        if rest.is_empty() {
            return Err(bad());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(bad)?;
            let (number, tail) = rest.split_at(digits);
            let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(letters);
            total = total.checked_add(part(number, unit).ok_or_else(bad)?).ok_or_else(bad)?;
            rest = tail;
        }
        if total > LONGEST { Err(bad()) } else { Ok(Self(total)) }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX);
        if rest == 0 {
            return f.write_str("0s");
        }
        for (unit, nanoseconds) in UNITS {
            let whole = rest / nanoseconds;
            if whole > 0 {
                write!(f, "{whole}{unit}")?;
                rest %= nanoseconds;
            }
        }
        Ok(())
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self(duration)
    }
}

// === impl Rate ===

impl Rate {
    /// Events per second.
    #[must_use]
    pub const fn per_second(self) -> f64 {
        self.0
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let bad = || UnitError {
            text: text.to_owned(),
            what: "a rate",
            remedy: "write events per second, minute or hour, as 500, 500/s, 2.5k/s or 30/m",
        };
        let (number, per) = match text.trim().split_once('/') {
            Some((number, "s")) => (number, 1.0),
            Some((number, "m" | "min")) => (number, 60.0),
            Some((number, "h")) => (number, 3600.0),
            Some(_) => return Err(bad()),
            None => (text.trim(), 1.0),
        };
        let rate = decimal(number).ok_or_else(bad)? / per;
        if rate.is_finite() && (0.0..=FASTEST).contains(&rate) { Ok(Self(rate)) } else { Err(bad()) }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

fn part(number: &str, unit: &str) -> Option<Duration> {
    let nanoseconds = UNITS.iter().find(|(name, _)| *name == unit)?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = if whole.is_empty() && !fraction.is_empty() { 0 } else { whole.parse().ok()? };
    // Exact: each digit after the point is worth a tenth of the one before it.
    let mut worth = nanoseconds;
    let mut total = whole.checked_mul(nanoseconds)?;
    for digit in fraction.chars() {
        worth /= 10;
        total = total.checked_add(u64::from(digit.to_digit(10)?) * worth)?;
    }
    Some(Duration::from_nanos(total))
}

/// A decimal with an optional `k` or `M`.
fn decimal(text: &str) -> Option<f64> {
    let (number, times) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1e3),
        b'M' => (&text[..text.len() - 1], 1e6),
        _ => (text, 1.0),
    };
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if plain { number.parse::<f64>().ok().map(|number| number * times) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_write() {
        for (text, nanoseconds, written) in [
            ("30s", 30_000_000_000, "30s"),
            ("1.5s", 1_500_000_000, "1s500ms"),
            ("250ms", 250_000_000, "250ms"),
            ("1m30s", 90_000_000_000, "1m30s"),
            ("90s", 90_000_000_000, "1m30s"),
            (".5us", 500, "500ns"),
            ("0", 0, "0s"),
            ("2h", 7_200_000_000_000, "2h"),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.get(), Duration::from_nanos(nanoseconds), "{text}");
            assert_eq!(span.to_string(), written);
            assert_eq!(written.parse(), Ok(span));
        }
        for text in ["", "5", "s", "5 s", "-1s", "1x", "1.2.3s", "99999h", "1e3s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn rates_read() {
        for (text, rate) in [("500", 500.0), ("500/s", 500.0), ("2.5k/s", 2500.0), ("30/m", 0.5), ("1M", 1e6)]
        {
            assert_eq!(text.parse(), Ok(Rate(rate)), "{text}");
        }
        for text in ["", "-5", "5/x", "k", "1e5", "inf", "NaN", "1000M"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }
}
