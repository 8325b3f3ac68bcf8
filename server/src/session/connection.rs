//! The calls of a client of 2024-11-05, whose answers all come on one stream: so that a call whose replica died ends on it,
//! too. Only the replica that holds the stream reads its log, so what it lets through is what the client gets.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use trunkline_protocol::{
    RequestId,
    jsonrpc::{Body, Message, parse},
};

use super::{
    Core, LiveSession, refused,
    takeover::{ANY, lost_answer, repeat},
};
use crate::outbox::{Carrier, EntryId, LogCarrier, Note, Outbox, Shared, is_silent, opened};

/// How often it is asked whether the replicas of open calls are there.
const LOOK: Duration = Duration::from_millis(500);

/// Entries that are remembered: many more than come between one that the hub took and the same one sent again.
const REMEMBERED: usize = 256;

/// The calls that run for a stream.
pub(crate) struct Calls {
    core: Arc<Core>,
    session: Arc<LiveSession>,
    /// Those that took longer than a moment and have no answer yet. At most as many as a session may have in flight.
    open: Vec<Note>,
    /// Those that were given up or run again, of replicas that may only have been asleep: one answer of each is let through.
    lost: HashSet<RequestId>,
    /// The last entries that were read: one that was sent again, since nobody knew whether it had arrived, is passed over.
    seen: VecDeque<EntryId>,
}

// === impl Calls ===

impl Calls {
    /// None yet.
    pub(crate) fn new(core: Arc<Core>, session: Arc<LiveSession>) -> Self {
        Self { core, session, open: Vec::new(), lost: HashSet::new(), seen: VecDeque::new() }
    }

    /// Reads an entry of the stream's log. What of it is for the client.
    pub(crate) fn read(&mut self, entry: Bytes) -> Option<Bytes> {
        let (id, entry) = opened(entry);
        if let Some(id) = id {
            if self.seen.contains(&id) {
                return None;
            }
            if self.seen.len() >= REMEMBERED {
                self.seen.pop_front();
            }
            self.seen.push_back(id);
        }
        if is_silent(&entry) {
            if let Some(note) = Note::read(&entry) {
                self.open.retain(|open| open.ids != note.ids);
                self.open.push(note);
            }
            return None;
        }
        if self.open.is_empty() && self.lost.is_empty() {
            return Some(entry);
        }
        let Ok(Body::Single(Message::Response(response))) = parse(&entry, ANY) else { return Some(entry) };
        let Some(id) = response.id else { return Some(entry) };
        let open = self.open.iter().position(|note| note.ids.contains(&id));
        match open {
            Some(open) => drop(self.open.swap_remove(open)),
            None if self.lost.contains(&id) => return None,
            None => {}
        }
        Some(entry)
    }

    /// Waits until a call is found to be lost, and returns what the client is told. May be dropped at any time.
    pub(crate) async fn lost(&mut self) -> Bytes {
        loop {
            if self.open.is_empty() {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(LOOK).await;
            let Some(gone) = self.first_gone().await else { continue };
            let mut note = self.open.swap_remove(gone);
            self.core.services.metrics.taken_over();
            tracing::info!(replica = %note.owner, "a call of a replica that is gone was taken over");
            self.lost.extend(note.ids.iter().cloned());
            let Some(id) = note.ids.first() else { continue };
            let Some(body) = note.body.take() else { return lost_answer(id) };
            let body = Bytes::copy_from_slice(body.get().as_bytes());
            note.owner = self.core.services.replica.clone();
            tokio::spawn(run_again(self.core.clone(), self.session.clone(), id.clone(), body));
            self.open.push(note);
        }
    }

    async fn first_gone(&self) -> Option<usize> {
        for (at, note) in self.open.iter().enumerate() {
            if self.core.leases.is_gone(&note.owner).await.unwrap_or(false) {
                return Some(at);
            }
        }
        None
    }
}

/// Runs a call again that has no effect, or the same one. Its answer comes by the log, as that of any other.
async fn run_again(core: Arc<Core>, session: Arc<LiveSession>, id: RequestId, body: Bytes) {
    core.services.metrics.run_again();
    let log = LogCarrier::of_connection(core.services.logs.clone(), session.id().clone(), body.clone());
    let outbox = Arc::new(Outbox::new(Carrier::Shared(Shared::Log(log)), 1));
    let served = repeat(&core, session, &body, &outbox).await;
    if let Err(error) = served
        && let Err(error) = outbox.respond(refused(Some(&id), &error, 200)).await
    {
        tracing::warn!(%error, "a call that could not be run again was not answered");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use trunkline_hub::Fence;
    use trunkline_protocol::Revision;

    use super::*;
    use crate::{
        config::Limits,
        outbox::sealed,
        principal::Principal,
        registry::{Exchange, NoArguments, Tool},
        session::{
            lease::TERM,
            testing::{Cluster, local},
        },
    };

    fn tools() -> Vec<Tool> {
        vec![
            Tool::new("look", |_: Exchange, _: NoArguments| async { Ok("seen") }).read_only(),
            Tool::new("charge", |_: Exchange, _: NoArguments| async { Ok("charged") }),
        ]
    }

    fn call(tool: &str) -> Bytes {
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool}})
            .to_string()
            .into()
    }

    fn answer(text: &str) -> Bytes {
        json!({"jsonrpc": "2.0", "id": 7, "result": {"said": text}}).to_string().into()
    }

    /// The calls of a stream on replica `b`, with one that runs on `a`, which falls asleep; and the log of the stream.
    async fn lost(tool: &str, again: bool) -> (Cluster, Calls, LogCarrier) {
        let cluster = Cluster::new(tools, Limits::default());
        let (a, b) = (cluster.replica("a").await, cluster.replica("b").await);
        let peer = b.initialize(&Principal::anonymous(), Revision::V2024_11_05, &json!({})).await;
        let mut calls = Calls::new(b.core.clone(), peer.session().clone());
        let note = Note::of("a", Fence(0), &call(tool), again);
        assert!(calls.read(note.to_entry()).is_none(), "nothing for the client");
        tokio::time::sleep(TERM * 2).await;
        let nothing = tokio::time::timeout(TERM, calls.lost()).await;
        assert!(nothing.is_err(), "the replica is there");
        a.fall_asleep();
        let log = LogCarrier::of_connection(
            b.core.services.logs.clone(),
            peer.session().id().clone(),
            Bytes::new(),
        );
        (cluster, calls, log)
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_may_have_had_an_effect_is_answered_with_an_error_once() {
        local(async {
            let (_cluster, mut calls, _) = lost("charge", false).await;
            let told = tokio::time::timeout(TERM * 3, calls.lost()).await.unwrap();
            let told: Value = serde_json::from_slice(&told).unwrap();
            assert_eq!((&told["id"], &told["error"]["code"]), (&json!(7), &json!(-32603)));
            assert_eq!(calls.read(answer("late")), None, "one that wakes up is too late");
            assert!(tokio::time::timeout(TERM * 3, calls.lost()).await.is_err());
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_without_effects_runs_again_and_has_one_answer() {
        local(async {
            let (_cluster, mut calls, log) = lost("look", true).await;
            let nothing = tokio::time::timeout(TERM * 3, calls.lost()).await;
            assert!(nothing.is_err(), "the answer comes by the log");
            let hub = &calls.core.services.hub.clone();
            assert!(hub.position(&log.topic()).await.unwrap() > trunkline_hub::Position::default());
            assert_eq!(calls.read(answer("seen")), Some(answer("seen")));
            assert_eq!(calls.read(answer("seen")), None, "of two that come, one is let through");
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_entry_that_comes_twice_is_passed_over() {
        local(async {
            let (_cluster, mut calls, _) = lost("charge", false).await;
            let (one, other) = (sealed(&answer("x")), sealed(&answer("x")));
            assert_eq!(calls.read(one.clone()), Some(answer("x")));
            assert_eq!(calls.read(one), None);
            assert_eq!(calls.read(other), Some(answer("x")), "another with the same words");
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_answered_in_time_is_nothing_to_wait_for() {
        local(async {
            let (_cluster, mut calls, _) = lost("charge", false).await;
            assert_eq!(calls.read(answer("in time")), Some(answer("in time")));
            assert!(tokio::time::timeout(TERM * 3, calls.lost()).await.is_err());
            assert_eq!(calls.read(answer("again")), Some(answer("again")), "nothing is held back");
        })
        .await;
    }
}
