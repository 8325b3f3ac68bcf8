//! When a client's requests are due.
//!
//! The rate over time is a chain of straight lines. Its integral says how many requests of the fleet are due by any moment,
//! and the inverse of that when the n-th is due. Client `i` of `n` has every n-th of them, from the i-th on; of a Poisson
//! process it has one of its own with the n-th part of the rate. So a client's schedule is the same in whichever process it
//! runs, and all of them together are the fleet's.

use rand::{Rng, SeedableRng, rngs::SmallRng};

use crate::plan::{Arrival, Plan};

/// A part of the run in which the rate goes in a straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    /// How long it is, in seconds.
    length: f64,
    /// The rate at its beginning.
    from: f64,
    /// And at its end.
    to: f64,
}

/// When one client's requests are due, in seconds from the beginning.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    pieces: std::rc::Rc<[Piece]>,
    /// The piece it is in, when that begins, and how many requests of the fleet are due before it.
    at: usize,
    begins: f64,
    before: f64,
    /// Which request of the fleet is the next.
    next: f64,
    clients: f64,
    random: Option<SmallRng>,
}

/// The schedules of a plan's clients.
pub(super) struct Schedules {
    pieces: std::rc::Rc<[Piece]>,
    clients: u32,
    seed: u64,
    poisson: bool,
}

// === impl Schedules ===

impl Schedules {
    /// `None` for a closed loop.
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        let length = (plan.warmup.get() + plan.duration.get()).as_secs_f64();
        let pieces = pieces(plan.arrival, length)?.into();
        let poisson = matches!(plan.arrival, Arrival::Poisson { .. });
        Some(Self { pieces, clients: plan.clients, seed: plan.seed, poisson })
    }

    pub(super) fn client(&self, number: u32) -> Schedule {
        let mut random =
            self.poisson.then(|| SmallRng::seed_from_u64(super::random::mix(self.seed, number, 0xa881)));
        let clients = f64::from(self.clients);
        let next = match &mut random {
            Some(random) => exponential(random) * clients,
            None => f64::from(number),
        };
        Schedule { pieces: self.pieces.clone(), at: 0, begins: 0.0, before: 0.0, next, clients, random }
    }
}

// === impl Schedule ===

impl Iterator for Schedule {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        loop {
            let piece = *self.pieces.get(self.at)?;
            let all = piece.length * f64::midpoint(piece.from, piece.to);
            let rest = self.next - self.before;
            if rest < all {
                let due = self.begins + piece.when(rest);
                let step = self.random.as_mut().map_or(1.0, exponential);
                self.next += step * self.clients;
                return Some(due);
            }
            self.at += 1;
            self.begins += piece.length;
            self.before += all;
        }
    }
}

// === impl Piece ===

impl Piece {
    /// When so many are due, from its beginning.
    fn when(&self, count: f64) -> f64 {
        let slope = (self.to - self.from) / self.length;
        // The root of from·t + slope·t²/2 = count, in the form that does not divide by the slope.
        let root = slope.mul_add(2.0 * count, self.from * self.from).max(0.0).sqrt();
        let sum = self.from + root;
        if sum > 0.0 { (2.0 * count / sum).min(self.length) } else { 0.0 }
    }
}

fn pieces(arrival: Arrival, length: f64) -> Option<Vec<Piece>> {
    let flat = |length: f64, rate: f64| Piece { length, from: rate, to: rate };
    let pieces = match arrival {
        Arrival::Closed => return None,
        Arrival::Constant { rate } | Arrival::Poisson { rate } => vec![flat(length, rate.per_second())],
        Arrival::Ramp { from, to } => vec![Piece { length, from: from.per_second(), to: to.per_second() }],
        Arrival::Step { from, to, steps } => {
            let (from, to) = (from.per_second(), to.per_second());
            let rate = |step: u32| from + (to - from) * f64::from(step) / f64::from(steps.max(2) - 1);
            (0..steps).map(|step| flat(length / f64::from(steps), rate(step))).collect()
        }
        Arrival::Spike { rate, peak, at, length: spike } => {
            let at = at.get().as_secs_f64().min(length);
            let spike = spike.get().as_secs_f64().min(length - at);
            let rate = rate.per_second();
            vec![flat(at, rate), flat(spike, peak.per_second()), flat(length - at - spike, rate)]
        }
    };
    Some(pieces.into_iter().filter(|piece| piece.length > 0.0).collect())
}

fn exponential(random: &mut SmallRng) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Rate, Span};
    use std::time::Duration;

    fn due(arrival: Arrival, clients: u32) -> Vec<f64> {
        let duration = Span(Duration::from_secs(10));
        let plan = Plan { arrival, clients, duration, ..Plan::new("http://localhost/mcp") };
        let schedules = Schedules::of(&plan).unwrap();
        let mut due: Vec<f64> = (0..clients).flat_map(|client| schedules.client(client)).collect();
        due.sort_by(f64::total_cmp);
        due
    }

    fn count(due: &[f64], from: f64, to: f64) -> usize {
        due.iter().filter(|at| (from..to).contains(*at)).count()
    }

    #[test]
    fn the_fleet_keeps_its_rate_however_many_share_it() {
        for clients in [1, 7, 500] {
            let due = due(Arrival::Constant { rate: Rate(100.0) }, clients);
            assert_eq!(due.len(), 1000);
            assert!(due.iter().enumerate().all(|(n, at)| (at - n as f64 / 100.0).abs() < 1e-6));
        }
    }

    #[test]
    fn rates_change_as_they_should() {
        let ramp = due(Arrival::Ramp { from: Rate(0.0), to: Rate(200.0) }, 10);
        assert_eq!((ramp.len(), count(&ramp, 0.0, 5.0)), (1000, 250));
        let step = due(Arrival::Step { from: Rate(100.0), to: Rate(200.0), steps: 2 }, 10);
        assert_eq!((count(&step, 0.0, 5.0), count(&step, 5.0, 10.0)), (500, 1000));
        let (at, length) = (Span(Duration::from_secs(4)), Span(Duration::from_secs(1)));
        let spike = due(Arrival::Spike { rate: Rate(10.0), peak: Rate(500.0), at, length }, 10);
        assert_eq!(
            (count(&spike, 0.0, 4.0), count(&spike, 4.0, 5.0), count(&spike, 5.0, 10.0)),
            (40, 500, 50)
        );
    }

    #[test]
    fn independent_arrivals_come_in_bunches() {
        let due = due(Arrival::Poisson { rate: Rate(1000.0) }, 50);
        assert!((9_500..10_500).contains(&due.len()), "{}", due.len());
        let gaps: Vec<f64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let short = gaps.iter().filter(|gap| **gap < 0.001).count() as f64 / gaps.len() as f64;
        assert!((0.60..0.66).contains(&short), "63 % of the gaps are shorter than the mean: {short}");
    }
}
