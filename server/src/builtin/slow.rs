//! A tool that takes its time.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::read_only;
use crate::{
    model::TaskSupport,
    registry::{Exchange, HandlerError, Tool},
};

/// The most steps: each is a message to a caller that asked for progress.
const STEPS: u32 = 10_000;

/// The longest call in milliseconds. The server's own limit on a call is usually shorter.
const LONGEST: u32 = 3_600_000;

#[derive(Deserialize, JsonSchema)]
struct Slow {
    /// How long it takes, in milliseconds.
    #[schemars(range(max = LONGEST))]
    ms: u32,
    /// Into how many steps the time is divided; progress is reported after each.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = STEPS))]
    steps: u32,
}

const fn one() -> u32 {
    1
}

/// `slow(ms, steps)`: takes so long, and reports progress after each step.
pub(super) fn tool() -> Tool {
    Tool::new("slow", slow)
        .title("Slow")
        .description("Takes as long as asked for, and reports progress after each step.")
        .annotations(read_only())
        .task_support(TaskSupport::Optional)
}

async fn slow(exchange: Exchange, Slow { ms, steps }: Slow) -> Result<String, HandlerError> {
    let pause = Duration::from_millis(ms.into()) / steps;
    for step in 1..=steps {
        tokio::time::sleep(pause).await;
        let message = format!("step {step} of {steps}");
        exchange.progress(step.into(), Some(steps.into()), Some(&message)).await;
    }
    Ok(format!("{steps} steps in {ms} ms"))
}
