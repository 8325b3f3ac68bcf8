//! Steps that take their time, and what happens to them meanwhile.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use trunkline_client::{Call, Error, Failure, protocol::model::ProgressParams};

use super::Doing;
use crate::{
    check::result::{ToolResult, Wrong, shape, wrong},
    driver::failure,
    tally::{Check, ErrorKind},
};

/// A broken call is resumed after messages that it had got: so many pieces of news in the time it takes.
pub(super) const CUT_STEPS: u32 = 4;

/// How often a task is asked for, of the time it takes.
const POLLS: u32 = 4;

// === impl Doing ===

impl Doing<'_> {
    /// A call that takes its time, and whose connection may be broken meanwhile.
    pub(super) async fn slow(&self, takes: Duration, steps: u32, cut: Option<Duration>) {
        let sent = self.begin(Check::Progress);
        let (sender, mut receiver) = mpsc::channel::<ProgressParams>(steps as usize + 8);
        let mut call = slow_call(takes, steps).progress(sender);
        let token = CancellationToken::new();
        if cut.is_some() {
            call = call.cut(token.clone());
        }
        let outcome = after(cut, &token, self.send(&call)).await;
        drop(call);
        let told = self.progress(&mut receiver);
        let outcome = match outcome {
            Ok(answer) => told.and_then(|()| slow_result(&answer.result, takes, steps)),
            // There is nothing to resume on this revision, or there was no stream yet: what counts is that the connection
            // was broken.
            Err(failure) if failure.trace.cut > 0 && !(self.session.resumes && failure.trace.streamed) => {
                told
            }
            Err(failure) => Err(failure::of(&failure.error, &failure.trace)),
        };
        self.end(sent, outcome);
    }

    /// Whether progress went forward, and each piece of news came once.
    fn progress(&self, receiver: &mut mpsc::Receiver<ProgressParams>) -> Result<(), Wrong> {
        let (mut last, mut times, mut outcome) = (0.0, 0, Ok(()));
        while let Ok(news) = receiver.try_recv() {
            times += 1;
            if news.progress <= last && outcome.is_ok() {
                outcome = Err(wrong(Check::Progress, &format!("more than {last}"), &news.progress));
            }
            last = news.progress;
        }
        self.client.world.recorder.with(|tally| tally.sessions.progress += times);
        outcome
    }

    pub(super) async fn cancel(&self, takes: Duration) {
        let sent = self.begin(Check::Cancelled);
        let token = CancellationToken::new();
        let call = slow_call(takes, 1).cancel(token.clone());
        let outcome = after(Some(takes / 2), &token, self.send(&call)).await;
        let outcome = match outcome {
            Err(Failure { error: Error::Cancelled, .. }) => {
                self.client.world.recorder.with(|tally| tally.sessions.cancelled += 1);
                Ok(())
            }
            Ok(answer) if !token.is_cancelled() => slow_result(&answer.result, takes, 1).and_then(|()| {
                Err(wrong(
                    Check::Value,
                    &format!("no answer for {takes:?}"),
                    &"one in less than half of that",
                ))
            }),
            // The answer and the cancellation passed each other.
            Ok(_) => Ok(()),
            Err(failure) => Err(failure::of(&failure.error, &failure.trace)),
        };
        self.end(sent, outcome);
    }

    /// `slow` as a task, on the one revision that has tasks in its core and where the server has them; as a call otherwise.
    pub(super) async fn task(&self, takes: Duration) {
        if self.session.revision != "2025-11-25" || self.session.client.capabilities().tasks.is_none() {
            return self.slow(takes, 1, None).await;
        }
        let sent = self.begin(Check::Value);
        let outcome = self.run_task(takes).await;
        self.end(sent, outcome);
    }

    async fn run_task(&self, takes: Duration) -> Result<(), Wrong> {
        let failed = |failure: &Failure| failure::of(&failure.error, &failure.trace);
        let ms = takes.as_millis();
        let params = format!(
            "{{\"name\":\"slow\",\"arguments\":{{\"ms\":{ms},\"steps\":1}},\"task\":{{\"ttl\":{}}}}}",
            ms + 60_000
        );
        let created =
            self.send(&Call::new("tools/call", params)).await.map_err(|failure| failed(&failure))?;
        let created: Value =
            serde_json::from_slice(&created.result).map_err(|error| shape(&error, &created.result))?;
        let Some(id) = created.pointer("/task/taskId").and_then(Value::as_str) else {
            return Err(shape(&"a task has an id", created.to_string().as_bytes()));
        };
        let params = json!({ "taskId": id }).to_string();
        let deadline = Instant::now() + self.client.world.plan.timeout.get();
        loop {
            tokio::time::sleep(takes / POLLS).await;
            let call = Call::new("tasks/get", params.clone());
            let task = self.send(&call).await.map_err(|failure| failed(&failure))?;
            let task: Value =
                serde_json::from_slice(&task.result).map_err(|error| shape(&error, &task.result))?;
            match task["status"].as_str() {
                Some("completed") => break,
                Some("working" | "input_required") if Instant::now() < deadline => {}
                Some("working" | "input_required") => {
                    return Err((ErrorKind::Hung, "the task went on for ever".to_owned()));
                }
                // Its replica may have died: the server says so, and that is no wrong answer.
                Some(status @ ("failed" | "cancelled")) => {
                    let why = task["statusMessage"].as_str().unwrap_or("without a word");
                    return Err((ErrorKind::Tool, format!("the task {status}: {why}")));
                }
                status => return Err(wrong(Check::Value, &"completed", &status.unwrap_or("no status"))),
            }
        }
        let result =
            self.send(&Call::new("tasks/result", params)).await.map_err(|failure| failed(&failure))?;
        slow_result(&result.result, takes, 1)
    }
}

fn slow_call(takes: Duration, steps: u32) -> Call {
    Call::tool("slow", &format!("{{\"ms\":{},\"steps\":{steps}}}", takes.as_millis()))
}

fn slow_result(result: &[u8], takes: Duration, steps: u32) -> Result<(), Wrong> {
    let expected = format!("{steps} steps in {} ms", takes.as_millis());
    let result = ToolResult::read(result)?;
    match result.text() {
        Some(text) if text == expected => Ok(()),
        text => Err(wrong(Check::Value, &expected, &text.unwrap_or("no text"))),
    }
}

/// Does something, and cancels a token after some time if it is not done by then.
async fn after<T>(wait: Option<Duration>, token: &CancellationToken, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    let Some(wait) = wait else { return work.await };
    tokio::select! {
        done = &mut work => done,
        () = tokio::time::sleep(wait) => {
            token.cancel();
            work.await
        }
    }
}
