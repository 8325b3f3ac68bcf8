//! Records that replicas share: each a hash of fields with an expiry, every change one atomic step that is guarded by the
//! record's existence. The store knows bytes and names, and nothing of the protocol's messages.
//!
//! - [`SessionStore`]: the face; every rule that an implementation keeps stands there
//! - [`Key`], [`Record`], [`RecordLimits`]: what is stored, and how much of it
//! - [`memory`]: the implementation for one process
//! - [`redis`]: the one that processes share
//! - [`StoreError`]: what can go wrong, and whether to try again

mod error;
mod limits;
pub mod memory;
mod record;
pub mod redis;
mod store;

pub use error::{Operation, Retry, StoreError};
pub use limits::RecordLimits;
pub use record::{Key, Kind, Record};
pub use store::{Change, Changes, SessionStore, StoreFuture};
