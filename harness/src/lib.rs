//! Private servers on free loopback ports, for tests that hurt them: Redis in each of its modes, balancers, replicas, and
//! connections that can be cut. Whatever is started is killed, and its folder removed, when its value is dropped; also
//! when the test panics, and when the whole process is killed.
//!
//! - [`cluster`]: replicas behind a balancer, on one store: where most tests begin
//! - [`replica`], [`balancer`], [`redis`]: its servers, each of which can be started alone
//! - [`fleet`]: clients that call, ask, listen and count, and whose histories are checked
//! - [`cut`]: a connection that can be severed and healed
//! - [`scratch`], [`process`], [`ports`]: what every server here is made of
//! - [`binary`]: where the server's own binary is
//! - [`HarnessError`]: what can go wrong, and the remedy

pub mod balancer;
pub mod binary;
pub mod cluster;
pub mod cut;
mod error;
pub mod fleet;
pub mod http;
pub mod metrics;
pub mod ports;
pub mod process;
pub mod redis;
pub mod replica;
pub mod resp;
pub mod scratch;
pub mod tls;
pub mod wait;

pub use error::HarnessError;
