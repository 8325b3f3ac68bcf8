//! The inputs that fuzzing keeps, of what clients hand back.

#[path = "../../fuzz/checks/replay.rs"]
mod replay;

use replay::replay;
use trunkline::fuzzing;

#[test]
fn cursor_inputs_pass() {
    replay("cursor", fuzzing::cursor);
}

#[test]
fn event_id_inputs_pass() {
    replay("event_id", fuzzing::event_id);
}

#[test]
fn request_state_inputs_pass() {
    replay("request_state", fuzzing::request_state);
}

#[test]
fn session_id_inputs_pass() {
    replay("session_id", fuzzing::session_id);
}
