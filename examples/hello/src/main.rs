//! A whole server: one typed tool, for clients of every revision, on any number of replicas.

use std::process::ExitCode;

use trunkline::{Exchange, HandlerError, Server, Tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greet {
    /// Whom to greet.
    name: String,
}

async fn greet(_: Exchange, to: Greet) -> Result<String, HandlerError> {
    Ok(format!("Hello, {}!", to.name))
}

fn main() -> ExitCode {
    let greet = Tool::new("greet", greet).description("Greets somebody by name.").read_only();
    Server::new("hello", "1.0.0").tool(greet).run()
}
