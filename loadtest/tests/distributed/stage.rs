//! A coordinator that a test looks at.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use trunkline_loadtest::{
    distributed::{
        Address, agent,
        coordinator::{Coordinator, CoordinatorError, Options, Outcome, Watcher},
        secret::Secret,
    },
    driver::Observer,
    plan::Plan,
    tally::Tally,
};

/// How long anything may take.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// The secret that both sides have.
pub(crate) const SECRET: &str = "a secret of the tests alone";

/// What people were told, to be looked at while it goes on.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<Mutex<Vec<String>>>);

/// A coordinator at work.
pub(crate) struct Stage {
    pub(crate) address: SocketAddr,
    pub(crate) stop: CancellationToken,
    pub(crate) told: Told,
    running: JoinHandle<(Result<Outcome, CoordinatorError>, Tally)>,
}

/// Adds up what a coordinator tells while it goes on.
struct Seen {
    told: Told,
    sum: Tally,
}

impl Told {
    /// Waits until something like this was said.
    pub(crate) async fn says(&self, text: &str) {
        let said = async {
            while !self.0.lock().unwrap().iter().any(|told| told.contains(text)) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let in_time = tokio::time::timeout(DEADLINE, said).await;
        assert!(in_time.is_ok(), "nobody said {text:?}: {:?}", self.0.lock().unwrap());
    }
}

impl Observer for Seen {
    fn progress(&mut self, delta: &Tally) {
        self.sum.merge(delta);
    }
}

impl Watcher for Seen {
    fn notice(&mut self, text: &str) {
        self.told.0.lock().unwrap().push(text.to_owned());
    }
}

impl Stage {
    /// Waits for so many agents, in a task of its own.
    pub(crate) async fn of(agents: u32, plan: &Plan) -> Self {
        let options = Options { agents, secret: secret(), plan: plan.clone() };
        let coordinator = Coordinator::bind("127.0.0.1:0", options).await.unwrap();
        let address = coordinator.address().unwrap();
        let (stop, told) = (CancellationToken::new(), Told::default());
        let sum = Tally { slot_seconds: plan.slot_seconds(), ..Tally::default() };
        let mut seen = Seen { told: told.clone(), sum };
        let stopped = stop.clone();
        let running = tokio::spawn(async move { (coordinator.run(&mut seen, &stopped).await, seen.sum) });
        Self { address, stop, told, running }
    }

    /// What came of it. Whatever it came to was told while it went on.
    pub(crate) async fn outcome(self) -> Result<Outcome, CoordinatorError> {
        let (came, sum) = tokio::time::timeout(DEADLINE, self.running).await.unwrap().unwrap();
        if let Ok(outcome) = &came {
            // CPU times are sums of floats, which depend on the order.
            let counted = |tally: &Tally| Tally { threads: Vec::new(), ..tally.clone() };
            assert_eq!(counted(&outcome.tally), counted(&sum));
        }
        came
    }

    /// What an agent needs to join it.
    pub(crate) fn agent(&self, name: &str) -> agent::Options {
        agent_at(self.address, name)
    }
}

pub(crate) fn agent_at(address: SocketAddr, name: &str) -> agent::Options {
    let coordinator: Address = address.to_string().parse().unwrap();
    agent::Options { coordinator, secret: secret(), name: name.to_owned(), patience: DEADLINE }
}

pub(crate) fn secret() -> Secret {
    Secret::new(SECRET).unwrap()
}
