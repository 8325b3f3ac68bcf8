//! Tasks on several replicas.

use tokio::time::Instant;
use trunkline_protocol::Revision;

use super::*;
use crate::session::{
    lease::LONG_TERM,
    tasks::{live::LiveTask, owner::Owner},
};

async fn session(replica: &Replica) -> Peer {
    replica.initialize(&anybody(), Revision::V2025_11_25, &json!({"elicitation": {}})).await
}

async fn begin_core(replica: &Replica, peer: &Peer, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "task": {}});
    replica.ask(peer, "tools/call", params).await["result"]["task"]["taskId"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_result_is_waited_for_on_any_replica() {
    local(async {
        let cluster = cluster();
        let (a, b) = (cluster.replica("a").await, cluster.replica("b").await);
        let on_a = session(&a).await;
        let on_b = b.join(&anybody(), on_a.session().id()).await;
        let id = begin_core(&a, &on_a, "sleep", json!({"seconds": 20})).await;
        let began = Instant::now();
        let result = b.ask(&on_b, "tasks/result", named(&id)).await;
        assert_eq!(result["result"]["content"][0]["text"], "slept 20");
        assert!(began.elapsed() < Duration::from_millis(20_100), "{:?}", began.elapsed());
        let listed = b.ask(&on_b, "tasks/list", json!({})).await;
        assert_eq!(listed["result"]["tasks"][0]["taskId"], id);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_question_is_asked_and_answered_through_any_replica() {
    local(async {
        let cluster = cluster();
        let (a, b, c) = (cluster.replica("a").await, cluster.replica("b").await, cluster.replica("c").await);
        let on_a = session(&a).await;
        let (on_b, on_c) =
            (b.join(&anybody(), on_a.session().id()).await, c.join(&anybody(), on_a.session().id()).await);
        let id = begin_core(&a, &on_a, "ask_one", json!({})).await;
        let mut waiting = b.send(&on_b, "tasks/result", named(&id)).await.unwrap();
        let question = waiting.next().await;
        let began = Instant::now();
        c.respond(&on_c, &question, ("result", accept("name", "Ada"))).await;
        assert_eq!(waiting.answer().await["result"]["content"][0]["text"], "hello Ada");
        assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_update_wakes_the_handler_on_another_replica() {
    local(async {
        let cluster = cluster();
        let (a, b, client) = (cluster.replica("a").await, cluster.replica("b").await, modern());
        let id = begin(&a, &client, "ask_one", json!({})).await;
        reach(&b, &client, &id, "input_required").await;
        let answer = json!({"taskId": id, "inputResponses": {"name": accept("name", "Ada")}});
        let began = Instant::now();
        assert_eq!(b.ask(&client, "tasks/update", answer).await["result"]["resultType"], "complete");
        let completed = reach(&b, &client, &id, "completed").await;
        assert_eq!(completed["result"]["content"][0]["text"], "hello Ada");
        assert!(began.elapsed() < Duration::from_millis(300), "{:?}", began.elapsed());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_stops_the_handler_on_another_replica() {
    local(async {
        let cluster = cluster();
        let (a, b, client) = (cluster.replica("a").await, cluster.replica("b").await, modern());
        let id = begin(&a, &client, "sleep", json!({"seconds": 60})).await;
        assert_eq!(running(&a), 1);
        b.ask(&client, "tasks/cancel", named(&id)).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(running(&a), 0);
        assert_eq!(get(&a, &client, &id).await["result"]["status"], "cancelled");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn lost_signals_delay_and_never_hang() {
    local(async {
        let cluster = cluster();
        let (a, b) = (cluster.deaf_replica("a"), cluster.deaf_replica("b"));
        let client = modern();
        let id = begin(&a, &client, "ask_one", json!({})).await;
        reach(&b, &client, &id, "input_required").await;
        let answer = json!({"taskId": id, "inputResponses": {"name": accept("name", "Ada")}});
        let began = Instant::now();
        b.ask(&client, "tasks/update", answer).await;
        reach(&b, &client, &id, "completed").await;
        assert!(began.elapsed() < Duration::from_secs(2), "an answer: {:?}", began.elapsed());

        let id = begin(&a, &client, "sleep", json!({"seconds": 60})).await;
        b.ask(&client, "tasks/cancel", named(&id)).await;
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(running(&a), 0, "a cancellation");

        let on_a = session(&a).await;
        let on_b = b.join(&anybody(), on_a.session().id()).await;
        let id = begin_core(&a, &on_a, "sleep", json!({"seconds": 20})).await;
        let began = Instant::now();
        let result = b.ask(&on_b, "tasks/result", named(&id)).await;
        assert_eq!(result["result"]["content"][0]["text"], "slept 20");
        assert!(began.elapsed() < Duration::from_secs(22), "a result: {:?}", began.elapsed());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_task_is_its_principals_alone_and_a_forged_id_costs_the_store_nothing() {
    local(async {
        let cluster = cluster();
        let (a, b) = (cluster.replica("a").await, cluster.replica("b").await);
        let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        let of = |name: &str| Peer::modern(&Principal::named(name), &capabilities);
        let (ada, bob) = (of("ada"), of("bob"));
        let id = begin(&a, &ada, "sleep", json!({"seconds": 60})).await;
        let (text, asked) = (id.as_str().unwrap(), cluster.store.asked());
        let mut forged = vec![id.clone(), json!(""), json!("x"), json!(text.to_uppercase())];
        forged.push(json!(format!("{text}x")));
        for (at, id) in forged.iter().enumerate() {
            // The first is a true id in the wrong hands.
            let client = if at == 0 { &bob } else { &ada };
            for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
                let params = json!({"taskId": id, "inputResponses": {}});
                let refused = b.ask(client, method, params).await;
                assert_eq!(refused["error"]["code"], -32602, "{method} {id}");
                assert_eq!(refused["error"]["message"], "the task is unknown or has expired");
            }
        }
        assert_eq!(cluster.store.asked(), asked);
        assert_eq!(get(&b, &ada, &id).await["result"]["status"], "working");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_task_of_a_session_is_not_another_sessions_nor_the_other_dialects() {
    local(async {
        let a = cluster().replica("a").await;
        let (mine, other) = (session(&a).await, session(&a).await);
        let id = begin_core(&a, &mine, "sleep", json!({"seconds": 60})).await;
        for client in [&other, &modern()] {
            assert_eq!(get(&a, client, &id).await["error"]["code"], -32602);
        }
        // Who is told from others finds his tasks in a later session.
        let ada = Principal::named("ada");
        let first = a.initialize(&ada, Revision::V2025_11_25, &json!({})).await;
        let second = a.initialize(&ada, Revision::V2025_11_25, &json!({})).await;
        let id = begin_core(&a, &first, "sleep", json!({"seconds": 60})).await;
        assert_eq!(get(&a, &second, &id).await["result"]["status"], "working");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_replica_died_is_given_up() {
    local(async {
        let cluster = cluster();
        let (a, b, client) = (cluster.deaf_replica("a"), cluster.replica("b").await, modern());
        let caller = client.caller().clone();
        let owner = Owner::of(&caller).unwrap();
        let ttl = Duration::from_secs(3600);
        let task = LiveTask::new(&a.core, owner, caller.revision, "sleep", ttl);
        // Written down, and never run: as if the replica died right then.
        let created: Value = serde_json::from_slice(&task.create().await.unwrap().0).unwrap();
        let id = &created["taskId"];
        assert_eq!(get(&b, &client, id).await["result"]["status"], "working");
        tokio::time::sleep(Duration::from_secs(31)).await;
        let failed = get(&b, &client, id).await["result"].clone();
        assert_eq!(failed["status"], "failed");
        assert_eq!(failed["error"]["code"], -32603);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_long_task_is_not_given_up() {
    local(async {
        let cluster = cluster();
        let (a, b, client) = (cluster.replica("a").await, cluster.replica("b").await, modern());
        let id = begin(&a, &client, "sleep", json!({"seconds": 200})).await;
        for _ in 0..39 {
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert_eq!(get(&b, &client, &id).await["result"]["status"], "working");
        }
        reach(&b, &client, &id, "completed").await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_for_a_while_costs_no_task() {
    local(async {
        let cluster = cluster();
        let (a, client) = (cluster.replica("a").await, modern());
        let sleeping = begin(&a, &client, "sleep", json!({"seconds": 10})).await;
        let asking = begin(&a, &client, "ask_one", json!({})).await;
        reach(&a, &client, &asking, "input_required").await;
        let on_a = session(&a).await;
        let waited_for = begin_core(&a, &on_a, "sleep", json!({"seconds": 10})).await;
        let mut waiting = a.send(&on_a, "tasks/result", named(&waited_for)).await.unwrap();
        cluster.store.set_away(true);
        let refused = get(&a, &client, &sleeping).await;
        assert_eq!((&refused["status"], &refused["error"]["code"]), (&json!(503), &json!(-32603)));
        let refused = a.ask(&client, "tools/call", call("sleep", json!({"seconds": 1}))).await;
        assert_eq!(refused["status"], 503);
        let refused = begin_core(&a, &on_a, "sleep", json!({"seconds": 1})).await;
        assert_eq!(refused, Value::Null);
        assert_eq!(running(&a), 3, "nothing was begun");
        let in_flight = on_a.session().with_machine(|machine| machine.in_flight());
        assert_eq!(in_flight, 1, "the one that waits");
        tokio::time::sleep(Duration::from_secs(20)).await;
        cluster.store.set_away(false);
        reach(&a, &client, &sleeping, "completed").await;
        let answer = json!({"taskId": asking, "inputResponses": {"name": accept("name", "Ada")}});
        a.ask(&client, "tasks/update", answer).await;
        reach(&a, &client, &asking, "completed").await;
        assert_eq!(waiting.answer().await["result"]["content"][0]["text"], "slept 10");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_change_whose_answer_is_lost_is_made_once() {
    local(async {
        let cluster = cluster();
        let (a, client) = (cluster.replica("a").await, modern());
        // Only changes lose their answers: whoever makes one thinks that he did not, reads, and tries again.
        let sleeping = begin(&a, &client, "sleep", json!({"seconds": 10})).await;
        let asking = begin(&a, &client, "ask_late", json!({"seconds": 10})).await;
        cluster.store.set_mute(true);
        tokio::time::sleep(Duration::from_secs(15)).await;
        cluster.store.set_mute(false);
        let completed = reach(&a, &client, &sleeping, "completed").await;
        assert_eq!(completed["result"]["content"][0]["text"], "slept 10");
        let question = reach(&a, &client, &asking, "input_required").await;
        assert_eq!(question["inputRequests"].as_object().unwrap().len(), 1);
        let answer = json!({"taskId": asking, "inputResponses": {"name": accept("name", "Ada")}});
        a.ask(&client, "tasks/update", answer).await;
        let completed = reach(&a, &client, &asking, "completed").await;
        assert_eq!(completed["result"]["content"][0]["text"], "hello Ada");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_replica_is_gone_fails_and_one_whose_replica_was_silent_for_a_moment_does_not() {
    local(async {
        let cluster = cluster();
        let (a, b) = (cluster.replica("a").await, cluster.replica("b").await);
        let client = modern();
        tokio::time::sleep(LONG_TERM).await;
        let id = begin(&a, &client, "sleep", json!({"seconds": 600})).await;
        a.fall_asleep();
        tokio::time::sleep(LONG_TERM / 2).await;
        let task = b.ask(&client, "tasks/get", named(&id)).await;
        assert_eq!(task["result"]["status"], "working", "{task}");
        // The store is away for longer than any lease: that is nobody's death.
        cluster.store.set_away(true);
        tokio::time::sleep(LONG_TERM * 2).await;
        cluster.store.set_away(false);
        let task = b.ask(&client, "tasks/get", named(&id)).await;
        assert_eq!(task["result"]["status"], "working", "{task}");
        tokio::time::sleep(LONG_TERM * 2).await;
        let task = b.ask(&client, "tasks/get", named(&id)).await;
        assert_eq!(task["result"]["status"], "failed", "{task}");
    })
    .await;
}
