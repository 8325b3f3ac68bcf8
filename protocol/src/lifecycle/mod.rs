//! The session machine.
