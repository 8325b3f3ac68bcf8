//! What a run came to, for people and for programs.
//!
//! - [`Report`]: where the figures are from, and one [`Run`] or several side by side
//! - [`text()`], [`html()`] and [`Report::to_json`]: the same report for a terminal, a browser and a program
//! - [`Outputs`]: where a report goes
//! - [`Live`]: what a person sees while a run goes on
//! - [`command`]: the verb `report`, which shows reports that were written earlier, and compares them
//!
//! Texts in a report come from servers too. Each of the ways out makes them harmless in its own way: control characters
//! are shown and not sent to a terminal, and a page holds them as text.

mod compare;
mod deliver;
mod file;
mod format;
mod html;
mod judge;
mod live;
mod model;
mod provenance;
mod redact;
mod table;
#[cfg(test)]
mod testing;
mod text;

pub mod command;

pub use self::{
    compare::Comparison,
    deliver::{Outputs, WriteError},
    file::{FileError, FormError},
    html::html,
    judge::Outcome,
    live::{Live, Notes, Terminal},
    model::{Conditions, FaultMark, Recovery, Report, Run, SCHEMA, Timing, Warning, WarningKind},
    provenance::{Machine, Provenance, utc},
    redact::{redact_command, redact_url},
    text::{Style, text},
};
