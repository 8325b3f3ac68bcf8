//! One primary, and the connections that all commands to it share.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use deadpool_redis::{Manager, Pool, PoolError, Runtime};
use parking_lot::Mutex;
use redis::{PushInfo, PushKind, RedisError};
use tokio::sync::watch;

use crate::{
    Failure, Host, NodeId,
    connect::Dialer,
    keeper::{Fresh, Kept},
    line::{Line, Vital},
    topology::Place,
};

/// A primary and its lanes. A lane is a connection that many share; which one a command takes, chance and the turn decide.
pub(crate) struct Node {
    pub(crate) id: NodeId,
    pub(crate) place: watch::Receiver<Place>,
    lanes: Vec<Kept>,
    turn: AtomicUsize,
}

/// Where lanes come from: a pool that bounds how many a node has. Each is taken once and given back broken: to take one for each
/// command would cost another round trip, since a pool tries what it hands out.
pub(crate) struct Lanes {
    dialer: Arc<Dialer>,
    most: usize,
    pool: Mutex<Option<(Host, Pool)>>,
    losses: watch::Sender<u64>,
}

/// A connection's seat in its pool. Once left, the connection is not handed out again.
pub(crate) struct Seat(Option<deadpool_redis::Connection>);

// === impl Node ===

impl Node {
    pub(crate) fn new(id: NodeId, place: watch::Receiver<Place>, lanes: Vec<Kept>) -> Self {
        Self { id, place, lanes, turn: AtomicUsize::new(0) }
    }

    /// A connection that lives. Waits for one that is being made; fails at once if none is there and none is in the making.
    pub(crate) async fn line(&self) -> Result<Line, Failure> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let lanes = self.lanes.len();
        let in_turn = || (0..lanes).map(|step| &self.lanes[(turn + step) % lanes]);
        if let Some(line) = in_turn().find_map(Kept::up) {
            return Ok(line);
        }
        match in_turn().find(|lane| lane.down().is_none()) {
            Some(lane) => lane.line().await,
            None => Err(in_turn()
                .find_map(Kept::down)
                .unwrap_or_else(|| Failure::unavailable("no connection is there yet"))),
        }
    }

    pub(crate) fn is_at(&self, host: &Host) -> bool {
        self.place.borrow().host() == Some(host)
    }
}

// === impl Lanes ===

impl Lanes {
    pub(crate) fn new(dialer: Arc<Dialer>, most: usize) -> Arc<Self> {
        Arc::new(Self { dialer, most, pool: Mutex::new(None), losses: watch::Sender::new(0) })
    }

    pub(crate) async fn connect(&self, host: &Host) -> Result<Fresh, Failure> {
        let pool = self.pool(host)?;
        let losses = self.losses.subscribe();
        let seat = pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) => Failure::from(error),
            PoolError::Timeout(_) => Failure::unavailable("connecting took too long"),
            _ => Failure::unavailable("no connection can be made"),
        })?;
        // Clones of it, which answers still come over, outlive its seat.
        let connection = seat.as_ref().clone();
        Ok(Fresh { connection, vital: Vital::new(), losses: Some(losses), _seat: Some(Seat(Some(seat))) })
    }

    fn pool(&self, host: &Host) -> Result<Pool, RedisError> {
        let mut pool = self.pool.lock();
        match &*pool {
            Some((at, pool)) if at == host => return Ok(pool.clone()),
            _ => {}
        }
        let losses = self.losses.clone();
        let config = self.dialer.config().set_push_sender(move |push: PushInfo| {
            if push.kind == PushKind::Disconnection {
                losses.send_modify(|losses| *losses += 1);
            }
            Ok::<(), RedisError>(())
        });
        let manager = Manager::new_with_config(self.dialer.info(host)?, config)?;
        let timeout = Some(self.dialer.timeout());
        let fresh = Pool::builder(manager)
            .max_size(self.most)
            .runtime(Runtime::Tokio1)
            .create_timeout(timeout)
            .wait_timeout(timeout)
            .build()
            .map_err(|_| {
                RedisError::from((redis::ErrorKind::InvalidClientConfig, "no pool of connections"))
            })?;
        *pool = Some((host.clone(), fresh.clone()));
        Ok(fresh)
    }
}

// === impl Seat ===

impl Drop for Seat {
    fn drop(&mut self) {
        drop(self.0.take().map(deadpool_redis::Connection::take));
    }
}
