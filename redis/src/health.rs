//! How it has gone lately.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::Failure;

/// How it has gone lately, for readiness and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// How long Redis has not been available, whatever was asked; `None` if the last operation or liveness check worked.
    pub failing_for: Option<Duration>,
    /// Why, as an operator reads it; without secrets.
    pub failure: Option<String>,
    /// How long the last operation took that worked.
    pub latency: Duration,
    /// Operations that found Redis not available, since the client was opened.
    pub failures: u64,
}

/// Where outcomes are noted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    failing: Option<(Instant, String)>,
    latency: Duration,
    failures: u64,
}

// === impl Record ===

impl Record {
    pub(crate) fn worked(&self, latency: Duration) {
        let mut inner = self.0.lock();
        inner.latency = latency;
        inner.failing = None;
    }

    /// A connection was made or answered; says nothing of how long operations take.
    pub(crate) fn alive(&self) {
        self.0.lock().failing = None;
    }

    /// An operation failed. What Redis refused was available.
    pub(crate) fn failed(&self, failure: &Failure) {
        let Failure::Unavailable(source) = failure else { return };
        let mut inner = self.0.lock();
        inner.failures += 1;
        inner.begin(source);
    }

    /// A connection could not be made.
    pub(crate) fn unreachable(&self, failure: &Failure) {
        if let Failure::Unavailable(source) | Failure::Refused(source) = failure {
            self.0.lock().begin(source);
        }
    }

    pub(crate) fn read(&self) -> Health {
        let inner = self.0.lock();
        let (failing_for, failure) =
            inner.failing.as_ref().map(|(since, why)| (since.elapsed(), why.clone())).unzip();
        Health { failing_for, failure, latency: inner.latency, failures: inner.failures }
    }
}

// === impl Inner ===

impl Inner {
    fn begin(&mut self, source: &redis::RedisError) {
        if self.failing.is_none() {
            self.failing = Some((Instant::now(), source.to_string()));
        }
    }
}
