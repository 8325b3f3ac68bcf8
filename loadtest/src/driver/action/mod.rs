//! What a step does, and what is checked of it.

mod stateful;
mod timed;

use std::{
    rc::Rc,
    time::{Duration, Instant},
};

use rand::{Rng, rngs::SmallRng};
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline_client::{Answer, Call, Failure};

use super::{client::Virtual, failure, recorder::Ended, session::Session};
use crate::{
    check::{
        result::{ToolResult, Wrong, shape, wrong},
        template::Values,
        unique::Unique,
    },
    plan::{Action, Sizes, ToolCall},
    tally::{Check, Operation},
};

/// A step under way.
pub(super) struct Doing<'a> {
    pub(super) client: &'a Virtual,
    pub(super) session: &'a Rc<Session>,
    pub(super) lane: usize,
    pub(super) intended: Instant,
    pub(super) operation: &'a Operation,
}

#[derive(Deserialize)]
struct Sum {
    sum: i64,
}

/// Does it.
pub(super) async fn perform(doing: &Doing<'_>, action: &Action, choices: &mut SmallRng) {
    match action {
        Action::Add => doing.add(choices).await,
        Action::Echo { bytes } => doing.echo(size(*bytes, choices)).await,
        Action::Payload { bytes } => doing.payload(size(*bytes, choices)).await,
        Action::Counter => doing.count(choices.random_range(1..=9)).await,
        Action::Remember => doing.remember().await,
        Action::Confirm { .. } if !doing.session.asks => {
            let add = Operation::tool("add");
            Doing { operation: &add, ..*doing }.add(choices).await;
        }
        Action::Confirm { delay } => doing.confirm(choices.random(), delay.get()).await,
        Action::Slow { takes, steps } => doing.slow(takes.get(), *steps, None).await,
        Action::Cancel { takes } => doing.cancel(takes.get()).await,
        Action::Cut { takes } => doing.slow(takes.get(), timed::CUT_STEPS, Some(takes.get() / 2)).await,
        Action::Task { takes } => doing.task(takes.get()).await,
        Action::ListTools => doing.list("tools/list", "tools").await,
        Action::ListResources => doing.list("resources/list", "resources").await,
        Action::Read { uri } => doing.read(uri).await,
        Action::Ping if doing.session.modern => doing.list("tools/list", "tools").await,
        Action::Ping => doing.simple(Call::new("ping", ""), Check::Shape, object).await,
        Action::Tool(call) => doing.tool(call, choices).await,
    }
}

fn size(sizes: Sizes, choices: &mut SmallRng) -> usize {
    choices.random_range(sizes.least..=sizes.most.max(sizes.least)) as usize
}

fn object(result: &[u8]) -> Result<(), Wrong> {
    serde_json::from_slice::<serde_json::Map<String, Value>>(result)
        .map(drop)
        .map_err(|error| shape(&error, result))
}

// === impl Doing ===

impl Doing<'_> {
    fn unique(&self) -> (Unique, u32) {
        let sequence = self.client.sequence.get();
        self.client.sequence.set(sequence.wrapping_add(1));
        (Unique::new(self.client.number, sequence), sequence)
    }

    /// Sends a request, and counts what happened on its way; not yet how it ended.
    async fn send(&self, call: &Call) -> Result<Answer, Failure> {
        let recorder = &self.client.world.recorder;
        let outcome = self.session.client.raw(call).await;
        let trace = match &outcome {
            Ok(answer) => &answer.trace,
            Err(failure) => &failure.trace,
        };
        recorder.trace(trace);
        if trace.renewed > 0 {
            self.session.note_renewal(&self.client.world);
        }
        if trace.status > 0 {
            let replica = trace.replica();
            let mut last = self.client.replica.borrow_mut();
            let moved = replica.is_some() && last.is_some() && last.as_deref() != replica;
            if moved || last.is_none() {
                *last = replica.map(Into::into);
            }
            recorder.answered_by(replica, moved, self.intended);
        }
        outcome
    }

    /// Counts how it ended.
    fn end(&self, sent: Instant, outcome: Result<(), Wrong>) {
        let who = self.client.world.who(self.client.number, self.session.revision);
        let ended = Ended { who, operation: self.operation, intended: self.intended, sent, outcome };
        self.client.world.recorder.ended(ended);
    }

    fn begin(&self, check: Check) -> Instant {
        let recorder = &self.client.world.recorder;
        recorder.started(self.operation, self.intended);
        recorder.checked(check);
        Instant::now()
    }

    /// A request whose answer is checked by itself.
    async fn simple(&self, call: Call, check: Check, judge: impl FnOnce(&[u8]) -> Result<(), Wrong>) {
        let sent = self.begin(check);
        let outcome = match self.send(&call).await {
            Ok(answer) => judge(&answer.result),
            Err(failure) => Err(failure::of(&failure.error, &failure.trace)),
        };
        self.end(sent, outcome);
    }

    /// Announces a change; whether that is certain.
    pub(super) async fn touch(&self, call: Call) -> bool {
        let sent = self.begin(Check::Shape);
        let outcome = match self.send(&call).await {
            Ok(answer) => ToolResult::read(&answer.result).map(drop),
            Err(failure) => Err(failure::of(&failure.error, &failure.trace)),
        };
        let certain = outcome.is_ok();
        self.end(sent, outcome);
        certain
    }

    async fn add(&self, choices: &mut SmallRng) {
        let (unique, _) = self.unique();
        let a = choices.random_range(0..=unique.number());
        let call = Call::tool("add", &format!("{{\"a\":{a},\"b\":{}}}", unique.number() - a));
        self.simple(call, Check::Value, |result| {
            let sum = ToolResult::read(result)?.structured::<Sum>()?.sum;
            match sum {
                _ if sum == unique.number() => Ok(()),
                _ if unique.is_of_another(sum) => Err(wrong(Check::Swapped, &unique.number(), &sum)),
                _ => Err(wrong(Check::Value, &unique.number(), &sum)),
            }
        })
        .await;
        self.client.world.recorder.checked(Check::Swapped);
    }

    async fn echo(&self, bytes: usize) {
        let (unique, _) = self.unique();
        let text = unique.text(bytes);
        let call = Call::tool("echo", &format!("{{\"text\":\"{text}\"}}"));
        self.simple(call, Check::Value, |result| {
            let result = ToolResult::read(result)?;
            match result.text() {
                Some(seen) if seen == text => Ok(()),
                Some(seen) if unique.is_text_of_another(seen) => Err(wrong(Check::Swapped, &text, &seen)),
                seen => Err(wrong(Check::Value, &text, &seen.unwrap_or("no text"))),
            }
        })
        .await;
        self.client.world.recorder.checked(Check::Swapped);
    }

    async fn payload(&self, bytes: usize) {
        let call = Call::tool("payload", &format!("{{\"bytes\":{bytes}}}"));
        self.simple(call, Check::Value, |result| {
            let result = ToolResult::read(result)?;
            let text = result.text().unwrap_or_default();
            let right = text.len() == bytes && text.bytes().all(|byte| byte == b'x');
            if right { Ok(()) } else { Err(wrong(Check::Value, &format!("{bytes} times x"), &text)) }
        })
        .await;
    }

    async fn confirm(&self, yes: bool, delay: Duration) {
        let (unique, _) = self.unique();
        let question = format!("Is {} right?", unique.text(0));
        self.session.person.expect(&question, yes, delay);
        let call = Call::tool("confirm", &json!({ "question": question }).to_string());
        let expected = if yes { "yes" } else { "no" };
        self.simple(call, Check::Question, |result| {
            let result = ToolResult::read(result)?;
            match result.text() {
                Some(text) if text == expected => Ok(()),
                text => Err(wrong(Check::Question, &expected, &text.unwrap_or("no text"))),
            }
        })
        .await;
        self.session.person.forget(&question);
        let (answered, strange) = self.session.person.take();
        let world = &self.client.world;
        world.recorder.with(|tally| tally.sessions.questions += answered);
        for _ in 0..strange {
            let who = world.who(self.client.number, self.session.revision);
            let text = "a question that none of this client's calls asks".to_owned();
            world.recorder.found(who, self.operation, Check::Question, text);
        }
    }

    async fn list(&self, method: &'static str, what: &'static str) {
        self.simple(Call::new(method, ""), Check::Shape, |result| {
            let read: Value = serde_json::from_slice(result).map_err(|error| shape(&error, result))?;
            match read[what].as_array() {
                Some(_) => Ok(()),
                None => Err(shape(&format!("{method} has a list of {what}"), result)),
            }
        })
        .await;
    }

    async fn read(&self, uri: &str) {
        let call = Call::new("resources/read", json!({ "uri": uri }).to_string());
        self.simple(call, Check::Value, |result| {
            let read: Value = serde_json::from_slice(result).map_err(|error| shape(&error, result))?;
            match read.pointer("/contents/0/uri").and_then(Value::as_str) {
                Some(seen) if seen == uri => Ok(()),
                seen => Err(wrong(Check::Value, &uri, &seen.unwrap_or("no contents"))),
            }
        })
        .await;
    }

    async fn tool(&self, call: &ToolCall, choices: &mut SmallRng) {
        let (unique, sequence) = self.unique();
        let values = Values { client: &self.client.name, sequence, unique };
        let arguments = values.arguments(call, choices);
        let written = serde_json::to_string(&arguments).unwrap_or_default();
        self.simple(Call::tool(&call.tool, &written), Check::Expectation, |result| {
            ToolResult::read(result)?;
            values.check(call, &arguments, result, choices)
        })
        .await;
    }
}
