//! Connections for what Redis says unasked.

use std::{collections::HashMap, fmt, sync::Arc};

use parking_lot::Mutex;
use redis::{Cmd, FromRedisValue, Pipeline, PushInfo, PushKind, Value, aio::AsyncPushSender};
use tokio::{
    sync::{mpsc, watch},
    task::AbortHandle,
};

use crate::{
    Client, Failure, Host, Line, NodeId,
    client::{Maker, Via, convert},
    connect::Dialer,
    keeper::{Fresh, Kept, Purpose},
    line::{Request, Vital},
    node::Node,
    topology::Topology,
};

/// One connection to each primary, over which Redis speaks unasked: messages of channels that were subscribed to on it, and
/// invalidations of what was read over it.
///
/// A connection that vanished without a word is noticed within 3 s, one that was closed at once. It is replaced; behind
/// Sentinels by one to the new primary; on a Cluster there is always one to each primary. What was asked of a connection, its
/// subscriptions among it, ends with it.
pub struct Pushes {
    client: Client,
    links: Arc<Links>,
    supervisor: AbortHandle,
}

/// What happens to the connections of [`Pushes`], in order for each of them.
pub struct Events(mpsc::Receiver<Event>);

/// What happens to a connection.
#[derive(Debug)]
pub enum Event {
    /// It is there, set up. What was subscribed to on an earlier one has to be again.
    Up(Line),
    /// Redis says something over it.
    Push(NodeId, PushInfo),
    /// It is lost, and [`Line::is_alive`] was false before this was told. What it should have told since then is lost too.
    Down(NodeId),
    /// Keys went to other nodes of the Cluster: what concerns them is told, or not told, elsewhere from now on.
    Moved,
}

/// The connections by node.
pub(crate) struct Links {
    maker: Maker,
    setup: Vec<Cmd>,
    events: mpsc::Sender<Event>,
    kept: Mutex<HashMap<NodeId, Arc<Kept>>>,
}

/// What a keeper does for a connection of this kind.
pub(crate) struct Link(Arc<Shared>);

struct Shared {
    node: NodeId,
    dialer: Arc<Dialer>,
    setup: Vec<Cmd>,
    events: mpsc::Sender<Event>,
}

/// Passes on what Redis says, without ever waiting.
struct Ear {
    node: NodeId,
    vital: Arc<Vital>,
    events: mpsc::Sender<Event>,
}

// === impl Pushes ===

impl Pushes {
    /// Connections on each of which `setup` was run before anything else. `queue` bounds what Redis has said and the events'
    /// reader has not taken yet; a connection that says more is given up, which is told, so that what was missed can be
    /// repaired.
    #[must_use]
    pub fn open(client: &Client, setup: Vec<Cmd>, queue: usize) -> (Self, Events) {
        let (events, receiver) = mpsc::channel(queue.max(1));
        let links = Arc::new(Links { maker: client.maker().clone(), setup, events, kept: Mutex::default() });
        let supervisor = supervise(client.topology(), Arc::clone(&links));
        let supervisor = client.maker().runtime.spawn(supervisor).abort_handle();
        (Self { client: client.clone(), links, supervisor }, Events(receiver))
    }

    /// Runs a command over the connection to the node that has `key`. What it read is covered by that connection: it was alive
    /// after the answer came, so its end has not been told yet.
    ///
    /// Waits for a connection that is being made, within the answer's time; fails at once if the last attempt failed. A command
    /// whose connection was lost before it was answered is sent once more over the next one, so it should be one that may run
    /// twice.
    ///
    /// # Errors
    ///
    /// As [`Failure`] says.
    pub async fn run<T: FromRedisValue>(&self, key: &[u8], cmd: &Cmd) -> Result<T, Failure> {
        convert(self.client.send(Via::Links(&self.links), key, Request::One(cmd)).await?)
    }

    /// As [`Pushes::run`], for several commands on keys of one node; see [`Client::run_all`].
    ///
    /// # Errors
    ///
    /// As [`Failure`] says.
    pub async fn run_all(&self, key: &[u8], pipeline: &Pipeline) -> Result<Vec<Value>, Failure> {
        self.client.send(Via::Links(&self.links), key, Request::All(pipeline)).await
    }

    /// The connection to a node, if it is there now.
    #[must_use]
    pub fn line(&self, node: &NodeId) -> Option<Line> {
        self.links.kept.lock().get(node)?.up()
    }

    /// The node that has this key, if that is known.
    #[must_use]
    pub fn node_of(&self, key: &[u8]) -> Option<NodeId> {
        self.client.node_of(key)
    }
}

impl Drop for Pushes {
    fn drop(&mut self) {
        self.supervisor.abort();
        self.links.kept.lock().clear();
    }
}

impl fmt::Debug for Pushes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pushes").field(&self.client).finish()
    }
}

// === impl Events ===

impl Events {
    /// The next one; `None` once the [`Pushes`] are gone.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.recv().await
    }
}

// === impl Links ===

impl Links {
    /// The connection to a node, which is made if there is none.
    pub(crate) async fn line(&self, node: &Node) -> Result<Line, Failure> {
        self.kept(node).line().await
    }

    fn kept(&self, node: &Node) -> Arc<Kept> {
        let mut kept = self.kept.lock();
        let made = kept.entry(node.id.clone()).or_insert_with(|| {
            let link = Link(Arc::new(Shared {
                node: node.id.clone(),
                dialer: Arc::clone(&self.maker.dialer),
                setup: self.setup.clone(),
                events: self.events.clone(),
            }));
            Arc::new(self.maker.keep(node.id.clone(), node.place.clone(), Purpose::Link(link)))
        });
        Arc::clone(made)
    }

    /// Gives up the connections to nodes that are no more.
    fn leave_others(&self, nodes: &[Arc<Node>]) -> Vec<NodeId> {
        let is_there = |id: &NodeId| nodes.iter().any(|node| node.id == *id);
        self.kept.lock().extract_if(|id, _| !is_there(id)).map(|(id, _)| id).collect()
    }
}

// === impl Link ===

impl Link {
    pub(crate) async fn connect(&self, host: &Host) -> Result<Fresh, Failure> {
        let vital = Vital::new();
        let ear = Ear { node: self.0.node.clone(), vital: Arc::clone(&vital), events: self.0.events.clone() };
        let connection = self.0.dialer.dial(host, Some(Arc::new(ear))).await?;
        if !self.0.setup.is_empty() {
            let mut pipeline = Pipeline::with_capacity(self.0.setup.len());
            for cmd in &self.0.setup {
                pipeline.add_command(cmd.clone());
            }
            let mut connection = connection.clone();
            let answers = pipeline.query_async::<Vec<Value>>(&mut connection);
            match tokio::time::timeout(self.0.dialer.timeout(), answers).await {
                Ok(answers) => answers?,
                Err(_) => return Err(Failure::unavailable("setting up took too long")),
            };
        }
        Ok(Fresh { connection, vital, losses: None, _seat: None })
    }

    pub(crate) async fn up(&self, line: &Line) {
        // Fails when nobody listens any more; then this is about to end too.
        let _ = self.0.events.send(Event::Up(line.clone())).await;
    }

    pub(crate) async fn down(&self, line: &Line) {
        let _ = self.0.events.send(Event::Down(line.node().clone())).await;
    }
}

// === impl Ear ===

impl AsyncPushSender for Ear {
    fn send(&self, push: PushInfo) -> Result<(), redis::aio::SendError> {
        if push.kind == PushKind::Disconnection {
            self.vital.condemn();
            return Ok(());
        }
        // Redis ends such a subscription itself when the slot goes elsewhere, and the end would be taken for the answer of
        // whatever was asked before: no answer over this connection can be trusted any more.
        if push.kind == PushKind::SUnsubscribe && !self.vital.expects_end() {
            self.vital.condemn();
        }
        if !self.vital.is_alive() {
            return Ok(());
        }
        self.events.try_send(Event::Push(self.node.clone(), push)).map_err(|_| {
            self.vital.condemn();
            redis::aio::SendError
        })
    }
}

/// Keeps a connection to each node that there is.
async fn supervise(mut topology: watch::Receiver<Arc<Topology>>, links: Arc<Links>) {
    loop {
        let current = topology.borrow_and_update().clone();
        for id in links.leave_others(&current.nodes) {
            // Fails when nobody listens any more; then this is about to end too.
            let _ = links.events.send(Event::Down(id)).await;
        }
        for node in &current.nodes {
            links.kept(node);
        }
        if topology.changed().await.is_err() {
            // Fixed for good.
            return std::future::pending().await;
        }
        let _ = links.events.send(Event::Moved).await;
    }
}
