//! What the server says about itself.

mod metrics;

pub(crate) use metrics::{Backends, Gauge, Held, Metrics};
