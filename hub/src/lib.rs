//! What replicas tell one another: logs, which are ordered, replayable and bounded, and signals, which reach whoever
//! listens now. The hub knows bytes and names, and nothing of the protocol's messages.
//!
//! - [`Hub`]: the face; every rule that an implementation keeps stands there
//! - [`Topic`], [`Position`], [`Fence`], [`Retention`], [`Entry`], [`Delivery`]: the nouns of a log
//! - [`Channel`], [`Signal`]: those of a signal
//! - [`memory`]: the implementation for one process; [`redis`]: the one for many
//! - [`HubError`]: what can go wrong, and in which step

mod error;
mod hub;
mod log;
pub mod memory;
pub mod redis;
mod signals;

use error::within;
pub use error::{HubError, Operation};
pub use hub::{Follower, Health, Hub, HubFuture, Listener, Signal};
pub use log::{Channel, Delivery, Entry, Fence, InvalidPosition, Position, Retention, Topic};
