//! When requests are sent, as options say it.

use super::{Mistakes, no_such};
use crate::{
    plan::Arrival,
    units::{Rate, Span},
};

/// What `--arrival` may begin with.
const KINDS: [&str; 6] = ["closed", "constant", "poisson", "ramp", "step", "spike"];

/// Steps of a staircase at most.
const STEPS: u32 = 1000;

// === impl Mistakes ===

impl Mistakes {
    pub(super) fn arrival(&mut self, kind: Option<&str>, rate: Option<&str>) -> Arrival {
        let kind = kind.unwrap_or(if rate.is_some() { "constant" } else { "closed" });
        let (kind, details) = kind.split_once(':').unwrap_or((kind, ""));
        if matches!(kind, "closed" | "constant" | "poisson" | "ramp") && !details.is_empty() {
            self.add("--arrival", format!("{kind} stands alone; the rate is written as --rate {details}"));
        }
        match kind {
            "closed" => {
                if rate.is_some() {
                    self.add(
                        "--rate",
                        "a closed loop has no rate; leave it out, or choose another --arrival",
                    );
                }
                Arrival::Closed
            }
            "constant" => Arrival::Constant { rate: self.rate(rate) },
            "poisson" => Arrival::Poisson { rate: self.rate(rate) },
            "ramp" => {
                let (from, to) = self.range(rate);
                Arrival::Ramp { from, to }
            }
            "step" => {
                let (from, to) = self.range(rate);
                let steps = details.parse::<u32>().ok().filter(|steps| (2..=STEPS).contains(steps));
                if steps.is_none() {
                    self.add(
                        "--arrival",
                        format!("step needs its number of steps from 2 to {STEPS}, as step:5"),
                    );
                }
                Arrival::Step { from, to, steps: steps.unwrap_or(2) }
            }
            "spike" => self.spike(details, rate),
            other => {
                self.add("--arrival", no_such(other, &KINDS));
                Arrival::Closed
            }
        }
    }

    fn spike(&mut self, details: &str, rate: Option<&str>) -> Arrival {
        let rate = self.rate(rate);
        let parts = details.split_once('@').and_then(|(peak, times)| Some((peak, times.split_once('+')?)));
        let Some((peak, (at, length))) = parts else {
            self.add(
                "--arrival",
                "spike needs a rate, when it begins and how long it lasts, as spike:1000/s@10s+5s",
            );
            return Arrival::Closed;
        };
        let peak = self.positive("--arrival", peak);
        let (at, length): (Span, Span) =
            (self.read("--arrival", at.parse()), self.read("--arrival", length.parse()));
        Arrival::Spike { rate, peak, at, length }
    }

    fn rate(&mut self, rate: Option<&str>) -> Rate {
        match rate {
            Some(rate) if rate.contains("..") => {
                self.add(
                    "--rate",
                    format!("{rate} is two rates; write one, or add --arrival ramp or step:5"),
                );
                Rate::default()
            }
            Some(rate) => self.positive("--rate", rate),
            None => {
                self.add("--rate", "is missing; say how many requests per second, as --rate 500");
                Rate::default()
            }
        }
    }

    fn range(&mut self, rate: Option<&str>) -> (Rate, Rate) {
        let Some((from, to)) = rate.and_then(|rate| rate.split_once("..")) else {
            self.add("--rate", "this arrival goes from one rate to another; write both, as 100..1000");
            return (Rate::default(), Rate::default());
        };
        let (from, to): (Rate, Rate) = (self.read("--rate", from.parse()), self.read("--rate", to.parse()));
        if from.per_second() + to.per_second() <= 0.0 && !self.has("--rate") {
            self.add("--rate", "one of the two must be above 0");
        }
        (from, to)
    }

    fn positive(&mut self, place: &str, text: &str) -> Rate {
        let rate: Rate = self.read(place, text.parse());
        if rate.per_second() <= 0.0 && !self.has(place) {
            self.add(place, "a rate must be above 0");
        }
        rate
    }
}
