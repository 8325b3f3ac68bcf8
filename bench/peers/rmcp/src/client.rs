//! The client of the official Rust SDK: calls of `add`, so many in flight, each sum checked, and a line of JSON.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient,
    model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion},
    service::RunningService,
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::json;
use tokio::process::Command;

#[derive(Clone)]
struct Caller {
    offer: ProtocolVersion,
}

impl ClientHandler for Caller {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("bench", "1"))
            .with_protocol_version(self.offer.clone())
    }
}

type Client = RunningService<RoleClient, Caller>;

/// What is at the other end.
pub(crate) enum Over<'a> {
    Http(&'a str),
    Pipe(&'a str, &'a [&'a str]),
}

pub(crate) async fn measure(over: Over<'_>, revision: &str, calls: u32, in_flight: usize) -> Result<()> {
    let client = connect(over, revision).await?;
    work(&client, calls / 10, in_flight).await?;
    let (began, before) = (Instant::now(), cpu());
    let mut latencies = work(&client, calls, in_flight).await?;
    let (took, spent) = (began.elapsed(), cpu().saturating_sub(before));
    latencies.sort_unstable();
    let at = |per_thousand: usize| latencies[(latencies.len() - 1) * per_thousand / 1000].as_secs_f64() * 1e6;
    println!(
        "{}",
        json!({
            "calls": latencies.len(), "wrong": 0, "seconds": took.as_secs_f64(), "cpu_seconds": spent.as_secs_f64(),
            "p50_us": at(500), "p99_us": at(990), "p999_us": at(999),
        })
    );
    client.cancel().await?;
    Ok(())
}

async fn connect(over: Over<'_>, revision: &str) -> Result<Client> {
    let (offer, lifecycle) = if revision == "2026-07-28" {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        let lifecycle = ClientLifecycleMode::Auto { preferred_versions, legacy_version: None };
        (ProtocolVersion::LATEST_WITH_INITIALIZE, lifecycle)
    } else {
        (ProtocolVersion::LATEST_WITH_INITIALIZE, ClientLifecycleMode::Initialize)
    };
    let caller = Caller { offer };
    let client = match over {
        Over::Http(url) => {
            let transport = StreamableHttpClientTransport::from_uri(url);
            caller.serve_with_lifecycle(transport, lifecycle).await?
        }
        Over::Pipe(program, words) => {
            let mut command = Command::new(program);
            command.args(words);
            caller.serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle).await?
        }
    };
    let agreed = client.peer_info().context("the SDK knows no server")?.protocol_version.to_string();
    ensure!(agreed == revision, "{agreed} was agreed on, not {revision}");
    Ok(client)
}

async fn work(client: &Client, calls: u32, in_flight: usize) -> Result<Vec<Duration>> {
    let next = Cell::new(0_u64);
    let next = &next;
    let lanes = (0..in_flight).map(|_| async move {
        let mut latencies = Vec::new();
        while next.get() < u64::from(calls) {
            let number = next.replace(next.get() + 1);
            let (a, b) = (100 + number % 900, 1000 + number % 7);
            let arguments = json!({"a": a, "b": b}).as_object().cloned().unwrap_or_default();
            let began = Instant::now();
            let got = client.call_tool(CallToolRequestParams::new("add").with_arguments(arguments)).await?;
            latencies.push(began.elapsed());
            let sum = got.structured_content.as_ref().and_then(|data| data["sum"].as_u64());
            ensure!(sum == Some(a + b), "{a} and {b} are not {sum:?}");
        }
        Ok(latencies)
    });
    Ok(try_join_all(lanes).await?.concat())
}

fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}
