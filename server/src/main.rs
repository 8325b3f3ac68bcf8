//! The `trunkline` command.

use std::process::ExitCode;

/// Gives back the memory of a crowd of sessions that is gone, which glibc's allocator keeps; calls are a little cheaper, too.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    trunkline::Server::new("trunkline", env!("CARGO_PKG_VERSION")).title("Trunkline").run()
}
