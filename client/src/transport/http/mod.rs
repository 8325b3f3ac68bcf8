//! Streamable HTTP, as a client.
//!
//! - [`link`]: sends requests, tries again where that is safe, opens new sessions
//! - [`session`]: what every request of a session has: the head, built once
//! - [`reply`]: what an answer's head says: JSON, a stream, a refusal, or no MCP at all
//! - [`events`], [`stream`]: answers that come on a stream, and how a broken one is taken up again
//! - [`listen`]: streams that are opened to listen
//! - [`mirrored`]: what of a request its head repeats
//! - [`pool`]: the connections, each of which is of [`http1`](super::http1)

mod events;
mod link;
mod listen;
mod mirrored;
mod pool;
mod reply;
mod session;
mod stream;

pub(crate) use events::Events;
pub(crate) use link::{Broken, Link};
pub(crate) use reply::Media;
pub(crate) use session::{Place, Session};
