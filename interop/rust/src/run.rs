//! Runs steps one after another, prints a line for each, and counts them.

use std::{future::Future, io::Write, time::Duration};

use anyhow::Result;

/// Each step is a few round trips on loopback; the rest is room for a busy machine.
pub(crate) const STEP_LIMIT: Duration = Duration::from_secs(20);
/// One whole run, however many steps hang.
pub(crate) const RUN_LIMIT: Duration = Duration::from_secs(120);

/// The steps so far.
#[derive(Debug, Default)]
pub(crate) struct Run {
    steps: usize,
    failed: usize,
}

// === impl Run ===

impl Run {
    /// Runs one step. A step that fails does not stop the next one.
    pub(crate) async fn step(&mut self, name: &str, body: impl Future<Output = Result<String>>) {
        let outcome = match tokio::time::timeout(STEP_LIMIT, body).await {
            Ok(outcome) => outcome,
            Err(_) => Err(anyhow::anyhow!("not done within {} s", STEP_LIMIT.as_secs())),
        };
        self.report(name, outcome);
    }

    pub(crate) fn report(&mut self, name: &str, outcome: Result<String>) {
        self.steps += 1;
        match outcome {
            Ok(detail) if detail.is_empty() => say(&format!("ok {name}")),
            Ok(detail) => say(&format!("ok {name} ({detail})")),
            Err(error) => {
                self.failed += 1;
                let why = format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ");
                say(&format!("FAIL {name}: {why}"));
            }
        }
    }

    /// The last line, by which the runner knows that no step was lost; true when none failed.
    pub(crate) fn end(&self) -> bool {
        say(&format!("end {} steps", self.steps));
        self.failed == 0
    }
}

fn say(line: &str) {
    // A closed pipe is the runner's end, and there is nobody left to tell.
    let _ = writeln!(std::io::stdout(), "{line}");
}
