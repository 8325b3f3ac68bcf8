//! A server with something of every kind that a server can offer, for tests that need a server: the MCP conformance suite
//! looks for these names, arguments and answers. Each is written once; no handler knows which revision its client speaks.
//!
//! - [`content`]: tools that answer at once, with every kind of content
//! - [`notifying`]: tools that say something before they answer
//! - [`asking`]: tools that ask the client's user or model
//! - [`rounds`]: tools that need several answers, or answers in turn
//! - [`tasks`]: tools that run as tasks
//! - [`changes`]: tools that announce changes
//! - [`resources`], [`prompts`]: the rest
//!
//! ```text
//! everything serve --bind 127.0.0.1:8080
//! ```

mod asking;
mod changes;
mod content;
mod notifying;
mod prompts;
mod resources;
mod rounds;
mod samples;
mod tasks;

use std::process::ExitCode;

use trunkline::Server;

fn main() -> ExitCode {
    let server = Server::new("everything", env!("CARGO_PKG_VERSION")).title("Everything").instructions(
        "A server for tests of clients and of the protocol. Nothing here has an effect outside of it.",
    );
    let tools = [
        // First, since tests call the first tool that is listed without arguments.
        content::tools(),
        notifying::tools(),
        asking::tools(),
        rounds::tools(),
        tasks::tools(),
        changes::tools(),
    ];
    let server = tools.into_iter().flatten().fold(server, Server::tool);
    let server = resources::resources().into_iter().fold(server, Server::resource);
    let server = prompts::prompts().into_iter().fold(server, Server::prompt);
    server.template(resources::template()).run()
}
