use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::time::sleep;
use trunkline_hub::Retention;
use trunkline_protocol::Revision;

use super::*;
use crate::{
    config::Limits,
    outbox::Carrier,
    principal::Principal,
    registry::{Exchange, HandlerError, NoArguments, Tool},
    session::testing::{Cluster, Peer, Replica, local},
};

const KEEP: Retention = Retention { entries: 1000, age: Duration::from_secs(600) };

/// Counts its runs. The first says one thing and waits until it is let go; a later one says what the first said, and more.
async fn run(exchange: Exchange) -> Result<String, HandlerError> {
    let state = exchange.state(None).await?;
    let run = state.increment("runs", 1).await?;
    exchange.progress(1.0, None, None).await;
    if run == 1 {
        while state.increment("go", 0).await.unwrap_or(0) == 0 {
            sleep(Duration::from_millis(100)).await;
        }
    }
    exchange.progress(2.0, None, None).await;
    Ok(format!("run {run}"))
}

fn tools() -> Vec<Tool> {
    vec![
        Tool::new("look", |exchange: Exchange, _: NoArguments| run(exchange)).read_only(),
        Tool::new("charge", |exchange: Exchange, _: NoArguments| run(exchange)),
    ]
}

/// A call on replica `a` that has said one thing on its stream, and another replica.
struct Scene {
    cluster: Cluster,
    a: Replica,
    b: Replica,
    peer: Peer,
    carrier: LogCarrier,
}

impl Scene {
    async fn calling(tool: &str) -> Self {
        let cluster = Cluster::new(tools, Limits::default());
        let (a, b) = (cluster.replica("a").await, cluster.replica("b").await);
        let peer = a.initialize(&Principal::anonymous(), Revision::V2025_11_25, &json!({})).await;
        let body = json!({"jsonrpc": "2.0", "id": "call", "method": "tools/call",
            "params": {"name": tool, "_meta": {"progressToken": "p"}}});
        let logs = a.core.services.logs.clone();
        let carrier = LogCarrier::of_call(logs, peer.session().id().clone(), body.to_string().into());
        carrier.stream();
        a.send_body(&peer, &body, Carrier::Log(carrier.clone())).await.unwrap();
        let scene = Self { cluster, a, b, peer, carrier };
        while scene.said().await.is_empty() {
            sleep(Duration::from_millis(10)).await;
        }
        // Whoever has just come judges nobody.
        sleep(TERM).await;
        scene
    }

    /// A client resumes the stream on a replica.
    async fn resume_on(&self, replica: &Replica) -> tokio::task::JoinHandle<()> {
        let peer = replica.join(&Principal::anonymous(), self.peer.session().id()).await;
        let watched = Watched {
            core: replica.core.clone(),
            session: peer.session().clone(),
            stream: self.carrier.stream().into(),
        };
        tokio::task::spawn_local(watched.watch())
    }

    /// Everything on the stream that a client sees.
    async fn said(&self) -> Vec<Value> {
        let hub = &self.b.core.services.hub;
        let topic = self.carrier.topic();
        let newest = hub.position(&topic).await.unwrap();
        let mut follower = hub.follow(&topic, Position::default()).await.unwrap();
        let (mut said, mut place) = (Vec::new(), Position::default());
        while place < newest {
            let Some(Ok(Delivery::Entry(entry))) = follower.next().await else { panic!("no entry") };
            place = entry.position;
            if !is_silent(&entry.payload) {
                said.push(serde_json::from_slice(&entry.payload).unwrap());
            }
        }
        said
    }

    /// The answers on the stream.
    async fn answers(&self) -> Vec<Value> {
        self.said().await.into_iter().filter(|message| message.get("method").is_none()).collect()
    }

    /// The progress on the stream.
    async fn progress(&self) -> Vec<Value> {
        let said = self.said().await;
        said.into_iter().filter_map(|message| message.pointer("/params/progress").cloned()).collect()
    }

    /// Lets go the handler on `a`.
    async fn wake_the_handler(&self) {
        let key = trunkline_store::Key::new(trunkline_store::Kind::Session, self.peer.session().id());
        use trunkline_store::SessionStore;
        self.cluster.store.increment(&key, "v:go", 1).await.unwrap().unwrap();
        sleep(Duration::from_secs(1)).await;
    }

    /// How many streams all replicas have taken over, and how many calls they have run again.
    fn counted(&self, others: &[&Replica]) -> (u64, u64) {
        let of = |replica: &Replica, name: &str| -> u64 {
            let page = replica.core.metrics();
            let line = page.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().parse().unwrap()
        };
        let all = others.iter().copied().chain([&self.a, &self.b]);
        all.fold((0, 0), |(taken, again), replica| {
            (
                taken + of(replica, "trunkline_streams_taken_over_total"),
                again + of(replica, "trunkline_calls_run_again_total"),
            )
        })
    }
}

/// Long enough for a lease to lapse, and to be seen to have.
const A_WHILE: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn a_call_without_effects_runs_again_and_its_progress_goes_on() {
    local(async {
        let scene = Scene::calling("look").await;
        scene.a.fall_asleep();
        let watch = scene.resume_on(&scene.b).await;
        sleep(A_WHILE).await;
        assert!(watch.is_finished());
        let answers = scene.answers().await;
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!(answers[0]["id"], "call");
        assert_eq!(answers[0]["result"]["content"][0]["text"], "run 2");
        assert_eq!(scene.progress().await, [json!(1), json!(2)], "what was said is not said again");
        assert_eq!(scene.counted(&[]), (1, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_have_had_an_effect_ends_in_an_error() {
    local(async {
        let scene = Scene::calling("charge").await;
        scene.a.fall_asleep();
        scene.resume_on(&scene.b).await;
        sleep(A_WHILE).await;
        let answers = scene.answers().await;
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&json!("call"), &json!(-32603)));
        assert!(answers[0]["error"]["message"].as_str().unwrap().contains("unknown"), "{answers:?}");
        assert_eq!(scene.counted(&[]), (1, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_was_only_asleep_finds_its_calls_ended() {
    local(async {
        for tool in ["look", "charge"] {
            let scene = Scene::calling(tool).await;
            scene.a.fall_asleep();
            scene.resume_on(&scene.b).await;
            sleep(A_WHILE).await;
            let before = scene.said().await;
            scene.wake_the_handler().await;
            assert_eq!(scene.said().await, before, "nothing that it still does is visible");
            assert_eq!(scene.answers().await.len(), 1);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn of_many_who_resume_one_takes_over() {
    local(async {
        let scene = Scene::calling("look").await;
        let others = [scene.cluster.replica("c").await, scene.cluster.replica("d").await];
        sleep(TERM).await;
        scene.a.fall_asleep();
        let all = [&scene.b, &others[0], &others[1]];
        for replica in all {
            scene.resume_on(replica).await;
            scene.resume_on(replica).await;
        }
        sleep(A_WHILE).await;
        assert_eq!(scene.answers().await.len(), 1);
        assert_eq!(scene.counted(&[&others[0], &others[1]]), (1, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_is_there_keeps_its_calls() {
    local(async {
        let scene = Scene::calling("look").await;
        let watch = scene.resume_on(&scene.b).await;
        sleep(A_WHILE * 6).await;
        assert_eq!(scene.counted(&[]), (0, 0));
        assert!(!watch.is_finished());
        scene.wake_the_handler().await;
        assert_eq!(scene.answers().await[0]["result"]["content"][0]["text"], "run 1");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_leaves_is_not_waited_for() {
    local(async {
        let scene = Scene::calling("look").await;
        scene.resume_on(&scene.b).await;
        sleep(TERM).await;
        scene.a.fall_asleep();
        scene.a.core.leave().await;
        sleep(TERM / 2).await;
        assert_eq!(scene.counted(&[]), (1, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_away_is_no_death() {
    local(async {
        let scene = Scene::calling("charge").await;
        scene.resume_on(&scene.b).await;
        scene.cluster.store.set_away(true);
        sleep(A_WHILE).await;
        scene.cluster.store.set_away(false);
        sleep(A_WHILE).await;
        assert_eq!(scene.counted(&[]), (0, 0));
        scene.wake_the_handler().await;
        assert_eq!(scene.answers().await[0]["result"]["content"][0]["text"], "run 1");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_who_dies_in_the_act_is_followed_by_the_next() {
    local(async {
        let scene = Scene::calling("look").await;
        scene.a.fall_asleep();
        sleep(A_WHILE).await;
        let hub = &scene.b.core.services.hub;
        let topic = scene.carrier.topic();
        let fence = hub.fence(&topic).await.unwrap().unwrap();
        hub.take_over(&topic, fence, KEEP).await.unwrap();
        scene.resume_on(&scene.b).await;
        sleep(A_WHILE).await;
        assert_eq!(scene.answers().await.len(), 1);
        assert_eq!(scene.counted(&[]), (1, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_who_takes_over_and_dies_is_followed_by_the_next() {
    local(async {
        let scene = Scene::calling("look").await;
        let c = scene.cluster.replica("c").await;
        sleep(TERM).await;
        scene.a.fall_asleep();
        sleep(A_WHILE).await;
        let hub = &scene.b.core.services.hub;
        let topic = scene.carrier.topic();
        let fence = hub.fence(&topic).await.unwrap().unwrap();
        let fence = hub.take_over(&topic, fence, KEEP).await.unwrap();
        let note = Note { owner: "c".into(), fence: fence.0, ids: vec!["call".into()], body: None };
        hub.append(&topic, Some(fence), KEEP, note.to_entry(), false).await.unwrap();
        scene.resume_on(&scene.b).await;
        sleep(A_WHILE).await;
        assert!(scene.answers().await.is_empty(), "it is there");
        c.fall_asleep();
        sleep(A_WHILE).await;
        assert_eq!(scene.answers().await.len(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn of_a_batch_only_what_is_open_is_answered() {
    local(async {
        let scene = Scene::calling("charge").await;
        scene.a.fall_asleep();
        let hub = &scene.b.core.services.hub;
        let topic = scene.carrier.topic();
        let fence = hub.fence(&topic).await.unwrap().unwrap();
        let ids = vec!["one".into(), "two".into(), "three".into()];
        let note = Note { owner: "a".into(), fence: fence.0, ids, body: None };
        hub.append(&topic, Some(fence), KEEP, note.to_entry(), false).await.unwrap();
        let two = json!({"jsonrpc": "2.0", "id": "two", "result": {}}).to_string();
        hub.append(&topic, Some(fence), KEEP, two.into(), false).await.unwrap();
        scene.resume_on(&scene.b).await;
        sleep(A_WHILE).await;
        let ids: Vec<_> = scene.answers().await.iter().map(|answer| answer["id"].clone()).collect();
        assert_eq!(ids, ["two", "one", "three"]);
        let past = hub.follow(&topic, hub.position(&topic).await.unwrap()).await.unwrap().next().await;
        assert!(past.is_none(), "and the stream has ended: {past:?}");
    })
    .await;
}
