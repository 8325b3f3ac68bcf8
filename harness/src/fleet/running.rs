//! The fleet from its start to its report.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use hyper::Uri;
use serde_json::json;
use tokio::{
    runtime::Runtime,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    check::{Window, check},
    client::Client,
    history::{At, Kind},
    message::Ask,
    plan::{Mix, Pace, Plan},
    report::{Count, Report},
};

/// How long clients have to open their sessions and begin to listen.
const READY: Duration = Duration::from_secs(90);

/// How long calls have to come to their ends: longer than a client waits for one.
const ENDS: Duration = Duration::from_secs(70);

/// How long listeners have to hear the last change after it was made.
const LAST: Duration = Duration::from_secs(20);

/// How often it is looked whether all are ready.
const LOOK: Duration = Duration::from_millis(20);

/// How often the last change is made, until all have heard of it.
const AGAIN: Duration = Duration::from_secs(1);

/// What a fleet is started with.
#[derive(Clone, Debug)]
pub struct FleetBuilder {
    url: String,
    clients: u32,
    seed: u64,
    mix: Mix,
    pace: Pace,
    stall: Option<Duration>,
}

/// Clients at work. They stop when this is dropped.
pub struct Fleet {
    /// `None` once dropped.
    runtime: Option<Runtime>,
    plan: Arc<Plan>,
    clients: Vec<Arc<Client>>,
    lanes: Vec<JoinHandle<()>>,
    listeners: Vec<JoinHandle<()>>,
    began: Instant,
    ready: At,
}

/// Why a fleet could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The URL is none of an endpoint over HTTP.
    #[error("{url:?} is no http URL")]
    Url {
        /// What was given.
        url: String,
    },
    /// No revision has a share in the mix, or there are no clients, or more than there are rings for.
    #[error("a fleet needs between 1 and 60000 clients, and a revision")]
    Empty,
    /// The threads could not be started.
    #[error("no threads for the clients")]
    Runtime(#[source] std::io::Error),
    /// Some clients did not open a session and listen in time.
    #[error("{missing} clients were not ready in {READY:?}\n{report}")]
    NotReady {
        /// How many.
        missing: usize,
        /// What the others and they did.
        report: Box<Report>,
    },
}

// === impl FleetBuilder ===

impl FleetBuilder {
    /// How many clients. 200 unless set.
    #[must_use]
    pub fn clients(mut self, clients: u32) -> Self {
        self.clients = clients;
        self
    }

    /// What the random numbers begin with. With the same seed each client draws the same, whatever the servers do.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// What the clients speak.
    #[must_use]
    pub fn mix(mut self, mix: Mix) -> Self {
        self.mix = mix;
        self
    }

    /// How fast they are.
    #[must_use]
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// How long a stream may be silent before its client takes it for dead, and comes back for the rest. Never unless set.
    /// The servers have to give signs of life more often.
    #[must_use]
    pub fn stall(mut self, stall: Duration) -> Self {
        self.stall = Some(stall);
        self
    }

    /// Starts the clients, and returns when all of them have a session and listen.
    ///
    /// # Errors
    /// If what it is started with makes no fleet, or some are not ready in time.
    pub async fn start(self) -> Result<Fleet, StartError> {
        let url: Uri = self.url.parse().map_err(|_| StartError::Url { url: self.url.clone() })?;
        if url.scheme_str() != Some("http") || url.authority().is_none() {
            return Err(StartError::Url { url: self.url });
        }
        let round = self.mix.round();
        if round.is_empty() || !(1..=60_000).contains(&self.clients) {
            return Err(StartError::Empty);
        }
        let began = Instant::now();
        let plan = Arc::new(Plan {
            path: url.path().to_owned(),
            url,
            // Fleets beside each other have resources of their own.
            name: format!("{:x}", rand::random::<u32>()),
            clients: self.clients,
            seed: self.seed,
            pace: self.pace,
            stall: self.stall,
            stop: CancellationToken::new(),
            give_up: CancellationToken::new(),
        });
        let revisions = round.into_iter().cycle().zip(0..self.clients);
        let clients = revisions
            .map(|(revision, index)| Arc::new(Client::new(index, revision, plan.clone(), began)))
            .collect();
        // A thread of its own, so that nothing the test does delays what the clients note. One: the servers need the others.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("fleet")
            .enable_all()
            .build()
            .map_err(StartError::Runtime)?;
        let mut fleet = Fleet {
            runtime: Some(runtime),
            plan,
            clients,
            lanes: Vec::new(),
            listeners: Vec::new(),
            began,
            ready: At::default(),
        };
        fleet.begin().await?;
        Ok(fleet)
    }
}

// === impl Fleet ===

impl Fleet {
    /// What a fleet against the endpoint at `url` is started with.
    pub fn builder(url: impl Into<String>) -> FleetBuilder {
        let (clients, seed) = (200, 1);
        FleetBuilder {
            url: url.into(),
            clients,
            seed,
            mix: Mix::default(),
            pace: Pace::default(),
            stall: None,
        }
    }

    /// The time since the fleet began, as histories have it.
    #[must_use]
    pub fn now(&self) -> At {
        At(u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// Lets the clients go on for so long. They also do while nobody waits.
    pub async fn run_for(&self, time: Duration) {
        sleep(time).await;
    }

    /// Ends the clients' calls, waits until all listeners have heard everything, ends their sessions, and checks what
    /// they noted.
    ///
    /// # Panics
    /// When a client did.
    pub async fn stop(mut self) -> Report {
        let stopped = self.now();
        self.plan.stop.cancel();
        let (lanes, listeners) = (std::mem::take(&mut self.lanes), std::mem::take(&mut self.listeners));
        // One that panicked would look like one that had nothing to say.
        let ended = timeout(ENDS, async {
            for lane in lanes {
                lane.await.expect("a client panicked");
            }
        });
        let _all_or_not = ended.await;
        let listeners = self.spawn(last_change(self.plan.clone(), self.clients.clone(), listeners)).await;
        self.plan.give_up.cancel();
        for listener in listeners.expect("the fleet panicked") {
            listener.await.expect("a client panicked");
        }
        let clients = self.clients.clone();
        let deleted = self.spawn(async move {
            for client in clients {
                client.delete().await;
            }
        });
        deleted.await.expect("the fleet panicked");
        self.report(stopped)
    }

    async fn begin(&mut self) -> Result<(), StartError> {
        self.listeners = self.clients.iter().map(|client| self.spawn(client.clone().listen())).collect();
        let until = self.began + READY;
        loop {
            let missing: Vec<_> =
                self.clients.iter().filter(|client| !client.ready.load(Ordering::Acquire)).collect();
            if missing.is_empty() {
                break;
            }
            if Instant::now() > until {
                let mut report = Box::new(self.report(self.now()));
                for client in &missing {
                    let note = "does not hear of its own changes".to_owned();
                    report.find(Count::Unchecked, &client.log.read(), self.now(), 1, (None, note));
                }
                return Err(StartError::NotReady { missing: missing.len(), report });
            }
            sleep(LOOK).await;
        }
        self.ready = self.now();
        let lanes = self.clients.iter().flat_map(|client| client.lanes());
        self.lanes = lanes.map(|lane| self.spawn(lane)).collect();
        Ok(())
    }

    fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.runtime.as_ref().expect("invariant: it is there until this is dropped").spawn(task)
    }

    fn report(&self, stopped: At) -> Report {
        let histories: Vec<_> = self.clients.iter().map(|client| client.log.read()).collect();
        check(&histories, Window { from: self.ready, to: stopped })
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.plan.stop.cancel();
        self.plan.give_up.cancel();
        if let Some(runtime) = self.runtime.take() {
            // Without waiting, which is not allowed among tasks. Whatever is under way ends where it waits next.
            runtime.shutdown_background();
        }
    }
}

/// Makes the last change until all have heard of it, or nobody can any more.
async fn last_change(
    plan: Arc<Plan>,
    clients: Vec<Arc<Client>>,
    listeners: Vec<JoinHandle<()>>,
) -> Vec<JoinHandle<()>> {
    let until = Instant::now() + LAST;
    let ask = Ask::tool(Kind::Prime, "touch", &json!({"uri": plan.end()}));
    let mut turn = clients.iter().cycle();
    while Instant::now() < until && listeners.iter().any(|listener| !listener.is_finished()) {
        let Some(client) = turn.next() else { break };
        if let Ok(Some(session)) = timeout(AGAIN, client.session()).await {
            let _touched = client.call(&session, &ask).await;
        }
        sleep(AGAIN / 4).await;
    }
    listeners
}
