//! What replicas tell one another: logs, which are ordered, replayable and bounded, and signals, which reach whoever
//! listens now. The hub knows bytes and names, and nothing of the protocol's messages.

mod error;
mod hub;
mod log;

pub use error::{HubError, Operation};
pub use hub::{Follower, Hub, HubFuture, Listener, Signal};
pub use log::{Channel, Delivery, Entry, Fence, Position, Retention, Topic};
