//! Redis on the loopback: one server, a primary with a replica and three sentinels, or a cluster of three primaries.
//!
//! ```no_run
//! use trunkline_harness::redis::{Options, Standalone};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), trunkline_harness::HarnessError> {
//! let mut redis = Standalone::start(Options::default()).await?;
//! let url = redis.url();
//! redis.command(&["SET", "key", "value"]).await?;
//! redis.kill();
//! redis.restart_empty().await?;
//! assert_eq!(redis.url(), url);
//! # Ok(())
//! # }
//! ```

mod any;
mod cluster;
mod node;
mod sentinel;
mod standalone;

pub use any::{Redis, Topology};
pub use cluster::Cluster;
pub use node::Node;
pub use sentinel::Sentinel;
pub use standalone::{Options, Standalone, User};
