//! How messages get to a server and back.
//!
//! - [`http`]: streamable HTTP, where each request has an exchange of its own
//!   over connections of [`http1`]
//! - [`pipe`]: everything else is one pipe of messages in both directions; [`stdio`] and [`sse`] (HTTP+SSE of 2024-11-05) open one
//!
//! A transport's [`pipe::Pipe`] or [`http::Link`] knows framing, connections and sessions. What a message means to a caller is decided above.

pub(crate) mod http;
mod http1;
pub(crate) mod pipe;
pub(crate) mod sse;
pub(crate) mod stdio;
