//! stdio: the binary as a child process, one message a line.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

mod support;

mod stdio {
    mod child;

    mod calls;
    mod changes;
    mod errors;
    mod framing;
    mod handshake;
    mod shutdown;
}
