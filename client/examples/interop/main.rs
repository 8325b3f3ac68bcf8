//! This client against a server that was built with another SDK. `interop/servers/README.md` says what those serve, and
//! `interop/run.sh` starts them.
//!
//! ```text
//! interop --transport http|sse --era legacy|modern|REVISION [--expect REVISION] --url URL
//! interop --transport stdio    --era …                      [--expect REVISION] -- PROGRAM [ARGUMENT…]
//! ```
//!
//! Prints a line for each step, `ok NAME` or `FAIL NAME: why`, and their number at the end. Exit: 0 all passed, 1 not, 2 it
//! was called wrongly.

mod options;
mod peer;
mod person;
mod steps;

use std::{env, process::ExitCode, time::Duration};

use tokio::time::timeout;

use self::{options::Options, peer::Peer};

/// Why a step failed: one line.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Each step is a few round trips on loopback; the rest is room for a busy machine.
const STEP: Duration = Duration::from_secs(20);

/// Steps that were taken.
#[derive(Default)]
struct Run {
    steps: u32,
    failed: u32,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = match Options::read(env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            say(&format!("interop: {error}"));
            return ExitCode::from(2);
        }
    };
    let mut run = Run::default();
    match timeout(STEP, Peer::connect(&options)).await {
        Ok(Ok(peer)) => steps::all(&mut run, &peer).await,
        Ok(Err(error)) => run.report("connect", Err(error)),
        Err(elapsed) => run.report("connect", Err(elapsed.into())),
    }
    say(&format!("end {} steps", run.steps));
    ExitCode::from(u8::from(run.failed > 0))
}

#[expect(clippy::print_stdout, reason = "the runner reads it")]
fn say(line: &str) {
    println!("{line}");
}

// === impl Run ===

impl Run {
    /// Takes one step; one that fails does not stop the next one.
    async fn step(&mut self, name: &str, body: impl Future<Output = Result<(), Failure>>) {
        let outcome = match timeout(STEP, body).await {
            Ok(outcome) => outcome,
            Err(_elapsed) => Err(format!("not done within {STEP:?}").into()),
        };
        self.report(name, outcome);
    }

    fn report(&mut self, name: &str, outcome: Result<(), Failure>) {
        self.steps += 1;
        match outcome {
            Ok(()) => say(&format!("ok {name}")),
            Err(error) => {
                self.failed += 1;
                say(&format!("FAIL {name}: {}", error.to_string().replace('\n', " | ")));
            }
        }
    }
}
