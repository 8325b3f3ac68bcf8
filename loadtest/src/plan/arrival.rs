//! When requests are sent.

use serde::{Deserialize, Serialize};

use crate::units::{Rate, Span};

/// When requests are sent. Rates are of all clients together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Arrival {
    /// Closed loop: each client sends its next one after the answer and a pause for thought. What a slow server is spared
    /// this way shows in the rate and not in the latency.
    Closed,
    /// Evenly, whatever the server does.
    Constant {
        /// The rate.
        rate: Rate,
    },
    /// At random moments, independent of each other.
    Poisson {
        /// The mean rate.
        rate: Rate,
    },
    /// From one rate to another over the whole run, in a straight line.
    Ramp {
        /// At the beginning.
        from: Rate,
        /// At the end.
        to: Rate,
    },
    /// From one rate to another in equal steps of equal length.
    Step {
        /// The first step.
        from: Rate,
        /// The last step.
        to: Rate,
        /// How many, at least 2.
        steps: u32,
    },
    /// A rate, a much higher one for a while, and the first one again.
    Spike {
        /// Before and after.
        rate: Rate,
        /// Within.
        peak: Rate,
        /// When it begins, from the beginning of the run.
        at: Span,
        /// How long it lasts.
        length: Span,
    },
}

// === impl Arrival ===

impl Arrival {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Constant { .. } => "constant",
            Self::Poisson { .. } => "poisson",
            Self::Ramp { .. } => "ramp",
            Self::Step { .. } => "step",
            Self::Spike { .. } => "spike",
        }
    }
}
