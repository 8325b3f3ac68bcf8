//! Errors for people.

use std::fmt::Write as _;

/// An error with its causes, on one line.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        // Some errors show their cause themselves.
        let shown = next.to_string();
        if !text.contains(&shown) {
            let _written = write!(text, ": {shown}");
        }
        cause = next.source();
    }
    text
}
