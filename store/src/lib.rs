//! Records that replicas share: each a hash of fields with an expiry, every change one atomic step that is guarded by the
//! record's existence. The store knows bytes and names, and nothing of the protocol's messages.

mod error;
mod record;
mod store;

pub use error::{Operation, Retry, StoreError};
pub use record::{Key, Kind, Record};
pub use store::{Change, Changes, SessionStore, StoreFuture};
