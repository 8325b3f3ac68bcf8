//! A load balancer in front of replicas: round robin unless told otherwise, streams passed on as they come.

mod haproxy;
mod nginx;

use std::{fs, net::SocketAddr};

use tokio::net::TcpStream;

use crate::{
    HarnessError,
    ports::{self, Port},
    process::{Process, Program},
    scratch::Scratch,
    wait::{self, Wait},
};

/// Which program balances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// HAProxy. It asks each replica's `/readyz` five times a second and leaves out those that are not ready; with none
    /// left it answers 503. A request that reached no replica goes to another one; one that did is never sent twice.
    Haproxy,
    /// nginx. It leaves out a replica for a second once a connection to it has failed, and knows nothing of readiness. A
    /// POST that reached a replica is never sent twice.
    Nginx,
}

/// How a balancer chooses the replica for a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// One after the other, no affinity.
    #[default]
    RoundRobin,
    /// The one with the fewest connections.
    LeastConnections,
    /// Requests with the same value of this header go to the same replica while it is there, by consistent hashing; those
    /// without the header go to one after the other, or anywhere.
    Sticky {
        /// The header's name: letters, digits and dashes.
        header: String,
    },
}

/// As many connections of clients as a balancer takes. Each may need one to a replica, and the file descriptors for both
/// have to be there: 16 000 and some.
pub const CONNECTIONS: usize = 8000;

/// A replica, as the balancer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// Letters, digits and dashes.
    pub name: String,
    /// Where requests go.
    pub address: SocketAddr,
    /// Where its readiness is asked.
    pub admin: SocketAddr,
}

/// A running balancer, which keeps its port while it is down.
#[derive(Debug)]
pub struct Balancer {
    kind: Kind,
    port: Port,
    process: Process,
    scratch: Scratch,
}

// === impl Balancer ===

impl Balancer {
    /// Starts a balancer with the default policy and waits until it accepts connections.
    ///
    /// # Errors
    /// [`HarnessError::Missing`] with the command that installs it, [`HarnessError::Ended`], [`HarnessError::Late`].
    pub async fn start(scratch: &Scratch, kind: Kind, backends: &[Backend]) -> Result<Self, HarnessError> {
        Self::start_with(scratch, kind, &Policy::default(), backends).await
    }

    /// Starts a balancer with this policy and waits until it accepts connections.
    ///
    /// # Errors
    /// As [`Balancer::start`]; [`HarnessError::Unsupported`] for a header's name that is none.
    pub async fn start_with(
        scratch: &Scratch,
        kind: Kind,
        policy: &Policy,
        backends: &[Backend],
    ) -> Result<Self, HarnessError> {
        policy.check()?;
        let mut start = 1;
        loop {
            let port = Port::draw()?;
            scratch.write(kind.file(), kind.configuration(scratch, port.address(), policy, backends))?;
            let process = Process::spawn(scratch, &kind.program(scratch))?;
            let mut balancer = Self { kind, port, process, scratch: scratch.clone() };
            match balancer.ready().await {
                Err(HarnessError::Ended { logs, .. }) if ports::is_taken(&logs) && start < ports::STARTS => {
                    start += 1;
                }
                Err(error) => return Err(error),
                Ok(()) => return Ok(balancer),
            }
        }
    }

    /// Which program it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Scheme, host and port, as `http://127.0.0.1:8080`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The process, to be measured or signalled.
    #[must_use]
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Kills it (SIGKILL): every connection through it is gone.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Stops it in its tracks (SIGSTOP).
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

    /// Kills it if it runs, and starts it on the same port.
    ///
    /// # Errors
    /// [`HarnessError::Ended`], [`HarnessError::Late`].
    pub async fn restart(&mut self) -> Result<(), HarnessError> {
        self.process.kill();
        self.process = Process::spawn(&self.scratch, &self.kind.program(&self.scratch))?;
        self.ready().await
    }

    /// Which backends it sends requests to.
    ///
    /// # Errors
    /// [`HarnessError::Unsupported`] for nginx, which tells nobody.
    pub async fn up(&self) -> Result<Vec<String>, HarnessError> {
        match self.kind {
            Kind::Haproxy => haproxy::up(&self.scratch).await,
            Kind::Nginx => Err(HarnessError::Unsupported {
                what: "nginx does not tell which backends are up".to_owned(),
                remedy: "use HAProxy".to_owned(),
            }),
        }
    }

    /// The last lines of its log.
    #[must_use]
    pub fn logs_tail(&self) -> String {
        self.process.logs_tail()
    }

    async fn ready(&mut self) -> Result<(), HarnessError> {
        let wait = Wait::new(&format!("the start of {}", self.process.name()), wait::START);
        loop {
            self.process.check()?;
            match self.answers().await {
                Ok(()) => return Ok(()),
                Err(error) => wait.again(&error).await?,
            }
        }
    }

    async fn answers(&self) -> Result<(), HarnessError> {
        let failed = |source| HarnessError::Connection { server: self.process.name().to_owned(), source };
        TcpStream::connect(self.address()).await.map_err(failed)?;
        match self.kind {
            // Its runtime socket gets its name a moment after the port is open.
            Kind::Haproxy => haproxy::up(&self.scratch).await.map(drop),
            Kind::Nginx => Ok(()),
        }
    }
}

// === impl Policy ===

impl Policy {
    /// A header's name goes into a configuration as it is.
    fn check(&self) -> Result<(), HarnessError> {
        match self {
            Self::Sticky { header }
                if header.is_empty()
                    || !header.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') =>
            {
                Err(HarnessError::Unsupported {
                    what: format!("a balancer that is sticky by {header:?}"),
                    remedy: "name a header with letters, digits and dashes".to_owned(),
                })
            }
            Self::RoundRobin | Self::LeastConnections | Self::Sticky { .. } => Ok(()),
        }
    }
}

// === impl Kind ===

impl Kind {
    fn file(self) -> &'static str {
        match self {
            Self::Haproxy => haproxy::FILE,
            Self::Nginx => nginx::FILE,
        }
    }

    fn configuration(
        self,
        scratch: &Scratch,
        listen: SocketAddr,
        policy: &Policy,
        backends: &[Backend],
    ) -> String {
        match self {
            Self::Haproxy => haproxy::configuration(scratch, listen, policy, backends),
            Self::Nginx => nginx::configuration(scratch, listen, policy, backends),
        }
    }

    fn program(self, scratch: &Scratch) -> Program {
        match self {
            Self::Haproxy => haproxy::program(scratch),
            Self::Nginx => nginx::program(scratch),
        }
    }
}

/// A program that Debian puts where only root's search path leads.
fn system_program(name: &str, remedy: &str) -> Program {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let outside = format!("/usr/sbin/{name}");
    let found = if !on_path && fs::exists(&outside).unwrap_or_default() { &outside } else { name };
    Program::new(found, remedy).named(name)
}
