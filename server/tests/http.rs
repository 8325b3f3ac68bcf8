//! The HTTP surface: what a client sends and what it gets, from one server. One behaviour a file.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

mod support;

mod http {
    mod batches;
    mod connections;
    mod custom_headers;
    mod eras;
    mod failures;
    mod http2;
    mod initialize;
    mod limits;
    mod lists;
    mod messages;
    mod negotiation;
    mod origins;
    mod outcomes;
    mod paths;
    mod rounds;
    mod secrets;
    mod sessions;
    mod stateless;
    mod unchanged;
}
