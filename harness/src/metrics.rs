//! What a replica says about itself, read from its `/metrics`.

use std::collections::BTreeMap;

/// The samples of one scrape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// By name and labels as they are written, `name{label="value"}`.
    samples: BTreeMap<String, f64>,
}

// === impl Metrics ===

impl Metrics {
    /// Reads the text format that Prometheus reads. What is no sample is left out.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let samples = text.lines().filter(|line| !line.starts_with('#')).filter_map(sample).collect();
        Self { samples }
    }

    /// The value of one series, written as in the scrape: `name`, or `name{label="value"}`.
    #[must_use]
    pub fn get(&self, series: &str) -> Option<f64> {
        self.samples.get(series).copied()
    }

    /// The sum of all series of a name, whatever their labels; 0 where there is none.
    #[must_use]
    pub fn sum(&self, name: &str) -> f64 {
        let of_name = |series: &str| series.split('{').next() == Some(name);
        self.samples.iter().filter(|(series, _)| of_name(series)).map(|(_, value)| value).sum()
    }

    /// Every series with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.samples.iter().map(|(series, value)| (series.as_str(), *value))
    }
}

fn sample(line: &str) -> Option<(String, f64)> {
    // A label's value may have spaces in it.
    let name_ends = line.rfind('}').map_or_else(|| line.find(' '), |brace| Some(brace + 1))?;
    let (series, rest) = line.split_at(name_ends);
    // A time may follow the value.
    let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
    Some((series.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_with_their_labels() {
        let metrics = Metrics::parse(
            "# HELP calls Calls.\n# TYPE calls counter\ncalls 3\ncalls_by{tool=\"a b}\",ok=\"yes\"} 1.5 1700000000\n\
             calls_by{tool=\"c\"} 2\n\nnonsense\n",
        );
        assert_eq!(metrics.get("calls"), Some(3.0));
        assert_eq!(metrics.get("calls_by{tool=\"a b}\",ok=\"yes\"}"), Some(1.5));
        assert_eq!(metrics.sum("calls_by"), 3.5);
        assert_eq!(metrics.sum("none"), 0.0);
        assert_eq!(metrics.iter().count(), 3);
    }
}
