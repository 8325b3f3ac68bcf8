//! A fleet of replicas on this machine, and what is done to it while it is under load.
//!
//! - [`setup`]: which servers are brought up, and whether the faults make sense for them
//! - [`faults`]: what is done to them, and when; [`inject`] does it
//! - [`recovery`]: when the fleet was as before
//! - [`run`]: one run, from the servers' start to their end
//! - [`command`]: the verb `cluster`

pub mod command;
pub mod error;
pub mod faults;
pub mod inject;
pub mod recovery;
pub mod run;
pub mod setup;
