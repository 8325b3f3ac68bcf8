//! What tests over HTTP need: a server of their own, and a client that sends exact bytes and sees exact bytes.
//!
//! A server is the real binary in a process of its own ([`TestServer::demo`]), or, where a test brings its own tools, the
//! library in this process ([`TestServer::with`]). Nothing here waits without a deadline.

#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

mod connection;
mod events;
mod message;
mod server;
mod session;
mod wait;

pub(crate) use connection::Connection;
pub(crate) use events::{Event, Events};
pub(crate) use message::{Head, Request, Response};
pub(crate) use server::{TestServer, TestServerBuilder};
pub(crate) use session::{Modern, Session};
pub(crate) use wait::{DEADLINE, eventually, within};

/// The revisions that have sessions, oldest first.
pub(crate) const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The revisions of those whose endpoint is `/mcp`.
pub(crate) const STREAMABLE: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

/// The revision without sessions.
pub(crate) const MODERN: &str = "2026-07-28";
