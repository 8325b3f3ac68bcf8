//! What is to be done, validated: plain data that a coordinator can send to its agents.

mod arrival;
mod scenario;
mod slo;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::{
    arrival::Arrival,
    scenario::{
        Action, Argument, Begin, End, Expect, Expectation, Life, Listen, Scenario, Sizes, Step, ToolCall,
    },
    slo::{Limit, Measure, Slo, SloError, Verdict},
};
use crate::units::Span;

/// Entries of the timeline at most: two hours by the second. Longer runs have longer entries.
const SLOTS: u64 = 7200;

/// What a run does. Made from flags and files, where every mistake in them is reported; what it holds is consistent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The MCP endpoint.
    pub url: String,
    /// Virtual clients, over all processes.
    pub clients: u32,
    /// Threads of each process.
    pub threads: u32,
    /// TCP connections of each client for its calls, at most; a listening stream has one more.
    pub connections: u32,
    /// What every random choice comes from: the same seed, the same choices, however the clients are shared out.
    pub seed: u64,
    /// How long is measured, after the warm-up.
    pub duration: Span,
    /// How long clients work before anything is measured.
    pub warmup: Span,
    /// A request that has no answer after this is hung.
    pub timeout: Span,
    /// When requests are sent.
    pub arrival: Arrival,
    /// Starts that may wait in one client while it is busy. More are dropped, counted and told.
    pub backlog: u32,
    /// Revisions and their shares, dealt to the clients one after the other; at least one. `auto` is what the server offers.
    pub revisions: Vec<(RevisionChoice, u32)>,
    /// Headers of every request. They may hold secrets, and no report shows their values.
    pub headers: Vec<(String, String)>,
    /// Bearer tokens: client `n` uses number `n` modulo their number. Empty where there are none. No report shows them.
    pub bearers: Vec<String>,
    /// What a client does.
    pub scenario: Scenario,
    /// What has to hold at the end.
    pub slos: Vec<Slo>,
}

/// The revision of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RevisionChoice {
    /// What the server offers: modern first.
    #[serde(rename = "auto")]
    Auto,
    /// HTTP+SSE.
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    /// Streamable HTTP.
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    /// The version header.
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    /// The newest with sessions.
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// Stateless.
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

/// Which of all clients a process runs: those whose number leaves `index` when divided by `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Which share, from 0.
    pub index: u32,
    /// How many shares there are.
    pub of: u32,
}

// === impl Plan ===

impl Plan {
    /// A plan of the built-in scenario `steady` with everything else as by default.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            clients: 10,
            threads: 1,
            connections: 1,
            seed: 1,
            duration: Span(std::time::Duration::from_secs(10)),
            warmup: Span::default(),
            timeout: Span(std::time::Duration::from_secs(30)),
            arrival: Arrival::Closed,
            backlog: 64,
            revisions: vec![(RevisionChoice::Auto, 1)],
            headers: Vec::new(),
            bearers: Vec::new(),
            scenario: Scenario::default(),
            slos: Vec::new(),
        }
    }

    /// The same without the values of headers and the tokens: what a report may show.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let hidden = || "(hidden)".to_owned();
        let headers = self.headers.iter().map(|(name, _)| (name.clone(), hidden())).collect();
        let bearers = self.bearers.iter().map(|_| hidden()).collect();
        Self { headers, bearers, ..self.clone() }
    }

    /// Seconds that one entry of the timeline stands for.
    #[must_use]
    pub fn slot_seconds(&self) -> u32 {
        let seconds = (self.warmup.get() + self.duration.get() + self.timeout.get()).as_secs();
        u32::try_from(seconds / SLOTS + 1).unwrap_or(u32::MAX)
    }

    /// The revision of a client.
    #[must_use]
    pub fn revision(&self, client: u32) -> RevisionChoice {
        let round = deal(&self.revisions);
        round.get(client as usize % round.len().max(1)).copied().unwrap_or(RevisionChoice::Auto)
    }

    /// How many clients speak each revision.
    #[must_use]
    pub fn clients_by_revision(&self) -> BTreeMap<RevisionChoice, u32> {
        let round = deal(&self.revisions);
        let mut clients = BTreeMap::new();
        for client in 0..self.clients {
            *clients.entry(round[client as usize % round.len()]).or_default() += 1;
        }
        clients
    }
}

// === impl RevisionChoice ===

impl RevisionChoice {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Auto,
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }
}

// === impl Share ===

impl Share {
    /// All clients.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// The clients of this share, of so many.
    pub fn clients(self, all: u32) -> impl Iterator<Item = u32> {
        (self.index..all).step_by(self.of.max(1) as usize)
    }
}

/// `0 of 3`.
impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.index, self.of)
    }
}

/// Deals shares out evenly mixed, so that the first few clients are a fair sample.
fn deal(shares: &[(RevisionChoice, u32)]) -> Vec<RevisionChoice> {
    let most = shares.iter().map(|(_, share)| *share).max().unwrap_or(0);
    let rounds = (0..most).flat_map(|round| shares.iter().filter(move |(_, share)| *share > round));
    rounds.map(|(revision, _)| *revision).collect()
}

#[cfg(test)]
mod tests;
