//! Commands and scripts, each sent to the node that has its key.

use std::{fmt, sync::Arc, time::Duration};

use redis::{Cmd, ErrorKind, FromRedisValue, Pipeline, RedisError, ServerErrorKind, Value};
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
};

use crate::{
    Failure, Health, Host, Mode, NodeId, OpenError, Script, Settings,
    cluster::{self, Refresh},
    connect::Dialer,
    health::Record,
    keeper::{Keeper, Kept, Purpose},
    line::{Line, Request, lost, timed_out},
    node::{Lanes, Node},
    pushes::Links,
    replicas,
    sentinel::{self, Informants},
    topology::{Place, Topology, slot},
};

/// How long to wait when a slot is between two nodes, or nobody serves it for the moment.
const BETWEEN: Duration = Duration::from_millis(20);

/// A client. Clones are one; its connections close with the last of them.
///
/// Its connections run on the runtime that it was opened on, which has to outlive it; who uses it may be on any other.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    maker: Maker,
    topology: watch::Receiver<Arc<Topology>>,
    refresh: Refresh,
    /// Whether the primary has a replica in step, where changes wait for one.
    replicated: Option<watch::Receiver<Option<bool>>>,
}

/// What every part of a client is made with.
#[derive(Clone)]
pub(crate) struct Maker {
    pub(crate) settings: Arc<Settings>,
    pub(crate) dialer: Arc<Dialer>,
    pub(crate) runtime: Handle,
    /// Woken when a connection is lost, for whoever knows where the nodes are.
    pub(crate) lost: Arc<Notify>,
    pub(crate) health: Record,
}

/// Which connections a command takes.
#[derive(Clone, Copy)]
pub(crate) enum Via<'a> {
    /// Those that all commands share.
    Lanes,
    /// Those that pushes come over.
    Links(&'a Links),
}

/// Where an answer sends a command instead.
enum Detour {
    /// The slot is elsewhere now.
    Moved,
    /// This once, the command is for another node.
    Ask(Host),
    /// Nobody can serve it for the moment.
    Later,
}

// === impl Client ===

impl Client {
    /// A client for this Redis. Does not wait for Redis to be there.
    ///
    /// # Errors
    ///
    /// When the certificates cannot be used, or outside of a Tokio runtime.
    pub fn open(settings: Settings) -> Result<Self, OpenError> {
        let runtime = Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        let dialer = Dialer::new(&settings)?;
        let informants = Informants::new(dialer.informants(&settings), settings.address.hosts.clone());
        let maker = Maker {
            dialer: Arc::new(dialer),
            runtime,
            lost: Arc::new(Notify::new()),
            health: Record::default(),
            settings: Arc::new(settings),
        };
        let waits = maker.settings.replicas > 0;
        let (topology, refresh, replicated) = match &maker.settings.address.mode {
            Mode::Standalone => {
                let host = maker.settings.address.hosts[0].clone();
                let id = NodeId(host.to_string().into());
                let place = watch::channel(Place::At(host)).1;
                let replicated = waits.then(|| replicas::follow(&maker, &id, &place));
                let node = maker.node(&id, &place);
                (watch::channel(Arc::new(Topology::single(node))).1, Refresh::never(), replicated)
            }
            Mode::Sentinel { master } => {
                let (primary, place) = watch::channel(Place::Unknown);
                let lost = Arc::clone(&maker.lost);
                maker.runtime.spawn(sentinel::follow(informants, master.clone(), primary, lost));
                let id = NodeId(master.as_str().into());
                let replicated = waits.then(|| replicas::follow(&maker, &id, &place));
                let node = maker.node(&id, &place);
                (watch::channel(Arc::new(Topology::single(node))).1, Refresh::never(), replicated)
            }
            Mode::Cluster => {
                let (sender, topology) = watch::channel(Arc::default());
                let (follower, refresh) = cluster::Follower::new(informants, maker.clone(), sender);
                maker.runtime.spawn(follower.follow());
                (topology, refresh, None)
            }
        };
        Ok(Self(Arc::new(Inner { maker, topology, refresh, replicated })))
    }

    /// Runs a command on the node that has `key`.
    ///
    /// # Errors
    ///
    /// As [`Failure`] says.
    pub async fn run<T: FromRedisValue>(&self, key: &[u8], cmd: &Cmd) -> Result<T, Failure> {
        convert(self.send(Via::Lanes, key, Request::One(cmd)).await?)
    }

    /// Runs commands on the node that has `key`, which all their keys have to be on, in one round trip. Fails if the first one
    /// does; those behind it that failed are among the values as [`Value::ServerError`].
    ///
    /// # Errors
    ///
    /// As [`Failure`] says.
    pub async fn run_all(&self, key: &[u8], pipeline: &Pipeline) -> Result<Vec<Value>, Failure> {
        self.send(Via::Lanes, key, Request::All(pipeline)).await
    }

    /// Runs a script on the node that has its first key.
    ///
    /// # Errors
    ///
    /// As [`Failure`] says.
    pub async fn run_script<T: FromRedisValue>(
        &self,
        script: &Script,
        keys: &[&[u8]],
        args: &[&[u8]],
    ) -> Result<T, Failure> {
        self.scripted(script, keys, args, false).await
    }

    /// As [`Client::run`], for a command that changes something: it counts as done once as many replicas hold it as
    /// [`Settings::replicas`] says. Still one round trip.
    ///
    /// # Errors
    ///
    /// As [`Failure`] says, [`Failure::NotReplicated`] among them.
    pub async fn change<T: FromRedisValue>(&self, key: &[u8], cmd: &Cmd) -> Result<T, Failure> {
        convert(self.confirmed(key, cmd, true).await?)
    }

    /// As [`Client::run_script`], for a script that changes something: see [`Client::change`].
    ///
    /// # Errors
    ///
    /// As [`Failure`] says, [`Failure::NotReplicated`] among them.
    pub async fn change_script<T: FromRedisValue>(
        &self,
        script: &Script,
        keys: &[&[u8]],
        args: &[&[u8]],
    ) -> Result<T, Failure> {
        self.scripted(script, keys, args, true).await
    }

    /// The node that has this key, if that is known.
    #[must_use]
    pub fn node_of(&self, key: &[u8]) -> Option<NodeId> {
        self.0.topology.borrow().node(slot(key)).map(|node| node.id.clone())
    }

    /// The primaries that there are, as far as is known.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeId> {
        self.0.topology.borrow().nodes.iter().map(|node| node.id.clone()).collect()
    }

    /// Whether keys are spread over nodes.
    #[must_use]
    pub fn is_cluster(&self) -> bool {
        self.settings().address.is_cluster()
    }

    /// How it has gone lately.
    #[must_use]
    pub fn health(&self) -> Health {
        self.0.maker.health.read()
    }

    /// What the client was opened with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.0.maker.settings
    }

    /// The runtime that its connections run on.
    #[must_use]
    pub fn runtime(&self) -> &Handle {
        &self.0.maker.runtime
    }

    pub(crate) fn maker(&self) -> &Maker {
        &self.0.maker
    }

    pub(crate) fn topology(&self) -> watch::Receiver<Arc<Topology>> {
        self.0.topology.clone()
    }

    async fn scripted<T: FromRedisValue>(
        &self,
        script: &Script,
        keys: &[&[u8]],
        args: &[&[u8]],
        change: bool,
    ) -> Result<T, Failure> {
        let key = keys.first().copied().unwrap_or_default();
        let answer = match self.confirmed(key, &script.by_hash(keys, args), change).await {
            Err(Failure::Refused(error)) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.confirmed(key, &script.by_source(keys, args), change).await
            }
            answer => answer,
        };
        convert(answer?)
    }

    /// A command, and its replicas' word in the same breath: Redis counts only what came over the same connection.
    async fn confirmed(&self, key: &[u8], cmd: &Cmd, change: bool) -> Result<Vec<Value>, Failure> {
        let Settings { replicas, replicas_timeout, .. } = self.settings();
        if !change || *replicas == 0 {
            return self.send(Via::Lanes, key, Request::One(cmd)).await;
        }
        if !self.is_replicated().await? {
            return self.send(Via::Lanes, key, Request::One(cmd)).await;
        }
        let mut pipeline = Pipeline::with_capacity(2);
        let patience = u64::try_from(replicas_timeout.as_millis()).unwrap_or(u64::MAX).max(1);
        pipeline.add_command(cmd.clone()).cmd("WAIT").arg(*replicas).arg(patience);
        let mut values = self.send(Via::Lanes, key, Request::All(&pipeline)).await?;
        let confirmed: u32 = convert(values.split_off(1))?;
        if confirmed < *replicas {
            return Err(Failure::NotReplicated { confirmed, wanted: *replicas });
        }
        Ok(values)
    }

    /// Whether changes wait for a replica. On a Cluster, where each primary has its own, they always do.
    async fn is_replicated(&self) -> Result<bool, Failure> {
        let Some(mut replicated) = self.0.replicated.clone() else { return Ok(true) };
        let patience = self.settings().response_timeout;
        let known = tokio::time::timeout(patience, replicated.wait_for(Option::is_some)).await;
        match known {
            Ok(Ok(known)) => Ok(known.unwrap_or(true)),
            _ => Err(timed_out().into()).inspect_err(|failure| self.0.maker.health.failed(failure)),
        }
    }

    /// Sends to the node that has the key, wherever that turns out to be.
    pub(crate) async fn send(
        &self,
        via: Via<'_>,
        key: &[u8],
        request: Request<'_>,
    ) -> Result<Vec<Value>, Failure> {
        let patience = self.settings().response_timeout;
        let outcome = match tokio::time::timeout(patience, self.route(via, slot(key), request)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(timed_out().into()),
        };
        outcome.inspect_err(|failure| self.0.maker.health.failed(failure))
    }

    async fn route(&self, via: Via<'_>, slot: u16, request: Request<'_>) -> Result<Vec<Value>, Failure> {
        let (mut ask, mut again) = (None, matches!(via, Via::Links(_)));
        loop {
            let node = self.node(slot, ask.as_ref()).await?;
            let line = match via {
                Via::Lanes => node.line().await?,
                Via::Links(links) => links.line(&node).await?,
            };
            let outcome = match ask.take() {
                None => line.exchange(request).await,
                Some(_) => asking(&line, request).await,
            };
            // Over a link that is lost, nothing tells any more of changes of what was read.
            if matches!(via, Via::Links(_)) && !line.is_alive() {
                if std::mem::take(&mut again) {
                    continue;
                }
                return Err(lost());
            }
            let error = match outcome {
                Ok(values) => return Ok(values),
                Err(error) => error,
            };
            match detour(&error).filter(|_| self.is_cluster()) {
                None => return Err(error.into()),
                Some(Detour::Moved) => self.0.refresh.now().await,
                Some(Detour::Ask(host)) if self.0.topology.borrow().at(&host).is_some() => ask = Some(host),
                // A node that is about to get its first slot is not known until it has it.
                Some(Detour::Ask(_) | Detour::Later) => {
                    tokio::time::sleep(BETWEEN).await;
                    self.0.refresh.now().await;
                }
            }
        }
    }

    async fn node(&self, slot: u16, ask: Option<&Host>) -> Result<Arc<Node>, Failure> {
        for _ in 0..2 {
            let topology = self.0.topology.borrow().clone();
            let node = ask.map_or_else(|| topology.node(slot), |host| topology.at(host));
            if let Some(node) = node {
                return Ok(Arc::clone(node));
            }
            self.0.refresh.now().await;
        }
        Err(Failure::unavailable("no node of the Cluster is known to have this key"))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.settings().address).finish()
    }
}

// === impl Maker ===

impl Maker {
    pub(crate) fn node(&self, id: &NodeId, place: &watch::Receiver<Place>) -> Node {
        let count = self.settings.connections.max(1);
        let lanes = Lanes::new(Arc::clone(&self.dialer), count);
        let lane = |_| self.keep(id.clone(), place.clone(), Purpose::Lane(Arc::clone(&lanes)));
        let kept = (0..count).map(lane).collect();
        Node::new(id.clone(), place.clone(), kept)
    }

    pub(crate) fn keep(&self, node: NodeId, place: watch::Receiver<Place>, purpose: Purpose) -> Kept {
        let keeper = Keeper {
            node,
            place,
            primary_only: matches!(self.settings.address.mode, Mode::Sentinel { .. }),
            lost: Arc::clone(&self.lost),
            purpose,
            timeout: self.settings.response_timeout,
            health: self.health.clone(),
        };
        keeper.spawn(&self.runtime)
    }
}

/// Sends with leave to be served by a node that is about to get the slot. The leave is for one command.
async fn asking(line: &Line, request: Request<'_>) -> Result<Vec<Value>, RedisError> {
    let mut pipeline = Pipeline::new();
    let commands = match request {
        Request::One(cmd) => vec![cmd],
        Request::All(pipeline) => pipeline.cmd_iter().collect(),
    };
    for cmd in commands {
        pipeline.cmd("ASKING").add_command(cmd.clone());
    }
    let values = line.exchange(Request::All(&pipeline)).await?;
    let values: Vec<Value> = values.into_iter().skip(1).step_by(2).collect();
    match values.first() {
        Some(Value::ServerError(error)) => Err(error.clone().into()),
        _ => Ok(values),
    }
}

fn detour(error: &RedisError) -> Option<Detour> {
    match error.kind() {
        ErrorKind::Server(ServerErrorKind::Moved) => Some(Detour::Moved),
        ErrorKind::Server(ServerErrorKind::Ask) => {
            let (host, _) = error.redirect_node()?;
            let (name, port) = host.rsplit_once(':')?;
            Some(Detour::Ask(Host::new(name, port.parse().ok()?)))
        }
        ErrorKind::Server(
            ServerErrorKind::TryAgain | ServerErrorKind::ClusterDown | ServerErrorKind::MasterDown,
        ) => Some(Detour::Later),
        _ => None,
    }
}

/// The first value as what is expected.
pub(crate) fn convert<T: FromRedisValue>(values: Vec<Value>) -> Result<T, Failure> {
    let value = values.into_iter().next().unwrap_or_default().extract_error()?;
    redis::from_redis_value(value).map_err(|error| Failure::Refused(error.into()))
}
