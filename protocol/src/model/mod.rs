//! The newest shapes.
