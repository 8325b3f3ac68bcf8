//! One redis-server.

use std::{fmt::Write as _, net::SocketAddr, path::Path};

use super::node::{Node, Role};
use crate::{HarnessError, process::Process, resp::Reply, scratch::Scratch, tls::Certificates};

/// Who the harness is to a server that has users. Never handed out.
const HARNESS: (&str, &str) = ("harness", "the-harness-itself");

/// How a server is set up. The default keeps nothing on disk, and everybody on the loopback may do everything.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keeps an append-only file, and has the disk take each write before it is answered: what was answered survives a
    /// kill.
    pub appendonly: bool,
    /// Serves TLS only, with a certificate of a private authority: [`Standalone::authority`].
    pub tls: bool,
    /// If there are any, who is none of them gets `NOAUTH`. The first is in [`Standalone::url`].
    pub users: Vec<User>,
    /// Bytes after which writes are refused with `OOM`, as Redis writes them: `"64mb"`.
    pub maxmemory: Option<String>,
    /// Further arguments, as `["--timeout", "1"]`.
    pub arguments: Vec<String>,
}

/// A user of a server, and what he may do.
#[derive(Clone, Debug)]
pub struct User {
    /// His name, which needs no escaping in a URL.
    pub name: String,
    /// His password, likewise.
    pub password: String,
    /// Rules in Redis's words, as `"~trunkline:* &trunkline:* +@all -@dangerous"`.
    pub rules: String,
}

/// One redis-server with a folder of its own.
#[derive(Debug)]
pub struct Standalone {
    node: Node,
    certificates: Option<Certificates>,
    users: Vec<User>,
    // After the node: its folder is removed last.
    _scratch: Scratch,
}

// === impl Standalone ===

impl Standalone {
    /// Starts a server and waits until it serves.
    ///
    /// # Errors
    /// [`HarnessError::Missing`] with the command that installs it, [`HarnessError::Ended`], [`HarnessError::Late`].
    pub async fn start(options: Options) -> Result<Self, HarnessError> {
        let scratch = Scratch::new()?;
        let mut role = Role::plain("redis");
        let mut certificates = None;
        if options.tls {
            let made = certificates.insert(Certificates::new(&scratch)?);
            role.tls = true;
            role.arguments.extend(tls(made));
        }
        if !options.users.is_empty() {
            let file = scratch.write("users.acl", acl(&options.users))?;
            role.arguments.extend(["--aclfile".to_owned(), file.display().to_string()]);
            role.login = Some((HARNESS.0.to_owned(), HARNESS.1.to_owned()));
        }
        if options.appendonly {
            role.durable = true;
            role.arguments.extend(["--appendonly", "yes", "--appendfsync", "always"].map(str::to_owned));
        }
        if let Some(bytes) = options.maxmemory {
            role.arguments.extend(["--maxmemory".to_owned(), bytes]);
            role.arguments.extend(["--maxmemory-policy", "noeviction"].map(str::to_owned));
        }
        role.arguments.extend(options.arguments);
        let node = Node::start(&scratch, role).await?;
        Ok(Self { node, certificates, users: options.users, _scratch: scratch })
    }

    /// The URL for clients, with the first user's name and password if there are users.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(self.node.address())
    }

    /// The URL by way of another address, such as that of a cut connection.
    #[must_use]
    pub fn url_at(&self, address: SocketAddr) -> String {
        self.url_as(self.users.first(), address)
    }

    /// The URL for one of the users.
    #[must_use]
    pub fn url_of(&self, user: &User) -> String {
        self.url_as(Some(user), self.node.address())
    }

    /// The authority that clients have to trust, in PEM, where the server has TLS.
    #[must_use]
    pub fn authority(&self) -> Option<&Path> {
        self.certificates.as_ref().map(|certificates| certificates.authority.as_path())
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.node.address()
    }

    /// The process, to be measured or signalled.
    #[must_use]
    pub fn process(&mut self) -> &mut Process {
        self.node.process()
    }

    /// The last lines of its log.
    #[must_use]
    pub fn logs_tail(&self) -> String {
        self.node.logs_tail()
    }

    /// Runs one command as somebody who may do everything. See [`Node::command`].
    ///
    /// # Errors
    /// As there.
    pub async fn command(&self, command: &[&str]) -> Result<Reply, HarnessError> {
        self.node.command(command).await
    }

    /// Kills it (SIGKILL). It comes back with [`Standalone::restart_with_data`] or [`Standalone::restart_empty`].
    pub fn kill(&mut self) {
        self.node.kill();
    }

    /// Stops it in its tracks (SIGSTOP): its connections stay open and nothing answers.
    ///
    /// # Errors
    /// [`HarnessError::NotRunning`].
    pub fn stop(&mut self) -> Result<(), HarnessError> {
        self.node.stop()
    }

    /// Lets it go on (SIGCONT).
    ///
    /// # Errors
    /// [`HarnessError::NotRunning`].
    pub fn resume(&mut self) -> Result<(), HarnessError> {
        self.node.resume()
    }

    /// Closes every connection that subscribes to something.
    ///
    /// # Errors
    /// As [`Node::command`].
    pub async fn client_kill_pubsub(&self) -> Result<(), HarnessError> {
        self.node.client_kill_pubsub().await
    }

    /// Kills it if it runs, and starts it on the same port with what it knew.
    ///
    /// # Errors
    /// See [`Node::restart_with_data`].
    pub async fn restart_with_data(&mut self) -> Result<(), HarnessError> {
        self.node.restart_with_data().await
    }

    /// Kills it if it runs, and starts it on the same port with nothing in it.
    ///
    /// # Errors
    /// See [`Node::restart_empty`].
    pub async fn restart_empty(&mut self) -> Result<(), HarnessError> {
        self.node.restart_empty().await
    }

    fn url_as(&self, user: Option<&User>, address: SocketAddr) -> String {
        let scheme = if self.certificates.is_some() { "rediss" } else { "redis" };
        match user {
            Some(user) => format!("{scheme}://{}:{}@{address}", user.name, user.password),
            None => format!("{scheme}://{address}"),
        }
    }
}

fn tls(certificates: &Certificates) -> [String; 8] {
    let path = |path: &Path| path.display().to_string();
    [
        "--tls-cert-file".to_owned(),
        path(&certificates.certificate),
        "--tls-key-file".to_owned(),
        path(&certificates.key),
        "--tls-ca-cert-file".to_owned(),
        path(&certificates.authority),
        "--tls-auth-clients".to_owned(),
        "no".to_owned(),
    ]
}

/// The users' file: nobody without a name, the harness, and the users.
fn acl(users: &[User]) -> String {
    let (name, password) = HARNESS;
    let mut file = format!("user default off\nuser {name} on >{password} ~* &* +@all\n");
    for User { name, password, rules } in users {
        let _written = writeln!(file, "user {name} on >{password} {rules}");
    }
    file
}
