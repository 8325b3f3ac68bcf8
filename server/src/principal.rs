//! Who a request comes from.

use std::{fmt, sync::Arc};

/// The caller a request was authenticated as. Sessions, tasks, handles and sealed state belong to one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Principal(Option<Arc<str>>);

/// The name of those who were not authenticated.
const ANONYMOUS: &str = "anonymous";

// === impl Principal ===

impl Principal {
    /// Everybody, where no authentication is configured.
    #[must_use]
    pub const fn anonymous() -> Self {
        Self(None)
    }

    /// A caller by a stable name: the same person or program has the same one whatever token it shows.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self((name != ANONYMOUS).then(|| Arc::from(name)))
    }

    /// The stable name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or(ANONYMOUS)
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Principal({})", self.as_str())
    }
}
