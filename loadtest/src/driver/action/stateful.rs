//! Steps that leave something on the server, and look for it again.

use std::{cell::RefMut, time::Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use trunkline_client::Call;

use super::Doing;
use crate::{
    check::{
        counter::Counter,
        result::{ToolResult, Wrong, wrong},
    },
    driver::{failure, session::Memory},
    tally::{Check, ErrorKind, Operation},
};

#[derive(Deserialize)]
struct Counted {
    value: i64,
    handle: Option<String>,
}

#[derive(Deserialize)]
struct Handled {
    handle: Option<String>,
}

#[derive(Deserialize)]
struct Recalled {
    value: String,
}

// === impl Doing ===

impl Doing<'_> {
    /// What this lane left on the server, of this session: what another one held is gone.
    fn memory(&self) -> RefMut<'_, Memory> {
        let mut memory = self.session.memories[self.lane].borrow_mut();
        let session = self.session.client.session_id();
        if memory.session != session {
            *memory = Memory { session, ..Memory::default() };
        }
        memory
    }

    /// What a failed call says of the values behind a handle.
    fn handle_lost(&self, (kind, text): &Wrong) {
        let mut memory = self.memory();
        if memory.handle.is_some() && *kind == ErrorKind::Tool && text.contains("unknown or has expired") {
            *memory = Memory { session: memory.session.take(), ..Memory::default() };
            self.client.world.recorder.with(|tally| tally.sessions.handles_lost += 1);
        }
    }

    pub(super) async fn count(&self, by: i64) {
        let sent = self.begin(Check::Counter);
        let (key, handle) = {
            let memory = self.memory();
            (format!("{}-{}-{}", self.client.name, self.lane, memory.round), memory.handle.clone())
        };
        let mut arguments = json!({ "key": key, "by": by });
        if let Some(handle) = handle {
            arguments["handle"] = Value::String(handle);
        }
        let outcome = match self.send(&Call::tool("counter", &arguments.to_string())).await {
            Ok(answer) => ToolResult::read(&answer.result).and_then(|result| result.structured::<Counted>()),
            Err(failure) => {
                let mut memory = self.memory();
                if failure.error.may_have_run() {
                    memory.counter.unanswered(by);
                }
                Err(failure::of(&failure.error, &failure.trace))
            }
        };
        let outcome = outcome.and_then(|counted| {
            let mut memory = self.memory();
            if counted.handle.is_some() {
                memory.handle = counted.handle;
            }
            memory
                .counter
                .answered(by, counted.value)
                .map_err(|text| (ErrorKind::Wrong(Check::Counter), text))
        });
        if let Err(wrong) = &outcome {
            self.handle_lost(wrong);
        }
        let mut memory = self.memory();
        if memory.counter.is_hopeless() {
            memory.round += 1;
            memory.counter = Counter::default();
        }
        drop(memory);
        self.end(sent, outcome);
    }

    pub(super) async fn remember(&self) {
        let (unique, sequence) = self.unique();
        let text = unique.text(40);
        let key = format!("m{}-{}", self.lane, sequence % 4);
        let mut arguments = json!({ "key": key, "value": text });
        let (handle, session) = {
            let memory = self.memory();
            (memory.handle.clone(), memory.session.clone())
        };
        if let Some(handle) = handle {
            arguments["handle"] = Value::String(handle);
        }
        let sent = self.begin(Check::Memory);
        let kept = match self.send(&Call::tool("remember", &arguments.to_string())).await {
            Ok(answer) => ToolResult::read(&answer.result).and_then(|result| result.structured::<Handled>()),
            Err(failure) => Err(failure::of(&failure.error, &failure.trace)),
        };
        let kept = match kept {
            Ok(kept) => kept.handle,
            Err(wrong) => {
                self.handle_lost(&wrong);
                return self.end(sent, Err(wrong));
            }
        };
        self.end(sent, Ok(()));
        let mut arguments = json!({ "key": key });
        if let Some(handle) = kept {
            arguments["handle"] = Value::String(handle.clone());
            self.memory().handle = Some(handle);
        }
        // The second request is due as soon as the first one is answered.
        let recall = Operation::tool("recall");
        let second = Doing { operation: &recall, intended: Instant::now(), ..*self };
        let sent = second.begin(Check::Memory);
        let outcome = match second.send(&Call::tool("recall", &arguments.to_string()).repeatable()).await {
            Ok(answer) => {
                let recalled =
                    ToolResult::read(&answer.result).and_then(|result| result.structured::<Recalled>());
                recalled.and_then(|Recalled { value }| match value {
                    _ if value == text => Ok(()),
                    _ => Err(wrong(Check::Memory, &text, &value)),
                })
            }
            Err(failure) => Err(failure::of(&failure.error, &failure.trace)),
        };
        if self.session.client.session_id() != session {
            // A session that was lost in between took it along, and is counted as that.
            return second.end(
                sent,
                outcome.or_else(|wrong| if wrong.0 == ErrorKind::Tool { Ok(()) } else { Err(wrong) }),
            );
        }
        if let Err(wrong) = &outcome {
            self.handle_lost(wrong);
        }
        second.end(sent, outcome);
    }
}
