//! What can go wrong with a server of the harness, and what helps.

use std::{io, path::PathBuf, time::Duration};

/// Why a server could not be started, reached or hurt.
#[derive(Debug, thiserror::Error)]
pub enum HarnessError {
    /// A program is not installed, or not built.
    #[error("{program} was not found: {remedy}")]
    Missing {
        /// Its name.
        program: String,
        /// The command that installs or builds it.
        remedy: String,
    },
    /// A program is there and cannot be started.
    #[error("cannot start {program}")]
    Spawn {
        /// Its name.
        program: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A program ended before it was ready.
    #[error("{program} ended with {status} before it was ready; its last lines:\n{logs}")]
    Ended {
        /// Its name.
        program: String,
        /// Its exit status.
        status: String,
        /// What it said last.
        logs: String,
    },
    /// Something did not become true in time.
    #[error("{what} did not happen within {limit:?}; last seen: {seen}")]
    Late {
        /// What was waited for.
        what: String,
        /// How long.
        limit: Duration,
        /// What was there instead.
        seen: String,
    },
    /// A signal could not be sent.
    #[error("cannot signal {program}")]
    Signal {
        /// The program's name.
        program: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The process was killed or has ended. Start it again first.
    #[error("{program} is not running; start it again first")]
    NotRunning {
        /// Its name.
        program: String,
    },
    /// No free port was found. Something on this machine takes them all.
    #[error("no free port between {low} and {high} on the loopback: end what takes them")]
    NoPort {
        /// The lowest that was tried.
        low: u16,
        /// The first that was not.
        high: u16,
    },
    /// A temporary folder or a file in it. Check the space and the rights of the system's folder for temporary files (`TMPDIR`).
    #[error("cannot write {}: check TMPDIR, its space and its rights", path.display())]
    Files {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A connection to a server failed.
    #[error("cannot talk to {server}")]
    Connection {
        /// Which server, with its address.
        server: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A server said something that is not its protocol.
    #[error("{server} answered {answer:?}, which is not understood")]
    Garbled {
        /// Which server.
        server: String,
        /// The beginning of what it said.
        answer: String,
    },
    /// Redis refused a command.
    #[error("Redis refused {command}: {message}")]
    Refused {
        /// The command's name.
        command: String,
        /// Redis's words, with its code in front.
        message: String,
    },
    /// A certificate could not be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// What was asked for makes no sense for this server.
    #[error("{what}: {remedy}")]
    Unsupported {
        /// What was asked for.
        what: String,
        /// What to do instead.
        remedy: String,
    },
}
