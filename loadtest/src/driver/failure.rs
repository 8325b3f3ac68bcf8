//! What a client's error counts as.

use std::io;

use trunkline_client::{Error, Phase, Trace};

use crate::{
    check::result::Wrong,
    tally::{Check, ErrorKind, Transport},
};

/// The kind of a call's error, and its text.
pub(super) fn of(error: &Error, trace: &Trace) -> Wrong {
    let kind = match error {
        Error::Connect { source, .. } if source.kind() == io::ErrorKind::TimedOut => {
            ErrorKind::Transport(Transport::ConnectTimeout)
        }
        Error::Connect { .. } => ErrorKind::Transport(Transport::Connect),
        Error::InFlight { phase: Phase::Read, .. } if trace.streamed => {
            ErrorKind::Transport(Transport::StreamEnded)
        }
        Error::Unsent { .. } | Error::InFlight { .. } => ErrorKind::Transport(Transport::Reset),
        Error::Status(status) => ErrorKind::Status(status.code),
        Error::SessionLost { .. } => ErrorKind::Status(404),
        Error::Token(_) => ErrorKind::Status(401),
        Error::Rpc(rpc) => ErrorKind::Rpc(rpc.code),
        Error::WrongAnswer { .. } => ErrorKind::Wrong(Check::Swapped),
        Error::Malformed { .. } => ErrorKind::Wrong(Check::Shape),
        Error::Unanswered { .. } => ErrorKind::Wrong(Check::Question),
        Error::Timeout { .. } => ErrorKind::Hung,
        Error::NotMcp { .. } | Error::TooLarge { .. } | Error::Unsupported { .. } | Error::Endless { .. } => {
            ErrorKind::Transport(Transport::Protocol)
        }
        Error::Cancelled | Error::Refused(_) | Error::Closed => ErrorKind::Transport(Transport::Other),
    };
    (kind, error.to_string())
}
