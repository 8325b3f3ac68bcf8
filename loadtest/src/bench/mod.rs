//! Benchmark suites: our software beside its floor and its peers, every row measured in the same run.
//!
//! - `command`: the verb `bench`
//! - `server`: one recorded request replayed against servers that do the same work
//! - `client`: clients that do the same work against one server
//! - `dispatch`: requests with no socket under them, in instructions, held against a baseline
//! - `scale`: replicas on one Redis behind a balancer: calls, sessions, questions, broadcasts, memory
//! - `replay`: the generator: connections that each have one request in flight, and check every answer
//! - `process`, `peers`: the servers as processes, and which of the peers are installed
//! - `model`: tables of rows of rounds, as they are written to a file and read back
//! - `text`, `page`, `docs`: the same for a terminal, for a browser, and for `docs/benchmarks.md`
//!
//! Figures are compared within one run only: rows take turns, round after round, so that a machine that becomes slower is
//! slower for all of them. No suite fails because of a time.

mod client;
pub mod command;
mod dispatch;
mod docs;
mod error;
mod model;
mod page;
mod peers;
mod process;
mod replay;
mod request;
mod rotation;
mod scale;
mod server;
mod text;

pub use error::BenchError;
pub use model::{Check, Conditions, Metric, Outcome, Row, Spread, SuiteResult, Table};
