//! The verbs `coordinator` and `agent`.

mod agent;
mod coordinator;

use std::io;

use tokio::runtime::{Builder, Runtime};

pub use self::{
    agent::{AgentArguments, agent},
    coordinator::{CoordinatorArguments, coordinator},
};

fn runtime() -> io::Result<Runtime> {
    // One thread beside the clients': a second's tally is read and written in a few milliseconds.
    Builder::new_multi_thread().worker_threads(1).thread_name("peers").enable_all().build()
}
