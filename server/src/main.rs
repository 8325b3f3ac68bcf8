//! The `trunkline` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    trunkline::Server::new("trunkline", env!("CARGO_PKG_VERSION")).title("Trunkline").run()
}
