//! Replicas on one store, behind a balancer.
//!
//! ```no_run
//! use trunkline_harness::{balancer, binary, cluster::Cluster, redis::{Options, Topology}};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), trunkline_harness::HarnessError> {
//! let mut cluster = Cluster::builder(binary::trunkline()?)
//!     .replicas(3)
//!     .balancer(balancer::Kind::Haproxy)
//!     .redis(Topology::Standalone(Options::default()))
//!     .key("server", "drain_delay", "500ms")
//!     .start()
//!     .await?;
//! println!("{}/mcp", cluster.url());
//! cluster.replica(1).kill();
//! # Ok(())
//! # }
//! ```

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{
    HarnessError,
    balancer::{Backend, Balancer, Kind, Policy},
    cut::Cut,
    redis::{Redis, Topology},
    replica::{Replica, Settings},
    scratch::Scratch,
};

/// What a cluster is to be.
#[derive(Clone, Debug)]
pub struct Builder {
    replicas: usize,
    balancer: Option<Kind>,
    policy: Policy,
    redis: Option<Topology>,
    cut: bool,
    settings: Settings,
}

/// A running cluster. Dropped, all of it is gone.
#[derive(Debug)]
pub struct Cluster {
    // In the order in which they are dropped: clients before their servers, so that the logs show no more than was meant.
    balancer: Option<Balancer>,
    replicas: Vec<Replica>,
    cuts: Vec<Cut>,
    redis: Option<Redis>,
    ring: String,
    scratch: Scratch,
}

/// A cluster's servers, each of which can be hurt while another one is.
#[derive(Debug)]
pub struct Parts<'a> {
    /// All replicas.
    pub replicas: &'a mut [Replica],
    /// The way of each replica to Redis, where cuts were asked for; empty otherwise.
    pub cuts: &'a mut [Cut],
    /// The Redis, where there is one.
    pub redis: Option<&'a mut Redis>,
    /// The balancer, where there is one.
    pub balancer: Option<&'a mut Balancer>,
}

// === impl Builder ===

impl Builder {
    /// How many replicas; one by default.
    #[must_use]
    pub fn replicas(mut self, replicas: usize) -> Self {
        self.replicas = replicas;
        self
    }

    /// Puts a balancer in front of them.
    #[must_use]
    pub fn balancer(mut self, kind: Kind) -> Self {
        self.balancer = Some(kind);
        self
    }

    /// How the balancer chooses between them; one after the other by default.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Starts a Redis and has them use it. Otherwise each has a store of its own, in memory.
    #[must_use]
    pub fn redis(mut self, topology: Topology) -> Self {
        self.redis = Some(topology);
        self
    }

    /// Gives each replica a way of its own to a standalone Redis, which can be cut: [`Cluster::cut`].
    #[must_use]
    pub fn cut(mut self, cut: bool) -> Self {
        self.cut = cut;
        self
    }

    /// Sets a key of every replica's configuration; see [`Settings::key`].
    #[must_use]
    pub fn key(mut self, section: &str, key: &str, value: &str) -> Self {
        self.settings = self.settings.key(section, key, value);
        self
    }

    /// Sets a variable of every replica's environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.settings = self.settings.env(name, value);
        self
    }

    /// The arguments of every replica; `serve --demo` by default.
    #[must_use]
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.settings.arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        self
    }

    /// Starts all of it, and returns once every replica is ready and the balancer accepts connections.
    ///
    /// # Errors
    /// [`HarnessError::Missing`] with what installs or builds a program, [`HarnessError::Ended`] with the last words of one
    /// that did not start, [`HarnessError::Unsupported`] for a cut to more than one Redis.
    pub async fn start(self) -> Result<Cluster, HarnessError> {
        let redis = match self.redis {
            Some(topology) => Some(topology.start().await?),
            None => None,
        };
        let ring = ring();
        let mut cluster = Cluster {
            balancer: None,
            replicas: Vec::new(),
            cuts: Vec::new(),
            redis,
            ring,
            scratch: Scratch::new()?,
        };
        let settings = self.settings.key("server", "serve_replica_header", "true");
        let settings = settings.key("keys", "ring", &cluster.ring);
        for index in 0..self.replicas {
            let settings = match cluster.store(self.cut).await? {
                Some(url) => settings.clone().key("store", "url", &url),
                None => settings.clone(),
            };
            let replica = Replica::start(&cluster.scratch, &format!("replica-{index}"), settings).await?;
            cluster.replicas.push(replica);
        }
        if let Some(kind) = self.balancer {
            let backends: Vec<Backend> = cluster.replicas.iter().map(backend).collect();
            let balancer = Balancer::start_with(&cluster.scratch, kind, &self.policy, &backends).await?;
            cluster.balancer = Some(balancer);
        }
        Ok(cluster)
    }
}

// === impl Cluster ===

impl Cluster {
    /// One replica of this binary with a store in memory and no balancer, to be made more of.
    #[must_use]
    pub fn builder(binary: impl Into<PathBuf>) -> Builder {
        Builder {
            replicas: 1,
            balancer: None,
            policy: Policy::default(),
            redis: None,
            cut: false,
            settings: Settings::demo(binary),
        }
    }

    /// Scheme, host and port for clients: the balancer's, or the first replica's where there is none.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Where clients connect: to the balancer, or the first replica where there is none.
    ///
    /// # Panics
    /// With neither.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.balancer.as_ref().map_or_else(|| self.replicas[0].address(), Balancer::address)
    }

    /// A replica, to be addressed or hurt.
    ///
    /// # Panics
    /// When there are not so many.
    #[must_use]
    pub fn replica(&mut self, index: usize) -> &mut Replica {
        &mut self.replicas[index]
    }

    /// All replicas.
    #[must_use]
    pub fn replicas(&mut self) -> &mut [Replica] {
        &mut self.replicas
    }

    /// The balancer, where there is one.
    #[must_use]
    pub fn balancer(&mut self) -> Option<&mut Balancer> {
        self.balancer.as_mut()
    }

    /// The Redis, where there is one.
    #[must_use]
    pub fn redis(&mut self) -> Option<&mut Redis> {
        self.redis.as_mut()
    }

    /// The way of one replica to Redis, where it was asked for.
    #[must_use]
    pub fn cut(&mut self, replica: usize) -> Option<&mut Cut> {
        self.cuts.get_mut(replica)
    }

    /// All of its servers at once, for those who hurt several at the same time.
    #[must_use]
    pub fn parts(&mut self) -> Parts<'_> {
        Parts {
            replicas: &mut self.replicas,
            cuts: &mut self.cuts,
            redis: self.redis.as_mut(),
            balancer: self.balancer.as_mut(),
        }
    }

    /// The keys that all replicas have, as `keys.ring` is written.
    #[must_use]
    pub fn ring(&self) -> &str {
        &self.ring
    }

    /// The folder with everybody's logs and configuration.
    #[must_use]
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// A rolling update: drains and restarts one replica after the other. `limit` is for each drain.
    ///
    /// # Errors
    /// [`HarnessError::Late`] for a replica that does not end, and what [`Replica::restart`] fails with.
    pub async fn roll(&mut self, limit: Duration) -> Result<(), HarnessError> {
        for replica in &mut self.replicas {
            replica.drain(limit).await?;
            replica.restart().await?;
        }
        Ok(())
    }

    /// The store's URL for the next replica, by way of a cut of its own if it is to have one.
    async fn store(&mut self, cut: bool) -> Result<Option<String>, HarnessError> {
        let Some(redis) = &mut self.redis else { return Ok(None) };
        if !cut {
            return Ok(Some(redis.url()));
        }
        let Some(standalone) = redis.standalone() else {
            return Err(HarnessError::Unsupported {
                what: "a cut to sentinels or a cluster, which tell clients their own addresses".to_owned(),
                remedy: "use a standalone Redis".to_owned(),
            });
        };
        let way = Cut::start(standalone.address()).await?;
        let url = standalone.url_at(way.address());
        self.cuts.push(way);
        Ok(Some(url))
    }
}

fn backend(replica: &Replica) -> Backend {
    Backend { name: replica.name().to_owned(), address: replica.address(), admin: replica.admin() }
}

/// A ring of one random key.
fn ring() -> String {
    format!("test:{}", STANDARD.encode(rand::random::<[u8; 32]>()))
}
