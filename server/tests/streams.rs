//! Streams and what ends them, questions, and cancellation, as a client of one server sees them.
//!
//! Handlers wait for the test and not for a clock, so that what is seen "while the call runs" is seen then.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

mod support;

mod streams {
    mod stage;

    mod cancel;
    mod drain;
    mod ends;
    mod listen;
    mod questions;
    mod resume;
    mod rounds;
    mod signs;
    mod slow;
    mod sse2024;
    mod subscriptions;
    mod upgrade;
}
