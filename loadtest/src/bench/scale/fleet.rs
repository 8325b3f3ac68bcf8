//! Replicas on a Redis of their own, and what is around them.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};
use trunkline_harness::{
    balancer::{Backend, Balancer, Kind, Policy},
    redis::{Options, Standalone},
    scratch::Scratch,
};
use trunkline_protocol::Revision;

use super::{Trouble, caller::Caller, contenders::Contender, exact, redis};
use crate::bench::{BenchError, process::Server};

/// How long a replica may take until it opens a session, and between two looks.
const START: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

/// What a health check is answered.
const HEALTHY: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Replicas of one server. Dropped, all of it is gone.
pub(super) struct Fleet {
    // In the order in which they are dropped: clients before their servers.
    balancer: Option<Balancer>,
    replicas: Vec<Server>,
    pub(super) redis: Standalone,
    _health: Option<Health>,
    _scratch: Scratch,
}

/// Answers the balancer's health checks for everybody. Not every server has an address for them, and nobody is meant to fail.
struct Health {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

/// Where the accounts stood.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    at: Instant,
    cpu: Duration,
    commands: u64,
}

/// What was used between two marks.
pub(super) struct Used {
    pub(super) took: Duration,
    cpu: Duration,
    commands: u64,
}

/// What a fleet uses in a second that nobody asks for anything: signs of life, looks at what is due.
#[derive(Clone, Copy)]
pub(super) struct Idle {
    /// Of a processor, in seconds.
    pub(super) cpu: f64,
    /// Of Redis.
    pub(super) commands: f64,
}

// === impl Fleet ===

impl Fleet {
    /// Starts so many replicas, and HAProxy in front of them where it is wanted. Returns when each has opened a session.
    pub(super) async fn start(
        contender: &Contender,
        replicas: usize,
        balanced: bool,
        pinned: bool,
    ) -> Result<Self, Trouble> {
        let scratch = Scratch::new()?;
        let redis = Standalone::start(Options::default()).await?;
        let launcher = contender.program(&scratch, &redis.url())?;
        let mut fleet =
            Self { balancer: None, replicas: Vec::new(), redis, _health: None, _scratch: scratch.clone() };
        for _ in 0..replicas {
            let started = Server::start(&scratch, pinned, |port| launcher.on(port)).await;
            let server = started.map_err(|error| Trouble::Wrong(error.to_string()))?;
            opens(&server).await?;
            fleet.replicas.push(server);
        }
        if balanced {
            let health = Health::start().await?;
            let backends: Vec<Backend> = fleet.backends(health.address);
            let started = Balancer::start_with(&scratch, Kind::Haproxy, &Policy::RoundRobin, &backends);
            fleet.balancer = Some(started.await?);
            fleet._health = Some(health);
        }
        Ok(fleet)
    }

    fn backends(&self, admin: SocketAddr) -> Vec<Backend> {
        let named = self.replicas.iter().enumerate();
        named
            .map(|(index, replica)| Backend {
                name: format!("replica-{index}"),
                address: replica.address(),
                admin,
            })
            .collect()
    }

    /// Where clients connect: to the balancer, or to the first replica where there is none.
    pub(super) fn address(&self) -> SocketAddr {
        self.balancer.as_ref().map_or_else(|| self.replicas[0].address(), Balancer::address)
    }

    /// One of the replicas.
    pub(super) fn replica(&self, index: usize) -> &Server {
        &self.replicas[index]
    }

    pub(super) async fn mark(&self) -> Result<Mark, BenchError> {
        let commands = redis::commands(&self.redis).await?;
        Ok(Mark { at: Instant::now(), cpu: self.replicas.iter().map(Server::cpu).sum(), commands })
    }

    /// What it does that nobody asks for, looked at for so long.
    pub(super) async fn idle(&self, time: Duration) -> Result<Idle, BenchError> {
        let before = self.mark().await?;
        tokio::time::sleep(time).await;
        let used = self.mark().await?.since(before);
        let seconds = used.took.as_secs_f64();
        Ok(Idle { cpu: used.cpu.as_secs_f64() / seconds, commands: exact(used.commands) / seconds })
    }

    /// The last lines of what the first replica has said.
    pub(super) fn logs_tail(&self) -> String {
        self.replicas[0].logs_tail()
    }
}

/// Waits until a replica opens a session: one that listens may not have its Redis yet.
async fn opens(server: &Server) -> Result<(), Trouble> {
    let deadline = Instant::now() + START;
    loop {
        let opened = async {
            let mut caller = Caller::open(server.address()).await?;
            caller.initialize(Revision::V2025_11_25, 0).await
        };
        match opened.await {
            Ok(_session) => return Ok(()),
            Err(Trouble::Away(_)) if Instant::now() < deadline => tokio::time::sleep(LOOK).await,
            Err(error) => {
                let logs = server.logs_tail();
                return Err(Trouble::Wrong(format!("it opens no session: {error}; it said: {logs}")));
            }
        }
    }
}

// === impl Mark ===

impl Mark {
    pub(super) fn since(self, before: Self) -> Used {
        Used {
            took: self.at - before.at,
            cpu: self.cpu.saturating_sub(before.cpu),
            commands: self.commands.saturating_sub(before.commands),
        }
    }
}

// === impl Used ===

impl Used {
    /// Commands beside those that would have been executed anyway.
    pub(super) fn commands(&self, idle: Idle) -> f64 {
        (exact(self.commands) - idle.commands * self.took.as_secs_f64()).max(0.0)
    }

    /// Seconds on a processor beside those that would have been used anyway.
    pub(super) fn cpu(&self, idle: Idle) -> f64 {
        (self.cpu.as_secs_f64() - idle.cpu * self.took.as_secs_f64()).max(0.0)
    }
}

// === impl Health ===

impl Health {
    async fn start() -> Result<Self, BenchError> {
        let failed = |source| BenchError::Io { what: "listening for health checks", source };
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let serving = tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                // What a balancer that goes away leaves unanswered is nobody's loss.
                let mut head = [0; 1024];
                let _read = socket.read(&mut head).await;
                let _written = socket.write_all(HEALTHY).await;
            }
        });
        Ok(Self { address, serving })
    }
}

impl Drop for Health {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_anyway_is_not_counted() {
        let used = Used { took: Duration::from_secs(2), cpu: Duration::from_secs(1), commands: 100 };
        let idle = Idle { cpu: 0.25, commands: 10.0 };
        assert_eq!((used.cpu(idle), used.commands(idle)), (0.5, 80.0));
        let busy = Idle { cpu: 9.0, commands: 900.0 };
        assert_eq!((used.cpu(busy), used.commands(busy)), (0.0, 0.0));
    }
}
