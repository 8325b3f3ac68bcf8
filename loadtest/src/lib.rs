//! A fleet of independent MCP clients behind a load balancer: load, checks, faults, reports.
//!
//! From what was asked for to what was found, downhill:
//!
//! - [`cli`], [`scenario`]: flags and scenario files become a [`Plan`](plan::Plan), or a list of every mistake in them
//! - [`plan`]: what is to be done
//! - [`driver`]: the threads that run the clients; [`driver::run`] is the way in
//! - [`tally`]: everything that is counted, and can be added up over threads, processes and machines
//! - [`report`]: what a run came to, for people and for programs
//! - [`cluster`]: a fleet of replicas on this machine, and the faults that are done to it
//! - [`distributed`]: a coordinator and its agents, which run one plan together
//! - [`mod@bench`]: suites that measure our software beside its floors and its peers
//!
//! Below them: [`units`] of durations and rates, and the system's [`limits`].

pub mod bench;
mod check;
pub mod cli;
pub mod cluster;
pub mod distributed;
pub mod driver;
pub mod limits;
pub mod plan;
pub mod report;
pub mod run;
pub mod scenario;
pub mod tally;
pub mod units;
