//! The nodes of a Cluster, followed as slots move and primaries are replaced.

use std::{sync::Arc, time::Duration};

use redis::Value;
use tokio::sync::{Notify, watch};

use crate::{
    Host, NodeId,
    backoff::Backoff,
    client::Maker,
    error::chain,
    node::Node,
    sentinel::Informants,
    topology::{Place, Range, Topology},
};

/// How often the nodes are asked, besides at once when one sends a command elsewhere or a connection is lost: how long a
/// primary that was replaced without cutting its connections may still be read from.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// However many commands are sent elsewhere, the nodes are not asked more often.
const ASK_AT_MOST: Duration = Duration::from_millis(20);

/// Asks for a new look at the topology, and tells when it was taken.
#[derive(Clone)]
pub(crate) struct Refresh {
    wanted: Arc<Notify>,
    looks: watch::Receiver<u64>,
}

/// Follows the topology, until nobody wants to know.
pub(crate) struct Follower {
    informants: Informants,
    maker: Maker,
    topology: watch::Sender<Arc<Topology>>,
    wanted: Arc<Notify>,
    looks: watch::Sender<u64>,
}

/// Slots in a row, and the primary that has them.
type Served = (u16, u16, Host);

// === impl Refresh ===

impl Refresh {
    /// For what never changes.
    pub(crate) fn never() -> Self {
        Self { wanted: Arc::new(Notify::new()), looks: watch::channel(0).1 }
    }

    /// Waits for a look that was finished after now; at once if nothing is followed.
    pub(crate) async fn now(&self) {
        let mut looks = self.looks.clone();
        looks.mark_unchanged();
        self.wanted.notify_one();
        let _ = looks.changed().await;
    }
}

// === impl Follower ===

impl Follower {
    pub(crate) fn new(
        informants: Informants,
        maker: Maker,
        topology: watch::Sender<Arc<Topology>>,
    ) -> (Self, Refresh) {
        let wanted = Arc::clone(&maker.lost);
        let (looks, seen) = watch::channel(0);
        let refresh = Refresh { wanted: Arc::clone(&wanted), looks: seen };
        (Self { informants, maker, topology, wanted, looks }, refresh)
    }

    pub(crate) async fn follow(mut self) {
        let mut question = redis::cmd("CLUSTER");
        question.arg("SLOTS");
        let mut backoff = Backoff::default();
        while !self.topology.is_closed() {
            let wait = match self.informants.ask(&question, read_slots).await {
                Ok(served) => {
                    backoff.reset();
                    self.adopt(served);
                    ASK_EVERY
                }
                Err(failure) => {
                    tracing::warn!(error = %chain(&failure), "no node tells of the Cluster");
                    backoff.next()
                }
            };
            self.looks.send_modify(|looks| *looks += 1);
            tokio::time::sleep(ASK_AT_MOST).await;
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.wanted.notified() => {}
                () = self.topology.closed() => return,
            }
        }
    }

    /// Keeps the nodes that are still there, with their connections.
    fn adopt(&mut self, served: Vec<Served>) {
        let current = self.topology.borrow().clone();
        let mut next = Topology::default();
        for (first, last, host) in served {
            let node = match next.nodes.iter().position(|node| node.is_at(&host)) {
                Some(index) => index,
                None => {
                    let node = current.at(&host).map_or_else(|| self.make(&host), Arc::clone);
                    next.nodes.push(node);
                    next.nodes.len() - 1
                }
            };
            next.ranges.push(Range { first, last, node });
        }
        next.ranges.sort_unstable();
        self.informants
            .learn(next.nodes.iter().filter_map(|node| node.place.borrow().host().cloned()).collect());
        if !next.serves_like(&current) {
            tracing::info!(primaries = next.nodes.len(), "the Cluster has changed");
            self.topology.send_replace(Arc::new(next));
        }
    }

    fn make(&self, host: &Host) -> Arc<Node> {
        let id = NodeId(host.to_string().into());
        // It is never anywhere else: the sender may go.
        let (_, place) = watch::channel(Place::At(host.clone()));
        Arc::new(self.maker.node(&id, &place))
    }
}

/// The slots that have a primary. A node that does not know its own name is at the host that was asked.
fn read_slots(asked: &Host, answer: Value) -> Option<Vec<Served>> {
    let Value::Array(ranges) = answer else { return None };
    let read = |range: Value| {
        let Value::Array(parts) = range else { return None };
        let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = &parts[..] else {
            return None;
        };
        let [name, Value::Int(port), ..] = &primary[..] else { return None };
        let name = match name {
            Value::BulkString(name) => std::str::from_utf8(name).ok()?,
            _ => "",
        };
        let name = if name.is_empty() || name == "?" { &asked.name } else { name };
        let host = Host::new(name, u16::try_from(*port).ok()?);
        Some((u16::try_from(*first).ok()?, u16::try_from(*last).ok()?, host))
    };
    let served: Vec<Served> = ranges.into_iter().filter_map(read).collect();
    (!served.is_empty()).then_some(served)
}
