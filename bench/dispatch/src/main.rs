//! Requests with no socket under them: `bench-dispatch call|list|initialize REVISION CALLS`.
//!
//! Run under callgrind with two numbers of calls, the difference of the two counts is what the calls cost: what comes before
//! them is in both. Every answer is checked.

#![allow(clippy::print_stderr, reason = "a program that tells what it saw")]

use std::process::ExitCode;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trunkline::{Dispatch, Exchange, HandlerError, Server, Structured, Tool, protocol::Revision};

/// As in the `trunkline` program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

async fn add(_: Exchange, Numbers { a, b }: Numbers) -> Result<Structured<Sum>, HandlerError> {
    Ok(Structured(Sum { sum: a.wrapping_add(b) }))
}

/// What is asked, and what a right answer has in it.
struct Asked {
    body: Bytes,
    answered: &'static str,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let read = match &arguments[..] {
        [what, revision, calls] => asked(what, revision).zip(calls.parse::<u32>().ok()),
        _ => None,
    };
    let Some(((revision, asked), calls)) = read else {
        eprintln!("usage: bench-dispatch call|list|initialize REVISION CALLS");
        return ExitCode::from(2);
    };
    match actix::System::new().block_on(run(revision, &asked, calls)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(seen) => {
            eprintln!("bench-dispatch: {seen}");
            ExitCode::FAILURE
        }
    }
}

fn asked(what: &str, revision: &str) -> Option<(Revision, Asked)> {
    let revision = Revision::from_name(revision)?;
    let modern = revision == Revision::V2026_07_28;
    let meta = if modern { META } else { "" };
    let (body, answered) = match what {
        "call" => {
            let params = format!(r#"{{"name":"add","arguments":{{"a":123,"b":1004}}{meta}}}"#);
            (request("tools/call", &params), "1127")
        }
        "list" => (request("tools/list", &format!("{{{}}}", meta.trim_start_matches(','))), r#""tools":["#),
        "initialize" if !modern => (initialize(revision), r#""serverInfo""#),
        _ => return None,
    };
    Some((revision, Asked { body: body.into(), answered }))
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":10000001,"method":"{method}","params":{params}}}"#)
}

fn initialize(revision: Revision) -> String {
    let client = r#""capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}"#;
    request("initialize", &format!(r#"{{"protocolVersion":"{revision}",{client}}}"#))
}

async fn run(revision: Revision, asked: &Asked, calls: u32) -> Result<(), String> {
    let tool = Tool::new("add", add).description("Adds two numbers.").read_only();
    let server = Server::new("bench", "1.0.0").tool(tool);
    let mut dispatch = Dispatch::open(server, revision).await.map_err(|error| error.to_string())?;
    if revision != Revision::V2026_07_28 {
        let opened = dispatch.ask(&Bytes::from(initialize(revision))).await;
        check(&opened, r#""serverInfo""#)?;
    }
    let first = dispatch.ask(&asked.body).await;
    check(&first, asked.answered)?;
    for _ in 0..calls {
        // The same request has the same answer, and looking at every one costs little beside it.
        let answer = dispatch.ask(&asked.body).await;
        if answer != first {
            return check(&answer, "the same answer as before");
        }
    }
    Ok(())
}

fn check(answer: &Bytes, answered: &str) -> Result<(), String> {
    let found = answer.windows(answered.len()).any(|part| part == answered.as_bytes());
    if found && answer.ends_with(b"}") {
        return Ok(());
    }
    Err(format!("a wrong answer: {}", String::from_utf8_lossy(answer)))
}
