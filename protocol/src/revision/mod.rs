//! The revisions of the protocol: which there are, which one a message speaks, and how each writes what we say.

mod adapt;
mod features;
mod notifications;
mod object;
mod questions;
mod results;
mod settle;
mod step;
mod tasks;
mod v2024_11_05;
mod v2025_03_26;
mod v2025_06_18;
mod v2025_11_25;
mod v2026_07_28;

use std::fmt;

pub use features::{Features, TaskDialect};
pub use notifications::ListKind;
pub use object::Related;
pub use settle::{Claim, Dispute, settle};
pub use step::Inexpressible;

/// A revision of the protocol that is served. Ordered by age.
///
/// Closed on purpose: text from the wire becomes one of these or is refused, so that nothing further down compares dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Revision {
    /// HTTP+SSE and stdio.
    V2024_11_05,
    /// Streamable HTTP, batches.
    V2025_03_26,
    /// Structured content, elicitation, the version header.
    V2025_06_18,
    /// Icons, tasks, URL elicitation, priming events.
    V2025_11_25,
    /// Stateless: no handshake, no sessions.
    V2026_07_28,
}

/// Whether a revision opens with a handshake or describes itself in each request (*Versioning*, Terminology).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize` and sessions.
    Legacy,
    /// Per-request metadata.
    Modern,
}

// === impl Revision ===

impl Revision {
    /// All revisions, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The newest revision that has a handshake: the counter-offer to an unknown version in `initialize`.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;

    /// The newest revision.
    pub const NEWEST: Self = Self::V2026_07_28;

    /// The revision a legacy request speaks that says nothing of it (transports, *Protocol Version Header*).
    pub const UNSTATED: Self = Self::V2025_03_26;

    /// The date that names the revision on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision with exactly this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == name)
    }

    /// Handshake or per-request metadata.
    #[must_use]
    pub const fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }

    /// What this revision has.
    #[must_use]
    pub const fn features(self) -> &'static Features {
        Features::of(self)
    }

    /// The revision to answer an `initialize` that asks for `requested`: that one if it has a handshake, or else the
    /// newest that has (*Lifecycle*, Version Negotiation).
    #[must_use]
    pub fn negotiate(requested: &str) -> Self {
        Self::from_name(requested)
            .filter(|revision| revision.era() == Era::Legacy)
            .unwrap_or(Self::NEWEST_LEGACY)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact() {
        for revision in Revision::ALL {
            assert_eq!(Revision::from_name(revision.as_str()), Some(revision));
        }
        for other in ["", "2025-11-25 ", "DRAFT-2026-v1", "2026-07-29", "9999-99-99"] {
            assert_eq!(Revision::from_name(other), None, "{other}");
        }
    }

    #[test]
    fn an_unknown_or_modern_version_is_answered_with_the_newest_that_has_a_handshake() {
        assert_eq!(Revision::negotiate("2024-11-05"), Revision::V2024_11_05);
        for other in ["2026-07-28", "1.0", ""] {
            assert_eq!(Revision::negotiate(other), Revision::V2025_11_25);
        }
    }
}
