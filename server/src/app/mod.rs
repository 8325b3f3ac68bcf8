//! A server: what a developer declares, put together with a configuration, and run.

mod backends;
mod build;
mod cli;
mod dispatch;
mod run;
mod running;
mod server;

pub use build::StartError;
pub use dispatch::Dispatch;
pub use running::Running;
pub use server::Server;
