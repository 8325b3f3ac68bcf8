//! Requests with no socket under them: `bench-dispatch call|list|initialize REVISION CALLS`.
//!
//! Run under callgrind with two numbers of calls, the difference of the two counts is what the calls cost: what comes before
//! them is in both. Every answer is checked. `server/benches/dispatch.rs` times the same requests.

#![allow(clippy::print_stderr, reason = "a program that tells what it saw")]

mod requests;

use std::process::ExitCode;

use trunkline::protocol::Revision;

use self::requests::{Asked, check, open};

/// As in the `trunkline` program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let read = match &arguments[..] {
        [what, revision, calls] => Revision::from_name(revision)
            .and_then(|revision| Some((revision, Asked::of(what, revision)?, calls.parse::<u32>().ok()?))),
        _ => None,
    };
    let Some((revision, asked, calls)) = read else {
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

async fn run(revision: Revision, asked: &Asked, calls: u32) -> Result<(), String> {
    let mut dispatch = open(revision).await?;
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
