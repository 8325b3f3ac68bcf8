//! A primary, its replica, and three sentinels that put the one in the place of the other.

use std::time::{Duration, Instant};

use super::node::{Node, Role, SETTLE};
use crate::{HarnessError, resp::Reply, scratch::Scratch, wait::Wait};

/// What the sentinels call the service.
const SERVICE: &str = "trunkline";

/// Milliseconds without an answer after which a sentinel takes a primary for dead. Short, for tests; a machine that is
/// too busy to answer so fast sees failovers that nobody asked for.
const DOWN_AFTER: u32 = 2000;

/// Two servers and three sentinels, with a folder of their own.
#[derive(Debug)]
pub struct Sentinel {
    sentinels: Vec<Node>,
    servers: Vec<Node>,
    /// The index of the primary that was asked for last.
    primary: usize,
    // After the nodes: their folder is removed last.
    _scratch: Scratch,
}

// === impl Sentinel ===

impl Sentinel {
    /// Starts all five, and returns once the replica is in step with the primary and the sentinels know each other.
    ///
    /// # Errors
    /// [`HarnessError::Missing`] with the command that installs it, [`HarnessError::Ended`], [`HarnessError::Late`].
    pub async fn start() -> Result<Self, HarnessError> {
        let scratch = Scratch::new()?;
        let primary = Node::start(&scratch, durable("redis-0")).await?;
        let port = primary.port().to_string();
        let mut role = durable("redis-1");
        role.arguments.extend(["--replicaof".to_owned(), "127.0.0.1".to_owned(), port]);
        let replica = Node::start(&scratch, role).await?;
        in_step(&primary).await?;
        let mut sentinels = Vec::new();
        for index in 0..3 {
            sentinels.push(Node::start(&scratch, sentinel(index, primary.port())).await?);
        }
        let started = Self { sentinels, servers: vec![primary, replica], primary: 0, _scratch: scratch };
        for sentinel in &started.sentinels {
            acquainted(sentinel).await?;
        }
        Ok(started)
    }

    /// The URL for clients: the sentinels, and the service's name.
    #[must_use]
    pub fn url(&self) -> String {
        let addresses: Vec<String> = self.sentinels.iter().map(|node| node.address().to_string()).collect();
        format!("redis+sentinel://{}/{SERVICE}", addresses.join(","))
    }

    /// The name of the service.
    #[must_use]
    pub fn service(&self) -> &'static str {
        SERVICE
    }

    /// The three sentinels.
    #[must_use]
    pub fn sentinels(&mut self) -> &mut [Node] {
        &mut self.sentinels
    }

    /// The two servers, whichever is the primary.
    #[must_use]
    pub fn servers(&mut self) -> &mut [Node] {
        &mut self.servers
    }

    /// The primary: as the sentinels said when the last failover was awaited, and before that the first.
    #[must_use]
    pub fn primary(&mut self) -> &mut Node {
        &mut self.servers[self.primary]
    }

    /// Runs one command on the primary. See [`Node::command`].
    ///
    /// # Errors
    /// As there.
    pub async fn command(&self, command: &[&str]) -> Result<Reply, HarnessError> {
        self.servers[self.primary].command(command).await
    }

    /// Kills the primary (SIGKILL).
    pub fn kill_primary(&mut self) {
        self.primary().kill();
    }

    /// Kills both servers; the sentinels stay, and have nobody to name.
    pub fn kill(&mut self) {
        for server in &mut self.servers {
            server.kill();
        }
    }

    /// Stops the primary in its tracks (SIGSTOP): the sentinels will have the replica take its place.
    ///
    /// # Errors
    /// [`HarnessError::NotRunning`].
    pub fn stop(&mut self) -> Result<(), HarnessError> {
        self.primary().stop()
    }

    /// Lets every server that stands still go on.
    ///
    /// # Errors
    /// [`HarnessError::Signal`].
    pub fn resume(&mut self) -> Result<(), HarnessError> {
        for server in &mut self.servers {
            if server.process().status().is_none() {
                server.resume()?;
            }
        }
        Ok(())
    }

    /// Waits until every sentinel names the other server and that one takes writes; says how long it took. It is the
    /// [`Sentinel::primary`] from then on.
    ///
    /// Usually two seconds, on a busy machine more than twenty: allow 60 s or more.
    ///
    /// # Errors
    /// [`HarnessError::Late`].
    pub async fn await_failover(&mut self, limit: Duration) -> Result<Duration, HarnessError> {
        let started = Instant::now();
        let next = 1 - self.primary;
        let expected = self.servers[next].port();
        let wait = Wait::new("the failover", limit);
        for sentinel in &self.sentinels {
            loop {
                let named = named_primary(sentinel).await;
                if named == Some(expected) {
                    break;
                }
                wait.again(&("a sentinel names", named)).await?;
            }
        }
        loop {
            match self.servers[next].command(&["ROLE"]).await {
                Ok(role) if is_master(&role) => break,
                other => wait.again(&other).await?,
            }
        }
        self.primary = next;
        Ok(started.elapsed())
    }

    /// Closes every connection that subscribes to something on one of the servers, those of the sentinels too.
    ///
    /// # Errors
    /// As [`Node::command`].
    pub async fn client_kill_pubsub(&mut self) -> Result<(), HarnessError> {
        for server in &mut self.servers {
            if server.process().status().is_none() {
                server.client_kill_pubsub().await?;
            }
        }
        Ok(())
    }

    /// Starts every server that was killed, with what it knew, and waits until one is the primary and the other in step
    /// with it. The one that was killed is the replica then, if a failover has taken place.
    ///
    /// # Errors
    /// [`HarnessError::Ended`], [`HarnessError::Late`].
    pub async fn restart_with_data(&mut self) -> Result<(), HarnessError> {
        for server in &mut self.servers {
            if server.process().status().is_some() {
                server.restart_with_data().await?;
            }
        }
        self.settle().await
    }

    /// Starts both servers with nothing in them.
    ///
    /// # Errors
    /// [`HarnessError::Ended`], [`HarnessError::Late`].
    pub async fn restart_empty(&mut self) -> Result<(), HarnessError> {
        // Both are down at one time, so that neither learns from the other.
        self.kill();
        for server in &mut self.servers {
            server.restart_empty().await?;
        }
        self.settle().await
    }

    /// Waits until the sentinels agree on a primary, the other follows it, and sets [`Sentinel::primary`].
    async fn settle(&mut self) -> Result<(), HarnessError> {
        let wait = Wait::new("one primary with a replica", SETTLE);
        let primary = loop {
            let mut named = Vec::new();
            for sentinel in &self.sentinels {
                named.push(named_primary(sentinel).await);
            }
            let index =
                self.servers.iter().position(|server| named.iter().all(|port| *port == Some(server.port())));
            if let Some(index) = index
                && let Ok(info) = self.servers[index].command(&["INFO", "replication"]).await
                && has_replica(&info)
            {
                break index;
            }
            wait.again(&("the sentinels name", named)).await?;
        };
        self.primary = primary;
        Ok(())
    }
}

/// A server that keeps its data on disk: one that comes back empty as a primary would empty its replica.
fn durable(name: &str) -> Role {
    let mut role = Role::plain(name);
    role.durable = true;
    role.arguments = ["--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0"]
        .map(str::to_owned)
        .to_vec();
    role
}

fn sentinel(index: usize, primary: u16) -> Role {
    let mut role = Role::plain(&format!("sentinel-{index}"));
    role.durable = true;
    role.file = Some(format!(
        "sentinel monitor {SERVICE} 127.0.0.1 {primary} 2\n\
         sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER}\n\
         sentinel failover-timeout {SERVICE} 5000\n"
    ));
    role.arguments = vec!["--sentinel".to_owned()];
    role
}

/// Waits until the primary has its replica in step: only then is what is written to it safe from its death.
async fn in_step(primary: &Node) -> Result<(), HarnessError> {
    let wait = Wait::new("a replica in step with its primary", SETTLE);
    loop {
        match primary.command(&["INFO", "replication"]).await {
            Ok(info) if has_replica(&info) => return Ok(()),
            other => wait.again(&other).await?,
        }
    }
}

/// Waits until a sentinel knows the two others and the replica: before, it elects nobody.
async fn acquainted(sentinel: &Node) -> Result<(), HarnessError> {
    let wait = Wait::new("a sentinel that knows the others", SETTLE);
    loop {
        let known = sentinel.command(&["SENTINEL", "MASTER", SERVICE]).await?;
        let field = |name: &str| {
            let mut pairs = known.list().chunks_exact(2);
            pairs.find(|pair| pair[0].text().as_deref() == Some(name)).and_then(|pair| pair[1].integer())
        };
        match (field("num-other-sentinels"), field("num-slaves")) {
            (Some(2), Some(1)) => return Ok(()),
            known => wait.again(&("other sentinels and replicas", known)).await?,
        }
    }
}

async fn named_primary(sentinel: &Node) -> Option<u16> {
    let named = sentinel.command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE]).await.ok()?;
    named.list().get(1)?.text()?.parse().ok()
}

fn is_master(role: &Reply) -> bool {
    role.list().first().and_then(Reply::text).as_deref() == Some("master")
}

fn has_replica(info: &Reply) -> bool {
    info.text().is_some_and(|info| {
        info.lines().any(|line| line.starts_with("slave0:") && line.contains("state=online"))
    })
}
