//! What sockets and pipes cost without a framework and without a protocol: the message is parsed, two numbers are added, and as
//! many bytes are answered as a server would answer.
//!
//!     floor-raw serve PORT
//!     floor-raw stdio
//!     floor-raw client stdio REVISION CALLS IN_FLIGHT -- COMMAND...

mod answer;
mod client;
mod http;
mod pipe;

use std::{error::Error, process::ExitCode};

const USAGE: &str =
    "usage: floor-raw serve PORT, stdio, or client stdio REVISION CALLS IN_FLIGHT -- COMMAND...";

/// All that goes wrong, for a reader.
type Problem = Box<dyn Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("floor-raw: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), Problem> {
    match arguments {
        ["serve", port] => http::serve(port.parse()?),
        ["stdio"] => Ok(pipe::serve()?),
        ["client", "stdio", revision, calls, in_flight, "--", program, words @ ..] => {
            println!("{}", client::measure(revision, calls.parse()?, in_flight.parse()?, program, words)?);
            Ok(())
        }
        _ => Err(USAGE.into()),
    }
}
