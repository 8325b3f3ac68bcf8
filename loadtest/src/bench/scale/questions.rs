//! A question that a tool asks, answered by way of the replica that asks and by way of another one.
//!
//! Up to 2025-11-25 the question comes on the call's stream, and the answer is a POST of its own, which the balancer may give
//! to any replica. From 2026-07-28 on the call ends with the question and is sent again with the answer, to any replica. What
//! is measured is the time from the answer's sending to the tool's result.

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use trunkline_protocol::{Revision, revision::Era};

use super::{
    Cell, Rig, Trouble,
    caller::{Caller, Opened, Stream, meta, request},
    contenders::Contender,
    exact,
    fleet::Fleet,
};
use crate::bench::{
    BenchError,
    model::{Figures, Metric, Table},
    replay::empty,
    rotation,
};

const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// Questions of each client in a quick run, and those that do not count in another.
const QUICK: u64 = 2;
const WARM_UP: u64 = 5;

/// Clients at most: each has a call that waits.
const CLIENTS: u32 = 8;

/// How long a fleet is looked at that nobody asks for anything.
const IDLE: Duration = Duration::from_secs(1);

struct Run {
    contender: usize,
    revision: Revision,
    /// Whether the answer goes to the replica that did not ask.
    across: bool,
    cell: Cell,
}

/// A client with a call on one replica and its answers on one.
struct Asked {
    revision: Revision,
    session: Option<String>,
    /// `None` while it carries a stream.
    call: Option<Caller>,
    answer: Caller,
    next: u64,
}

pub(super) async fn measure(rig: &Rig<'_>, tables: &mut Vec<Table>) -> Result<(), BenchError> {
    let mut runs = runs(rig);
    for round in 0..rig.request.rounds() {
        for index in rotation::order(runs.len(), round) {
            let run = &mut runs[index];
            if run.cell.goes_on() {
                rig.say(round, &format!("questions: {}, {}", run.cell.row.name, run.revision));
                let found = run.round(rig, &rig.contenders[run.contender]).await;
                run.cell.add(found)?;
            }
        }
    }
    runs.into_iter().for_each(|run| run.cell.put(tables));
    Ok(())
}

fn runs(rig: &Rig<'_>) -> Vec<Run> {
    let mut runs = Vec::new();
    for (index, contender) in rig.contenders.iter().enumerate() {
        for revision in REVISIONS {
            for (across, way) in [(false, "the same replica"), (true, "another replica")] {
                let title = format!("a question, answer to result, {} in flight", clients(rig));
                let name = format!("{}, {way}", contender.name);
                let cell = Cell::new(title, contender, name, Some(revision.as_str()));
                let cell = cell.beside(format!("{}, the same replica", contender.name));
                runs.push(Run { contender: index, revision, across, cell });
            }
        }
    }
    runs
}

fn clients(rig: &Rig<'_>) -> u32 {
    rig.in_flight().min(CLIENTS)
}

// === impl Run ===

impl Run {
    async fn round(&self, rig: &Rig<'_>, contender: &Contender) -> Result<Figures, Trouble> {
        let quick = rig.request.quick;
        let fleet = Fleet::start(contender, 2, false, rig.request.pinned).await?;
        let mut clients: Vec<Asked> =
            try_join_all((0..clients(rig)).map(|_| Asked::open(&fleet, self.revision, self.across))).await?;
        let warm_up = if quick { 1 } else { WARM_UP };
        try_join_all(clients.iter_mut().map(|client| client.work(|done| done < warm_up))).await?;
        let idle = fleet.idle(if quick { IDLE / 10 } else { IDLE }).await?;
        let end = Instant::now() + rig.request.measured;
        let goes_on = |done| if quick { done < QUICK } else { Instant::now() < end };
        let before = fleet.mark().await?;
        let found = try_join_all(clients.iter_mut().map(|client| client.work(goes_on))).await?;
        let used = fleet.mark().await?.since(before);
        let mut latencies = empty();
        for some in found {
            // Both count the same range.
            let _added = latencies.add(some);
        }
        let count = exact(latencies.len().max(1));
        let micros = |share: f64| exact(latencies.value_at_quantile(share)) / 1e3;
        Ok(Figures::from([
            (Metric::CallsPerSecond, count / used.took.as_secs_f64()),
            (Metric::P50Us, micros(0.5)),
            (Metric::P99Us, micros(0.99)),
            (Metric::CpuUs, used.cpu(idle) * 1e6 / count),
            (Metric::RedisCommands, used.commands(idle) / count),
        ]))
    }
}

// === impl Asked ===

impl Asked {
    async fn open(fleet: &Fleet, revision: Revision, across: bool) -> Result<Self, Trouble> {
        let mut call = Caller::open(fleet.replica(0).address()).await?;
        let answer = Caller::open(fleet.replica(usize::from(across)).address()).await?;
        let session = match revision.era() {
            Era::Modern => None,
            Era::Legacy => {
                let session = call.initialize(revision, 0).await?;
                call.initialized(revision, &session).await?;
                Some(session)
            }
        };
        Ok(Self { revision, session, call: Some(call), answer, next: 1 })
    }

    /// Has itself asked again and again. The times from answer to result.
    async fn work(&mut self, goes_on: impl Fn(u64) -> bool) -> Result<Histogram<u64>, Trouble> {
        let mut latencies = empty();
        while goes_on(latencies.len()) {
            let took = match self.revision.era() {
                Era::Legacy => self.on_a_stream().await?,
                Era::Modern => self.in_rounds().await?,
            };
            latencies.saturating_record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        }
        Ok(latencies)
    }

    async fn on_a_stream(&mut self) -> Result<Duration, Trouble> {
        let (id, call, caller) = self.call()?;
        let asked = caller.begin(&call).await?;
        let Opened::Stream(mut stream) = asked else {
            return Err(Trouble::Cannot(
                "it has no tool that asks, or does not ask on the call's stream".into(),
            ));
        };
        let question = question(&mut stream).await?;
        let reply = json!({"jsonrpc": "2.0", "id": question, "result": yes()});
        let reply = self.answer.post(self.revision, self.session.as_deref(), &reply);
        let began = Instant::now();
        let (told, came) =
            tokio::join!(self.answer.send(&reply), async { (result(&mut stream).await, began.elapsed()) });
        told?;
        let (answered, took) = came;
        right(&answered?, id)?;
        self.call = Some(stream.end().await?);
        Ok(took)
    }

    async fn in_rounds(&mut self) -> Result<Duration, Trouble> {
        let (_, first, mut caller) = self.call()?;
        let reply = caller.send(&first).await?;
        self.call = Some(caller);
        let asked: Value = serde_json::from_slice(reply.message()).unwrap_or_default();
        let asked = &asked["result"];
        let Some(questions) = asked["inputRequests"].as_object() else {
            return Err(Trouble::Cannot(format!("it does not ask: {}", reply.shown())));
        };
        let responses: serde_json::Map<String, Value> =
            questions.keys().map(|key| (key.clone(), yes())).collect();
        let mut more = json!({"inputResponses": responses});
        if !asked["requestState"].is_null() {
            more["requestState"] = asked["requestState"].clone();
        }
        let message = self.message(&more);
        let second = self.answer.post(self.revision, None, &message);
        let began = Instant::now();
        let reply = self.answer.send(&second).await?;
        let took = began.elapsed();
        right(&serde_json::from_slice(reply.message()).unwrap_or_default(), self.next)?;
        Ok(took)
    }

    /// The next call, its number, and the connection it goes over.
    fn call(&mut self) -> Result<(u64, Vec<u8>, Caller), Trouble> {
        let message = self.message(&json!({}));
        let lost = || Trouble::Wrong("a call before this one has no end".into());
        let caller = self.call.take().ok_or_else(lost)?;
        let bytes = caller.post(self.revision, self.session.as_deref(), &message);
        Ok((self.next, bytes, caller))
    }

    fn message(&mut self, more: &Value) -> Value {
        self.next += 1;
        let mut params = json!({"name": "confirm", "arguments": {"question": "Is it so?"}});
        if self.revision.era() == Era::Modern {
            params["_meta"] = meta();
        }
        if let (Some(params), Some(more)) = (params.as_object_mut(), more.as_object()) {
            params.extend(more.clone());
        }
        request(self.next, "tools/call", &params)
    }
}

/// The id of the question that comes on a stream.
async fn question(stream: &mut Stream) -> Result<Value, Trouble> {
    loop {
        let message = stream.message().await?;
        if message["method"] == "elicitation/create" {
            return Ok(message["id"].clone());
        }
        if message["method"].is_null() {
            return Err(Trouble::Cannot(format!("it does not ask: {message}")));
        }
    }
}

/// The answer to the call.
async fn result(stream: &mut Stream) -> Result<Value, Trouble> {
    loop {
        let message = stream.message().await?;
        if message["method"].is_null() {
            return Ok(message);
        }
    }
}

fn right(message: &Value, id: u64) -> Result<(), Trouble> {
    if message["id"] == id && message["result"]["content"][0]["text"] == "yes" {
        return Ok(());
    }
    Err(Trouble::Wrong(format!("confirm: {message}")))
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"confirmed": true}})
}
