//! The other end of a pipe: lines out, lines in, so many calls in flight, each sum checked.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::json;

use crate::Problem;

const MODERN: &str = "2026-07-28";
const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"pipe","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

/// Requests are written before answers are read: as many fit into the pipe's 64 KiB, so that neither end waits for the other.
const MOST_IN_FLIGHT: u64 = 128;

#[derive(Deserialize)]
struct Answer {
    /// What is not an answer has none.
    id: Option<u64>,
    result: Option<Added>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Added {
    structured_content: Option<Sum>,
    #[serde(default)]
    content: Vec<Text>,
}

#[derive(Deserialize)]
struct Sum {
    sum: u64,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

struct Pipe {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    line: String,
    meta: &'static str,
    next: u64,
}

/// Makes the calls, a tenth of them before it measures. A line of JSON.
pub(crate) fn measure(
    revision: &str,
    calls: u64,
    in_flight: u64,
    program: &str,
    words: &[&str],
) -> Result<String, Problem> {
    if !(1..=MOST_IN_FLIGHT).contains(&in_flight) {
        return Err(format!("IN_FLIGHT is 1 to {MOST_IN_FLIGHT}").into());
    }
    let mut pipe = Pipe::open(revision, program, words)?;
    pipe.work(calls / 10, in_flight)?;
    let (began, before) = (Instant::now(), cpu());
    let mut latencies = pipe.work(calls, in_flight)?;
    let (took, spent) = (began.elapsed(), cpu().saturating_sub(before));
    latencies.sort_unstable();
    let at = |per_thousand: usize| {
        let found = latencies.get(latencies.len().saturating_sub(1) * per_thousand / 1000);
        found.copied().unwrap_or_default().as_secs_f64() * 1e6
    };
    let line = json!({
        "calls": latencies.len(), "wrong": 0, "seconds": took.as_secs_f64(), "cpu_seconds": spent.as_secs_f64(),
        "p50_us": at(500), "p99_us": at(990), "p999_us": at(999),
    });
    Ok(line.to_string())
}

fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

// === impl Pipe ===

impl Pipe {
    fn open(revision: &str, program: &str, words: &[&str]) -> Result<Self, Problem> {
        let mut command = Command::new(program);
        let command = command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
        let requests = child.stdin.take().ok_or("no standard input")?;
        let answers = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        let meta = if revision == MODERN { META } else { "" };
        let mut pipe = Self { child, requests, answers, line: String::new(), meta, next: 1 };
        if revision != MODERN {
            pipe.shake_hands(revision)?;
        }
        Ok(pipe)
    }

    fn shake_hands(&mut self, revision: &str) -> Result<(), Problem> {
        let client = json!({"name": "pipe", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
        self.say(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string())?;
        while self.hear()?.id != Some(0) {}
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
    }

    fn work(&mut self, calls: u64, in_flight: u64) -> Result<Vec<Duration>, Problem> {
        let end = self.next + calls;
        let (mut waiting, mut latencies) = (HashMap::new(), Vec::new());
        while self.next < end && (waiting.len() as u64) < in_flight {
            self.call(&mut waiting)?;
        }
        while !waiting.is_empty() {
            let Answer { id: Some(id), result } = self.hear()? else {
                continue;
            };
            let (sent, right) = waiting.remove(&id).ok_or("an answer that nobody waits for")?;
            latencies.push(sent.elapsed());
            let sum = result.as_ref().and_then(Added::sum);
            if sum != Some(right) {
                return Err(format!("the sum is {right}, not {sum:?}").into());
            }
            if self.next < end {
                self.call(&mut waiting)?;
            }
        }
        Ok(latencies)
    }

    fn call(&mut self, waiting: &mut HashMap<u64, (Instant, u64)>) -> Result<(), Problem> {
        let (id, meta) = (self.next, self.meta);
        let (a, b) = (100 + id % 900, 1000 + id % 7);
        self.next += 1;
        waiting.insert(id, (Instant::now(), a + b));
        self.say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"add","arguments":{{"a":{a},"b":{b}}}{meta}}}}}"#
        ))
    }

    fn say(&mut self, message: &str) -> Result<(), Problem> {
        Ok(self.requests.write_all(format!("{message}\n").as_bytes())?)
    }

    fn hear(&mut self) -> Result<Answer, Problem> {
        self.line.clear();
        if self.answers.read_line(&mut self.line)? == 0 {
            return Err("the server has ended".into());
        }
        serde_json::from_str(&self.line).map_err(|error| format!("{error}: {}", self.line).into())
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // Nothing is left of it that anybody waits for, and it may be gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

// === impl Added ===

impl Added {
    /// The older revisions have it as text alone.
    fn sum(&self) -> Option<u64> {
        let as_text = || serde_json::from_str::<Sum>(&self.content.first()?.text).ok();
        self.structured_content.as_ref().map(|sum| sum.sum).or_else(|| as_text().map(|sum| sum.sum))
    }
}
