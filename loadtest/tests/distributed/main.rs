//! A coordinator and its agents: what they say to each other over real sockets, and what a person sees who runs them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod commands;
mod greeting;
mod merging;
mod scripted;
mod server;
mod stage;
mod together;
