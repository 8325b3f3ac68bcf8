//! One process of redis-server.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    HarnessError,
    ports::{self, Port},
    process::{Process, Program},
    resp::{self, Peer, Reply},
    scratch::Scratch,
    wait::{self, Wait},
};

/// How to get it.
const REMEDY: &str = "apt install redis-server";

/// What makes a node what it is, beside its port and folder.
#[derive(Clone, Debug)]
pub(super) struct Role {
    /// For logs and errors.
    pub(super) name: String,
    /// Arguments after those that every node has. Files in them are absolute.
    pub(super) arguments: Vec<String>,
    /// Whether it holds the port of a cluster's bus too.
    pub(super) bus: bool,
    /// Whether it serves TLS only.
    pub(super) tls: bool,
    /// A configuration file that it reads and rewrites; the sentinels have one.
    pub(super) file: Option<String>,
    /// Whether what it knows survives a kill.
    pub(super) durable: bool,
    /// Who the harness is to it.
    pub(super) login: Option<(String, String)>,
}

/// A redis-server, which keeps its port and folder while it is down.
#[derive(Debug)]
pub struct Node {
    role: Role,
    port: Port,
    folder: PathBuf,
    process: Process,
    scratch: Scratch,
}

// === impl Role ===

impl Role {
    /// A server without persistence, for everybody on the loopback.
    pub(super) fn plain(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            arguments: Vec::new(),
            bus: false,
            tls: false,
            file: None,
            durable: false,
            login: None,
        }
    }
}

// === impl Node ===

impl Node {
    /// Starts a server on a port of its own and waits until it serves.
    pub(super) async fn start(scratch: &Scratch, role: Role) -> Result<Self, HarnessError> {
        let folder = scratch.folder(&role.name)?;
        let mut start = 1;
        loop {
            let port = if role.bus { Port::draw_with_bus() } else { Port::draw() }?;
            let process = spawn(scratch, &role, &port, &folder)?;
            let mut node =
                Self { role: role.clone(), port, folder: folder.clone(), process, scratch: scratch.clone() };
            match node.ready().await {
                Err(HarnessError::Ended { logs, .. }) if ports::is_taken(&logs) && start < ports::STARTS => {
                    start += 1;
                }
                Err(error) => return Err(error),
                Ok(()) => return Ok(node),
            }
        }
    }

    /// Its port, which it keeps.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// The process, to be measured or signalled.
    #[must_use]
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// The last lines of its log.
    #[must_use]
    pub fn logs_tail(&self) -> String {
        self.process.logs_tail()
    }

    /// Runs one command, on the server's Unix socket.
    ///
    /// # Errors
    /// [`HarnessError::Refused`] with Redis's words, [`HarnessError::Connection`] when it is down, [`HarnessError::Late`]
    /// when it stands still.
    pub async fn command(&self, command: &[&str]) -> Result<Reply, HarnessError> {
        let login = self.role.login.as_ref().map(|(user, password)| (user.as_str(), password.as_str()));
        resp::command(Peer { name: &self.role.name, socket: &self.socket(), login }, command).await
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

    /// Closes every connection that subscribes to something.
    ///
    /// # Errors
    /// As [`Node::command`].
    pub async fn client_kill_pubsub(&self) -> Result<(), HarnessError> {
        self.command(&["CLIENT", "KILL", "TYPE", "pubsub"]).await.map(drop)
    }

    /// Kills it if it runs, and starts it on the same port with what it knew.
    ///
    /// # Errors
    /// [`HarnessError::Unsupported`] when it was killed and keeps nothing on disk; [`HarnessError::Ended`],
    /// [`HarnessError::Late`].
    pub async fn restart_with_data(&mut self) -> Result<(), HarnessError> {
        if !self.role.durable {
            if self.process.status().is_some() {
                return Err(HarnessError::Unsupported {
                    what: format!("{} was killed and had kept nothing on disk", self.role.name),
                    remedy: "start it with `appendonly`, or restart it while it runs".to_owned(),
                });
            }
            self.command(&["SAVE"]).await?;
        }
        self.restart().await
    }

    /// Kills it if it runs, and starts it on the same port with nothing in it.
    ///
    /// # Errors
    /// [`HarnessError::Files`], [`HarnessError::Ended`], [`HarnessError::Late`].
    pub async fn restart_empty(&mut self) -> Result<(), HarnessError> {
        self.kill();
        match fs::remove_dir_all(&self.folder) {
            Ok(()) => {}
            Err(source) => return Err(HarnessError::Files { path: self.folder.clone(), source }),
        }
        self.scratch.folder(&self.role.name)?;
        self.restart().await
    }

    async fn restart(&mut self) -> Result<(), HarnessError> {
        self.kill();
        self.process = spawn(&self.scratch, &self.role, &self.port, &self.folder)?;
        self.ready().await
    }

    /// Waits until it answers, which is after it has loaded what it has on disk.
    async fn ready(&mut self) -> Result<(), HarnessError> {
        let wait = Wait::new(&format!("the start of {}", self.role.name), wait::START);
        loop {
            self.process.check()?;
            match self.command(&["PING"]).await {
                Ok(_) => return Ok(()),
                Err(not_yet) => wait.again(&not_yet).await?,
            }
        }
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }
}

fn spawn(scratch: &Scratch, role: &Role, port: &Port, folder: &Path) -> Result<Process, HarnessError> {
    // One that was killed leaves its socket behind, and it must not be taken for the new one's.
    let _absent = fs::remove_file(folder.join("socket"));
    let mut program = Program::new("redis-server", REMEDY).named(&role.name);
    if let Some(content) = &role.file {
        let path = folder.join("redis.conf");
        if !path.exists() {
            fs::write(&path, content).map_err(|source| HarnessError::Files { path: path.clone(), source })?;
        }
        program = program.args([&path]);
    }
    let number = port.number().to_string();
    let (plain, tls) = if role.tls { ("0", number.as_str()) } else { (number.as_str(), "0") };
    let program = program
        .args(["--port", plain, "--tls-port", tls, "--bind", "127.0.0.1", "--unixsocket"])
        .args([folder.join("socket")])
        .args(["--unixsocketperm", "700", "--dir"])
        .args([folder])
        .args(["--save", "", "--daemonize", "no", "--protected-mode", "no"])
        .args(&role.arguments);
    Process::spawn(scratch, &program)
}

/// How long a command of the harness's own may take to show its effect everywhere.
pub(super) const SETTLE: Duration = Duration::from_secs(30);
