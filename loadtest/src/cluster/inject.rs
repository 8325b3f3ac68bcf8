//! Does the faults to the cluster, each at its time.

use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex as Records;
use tokio::{
    sync::Mutex,
    time::{Instant, sleep_until},
};
use trunkline_harness::{
    HarnessError,
    balancer::Balancer,
    cluster::{Cluster, Parts},
    cut::{Cut, Severed},
    redis::Redis,
    replica::Replica,
};

use super::{
    error::chain,
    faults::{Fault, How, Kind},
};
use crate::report::Notes;

/// How long a replica may take to drain: its longest default grace, and some more.
const DRAIN: Duration = Duration::from_secs(45);

/// How long sentinels may take; usually two seconds, on a busy machine more than twenty.
const FAILOVER: Duration = Duration::from_secs(90);

/// A balancer's look at a replica that is back: two of its checks.
const NOTICE: Duration = Duration::from_millis(500);

/// A fault that was begun. Times are from the beginning of the run.
#[derive(Clone, Debug)]
pub struct Injected {
    /// Which.
    pub fault: Fault,
    /// When it was begun.
    pub begun: Duration,
    /// When it was over; `None` while it is not.
    pub over: Option<Duration>,
    /// Why it could not be done, or not be ended.
    pub failed: Option<String>,
}

/// What faults have done so far.
#[derive(Debug, Default)]
pub struct Log {
    records: Records<Vec<Injected>>,
    notes: Notes,
}

/// The cluster's servers, each for one fault at a time.
struct Stage<'a> {
    replicas: Vec<Mutex<&'a mut Replica>>,
    cuts: Vec<Mutex<&'a mut Cut>>,
    redis: Option<Mutex<&'a mut Redis>>,
    balancer: Option<Mutex<&'a mut Balancer>>,
    start: Instant,
}

/// Does all faults at their times after `start`, and notes in the log what was done and when. Given up, it leaves the
/// cluster as hurt as it is.
pub async fn inject(cluster: &mut Cluster, faults: &[Fault], start: Instant, log: &Log) {
    let Parts { replicas, cuts, redis, balancer } = cluster.parts();
    let stage = Stage {
        replicas: replicas.iter_mut().map(Mutex::new).collect(),
        cuts: cuts.iter_mut().map(Mutex::new).collect(),
        redis: redis.map(Mutex::new),
        balancer: balancer.map(Mutex::new),
        start,
    };
    join_all(faults.iter().map(|fault| stage.carry_out(fault, log))).await;
}

// === impl Log ===

impl Log {
    /// An empty one, which tells people what it is told.
    #[must_use]
    pub fn telling(notes: &Notes) -> Self {
        Self { records: Records::default(), notes: notes.clone() }
    }

    /// Every fault that was begun, in that order.
    #[must_use]
    pub fn records(&self) -> Vec<Injected> {
        self.records.lock().clone()
    }

    fn begin(&self, fault: &Fault, begun: Duration) -> usize {
        self.notes.add(&format!("{}: begun", fault.label()));
        let mut records = self.records.lock();
        records.push(Injected { fault: fault.clone(), begun, over: None, failed: None });
        records.len() - 1
    }

    fn end(&self, record: usize, over: Duration, result: Result<(), HarnessError>) {
        let record = &mut self.records.lock()[record];
        record.over = Some(over);
        record.failed = result.err().map(|error| chain(&error));
        let label = record.fault.label();
        self.notes.add(&match &record.failed {
            Some(why) => format!("{label}: not done as planned: {why}"),
            None => format!("{label}: done"),
        });
    }
}

// === impl Stage ===

impl<'a> Stage<'a> {
    async fn carry_out(&self, fault: &Fault, log: &Log) {
        sleep_until(self.start + fault.at.get()).await;
        let record = log.begin(fault, self.start.elapsed());
        let result = self.hurt(fault).await;
        log.end(record, self.start.elapsed(), result);
    }

    async fn hurt(&self, fault: &Fault) -> Result<(), HarnessError> {
        match fault.kind {
            Kind::KillReplica => {
                let mut replica = self.replica(fault)?.lock().await;
                replica.kill();
                if fault.lasts.is_none() {
                    return Ok(());
                }
                self.end_of(fault).await;
                replica.restart().await
            }
            Kind::DrainReplica => {
                let mut replica = self.replica(fault)?.lock().await;
                replica.drain(DRAIN).await?;
                self.end_of(fault).await;
                replica.restart().await
            }
            Kind::Roll => self.roll(fault).await,
            Kind::StopReplica => {
                let mut replica = self.replica(fault)?.lock().await;
                replica.stop()?;
                self.end_of(fault).await;
                replica.resume()
            }
            Kind::CutReplica => {
                let cut = fault.replica.and_then(|replica| self.cuts.get(replica));
                let mut cut = cut.ok_or_else(|| absent("a way to Redis that can be cut"))?.lock().await;
                cut.sever(match fault.how {
                    How::Frozen => Severed::Frozen,
                    How::Refused => Severed::Refused,
                })
                .await;
                self.end_of(fault).await;
                cut.heal().await
            }
            Kind::RestartRedis | Kind::FlushRedis | Kind::StopRedis | Kind::KillPrimary => {
                self.hurt_redis(fault).await
            }
            Kind::KillConnections => {
                let balancer = self.balancer.as_ref().ok_or_else(|| absent("a balancer"))?;
                balancer.lock().await.restart().await
            }
        }
    }

    async fn hurt_redis(&self, fault: &Fault) -> Result<(), HarnessError> {
        let mut redis = self.redis.as_ref().ok_or_else(|| absent("a Redis"))?.lock().await;
        match fault.kind {
            Kind::FlushRedis => redis.restart_empty().await,
            Kind::KillPrimary => {
                let Redis::Sentinel(sentinel) = &mut **redis else {
                    return Err(absent("a Redis with sentinels"));
                };
                sentinel.kill_primary();
                sentinel.await_failover(FAILOVER).await?;
                self.end_of(fault).await;
                sentinel.restart_with_data().await
            }
            _ => {
                redis.kill();
                self.end_of(fault).await;
                redis.restart_with_data().await
            }
        }
    }

    async fn roll(&self, fault: &Fault) -> Result<(), HarnessError> {
        // Without a pause the next one would leave before the balancer has seen that this one is back.
        let pause = fault.lasts.map_or(NOTICE, |lasts| lasts.get().max(NOTICE));
        for (index, replica) in self.replicas.iter().enumerate() {
            if index > 0 {
                tokio::time::sleep(pause).await;
            }
            let mut replica = replica.lock().await;
            // One that was killed before only has to come back.
            if replica.is_running() {
                replica.drain(DRAIN).await?;
            }
            replica.restart().await?;
        }
        Ok(())
    }

    /// Waits until the fault's duration is over, if it has one.
    async fn end_of(&self, fault: &Fault) {
        sleep_until(self.start + fault.ends()).await;
    }

    fn replica(&self, fault: &Fault) -> Result<&Mutex<&'a mut Replica>, HarnessError> {
        fault.replica.and_then(|replica| self.replicas.get(replica)).ok_or_else(|| absent("such a replica"))
    }
}

/// What the setup's checks have refused before.
fn absent(what: &str) -> HarnessError {
    HarnessError::Unsupported {
        what: format!("there is no {what}"),
        remedy: "choose another topology".to_owned(),
    }
}
