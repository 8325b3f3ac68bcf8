//! One replica of the server, or whatever program serves health and metrics as it does.

use std::{
    net::SocketAddr,
    path::PathBuf,
    process::ExitStatus,
    time::{Duration, Instant},
};

use crate::{
    HarnessError,
    http::{self, Answer},
    metrics::Metrics,
    ports::{self, Port},
    process::{Process, Program},
    scratch::Scratch,
    wait::{self, Wait},
};

/// What every setting's variable begins with. Those of this process's own environment are kept from the replica.
const VARIABLES: &str = "TRUNKLINE__";

/// What a replica is started with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server's binary.
    pub binary: PathBuf,
    /// Its arguments. `serve --demo` by default.
    pub arguments: Vec<String>,
    /// Variables of its environment, as `("TRUNKLINE__STORE__URL", "redis://127.0.0.1:6379")`. The addresses are set by
    /// the harness.
    pub environment: Vec<(String, String)>,
}

/// A running replica, which keeps its ports while it is down.
#[derive(Debug)]
pub struct Replica {
    name: String,
    settings: Settings,
    endpoint: Port,
    admin: Port,
    process: Process,
    scratch: Scratch,
}

// === impl Settings ===

impl Settings {
    /// The demo, served by this binary with its default configuration.
    #[must_use]
    pub fn demo(binary: impl Into<PathBuf>) -> Self {
        let arguments = vec!["serve".to_owned(), "--demo".to_owned()];
        Self { binary: binary.into(), arguments, environment: Vec::new() }
    }

    /// Sets a key of the configuration: section, key and value, as `("server", "drain_delay", "1s")`.
    #[must_use]
    pub fn key(self, section: &str, key: &str, value: &str) -> Self {
        let (section, key) = (section.to_ascii_uppercase(), key.to_ascii_uppercase());
        self.env(&format!("{VARIABLES}{section}__{key}"), value)
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }
}

// === impl Replica ===

impl Replica {
    /// Starts a replica and waits until it is ready. Its log is `NAME.log` in the folder.
    ///
    /// # Errors
    /// [`HarnessError::Missing`], [`HarnessError::Ended`] with its last words, [`HarnessError::Late`].
    pub async fn start(scratch: &Scratch, name: &str, settings: Settings) -> Result<Self, HarnessError> {
        let mut start = 1;
        loop {
            let (endpoint, admin) = (Port::draw()?, Port::draw()?);
            let process = spawn(scratch, name, &settings, &endpoint, &admin)?;
            let mut replica = Self {
                name: name.to_owned(),
                settings: settings.clone(),
                endpoint,
                admin,
                process,
                scratch: scratch.clone(),
            };
            match replica.await_ready(wait::START).await {
                Err(HarnessError::Ended { logs, .. }) if ports::is_taken(&logs) && start < ports::STARTS => {
                    start += 1;
                }
                Err(error) => return Err(error),
                Ok(()) => return Ok(replica),
            }
        }
    }

    /// Its name, which its log has too.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.endpoint.address()
    }

    /// Where health and metrics are.
    #[must_use]
    pub fn admin(&self) -> SocketAddr {
        self.admin.address()
    }

    /// Scheme, host and port, as `http://127.0.0.1:8080`. The endpoint's path is up to the configuration.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The process, to be measured or signalled.
    #[must_use]
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Whether its process runs; one that was stopped does.
    #[must_use]
    pub fn is_running(&mut self) -> bool {
        self.process.status().is_none()
    }

    /// Kills it (SIGKILL).
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Stops it in its tracks (SIGSTOP): its connections stay open and nothing answers.
    ///
    /// # Errors
    /// [`HarnessError::NotRunning`].
    pub fn stop(&mut self) -> Result<(), HarnessError> {
        self.process.stop()
    }

    /// Lets it go on (SIGCONT).
    ///
    /// # Errors
    /// [`HarnessError::NotRunning`].
    pub fn resume(&mut self) -> Result<(), HarnessError> {
        self.process.resume()
    }

    /// Asks it to end (SIGTERM), waits until it has, and says how it ended and how long it took.
    ///
    /// # Errors
    /// [`HarnessError::Late`] when it runs on, [`HarnessError::NotRunning`].
    pub async fn drain(&mut self, limit: Duration) -> Result<(ExitStatus, Duration), HarnessError> {
        let started = Instant::now();
        let status = self.process.terminate(limit).await?;
        Ok((status, started.elapsed()))
    }

    /// Asks it to end (SIGTERM) and does not wait.
    ///
    /// # Errors
    /// [`HarnessError::NotRunning`].
    pub fn begin_drain(&mut self) -> Result<(), HarnessError> {
        self.process.request_end()
    }

    /// Kills it if it runs, starts it on the same ports, and waits until it is ready.
    ///
    /// # Errors
    /// [`HarnessError::Ended`] with its last words, [`HarnessError::Late`].
    pub async fn restart(&mut self) -> Result<(), HarnessError> {
        self.respawn()?;
        self.await_ready(wait::START).await
    }

    /// Kills it if it runs, and starts it on the same ports with other settings, as in a rolling update.
    ///
    /// # Errors
    /// As [`Replica::restart`].
    pub async fn restart_as(&mut self, settings: Settings) -> Result<(), HarnessError> {
        self.settings = settings;
        self.restart().await
    }

    /// Kills it if it runs, and starts it on the same ports without waiting.
    ///
    /// # Errors
    /// [`HarnessError::Missing`], [`HarnessError::Spawn`].
    pub fn respawn(&mut self) -> Result<(), HarnessError> {
        self.process.kill();
        self.process = spawn(&self.scratch, &self.name, &self.settings, &self.endpoint, &self.admin)?;
        Ok(())
    }

    /// Waits until `/readyz` is 200.
    ///
    /// # Errors
    /// [`HarnessError::Ended`] with its last words, [`HarnessError::Late`].
    pub async fn await_ready(&mut self, limit: Duration) -> Result<(), HarnessError> {
        let wait = Wait::new(&format!("the readiness of {}", self.name), limit);
        loop {
            self.process.check()?;
            match self.readiness().await {
                Ok(Answer { status: 200, .. }) => return Ok(()),
                other => wait.again(&other).await?,
            }
        }
    }

    /// What `/readyz` answers.
    ///
    /// # Errors
    /// [`HarnessError::Connection`], [`HarnessError::Late`].
    pub async fn readiness(&self) -> Result<Answer, HarnessError> {
        http::get(&self.name, self.admin(), "/readyz").await
    }

    /// What `/livez` answers.
    ///
    /// # Errors
    /// [`HarnessError::Connection`], [`HarnessError::Late`].
    pub async fn liveness(&self) -> Result<Answer, HarnessError> {
        http::get(&self.name, self.admin(), "/livez").await
    }

    /// What it counts.
    ///
    /// # Errors
    /// [`HarnessError::Connection`], [`HarnessError::Late`].
    pub async fn metrics(&self) -> Result<Metrics, HarnessError> {
        Ok(Metrics::parse(&http::get(&self.name, self.admin(), "/metrics").await?.body))
    }

    /// Memory that it occupies, in bytes; `None` when it has ended.
    #[must_use]
    pub fn rss(&self) -> Option<u64> {
        self.process.rss()
    }

    /// File descriptors that it has open; `None` when it has ended.
    #[must_use]
    pub fn open_fds(&self) -> Option<usize> {
        self.process.open_fds()
    }

    /// The last lines of its log.
    #[must_use]
    pub fn logs_tail(&self) -> String {
        self.process.logs_tail()
    }
}

fn spawn(
    scratch: &Scratch,
    name: &str,
    settings: &Settings,
    endpoint: &Port,
    admin: &Port,
) -> Result<Process, HarnessError> {
    let mut program = Program::new(&settings.binary, "cargo build -p trunkline")
        .named(name)
        .args(&settings.arguments)
        .without_env(VARIABLES)
        .env("TRUNKLINE__SERVER__BIND", endpoint.address().to_string())
        .env("TRUNKLINE__SERVER__ADMIN_BIND", admin.address().to_string());
    for (variable, value) in &settings.environment {
        program = program.env(variable, value);
    }
    Process::spawn(scratch, &program)
}
