//! Clients that the benchmarks measure, on the command line that every peer's client has:
//!
//!     bench-client ours|hand http URL REVISION CALLS IN_FLIGHT
//!     bench-client ours|hand stdio REVISION CALLS IN_FLIGHT -- COMMAND...
//!
//! `ours` is trunkline-client. `hand` is the least that a program can do: over HTTP on hyper, over a pipe line by line. Every sum is
//! checked. One line of JSON comes out; a tenth of the calls goes before, and is not in it.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a program that tells what it measured")]

mod args;
mod by_hand;
mod pipe;

use std::{
    cell::Cell,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::try_join_all;
use serde::Deserialize;
use tokio::process::Command;
use trunkline_client::{Call, Client};

use crate::{
    args::{Asked, How, Over},
    by_hand::ByHand,
    pipe::Pipe,
};

/// What makes calls, one after the other.
enum Lane {
    Ours(Arc<Client>),
    Hand(ByHand),
    Pipe(Pipe),
}

/// What a call of `add` brings.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Added {
    structured_content: Option<Sum>,
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

/// All that went wrong, for a reader.
pub(crate) type Problem = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(asked) = args::read(std::env::args().skip(1)) else {
        eprintln!("usage: bench-client ours|hand http URL REVISION CALLS IN_FLIGHT");
        eprintln!("       bench-client ours|hand stdio REVISION CALLS IN_FLIGHT -- COMMAND...");
        return ExitCode::from(2);
    };
    match measure(&asked).await {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("bench-client: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(asked: &Asked) -> Result<String, Problem> {
    let mut lanes = open(asked).await?;
    work(&mut lanes, asked.calls / 10).await?;
    let (started, before) = (Instant::now(), cpu());
    let mut latencies = work(&mut lanes, asked.calls).await?;
    let (took, spent) = (started.elapsed(), cpu().saturating_sub(before));
    latencies.sort_unstable();
    let calls = latencies.len();
    let at = |per_thousand: usize| {
        let found = latencies.get(calls.saturating_sub(1) * per_thousand / 1000);
        found.copied().unwrap_or_default().as_secs_f64() * 1e6
    };
    Ok(serde_json::json!({
        "calls": calls,
        "wrong": 0,
        "seconds": took.as_secs_f64(),
        "cpu_seconds": spent.as_secs_f64(),
        "p50_us": at(500),
        "p99_us": at(990),
        "p999_us": at(999),
    })
    .to_string())
}

async fn open(asked: &Asked) -> Result<Vec<Lane>, Problem> {
    let lanes = asked.in_flight;
    if asked.how == How::Ours {
        let builder = match &asked.over {
            Over::Http(url) => Client::http(url).connections(lanes),
            Over::Pipe(command) => Client::stdio(program(command)),
        };
        let client = Arc::new(builder.revision(asked.revision).connect().await?);
        return Ok((0..lanes).map(|_| Lane::Ours(client.clone())).collect());
    }
    let mut found = Vec::new();
    for _ in 0..lanes {
        found.push(match &asked.over {
            Over::Http(url) => Lane::Hand(ByHand::open(url, asked.revision).await?),
            Over::Pipe(command) => Lane::Pipe(Pipe::open(program(command), asked.revision).await?),
        });
    }
    Ok(found)
}

fn program(command: &[String]) -> Command {
    let mut program = Command::new(command.first().map_or("", String::as_str));
    program.args(command.iter().skip(1));
    program
}

/// Makes so many calls, side by side, and checks each.
async fn work(lanes: &mut [Lane], calls: u32) -> Result<Vec<Duration>, Problem> {
    let next = Cell::new(0_u64);
    let next = &next;
    let running = lanes.iter_mut().map(|lane| async move {
        let mut latencies = Vec::new();
        while next.get() < u64::from(calls) {
            let number = next.replace(next.get() + 1);
            let (a, b) = (100 + number % 900, 1000 + number % 7);
            let began = Instant::now();
            let added = lane.add(a, b).await?;
            latencies.push(began.elapsed());
            if added.sum() != Some(a + b) {
                return Err(format!("{a} and {b} are not {:?}", added.sum()).into());
            }
        }
        Ok::<_, Problem>(latencies)
    });
    Ok(try_join_all(running).await?.concat())
}

/// Time that this process has spent on a processor.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

// === impl Lane ===

impl Lane {
    async fn add(&mut self, a: u64, b: u64) -> Result<Added, Problem> {
        match self {
            Self::Ours(client) => {
                let call = Call::tool("add", &format!("{{\"a\":{a},\"b\":{b}}}"));
                Ok(serde_json::from_slice(&client.raw(&call).await?.result)?)
            }
            Self::Hand(hand) => hand.add(a, b).await,
            Self::Pipe(pipe) => pipe.add(a, b).await,
        }
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
