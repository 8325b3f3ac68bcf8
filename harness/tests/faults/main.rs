//! Three replicas on one Redis behind a balancer, a fleet of clients, and one thing that goes wrong. What the clients saw
//! is printed (`--nocapture`) and held against what may happen.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests, whose counts are to be read"
)]

mod cut;
mod drain;
mod kill;
mod pubsub;
mod redis;
mod sentinel;
mod sleep;
mod stage;
