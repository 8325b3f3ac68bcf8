//! One run against one topology: up, load, faults, report, down.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use tokio::{runtime::Runtime, sync::oneshot};
use tokio_util::sync::CancellationToken;
use trunkline_harness::{HarnessError, cluster::Cluster};

use super::{
    error::chain,
    faults::{Fault, Kind},
    inject::{Injected, Log, inject},
    recovery::{Done, recoveries},
    setup::{LoadBalancer, NamedPolicy, Setup, Store},
};
use crate::{
    driver::{self, Observer, RunError},
    limits::{Allowed, LimitError},
    plan::{Plan, Share},
    report::{FaultMark, Notes, Recovery, Run, Timing, WarningKind},
    tally::Tally,
    units::Span,
};

/// Where replicas serve, unless their configuration says otherwise.
const PATH: &str = "/mcp";

/// Why there was no run.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A server did not start.
    #[error("{}", chain(.0))]
    Start(HarnessError),
    /// This machine cannot have so many clients.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Limits(Vec<LimitError>),
    /// The limits cannot be asked for.
    #[error("cannot raise the limit of file descriptors: {0}")]
    Raise(std::io::Error),
    /// The clients could not begin.
    #[error("{source}; the first replica's last lines:\n{logs}")]
    Run {
        /// Why.
        source: RunError,
        /// What the replica said.
        logs: String,
    },
    /// The faults' task failed.
    #[error("the faults' task failed: {0}")]
    Faults(tokio::task::JoinError),
    /// It was ended before the clients began.
    #[error("ended before the start")]
    Ended,
}

/// What is the same for each policy.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The topology and the faults, checked.
    pub setup: &'a Setup,
    /// The load. Its URL is not looked at.
    pub plan: &'a Plan,
    /// The scenario's text, for the report.
    pub scenario: &'a str,
    /// Where the servers are watched and hurt.
    pub runtime: &'a Runtime,
}

/// Passes on what the clients do, and notes when they begin.
struct Timed<'a> {
    observer: &'a mut dyn Observer,
    begun: Option<oneshot::Sender<Instant>>,
    start: Option<(Instant, SystemTime)>,
}

// === impl Job ===

impl Job<'_> {
    /// The plan as it is carried out: at the cluster's URL, and long enough for the faults.
    #[must_use]
    pub fn plan_for(&self, url: &str) -> Plan {
        let duration = self.setup.lengthened(self.plan).unwrap_or(self.plan.duration);
        Plan { url: format!("{url}{PATH}"), duration, ..self.plan.clone() }
    }

    /// Brings the cluster up, runs the plan and the faults, and tears everything down. `stop` ends it early and in order.
    /// What is done to the servers is noted in `notes`. Blocks.
    ///
    /// # Errors
    /// See [`ClusterError`]; nothing is left running then, either.
    pub fn run(
        &self,
        policy: &NamedPolicy,
        observer: &mut dyn Observer,
        notes: &Notes,
        stop: &CancellationToken,
    ) -> Result<Run, ClusterError> {
        // Before the servers start: they inherit the limit.
        let allowed = Allowed::raised().map_err(ClusterError::Raise)?;
        allowed.suffices(self.plan, Share::WHOLE).map_err(ClusterError::Limits)?;
        let builder = self.setup.builder(&policy.policy).map_err(ClusterError::Start)?;
        let cluster = self.runtime.block_on(async {
            tokio::select! {
                cluster = builder.start() => cluster.map_err(ClusterError::Start),
                () = stop.cancelled() => Err(ClusterError::Ended),
            }
        })?;
        let plan = self.plan_for(&cluster.url());
        let (log, end) = (Arc::new(Log::telling(notes)), CancellationToken::new());
        let (begun, begin) = oneshot::channel();
        let hurting = hurt(cluster, self.setup.faults.clone(), begin, log.clone(), end.clone());
        let hurting = self.runtime.spawn(hurting);
        let mut timed = Timed { observer, begun: Some(begun), start: None };
        let ran = driver::run(&plan, Share::WHOLE, &mut timed, stop);
        let start = timed.start;
        // A run that did not begin leaves nobody waiting for its start.
        drop(timed);
        let length = start.map(|(start, _)| start.elapsed());
        end.cancel();
        let mut cluster = self.runtime.block_on(hurting).map_err(ClusterError::Faults)?;
        let tally =
            ran.map_err(|source| ClusterError::Run { source, logs: cluster.replica(0).logs_tail() })?;
        let (Some((_, started)), Some(length)) = (start, length) else { return Err(ClusterError::Ended) };
        let injected = log.records();
        let run = Run::of(&plan, self.scenario, Timing { started, length }, tally).named(&policy.name);
        let mut run = run.behind(&self.setup.to_string());
        run.faults = marks(&injected, &run.tally, &plan, length);
        self.warn(&mut run, &injected, &mut cluster);
        Ok(run)
    }

    /// What a reader should know that the tally does not tell.
    fn warn(&self, run: &mut Run, injected: &[Injected], cluster: &mut Cluster) {
        let Setup { replicas, balancer, store, .. } = self.setup;
        let spread = *store == Store::Memory && *replicas > 1 && *balancer != LoadBalancer::None;
        if spread {
            run.warn(
                WarningKind::Other,
                "each replica has its own sessions: those that reach another replica are lost; use --store redis",
            );
        }
        for Injected { fault, failed, .. } in injected {
            if let Some(why) = failed {
                run.warn(WarningKind::Other, &format!("{fault} was not done as planned: {why}"));
            }
        }
        for (index, replica) in cluster.replicas().iter_mut().enumerate() {
            let meant = |injected: &Injected| ends(&injected.fault, index);
            if let Some(status) = replica.process().status()
                && !injected.iter().any(meant)
            {
                let text =
                    format!("{} ended by itself with {status}:\n{}", replica.name(), replica.logs_tail());
                run.warn(WarningKind::Other, &text);
            }
        }
    }
}

/// Waits for the start, does the faults, and gives the cluster back when the run is over.
async fn hurt(
    mut cluster: Cluster,
    faults: Vec<Fault>,
    begin: oneshot::Receiver<Instant>,
    log: Arc<Log>,
    end: CancellationToken,
) -> Cluster {
    let hurt = async {
        if let Ok(start) = begin.await {
            inject(&mut cluster, &faults, start.into(), &log).await;
        }
    };
    tokio::select! {
        () = hurt => {}
        () = end.cancelled() => {}
    }
    cluster
}

/// Whether a fault may leave this replica dead.
fn ends(fault: &Fault, replica: usize) -> bool {
    match fault.kind {
        Kind::KillReplica | Kind::DrainReplica => fault.replica == Some(replica),
        Kind::Roll => true,
        _ => false,
    }
}

fn marks(injected: &[Injected], tally: &Tally, plan: &Plan, length: Duration) -> Vec<FaultMark> {
    let over = |injected: &Injected| injected.over.unwrap_or(length);
    let done: Vec<Done> =
        injected.iter().map(|injected| Done { begun: injected.begun, over: over(injected) }).collect();
    let recoveries = recoveries(&tally.timeline, tally.slot_seconds, plan.warmup.get(), length, &done);
    let marks = injected.iter().zip(recoveries).map(|(injected, recovery)| FaultMark {
        label: injected.fault.label(),
        begun: Span(injected.begun),
        over: Span(over(injected)),
        recovery: match &injected.failed {
            Some(why) => Recovery::Unknown { why: format!("it was not done as planned: {why}") },
            None => recovery,
        },
    });
    marks.collect()
}

// === impl Timed ===

impl Observer for Timed<'_> {
    fn begin(&mut self) {
        self.observer.begin();
        let now = Instant::now();
        self.start = Some((now, SystemTime::now()));
        if let Some(begun) = self.begun.take() {
            // The faults' task waits for it until it is given up.
            let _told = begun.send(now);
        }
    }

    fn progress(&mut self, delta: &Tally) {
        self.observer.progress(delta);
    }
}
