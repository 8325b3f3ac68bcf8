//! HTTP/1.1, as a client: one request at a time over a connection (RFC 9112).
//!
//! - [`head`]: the head of an answer, of which only what this protocol reads is kept
//! - [`body`]: where an answer's body ends
//! - [`request`]: a request, written once into the bytes that go out
//! - [`inbound`]: what was read of a connection and is not used yet
//! - [`connection`], [`socket`]: a connection, driven by whoever waits for it
//!
//! It is our own since a fleet of clients is measured with it: a general client library spends more instructions on a
//! call than everything else does, on either side of the connection. It does what MCP needs of HTTP and no more: no
//! pipelining, no `Expect`, no upgrade, no compressed bodies (none is asked for), and HTTP/2 is left to balancers.

mod body;
mod connection;
mod head;
mod inbound;
mod request;
mod socket;

pub(super) use connection::{Connection, Incomplete, Tail};
pub(super) use head::{Field, Head};
pub(super) use request::{Lines, Request};
pub(super) use socket::Target;
