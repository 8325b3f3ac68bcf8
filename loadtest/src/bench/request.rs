//! What a suite was asked for.

use std::{path::PathBuf, time::Duration};

/// What a suite was asked for.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) rounds: u32,
    /// Calls in flight, a table for each.
    pub(super) in_flight: Vec<u32>,
    /// How long a row is measured in a round.
    pub(super) measured: Duration,
    /// A few calls of everything.
    pub(super) quick: bool,
    /// Servers and clients have cores of their own.
    pub(super) pinned: bool,
    /// Parts of names; a row that has none of them is left out. Empty for all.
    pub(super) only: Vec<String>,
    pub(super) peers: PathBuf,
}

// === impl Request ===

impl Request {
    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
    }

    pub(super) fn rounds(&self) -> u32 {
        if self.quick { 1 } else { self.rounds }
    }
}
