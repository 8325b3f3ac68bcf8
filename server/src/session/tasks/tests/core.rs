//! The tasks of 2025-11-25 on one replica.

use trunkline_protocol::Revision;

use super::*;
use crate::outbox::Carrier;

const RELATED: &str = "io.modelcontextprotocol/related-task";

async fn session(replica: &Replica) -> Peer {
    replica.initialize(&anybody(), Revision::V2025_11_25, &json!({"elicitation": {}})).await
}

#[expect(clippy::needless_pass_by_value, reason = "its callers have just made them")]
fn task(tool: &str, arguments: Value, task: Value) -> Value {
    json!({"name": tool, "arguments": arguments, "task": task})
}

/// Begins a task, and returns its id.
async fn begin(replica: &Replica, peer: &Peer, tool: &str, arguments: Value) -> Value {
    let created = replica.ask(peer, "tools/call", task(tool, arguments, json!({}))).await;
    assert!(created["result"]["task"].is_object(), "{created}");
    created["result"]["task"]["taskId"].clone()
}

#[tokio::test(start_paused = true)]
async fn the_client_asks_for_a_task_where_the_tool_allows_it() {
    local(async {
        let a = cluster().replica("a").await;
        let client = session(&a).await;
        let forbidden = a.ask(&client, "tools/call", task("plain", json!({}), json!({}))).await;
        assert_eq!(forbidden["error"]["code"], -32601, "{forbidden}");
        let required = a.ask(&client, "tools/call", call("fail", json!({}))).await;
        assert_eq!(required["error"]["code"], -32601, "{required}");
        let plain = a.ask(&client, "tools/call", call("sleep", json!({"seconds": 0}))).await;
        assert_eq!(plain["result"]["content"][0]["text"], "slept 0");
        let created = a.ask(&client, "tools/call", task("sleep", json!({"seconds": 1}), json!({}))).await;
        let created = &created["result"];
        assert_eq!(created["task"]["status"], "working");
        assert!(created["task"]["ttl"].is_u64() && created["task"]["pollInterval"].is_u64(), "{created}");
        assert_eq!((created.get("resultType"), created["task"].get("ttlMs")), (None, None));
        let unknown = a.ask(&client, "tools/call", task("nothing", json!({}), json!({}))).await;
        assert_eq!(unknown["error"]["code"], -32602);
        let malformed = a.ask(&client, "tools/call", task("sleep", json!({"seconds": 0}), json!(5))).await;
        assert_eq!(malformed["error"]["code"], -32602);
        let misfit = a.ask(&client, "tools/call", task("sleep", json!({"seconds": "x"}), json!({}))).await;
        assert_eq!(misfit["error"]["code"], -32602, "who asks for a task gets one or an error");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_result_is_waited_for_and_tied_to_its_task() {
    local(async {
        let a = cluster().replica("a").await;
        let client = session(&a).await;
        let id = begin(&a, &client, "sleep", json!({"seconds": 20})).await;
        let working = get(&a, &client, &id).await;
        assert_eq!(working["result"]["status"], "working");
        assert_eq!(working["result"].get("_meta"), None);
        let result = a.ask(&client, "tasks/result", named(&id)).await["result"].clone();
        assert_eq!(result["content"][0]["text"], "slept 20");
        assert_eq!(result["_meta"][RELATED], json!({"taskId": id}));
        let completed = get(&a, &client, &id).await["result"].clone();
        assert_eq!(completed["status"], "completed");
        assert_eq!(completed.get("result"), None, "tasks/result brings it");
        let again = a.ask(&client, "tasks/result", named(&id)).await;
        assert_eq!(again["result"], result);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_a_failed_task_and_its_result_says_how() {
    local(async {
        let a = cluster().replica("a").await;
        let client = session(&a).await;
        let id = begin(&a, &client, "fail", json!({})).await;
        let result = a.ask(&client, "tasks/result", named(&id)).await;
        assert_eq!(result["result"]["isError"], true);
        let failed = get(&a, &client, &id).await["result"].clone();
        assert_eq!((&failed["status"], &failed["statusMessage"]), (&json!("failed"), &json!("it failed")));
        let id = begin(&a, &client, "error", json!({})).await;
        let result = a.ask(&client, "tasks/result", named(&id)).await;
        assert_eq!(result["error"], json!({"code": 7, "message": "no"}));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_stays_so_and_is_cancelled_once() {
    local(async {
        let a = cluster().replica("a").await;
        let client = session(&a).await;
        let id = begin(&a, &client, "sleep", json!({"seconds": 60})).await;
        let mut waiting = a.send(&client, "tasks/result", named(&id)).await.unwrap();
        let cancelled = a.ask(&client, "tasks/cancel", named(&id)).await["result"].clone();
        assert_eq!((&cancelled["taskId"], &cancelled["status"]), (&id, &json!("cancelled")));
        assert_eq!(waiting.answer().await["error"]["code"], -32602, "who waits is told");
        assert_eq!(a.ask(&client, "tasks/cancel", named(&id)).await["error"]["code"], -32602);
        assert_eq!(running(&a), 0);
        tokio::time::sleep(Duration::from_secs(120)).await;
        assert_eq!(get(&a, &client, &id).await["result"]["status"], "cancelled");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_time_a_task_is_kept_is_the_clients_within_bounds() {
    local(async {
        let a = cluster().replica("a").await;
        let client = session(&a).await;
        let most = Limits::default().task_ttl.as_millis();
        for (asked, given) in [
            (json!({}), most),
            (json!({"ttl": null}), most),
            (json!({"ttl": 60_000}), 60_000),
            (json!({"ttl": 1}), 1000),
            (json!({"ttl": u64::MAX}), most),
        ] {
            let created = a.ask(&client, "tools/call", task("sleep", json!({"seconds": 0}), asked)).await;
            assert_eq!(created["result"]["task"]["ttl"], json!(given));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_question_is_asked_on_the_stream_that_waits_for_the_result() {
    local(async {
        let a = cluster().replica("a").await;
        let client = session(&a).await;
        let id = begin(&a, &client, "ask_two", json!({})).await;
        reach(&a, &client, &id, "input_required").await;
        assert_eq!(get(&a, &client, &id).await["result"].get("inputRequests"), None);
        let mut waiting = a.send(&client, "tasks/result", named(&id)).await.unwrap();
        for field in ["a", "b"] {
            let question = waiting.next().await;
            assert_eq!(question["method"], "elicitation/create");
            assert_eq!(question["params"]["message"], format!("{field}?"));
            assert_eq!(question["params"]["_meta"][RELATED], json!({"taskId": id}));
            assert_eq!(get(&a, &client, &id).await["result"]["status"], "input_required");
            a.respond(&client, &question, ("result", accept(field, field))).await;
        }
        assert_eq!(waiting.answer().await["result"]["content"][0]["text"], "a and b");
        assert_eq!(a.core.services.metrics.now(Gauge::Questions), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_answers_with_an_error_is_heard() {
    local(async {
        let a = cluster().replica("a").await;
        let client = session(&a).await;
        let id = begin(&a, &client, "ask_one", json!({})).await;
        let mut waiting = a.send(&client, "tasks/result", named(&id)).await.unwrap();
        let question = waiting.next().await;
        a.respond(&client, &question, ("error", json!({"code": -1, "message": "not now"}))).await;
        let result = waiting.answer().await["result"].clone();
        assert_eq!(result["isError"], true);
        assert!(result["content"][0]["text"].as_str().unwrap().contains("not now"), "{result}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_answered_elsewhere_is_taken_back() {
    local(async {
        let a = cluster().replica("a").await;
        let client = session(&a).await;
        let id = begin(&a, &client, "ask_one", json!({})).await;
        let mut first = a.send(&client, "tasks/result", named(&id)).await.unwrap();
        let mut second = a.send(&client, "tasks/result", named(&id)).await.unwrap();
        let questions = (first.next().await, second.next().await);
        assert_ne!(questions.0["id"], questions.1["id"]);
        a.respond(&client, &questions.1, ("result", accept("name", "Ada"))).await;
        let taken_back = first.next().await;
        assert_eq!(taken_back["method"], "notifications/cancelled");
        assert_eq!(taken_back["params"]["requestId"], questions.0["id"]);
        for waiting in [&mut first, &mut second] {
            assert_eq!(waiting.answer().await["result"]["content"][0]["text"], "hello Ada");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_without_streams_waits_for_the_result_all_the_same() {
    local(async {
        let a = cluster().replica("a").await;
        let client = session(&a).await;
        let id = begin(&a, &client, "ask_one", json!({})).await;
        let waiting = a.send_with(&client, "tasks/result", named(&id), Carrier::Json).await;
        let result = waiting.unwrap().answer().await;
        assert_eq!(result["result"]["isError"], true, "the question could not be asked: {result}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_session_lists_its_tasks_page_by_page() {
    local(async {
        let a = cluster().replica("a").await;
        let (client, other) = (session(&a).await, session(&a).await);
        let mut begun = Vec::new();
        for seconds in 0..120 {
            begun.push(begin(&a, &client, "sleep", json!({"seconds": seconds})).await);
        }
        begin(&a, &other, "sleep", json!({"seconds": 0})).await;
        let (mut listed, mut params, mut pages) = (Vec::new(), json!({}), Vec::new());
        loop {
            let page = a.ask(&client, "tasks/list", params).await["result"].clone();
            let tasks = page["tasks"].as_array().unwrap();
            pages.push(tasks.len());
            listed.extend(tasks.iter().map(|task| task["taskId"].clone()));
            let Some(cursor) = page.get("nextCursor") else { break };
            params = json!({"cursor": cursor});
            let foreign = a.ask(&other, "tasks/list", params.clone()).await;
            assert_eq!(foreign["error"]["code"], -32602, "another session's cursor");
        }
        assert_eq!((listed, pages), (begun, vec![50, 50, 20]));
        for forged in ["50", "50.AAAAAAAAAAAAAAAA", "", "x.y"] {
            let refused = a.ask(&client, "tasks/list", json!({"cursor": forged})).await;
            assert_eq!(refused["error"]["code"], -32602, "{forged}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_task_leaves_the_list_and_makes_room() {
    local(async {
        let limits = Limits { tasks_per_principal: 3, ..Limits::default() };
        let a = Cluster::new(tools, limits).replica("a").await;
        let client = session(&a).await;
        for ttl in [2000, 2000, 100_000] {
            a.ask(&client, "tools/call", task("sleep", json!({"seconds": 0}), json!({"ttl": ttl}))).await;
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        let id = begin(&a, &client, "sleep", json!({"seconds": 0})).await;
        let listed = a.ask(&client, "tasks/list", json!({})).await["result"]["tasks"].clone();
        assert_eq!(listed.as_array().unwrap().len(), 2);
        assert_eq!(listed[1]["taskId"], id);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn older_revisions_have_no_tasks_and_call_the_tools_all_the_same() {
    local(async {
        let a = cluster().replica("a").await;
        let client = a.initialize(&anybody(), Revision::V2025_06_18, &json!({})).await;
        let plain = a.ask(&client, "tools/call", task("fail", json!({}), json!({}))).await;
        assert_eq!(plain["result"]["isError"], true, "{plain}");
        let refused = a.ask(&client, "tasks/list", json!({})).await;
        assert_eq!((&refused["status"], &refused["error"]["code"]), (&json!(200), &json!(-32601)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_is_told_from_nobody_has_tasks_and_no_list() {
    local(async {
        let a = cluster().replica("a").await;
        let client = Peer::sessionless(&anybody(), Revision::V2025_11_25);
        let id = begin(&a, &client, "sleep", json!({"seconds": 1})).await;
        let result = a.ask(&client, "tasks/result", named(&id)).await;
        assert_eq!(result["result"]["content"][0]["text"], "slept 1");
        assert_eq!(a.ask(&client, "tasks/list", json!({})).await["error"]["code"], -32601);
        let known = Peer::sessionless(&Principal::named("ada"), Revision::V2025_11_25);
        begin(&a, &known, "sleep", json!({"seconds": 1})).await;
        let listed = a.ask(&known, "tasks/list", json!({})).await;
        assert_eq!(listed["result"]["tasks"].as_array().unwrap().len(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_without_tasks_ignores_the_wish_for_one_and_has_no_methods() {
    fn plain_only() -> Vec<Tool> {
        tools().into_iter().take(1).collect()
    }
    local(async {
        let a = Cluster::new(plain_only, Limits::default()).replica("a").await;
        let client = session(&a).await;
        let plain = a.ask(&client, "tools/call", task("plain", json!({}), json!({}))).await;
        assert_eq!(plain["result"]["content"][0]["text"], "plain", "{plain}");
        for client in [&client, &modern()] {
            let refused = a.ask(client, "tasks/get", named(&json!("x"))).await;
            assert_eq!(refused["error"]["code"], -32601);
        }
        assert_eq!(a.ask(&client, "tasks/list", json!({})).await["error"]["code"], -32601);
    })
    .await;
}
