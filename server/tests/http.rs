//! The HTTP surface: what a client sends and what it gets, byte by byte, from one server.

#![allow(clippy::expect_used, reason = "a failed test panics")]

mod support;

mod http {
    mod smoke;
}
