//! Who a request comes from.

use std::{fmt, sync::Arc};

/// The caller a request was authenticated as. Sessions, tasks, handles and sealed state belong to one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Principal(Arc<str>);

// === impl Principal ===

impl Principal {
    /// Everybody, where no authentication is configured.
    #[must_use]
    pub fn anonymous() -> Self {
        Self(Arc::from("anonymous"))
    }

    /// A caller by a stable name: the same person or program has the same one whatever token it shows.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self(Arc::from(name))
    }

    /// The stable name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Principal({})", self.0)
    }
}
