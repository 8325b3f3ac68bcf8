//! What a developer declares.

use std::process::ExitCode;

use trunkline_protocol::model::{Caching, Icon, Implementation};

use super::{
    build::{App, StartError},
    cli,
    running::Running,
};
use crate::{
    config::Config,
    registry::{Declared, Prompt, Resource, ResourceTemplate, Tool},
};

/// Entries on one page of a list: most servers have fewer, and a page of a hundred tools stays below a client's limit of
/// 1 MiB for one event.
const PAGE: usize = 100;

/// A server, as it is declared. The same declaration serves every revision, over HTTP and over stdio.
///
/// ```no_run
/// use trunkline::{Exchange, NoArguments, Server, Tool};
///
/// fn main() -> std::process::ExitCode {
///     let hello = Tool::new("hello", |_: Exchange, _: NoArguments| async { Ok("Hello!") });
///     Server::new("hello", "1.0.0").tool(hello).run()
/// }
/// ```
pub struct Server(Declared);

// === impl Server ===

impl Server {
    /// A server without anything to serve yet.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        Self(Declared {
            server: Implementation::new(name, version),
            instructions: None,
            // Lists are the same for everybody and change seldom; a client that listens is told when they do.
            caching: Caching::public(60_000),
            page_size: PAGE,
            tools: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            prompts: Vec::new(),
        })
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        self.0.server.title = Some(title.to_owned());
        self
    }

    /// A picture.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.0.server.icons.push(icon);
        self
    }

    /// How to use the server, for a model to read.
    #[must_use]
    pub fn instructions(mut self, instructions: &str) -> Self {
        self.0.instructions = Some(instructions.to_owned());
        self
    }

    /// How long clients may keep lists (2026-07-28 *Caching*).
    #[must_use]
    pub fn caching(mut self, caching: Caching) -> Self {
        self.0.caching = caching;
        self
    }

    /// How many entries a page of a list has.
    #[must_use]
    pub fn page_size(mut self, entries: usize) -> Self {
        self.0.page_size = entries;
        self
    }

    /// Adds a tool. Clients see tools in the order they were added.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.0.tools.push(tool);
        self
    }

    /// Adds a resource.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.0.resources.push(resource);
        self
    }

    /// Adds a resource template. The first that fits a URI serves it.
    #[must_use]
    pub fn template(mut self, template: ResourceTemplate) -> Self {
        self.0.templates.push(template);
        self
    }

    /// Adds a prompt.
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.0.prompts.push(prompt);
        self
    }

    /// Adds the demonstration that `--demo` serves: a few tools, resources and a prompt that show what there is.
    #[must_use]
    pub fn demo(mut self) -> Self {
        self.0.tools.extend(crate::builtin::tools());
        self.0.resources.extend(crate::builtin::resources());
        self.0.templates.extend(crate::builtin::templates());
        self.0.prompts.extend(crate::builtin::prompts());
        self
    }

    /// Runs the server as the command line says: `serve`, `stdio` or `check`, with a configuration file and environment
    /// variables. Returns when it has ended; see `--help`.
    #[must_use]
    pub fn run(self) -> ExitCode {
        cli::run(self)
    }

    /// Starts the server over HTTP within this process, on threads of its own, and returns once it listens. With port 0 in
    /// the configuration the system chooses one, as tests want it.
    ///
    /// ```
    /// use trunkline::{Server, config::Config};
    ///
    /// let mut config = Config::default();
    /// config.server.bind.set_port(0);
    /// config.server.admin_bind.set_port(0);
    /// let running = Server::new("hello", "1.0.0").start(config)?;
    /// assert_ne!(running.address().port(), 0);
    /// running.stop()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What is declared cannot be served, or an address cannot be listened on.
    pub fn start(self, config: Config) -> Result<Running, StartError> {
        Running::start(App::new(self, config)?)
    }

    pub(super) fn into_declared(self) -> Declared {
        self.0
    }
}
