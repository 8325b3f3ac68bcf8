//! Counters and gauges, all named here, in the text format that Prometheus reads.

use std::{
    fmt::Write,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

/// What is counted. One per replica.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    in_flight: AtomicI64,
    streams: AtomicI64,
    sessions: AtomicI64,
    tasks: AtomicI64,
    questions: AtomicI64,
    calls: AtomicU64,
    panics: AtomicU64,
    late_answers: AtomicU64,
    gaps: AtomicU64,
    restores: AtomicU64,
    takeovers: AtomicU64,
    reruns: AtomicU64,
    refused: AtomicU64,
}

/// Something there is a number of at each moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gauge {
    /// Requests that a handler works on.
    InFlight,
    /// Open streams.
    Streams,
    /// Sessions with something on this replica.
    Sessions,
    /// Tasks that run here.
    Tasks,
    /// Questions that wait for an answer.
    Questions,
}

/// How the store and the hub are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backends {
    /// Whether the store took the last sign of life.
    pub(crate) store_up: bool,
    /// Whether the hub hears other replicas.
    pub(crate) hub_up: bool,
    /// How often the hub's subscriptions were made again.
    pub(crate) resubscriptions: u64,
    /// How often the hub read a log again, since a message was missing.
    pub(crate) repairs: u64,
    /// Signals that came faster than they were taken.
    pub(crate) lost_signals: u64,
}

/// One of what a gauge counts, until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    metrics: Arc<Metrics>,
    gauge: Gauge,
}

// === impl Metrics ===

impl Metrics {
    /// Counts one of `gauge` until what is returned is dropped.
    pub(crate) fn hold(self: &Arc<Self>, gauge: Gauge) -> Held {
        self.gauge(gauge).fetch_add(1, Ordering::Relaxed);
        Held { metrics: self.clone(), gauge }
    }

    /// How many there are now.
    pub(crate) fn now(&self, gauge: Gauge) -> i64 {
        self.gauge(gauge).load(Ordering::Relaxed)
    }

    /// A request was taken up.
    pub(crate) fn called(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// A handler panicked.
    pub(crate) fn panicked(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }

    /// An answer came to a question that nobody asks any more.
    pub(crate) fn late_answer(&self) {
        self.late_answers.fetch_add(1, Ordering::Relaxed);
    }

    /// A stream could not be resumed without a gap.
    pub(crate) fn gap(&self) {
        self.gaps.fetch_add(1, Ordering::Relaxed);
    }

    /// A session was read from the store.
    pub(crate) fn restored(&self) {
        self.restores.fetch_add(1, Ordering::Relaxed);
    }

    /// A stream of a replica that is gone was taken over.
    pub(crate) fn taken_over(&self) {
        self.takeovers.fetch_add(1, Ordering::Relaxed);
    }

    /// A call of a replica that is gone was run again.
    pub(crate) fn run_again(&self) {
        self.reruns.fetch_add(1, Ordering::Relaxed);
    }

    /// A request was refused.
    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Everything, in the text format.
    pub(crate) fn render(&self, backends: &Backends) -> String {
        let mut out = String::new();
        backends.render(&mut out);
        let mut gauge = |name: &str, help: &str, gauge: Gauge| {
            let _written = write!(
                out,
                "# HELP trunkline_{name} {help}\n# TYPE trunkline_{name} gauge\ntrunkline_{name} {}\n",
                self.now(gauge)
            );
        };
        gauge("requests_in_flight", "Requests that a handler works on.", Gauge::InFlight);
        gauge("streams_open", "Open streams.", Gauge::Streams);
        gauge("sessions_active", "Sessions with something on this replica.", Gauge::Sessions);
        gauge("tasks_running", "Tasks that run on this replica.", Gauge::Tasks);
        gauge("questions_open", "Questions to clients that wait for an answer.", Gauge::Questions);
        let mut counter = |name: &str, help: &str, value: &AtomicU64| {
            let _written = write!(
                out,
                "# HELP trunkline_{name} {help}\n# TYPE trunkline_{name} counter\ntrunkline_{name} {}\n",
                value.load(Ordering::Relaxed)
            );
        };
        counter("requests_total", "Requests taken up.", &self.calls);
        counter("requests_refused_total", "Requests refused before they were served.", &self.refused);
        counter("handler_panics_total", "Handlers that panicked.", &self.panics);
        counter("late_answers_total", "Answers to questions that nobody asked any more.", &self.late_answers);
        counter("stream_gaps_total", "Streams that could not be resumed without a gap.", &self.gaps);
        counter("sessions_restored_total", "Sessions read from the store.", &self.restores);
        counter(
            "streams_taken_over_total",
            "Streams of replicas that were gone, taken over.",
            &self.takeovers,
        );
        counter("calls_run_again_total", "Calls of replicas that were gone, run again.", &self.reruns);
        out
    }

    fn gauge(&self, gauge: Gauge) -> &AtomicI64 {
        match gauge {
            Gauge::InFlight => &self.in_flight,
            Gauge::Streams => &self.streams,
            Gauge::Sessions => &self.sessions,
            Gauge::Tasks => &self.tasks,
            Gauge::Questions => &self.questions,
        }
    }
}

// === impl Backends ===

impl Backends {
    fn render(&self, out: &mut String) {
        let mut one = |name: &str, kind: &str, help: &str, value: u64| {
            let _written = write!(
                out,
                "# HELP trunkline_{name} {help}\n# TYPE trunkline_{name} {kind}\ntrunkline_{name} {value}\n"
            );
        };
        one("store_up", "gauge", "Whether the session store can be reached.", self.store_up.into());
        one("hub_up", "gauge", "Whether other replicas are heard.", self.hub_up.into());
        one("hub_resubscriptions_total", "counter", "Subscriptions made again.", self.resubscriptions);
        one("hub_repairs_total", "counter", "Logs read again, since a message was missing.", self.repairs);
        one("hub_signals_lost_total", "counter", "Signals faster than they were taken.", self.lost_signals);
    }
}

// === impl Held ===

impl Drop for Held {
    fn drop(&mut self) {
        self.metrics.gauge(self.gauge).fetch_sub(1, Ordering::Relaxed);
    }
}
