//! Who tells where the servers are, and what Sentinels tell.

use std::{sync::Arc, time::Duration};

use redis::{Cmd, RedisError, Value, aio::MultiplexedConnection};
use tokio::sync::{Notify, watch};

use crate::{Failure, Host, backoff::Backoff, connect::Dialer, error::chain, topology::Place};

/// How often the Sentinels are asked, besides at once when a connection is lost: how long a primary that was replaced without
/// cutting its connections may still be read from.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// Hosts of which any can answer. The one that did is asked again, over the same connection.
pub(crate) struct Informants {
    dialer: Dialer,
    hosts: Vec<Host>,
    turn: usize,
    current: Option<MultiplexedConnection>,
}

// === impl Informants ===

impl Informants {
    pub(crate) fn new(dialer: Dialer, hosts: Vec<Host>) -> Self {
        Self { dialer, hosts, turn: 0, current: None }
    }

    /// The first answer that `read` takes, and who gave it. Each host is asked once.
    pub(crate) async fn ask<T>(
        &mut self,
        cmd: &Cmd,
        read: impl Fn(&Host, Value) -> Option<T>,
    ) -> Result<T, Failure> {
        let mut failure = Failure::unavailable("nobody knows where Redis is");
        for _ in 0..self.hosts.len() {
            let host = self.hosts[self.turn % self.hosts.len()].clone();
            match self.answer(&host, cmd).await {
                Ok(value) => match read(&host, value) {
                    Some(answer) => return Ok(answer),
                    None => failure = Failure::unavailable("the answer names no primary"),
                },
                Err(error) => failure = error.into(),
            }
            self.current = None;
            self.turn = (self.turn + 1) % self.hosts.len();
        }
        Err(failure)
    }

    /// Adds hosts that can be asked as well.
    pub(crate) fn learn(&mut self, hosts: Vec<Host>) {
        for host in hosts {
            if !self.hosts.contains(&host) {
                self.hosts.push(host);
            }
        }
    }

    async fn answer(&mut self, host: &Host, cmd: &Cmd) -> Result<Value, RedisError> {
        let mut connection = match self.current.take() {
            Some(connection) => connection,
            None => self.dialer.dial(host, None).await?,
        };
        let answer = tokio::time::timeout(self.dialer.timeout(), connection.send_packed_command(cmd)).await;
        let value = answer.map_err(|_| crate::line::timed_out())??.extract_error()?;
        self.current = Some(connection);
        Ok(value)
    }
}

/// Follows the primary of this name, until nobody wants to know.
pub(crate) async fn follow(
    mut sentinels: Informants,
    master: String,
    primary: watch::Sender<Place>,
    lost: Arc<Notify>,
) {
    let mut question = redis::cmd("SENTINEL");
    question.arg("GET-MASTER-ADDR-BY-NAME").arg(master);
    let mut backoff = Backoff::default();
    while !primary.is_closed() {
        let wait = match sentinels.ask(&question, |_, answer| read_host(&answer)).await {
            Ok(host) => {
                backoff.reset();
                primary.send_if_modified(|current| {
                    let moved = current.host() != Some(&host);
                    if moved {
                        tracing::info!(primary = %host, "the Sentinels name a primary");
                        *current = Place::At(host);
                    }
                    moved
                });
                ASK_EVERY
            }
            // The last one known stays: that no Sentinel answers is no reason to leave a primary that does.
            Err(failure) => {
                tracing::warn!(error = %chain(&failure), "no Sentinel names a primary");
                primary.send_if_modified(|current| {
                    let never_known = current.host().is_none();
                    if never_known {
                        *current = Place::Nowhere(failure);
                    }
                    never_known
                });
                backoff.next()
            }
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            // Soon, but not at once: a failover takes its time, and lost connections come in numbers.
            () = lost.notified() => tokio::time::sleep(ASK_EVERY / 5).await,
            () = primary.closed() => return,
        }
    }
}

/// A name and a port.
fn read_host(answer: &Value) -> Option<Host> {
    let Value::Array(parts) = answer else { return None };
    let [Value::BulkString(name), Value::BulkString(port)] = &parts[..] else { return None };
    let name = std::str::from_utf8(name).ok()?;
    let port = std::str::from_utf8(port).ok()?.parse().ok()?;
    Some(Host::new(name, port))
}
