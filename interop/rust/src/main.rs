//! The scenario on the official Rust SDK, which speaks both eras.
//!
//! Each step prints one line, `ok NAME` or `FAIL NAME: why`, and the last line, `end N steps`, tells the runner that
//! none was lost.

mod complaints;
mod events;
mod http;
mod options;
mod run;
mod steps;
mod user;

use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use rmcp::{
    ClientLifecycleMode, ClientServiceExt,
    model::ProtocolVersion,
    transport::{
        StreamableHttpClientTransport, TokioChildProcess,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::process::Command;

use crate::{
    complaints::Complaints,
    http::Watched,
    options::{Era, Options, Transport},
    run::{RUN_LIMIT, Run, STEP_LIMIT},
    steps::Client,
    user::User,
};

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let options = Options::parse(std::env::args().skip(1))?;
    let complaints = Complaints::default();
    tracing::subscriber::set_global_default(complaints.clone())?;
    let mut run = Run::default();
    if tokio::time::timeout(RUN_LIMIT, scenario(&mut run, &options, &complaints)).await.is_err() {
        run.report("run", Err(anyhow::anyhow!("not done within {} s", RUN_LIMIT.as_secs())));
    }
    Ok(if run.end() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn scenario(run: &mut Run, options: &Options, complaints: &Complaints) {
    let http = Watched::default();
    let connected = tokio::time::timeout(STEP_LIMIT, connect(options, &http)).await;
    let client = match connected.context("not connected in time").flatten() {
        Ok(client) => client,
        Err(error) => return run.report("connect", Err(error)),
    };
    run.report("connect", negotiated(&client, options));
    every_step(run, &client, &options.era).await;
    run.step("no_strays", async {
        let lines = complaints.lines();
        ensure!(lines.is_empty(), "{}", lines.join("; "));
        Ok(String::new())
    })
    .await;
    run.step("close", close(client, options, &http)).await;
}

async fn connect(options: &Options, http: &Watched) -> Result<Client> {
    let (offer, lifecycle) = match &options.era {
        Era::Legacy(version) => (version.clone(), ClientLifecycleMode::Initialize),
        // Modern means found by the probe, not assumed.
        Era::Modern => {
            let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
            let lifecycle = ClientLifecycleMode::Auto { preferred_versions, legacy_version: None };
            (ProtocolVersion::LATEST_WITH_INITIALIZE, lifecycle)
        }
    };
    let user = User::new(offer);
    Ok(match &options.transport {
        Transport::Http(url) => {
            let config = StreamableHttpClientTransportConfig::with_uri(url.clone());
            let transport = StreamableHttpClientTransport::with_client(http.clone(), config);
            user.serve_with_lifecycle(transport, lifecycle).await?
        }
        Transport::Stdio(words) => {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]);
            let (process, _) = TokioChildProcess::builder(command).stderr(Stdio::inherit()).spawn()?;
            user.serve_with_lifecycle(process, lifecycle).await?
        }
    })
}

fn negotiated(client: &Client, options: &Options) -> Result<String> {
    let info = client.peer_info().context("the SDK knows no server")?;
    let version = info.protocol_version.to_string();
    let expect = options.expect.as_ref().unwrap_or(&version);
    ensure!(version == *expect, "negotiated {version}, not {expect}");
    Ok(version)
}

async fn every_step(run: &mut Run, client: &Client, era: &Era) {
    run.step("tools_list", steps::tools_list(client)).await;
    run.step("call_structured", steps::call_structured(client, era)).await;
    run.step("call_text", steps::call_text(client)).await;
    run.step("call_large", steps::call_large(client)).await;
    run.step("calls_at_once", steps::calls_at_once(client, era)).await;
    run.step("bad_arguments", steps::bad_arguments(client)).await;
    run.step("unknown_tool", steps::unknown_tool(client)).await;
    run.step("tool_error", steps::tool_error(client, "error")).await;
    run.step("tool_panic", steps::tool_error(client, "panic")).await;
    run.step("rpc_error", steps::rpc_error(client)).await;
    run.step("progress", steps::progress(client)).await;
    if era.has_structure() {
        run.step("elicitation_accepted", steps::elicitation(client, steps::yes(), "yes")).await;
        run.step("elicitation_declined", steps::elicitation(client, steps::no(), "declined")).await;
    } else {
        run.step("elicitation_unavailable", steps::elicitation_unavailable(client)).await;
    }
    run.step("resources_list", steps::resources_list(client)).await;
    run.step("resource_text", steps::resource_text(client, "demo://greeting", "")).await;
    run.step("resource_blob", steps::resource_blob(client)).await;
    run.step("resource_template", steps::resource_text(client, "demo://notes/seven", "seven")).await;
    run.step("update_notification", steps::update_notification(client, era)).await;
    run.step("prompt", steps::prompt(client)).await;
    run.step("completion", steps::completion(client)).await;
    // 2026-07-28 has no session, so nothing to keep a value in.
    if *era != Era::Modern {
        run.step("session_values", steps::session_values(client)).await;
        run.step("session_counter", steps::session_counter(client, era)).await;
    }
    run.step("cancellation", steps::cancellation(client, era)).await;
}

/// Ends the connection, and holds a streamable HTTP one to what must be true afterwards.
async fn close(client: Client, options: &Options, http: &Watched) -> Result<String> {
    client.cancel().await?;
    let Transport::Http(url) = &options.transport else { return Ok(String::new()) };
    let seen = http.seen();
    if options.era == Era::Modern {
        ensure!(
            seen.session.is_none() && seen.deletes.is_empty(),
            "a session in a stateless revision: {seen:?}"
        );
        return Ok("no session".into());
    }
    let session = seen.session.as_ref().context("the server gave no session id")?;
    ensure!(seen.deletes == [None], "DELETE went wrong: {:?}", seen.deletes);
    let status = reqwest::Client::new()
        .post(url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-session-id", session)
        .body(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .send()
        .await?
        .status();
    ensure!(status == 404, "a request after DELETE answered {status}");
    Ok("the session is gone".into())
}
