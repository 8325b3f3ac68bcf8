//! Three primaries that share the keys.

use super::node::{Node, Role, SETTLE};
use crate::{HarnessError, resp::Reply, scratch::Scratch, wait::Wait};

/// Slots of a cluster; the keys of one lie on one node.
const SLOTS: u16 = 16384;

/// Primaries: the least that a cluster has.
const NODES: u16 = 3;

/// A cluster with a folder of its own. It has no replicas: a killed node's keys are away until it is back.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
    // After the nodes: their folder is removed last.
    _scratch: Scratch,
}

// === impl Cluster ===

impl Cluster {
    /// Starts three nodes, makes a cluster of them, and returns once each of them says that it is whole.
    ///
    /// # Errors
    /// [`HarnessError::Missing`] with the command that installs it, [`HarnessError::Ended`], [`HarnessError::Late`].
    pub async fn start() -> Result<Self, HarnessError> {
        let scratch = Scratch::new()?;
        let mut nodes = Vec::new();
        for index in 0..NODES {
            nodes.push(Node::start(&scratch, member(index)).await?);
        }
        let cluster = Self { nodes, _scratch: scratch };
        cluster.form().await?;
        Ok(cluster)
    }

    /// The URL for clients: all nodes.
    #[must_use]
    pub fn url(&self) -> String {
        let addresses: Vec<String> = self.nodes.iter().map(|node| node.address().to_string()).collect();
        format!("redis+cluster://{}", addresses.join(","))
    }

    /// The nodes, to be hurt singly.
    #[must_use]
    pub fn nodes(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// Runs one command on the node that has the slot of `key`. See [`Node::command`].
    ///
    /// # Errors
    /// As there.
    pub async fn command(&self, key: &str, command: &[&str]) -> Result<Reply, HarnessError> {
        let owner = self.owner(self.slot(key).await?).await?;
        self.nodes[owner].command(command).await
    }

    /// The slot of a key.
    ///
    /// # Errors
    /// As [`Node::command`].
    pub async fn slot(&self, key: &str) -> Result<u16, HarnessError> {
        let reply = self.nodes[0].command(&["CLUSTER", "KEYSLOT", key]).await?;
        reply.integer().and_then(|slot| slot.try_into().ok()).ok_or_else(|| garbled(&reply))
    }

    /// The index of the node that has a slot, as the nodes see it.
    ///
    /// # Errors
    /// As [`Node::command`]; [`HarnessError::Garbled`] where none has it.
    pub async fn owner(&self, slot: u16) -> Result<usize, HarnessError> {
        let reply = self.nodes[0].command(&["CLUSTER", "SLOTS"]).await?;
        for range in reply.list() {
            if let [first, last, node, ..] = range.list()
                && let (Some(first), Some(last)) = (first.integer(), last.integer())
                && (first..=last).contains(&i64::from(slot))
            {
                let port = node.list().get(1).and_then(Reply::integer);
                let owner = self.nodes.iter().position(|node| Some(i64::from(node.port())) == port);
                return owner.ok_or_else(|| garbled(&reply));
            }
        }
        Err(garbled(&reply))
    }

    /// Moves a slot with all its keys to another node, one key at a time as an operator's tool would: a client sees `ASK`
    /// on the way and `MOVED` afterwards.
    ///
    /// # Errors
    /// As [`Node::command`].
    pub async fn move_slot(&self, slot: u16, to: usize) -> Result<(), HarnessError> {
        let from = self.owner(slot).await?;
        if from == to {
            return Ok(());
        }
        let (source, target) = (&self.nodes[from], &self.nodes[to]);
        let (source_id, target_id) = (id(source).await?, id(target).await?);
        let number = slot.to_string();
        target.command(&["CLUSTER", "SETSLOT", &number, "IMPORTING", &source_id]).await?;
        source.command(&["CLUSTER", "SETSLOT", &number, "MIGRATING", &target_id]).await?;
        let port = target.port().to_string();
        loop {
            let keys = source.command(&["CLUSTER", "GETKEYSINSLOT", &number, "100"]).await?;
            if keys.list().is_empty() {
                break;
            }
            for key in keys.list().iter().filter_map(Reply::text) {
                source.command(&["MIGRATE", "127.0.0.1", &port, &key, "0", "5000"]).await?;
            }
        }
        // The target first: were it the source, a client would be sent on to one that sends it back.
        for node in [target, source].into_iter().chain(&self.nodes) {
            node.command(&["CLUSTER", "SETSLOT", &number, "NODE", &target_id]).await?;
        }
        Ok(())
    }

    /// Kills every node (SIGKILL). One alone: [`Cluster::nodes`].
    pub fn kill(&mut self) {
        for node in &mut self.nodes {
            node.kill();
        }
    }

    /// Stops every node in its tracks (SIGSTOP).
    ///
    /// # Errors
    /// [`HarnessError::NotRunning`].
    pub fn stop(&mut self) -> Result<(), HarnessError> {
        self.nodes.iter_mut().try_for_each(Node::stop)
    }

    /// Lets every node go on (SIGCONT).
    ///
    /// # Errors
    /// [`HarnessError::NotRunning`].
    pub fn resume(&mut self) -> Result<(), HarnessError> {
        self.nodes.iter_mut().try_for_each(Node::resume)
    }

    /// Closes every connection that subscribes to something.
    ///
    /// # Errors
    /// As [`Node::command`].
    pub async fn client_kill_pubsub(&self) -> Result<(), HarnessError> {
        for node in &self.nodes {
            node.client_kill_pubsub().await?;
        }
        Ok(())
    }

    /// Starts every node that was killed, with what it knew, and waits until the cluster is whole.
    ///
    /// # Errors
    /// [`HarnessError::Ended`], [`HarnessError::Late`].
    pub async fn restart_with_data(&mut self) -> Result<(), HarnessError> {
        for node in &mut self.nodes {
            if node.process().status().is_some() {
                node.restart_with_data().await?;
            }
        }
        self.whole().await
    }

    /// Starts every node with nothing in it, and makes a cluster of them anew.
    ///
    /// # Errors
    /// [`HarnessError::Ended`], [`HarnessError::Late`].
    pub async fn restart_empty(&mut self) -> Result<(), HarnessError> {
        self.kill();
        for node in &mut self.nodes {
            node.restart_empty().await?;
        }
        self.form().await
    }

    /// Gives each node its slots and acquaints them.
    async fn form(&self) -> Result<(), HarnessError> {
        for (index, node) in (0..NODES).zip(&self.nodes) {
            let (first, next) = (share(index), share(index + 1));
            let (first, last) = (first.to_string(), (next - 1).to_string());
            node.command(&["CLUSTER", "ADDSLOTSRANGE", &first, &last]).await?;
            node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]).await?;
        }
        for node in &self.nodes[1..] {
            self.nodes[0].command(&["CLUSTER", "MEET", "127.0.0.1", &node.port().to_string()]).await?;
        }
        self.whole().await
    }

    /// Waits until every node knows all others and that every slot is served.
    async fn whole(&self) -> Result<(), HarnessError> {
        let wait = Wait::new("a cluster that is whole", SETTLE);
        for node in &self.nodes {
            loop {
                let info = node.command(&["CLUSTER", "INFO"]).await;
                if info.as_ref().is_ok_and(is_whole) {
                    break;
                }
                wait.again(&info).await?;
            }
        }
        Ok(())
    }
}

/// The first slot of a node.
fn share(index: u16) -> u16 {
    // In range: 3 * 16384 < 2^16.
    SLOTS * index / NODES
}

fn member(index: u16) -> Role {
    let mut role = Role::plain(&format!("redis-{index}"));
    role.bus = true;
    role.durable = true;
    role.arguments = [
        "--cluster-enabled",
        "yes",
        "--cluster-node-timeout",
        "2000",
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
    ]
    .map(str::to_owned)
    .to_vec();
    role
}

fn is_whole(info: &Reply) -> bool {
    let info = info.text().unwrap_or_default();
    let says = |line: &str| info.lines().any(|said| said.trim_end() == line);
    says("cluster_state:ok") && says(&format!("cluster_size:{NODES}"))
}

async fn id(node: &Node) -> Result<String, HarnessError> {
    let reply = node.command(&["CLUSTER", "MYID"]).await?;
    reply.text().ok_or_else(|| garbled(&reply))
}

fn garbled(reply: &Reply) -> HarnessError {
    HarnessError::Garbled { server: "the cluster".to_owned(), answer: format!("{reply:?}") }
}
