//! Why a suite could not be run.

use std::path::PathBuf;

use trunkline_harness::HarnessError;

/// Why a suite could not be run, and what to change.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A file cannot be read or written.
    #[error("{}: {reason}", path.display())]
    Files {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A server of ours could not be brought up.
    #[error("bringing up a server: {0}")]
    Server(#[from] HarnessError),
    /// Something that the machine refused.
    #[error("{what}: {source}")]
    Io {
        /// What was attempted.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// An option will not do.
    #[error("{0}")]
    Input(String),
}
