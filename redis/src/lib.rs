//! One way to Redis for everything that shares state: the store and the hub stand on it and know nothing of where Redis is.
//!
//! - [`Address`]: where it is, as one URL; standalone, behind Sentinels, or a Cluster, over TLS or not
//! - [`Settings`]: the address, and how long and how much
//! - [`Client`]: commands and scripts, each one round trip on one of a few shared connections
//! - [`Pushes`]: connections of their own for what Redis says unasked: invalidations and messages
//! - [`Failure`]: what went wrong, and whether it took effect; [`Health`]: how it has gone lately
//!
//! Needs Redis 7 or Valkey 8: scripts report their errors by code, and connections speak RESP3.
//!
//! Nothing here waits for Redis to be there. A client opens at once, tasks of its own keep its connections alive, and while
//! Redis is away every operation fails soon, with [`Failure::Unavailable`].
//!
//! ```no_run
//! use trunkline_redis::{Client, Settings};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::open(Settings::new("redis://127.0.0.1:6379".parse()?))?;
//! let greeting: String = client.run(b"greeting", redis::cmd("GET").arg("greeting")).await?;
//! # Ok(())
//! # }
//! ```

mod address;
mod backoff;
mod client;
mod cluster;
mod connect;
mod error;
mod health;
mod keeper;
mod line;
mod node;
mod pushes;
mod replicas;
mod script;
mod sentinel;
mod settings;
mod topology;

pub use address::{Address, AddressError, Host, Mode};
pub use client::Client;
pub use error::Failure;
pub use health::Health;
pub use line::Line;
pub use pushes::{Event, Events, Pushes};
pub use script::Script;
pub use settings::{OpenError, Settings};
pub use topology::NodeId;
