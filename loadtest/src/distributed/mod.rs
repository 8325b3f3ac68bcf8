//! One plan, run by several processes: a coordinator that adds up, and agents that generate load.
//!
//! - [`coordinator`]: waits for its agents, starts them together, merges what they count
//! - [`agent`]: joins, and runs its share
//! - [`command`]: the verbs `coordinator` and `agent`
//! - [`wire`]: what they say to each other; [`secret`]: how each knows the other

mod address;
pub mod agent;
pub mod command;
pub mod coordinator;
mod peer;
pub mod secret;
pub mod wire;

pub use self::address::{Address, AddressError};
