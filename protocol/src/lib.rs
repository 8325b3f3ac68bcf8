//! The Model Context Protocol of five revisions, as data.
//!
//! Everything that can be decided without I/O is decided here: what a message is ([`jsonrpc`]), what it may say
//! ([`model`]), how each revision writes it ([`revision`]), and what a session does next ([`lifecycle`]).
//! Nothing here waits, reads a clock, or knows a socket.

pub mod error;
pub mod header;
pub mod ids;
pub mod jsonrpc;
pub mod lifecycle;
pub mod method;
pub mod model;
pub mod params;
pub mod revision;
pub mod sse;

pub use error::RpcError;
pub use ids::{ProgressToken, RequestId, SessionId};
pub use method::Method;
pub use revision::Revision;
