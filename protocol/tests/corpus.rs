//! The inputs that fuzzing keeps, of what is read from bytes.

#![expect(clippy::panic, reason = "a check panics on a finding")]

#[path = "../../fuzz/checks/envelope.rs"]
mod envelope;
#[path = "../../fuzz/checks/headers.rs"]
mod headers;
#[path = "../../fuzz/checks/replay.rs"]
mod replay;
#[path = "../../fuzz/checks/sse_decoder.rs"]
mod sse_decoder;

use replay::replay;

#[test]
fn envelope_inputs_pass() {
    replay("envelope", envelope::check);
}

#[test]
fn headers_inputs_pass() {
    replay("headers", headers::check);
}

#[test]
fn sse_decoder_inputs_pass() {
    replay("sse_decoder", sse_decoder::check);
}
