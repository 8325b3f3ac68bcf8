//! A fleet of independent MCP clients that call, ask, listen and count, and whose histories are checked afterwards.
//!
//! Each client has its own connections, session, revision and random numbers. It behaves as its revision says: it
//! resumes broken streams, comes back when it is told to, opens a new session when the old one is gone, and never sends
//! again what may have been run and must not be run twice. It notes everything that it does and that comes back. When the
//! fleet stops, every note is looked at: what a [`Report`] counts is what was found there, and not what nobody
//! complained about.
//!
//! - [`Fleet`]: starts clients
//! - [`history`]: what is noted
//! - [`check`](check()): what is made of it
//! - [`Report`]: what was found
//! - [`crowd`]: very many that only listen
//!
//! ```no_run
//! use std::time::Duration;
//! use trunkline_harness::fleet::{Count, Fleet};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), trunkline_harness::fleet::StartError> {
//! let fleet = Fleet::builder("http://127.0.0.1:8080/mcp").clients(200).seed(7).start().await?;
//! fleet.run_for(Duration::from_secs(20)).await;
//! let report = fleet.stop().await;
//! assert_eq!(report.violations(&[]), [], "{report}");
//! assert_eq!(report.count(Count::FailedInFlight), 0);
//! # Ok(())
//! # }
//! ```

mod call;
mod check;
mod client;
pub mod crowd;
pub mod history;
mod http;
mod listen;
mod message;
mod plan;
mod report;
mod running;
mod session;

pub use self::{
    check::{Window, check},
    plan::{Mix, Pace},
    report::{Count, Example, Report, Tally},
    running::{Fleet, FleetBuilder, StartError},
};
