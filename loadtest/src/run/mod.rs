//! The verbs that need nothing but an endpoint: `run`, and `scenario`, which prints one to begin with.

pub mod command;
mod interrupt;

pub use self::interrupt::stop_on_interrupt;
