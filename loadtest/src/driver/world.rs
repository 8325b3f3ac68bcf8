//! What all clients of a thread share.

use std::{
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use super::{
    recorder::{Recorder, Who},
    session::Names,
};
use crate::{
    plan::{Action, Plan},
    tally::Operation,
};

/// The longest wait at the end for what is still under way, when the run was not stopped.
const PATIENCE: Duration = Duration::from_secs(10);

/// What all clients of a thread share.
pub(super) struct World {
    pub(super) plan: Arc<Plan>,
    pub(super) recorder: Rc<Recorder>,
    pub(super) names: Names,
    /// What each step counts as.
    pub(super) operations: Vec<Operation>,
    pub(super) weights: u32,
    /// When nothing more is begun.
    pub(super) end: Instant,
    /// Ends everything early.
    pub(super) stop: CancellationToken,
    /// Nothing more is begun, since the time is over or everything is ended early.
    pub(super) over: CancellationToken,
}

// === impl World ===

impl World {
    pub(super) fn new(plan: Arc<Plan>, start: Instant, stop: CancellationToken) -> Self {
        let end = start + plan.warmup.get() + plan.duration.get();
        let operations = plan.scenario.steps.iter().map(|step| operation(&step.action)).collect();
        let weights = plan.scenario.steps.iter().map(|step| step.weight).sum();
        let recorder = Rc::new(Recorder::new(&plan, start));
        let over = stop.child_token();
        Self { plan, recorder, names: Names::default(), operations, weights, end, stop, over }
    }

    pub(super) const fn who(&self, client: u32, revision: &'static str) -> Who {
        Who { client, revision }
    }

    /// The longest wait at the end for what is still under way.
    pub(super) fn patience(&self) -> Duration {
        self.plan.timeout.get().min(PATIENCE)
    }

    /// Sleeps, but no longer than something may be begun; `false` if it is too late then.
    pub(super) async fn sleep(&self, time: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(time) => !self.over.is_cancelled(),
            () = self.over.cancelled() => false,
        }
    }
}

fn operation(action: &Action) -> Operation {
    match action {
        Action::Add => Operation::tool("add"),
        Action::Echo { .. } => Operation::tool("echo"),
        Action::Payload { .. } => Operation::tool("payload"),
        Action::Counter => Operation::tool("counter"),
        Action::Remember => Operation::tool("remember"),
        Action::Confirm { .. } => Operation::tool("confirm"),
        Action::Slow { .. } => Operation::tool("slow"),
        Action::Cancel { .. } => Operation::new("cancelled"),
        Action::Cut { .. } => Operation::new("cut"),
        Action::Task { .. } => Operation::new("task"),
        Action::ListTools => Operation::new("tools/list"),
        Action::ListResources => Operation::new("resources/list"),
        Action::Read { .. } => Operation::new("resources/read"),
        Action::Ping => Operation::new("ping"),
        Action::Tool(call) => Operation::tool(&call.tool),
    }
}
