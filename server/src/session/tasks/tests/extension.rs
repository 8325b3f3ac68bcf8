//! The extension of 2026-07-28 on one replica.

use super::*;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

fn without_tasks() -> Peer {
    Peer::modern(&anybody(), &json!({"elicitation": {}}))
}

#[tokio::test(start_paused = true)]
async fn a_call_is_answered_with_a_task_and_the_task_with_the_result() {
    local(async {
        let (a, client) = (cluster().replica("a").await, modern());
        let created = a.ask(&client, "tools/call", call("sleep", json!({"seconds": 2}))).await;
        let task = &created["result"];
        assert_eq!((&created["status"], &task["status"]), (&json!(200), &json!("working")));
        assert!(task["ttlMs"].as_u64().unwrap() > 0 && task["pollIntervalMs"].as_u64().unwrap() > 0);
        for time in ["createdAt", "lastUpdatedAt"] {
            assert!(task[time].as_str().unwrap().ends_with('Z'), "{task}");
        }
        for member in ["task", "result", "error", "inputRequests", "requestState", "ttl", "pollInterval"] {
            assert_eq!(task.get(member), None, "{member}");
        }
        let id = &task["taskId"];
        let working = get(&a, &client, id).await;
        assert_eq!(working["result"]["resultType"], "complete");
        assert_eq!(working["result"]["status"], "working");
        assert_eq!(working["result"].get("result"), None);
        let completed = reach(&a, &client, id, "completed").await;
        assert_eq!(completed["result"]["content"], json!([{"type": "text", "text": "slept 2"}]));
        assert_eq!(completed["_meta"].get("io.modelcontextprotocol/related-task"), None);
        assert_eq!(completed.get("requestState"), None);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(get(&a, &client, id).await["result"]["status"], "completed", "it is kept");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_tools_failure_completes_the_task_and_an_error_fails_it() {
    local(async {
        let (a, client) = (cluster().replica("a").await, modern());
        let id = begin(&a, &client, "fail", json!({})).await;
        let failed = reach(&a, &client, &id, "completed").await;
        assert_eq!(failed["result"]["isError"], true);
        let id = begin(&a, &client, "error", json!({})).await;
        let failed = reach(&a, &client, &id, "failed").await;
        assert_eq!(failed["error"], json!({"code": 7, "message": "no"}));
        assert_eq!(failed.get("result"), None);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_is_acknowledged_whenever_it_comes() {
    local(async {
        let (a, client) = (cluster().replica("a").await, modern());
        let id = begin(&a, &client, "sleep", json!({"seconds": 60})).await;
        let acknowledged = a.ask(&client, "tasks/cancel", named(&id)).await["result"].clone();
        assert_eq!(acknowledged["resultType"], "complete");
        for member in ["taskId", "status", "result", "error", "inputRequests"] {
            assert_eq!(acknowledged.get(member), None, "{member}");
        }
        let cancelled = reach(&a, &client, &id, "cancelled").await;
        assert_eq!((cancelled.get("result"), cancelled.get("error")), (None, None));
        assert_eq!(a.ask(&client, "tasks/cancel", named(&id)).await["result"], acknowledged);
        let id = begin(&a, &client, "sleep", json!({"seconds": 0})).await;
        reach(&a, &client, &id, "completed").await;
        assert_eq!(a.ask(&client, "tasks/cancel", named(&id)).await["result"], acknowledged);
        assert_eq!(get(&a, &client, &id).await["result"]["status"], "completed");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_knows_no_tasks_gets_none() {
    local(async {
        let (a, client) = (cluster().replica("a").await, without_tasks());
        let plain = a.ask(&client, "tools/call", call("sleep", json!({"seconds": 0}))).await;
        assert_eq!(plain["result"]["resultType"], "complete");
        assert_eq!(plain["result"]["content"][0]["text"], "slept 0");
        let needs = json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}});
        let refused = a.ask(&client, "tools/call", call("fail", json!({}))).await;
        assert_eq!((&refused["status"], &refused["error"]["code"]), (&json!(400), &json!(-32021)));
        assert_eq!(refused["error"]["data"], needs);
        let theirs = begin(&a, &modern(), "sleep", json!({"seconds": 0})).await;
        for id in [json!("unknown"), theirs] {
            for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
                let params = json!({"taskId": id, "inputResponses": {}});
                let refused = a.ask(&client, method, params).await;
                assert_eq!((&refused["status"], &refused["error"]["code"]), (&json!(400), &json!(-32021)));
                assert_eq!(refused["error"]["data"], needs);
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_methods_of_the_older_tasks_do_not_exist() {
    local(async {
        let (a, client) = (cluster().replica("a").await, modern());
        let id = begin(&a, &client, "sleep", json!({"seconds": 0})).await;
        for method in ["tasks/result", "tasks/list"] {
            let refused = a.ask(&client, method, named(&id)).await;
            assert_eq!((&refused["status"], &refused["error"]["code"]), (&json!(404), &json!(-32601)));
        }
        let mut older = call("plain", json!({}));
        older["task"] = json!({"ttl": 1000, "pollInterval": 5});
        let plain = a.ask(&client, "tools/call", older).await;
        assert_eq!(plain["result"]["content"][0]["text"], "plain", "{plain}");
        let unknown = get(&a, &client, &json!("nothing")).await;
        assert_eq!(unknown["error"]["code"], -32602);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_task_is_answered_by_an_update() {
    local(async {
        let (a, client) = (cluster().replica("a").await, modern());
        let id = begin(&a, &client, "ask_one", json!({})).await;
        let asking = reach(&a, &client, &id, "input_required").await;
        assert_eq!(asking["inputRequests"]["name"]["method"], "elicitation/create");
        assert_eq!(asking["inputRequests"]["name"]["params"]["message"], "name?");
        assert_eq!(asking["inputRequests"].as_object().unwrap().len(), 1);
        let update = |responses| json!({"taskId": id, "inputResponses": responses});
        let unknown = a.ask(&client, "tasks/update", update(json!({"unknown": {"x": 1}}))).await;
        assert_eq!(unknown["result"]["resultType"], "complete");
        assert_eq!(get(&a, &client, &id).await["result"]["status"], "input_required");
        let answer = json!({"name": accept("name", "Ada")});
        let acknowledged = a.ask(&client, "tasks/update", update(answer.clone())).await["result"].clone();
        assert_eq!(acknowledged["resultType"], "complete");
        assert_eq!(acknowledged.get("status"), None);
        let completed = reach(&a, &client, &id, "completed").await;
        assert_eq!(completed["result"]["content"][0]["text"], "hello Ada");
        assert_eq!(a.ask(&client, "tasks/update", update(answer)).await["result"], acknowledged);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn two_questions_may_be_answered_one_at_a_time() {
    local(async {
        let (a, client) = (cluster().replica("a").await, modern());
        let id = begin(&a, &client, "ask_two", json!({})).await;
        let asking = reach(&a, &client, &id, "input_required").await;
        assert_eq!(asking["inputRequests"].as_object().unwrap().len(), 2, "both at once");
        let half = json!({"taskId": id, "inputResponses": {"b": accept("b", "B")}});
        a.ask(&client, "tasks/update", half).await;
        let asking = get(&a, &client, &id).await["result"].clone();
        assert_eq!(asking["status"], "input_required");
        assert_eq!(asking["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["a"]);
        let rest = json!({"taskId": id, "inputResponses": {"a": accept("a", "A"), "b": accept("b", "C")}});
        a.ask(&client, "tasks/update", rest).await;
        let completed = reach(&a, &client, &id, "completed").await;
        assert_eq!(completed["result"]["content"][0]["text"], "A and B", "the first answer counts");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_key_is_used_once_in_the_life_of_a_task() {
    local(async {
        let (a, client) = (cluster().replica("a").await, modern());
        let id = begin(&a, &client, "ask_again", json!({})).await;
        for key in ["name", "name.2"] {
            let asking = reach(&a, &client, &id, "input_required").await;
            assert_eq!(asking["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), [key]);
            let answer = json!({"taskId": id, "inputResponses": {key: accept("name", key)}});
            a.ask(&client, "tasks/update", answer).await;
        }
        let completed = reach(&a, &client, &id, "completed").await;
        assert_eq!(completed["result"]["content"][0]["text"], "name, name.2");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_refuses_the_update_and_the_question_stays() {
    local(async {
        let (a, client) = (cluster().replica("a").await, modern());
        let id = begin(&a, &client, "ask_two", json!({})).await;
        reach(&a, &client, &id, "input_required").await;
        let mixed = json!({"a": accept("a", "A"), "b": {"action": "accept", "content": {"b": 5}}});
        let refused = a.ask(&client, "tasks/update", json!({"taskId": id, "inputResponses": mixed})).await;
        assert_eq!(refused["error"]["code"], -32602);
        assert!(refused["error"]["message"].as_str().unwrap().contains("\"b\""), "{refused}");
        let asking = get(&a, &client, &id).await["result"].clone();
        assert_eq!(asking["inputRequests"].as_object().unwrap().len(), 2, "nothing was taken");
        let refused = a.ask(&client, "tasks/update", named(&id)).await;
        assert_eq!(refused["error"]["code"], -32602, "without any responses");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_not_answered_in_time_is_taken_back() {
    local(async {
        let limits = Limits { question_time: Duration::from_secs(60), ..Limits::default() };
        let (a, client) = (Cluster::new(tools, limits).replica("a").await, modern());
        let id = begin(&a, &client, "ask_one", json!({})).await;
        reach(&a, &client, &id, "input_required").await;
        tokio::time::sleep(Duration::from_secs(61)).await;
        let completed = reach(&a, &client, &id, "completed").await;
        assert_eq!(completed["result"]["isError"], true);
        let said = completed["result"]["content"][0]["text"].as_str().unwrap();
        assert!(said.contains("not answered in time"), "{said}");
        assert_eq!(a.core.services.metrics.now(Gauge::Questions), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_question_that_its_handler_gives_up_is_taken_back() {
    local(async {
        let (a, client) = (cluster().replica("a").await, modern());
        let id = begin(&a, &client, "ask_briefly", json!({})).await;
        reach(&a, &client, &id, "input_required").await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(get(&a, &client, &id).await["result"]["status"], "working");
        let late = json!({"taskId": id, "inputResponses": {"name": accept("name", "Ada")}});
        assert_eq!(a.ask(&client, "tasks/update", late).await["result"]["resultType"], "complete");
        let completed = reach(&a, &client, &id, "completed").await;
        assert_eq!(completed["result"]["content"][0]["text"], "gave up");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_first_is_asked_before_there_is_a_task() {
    local(async {
        let (a, client) = (cluster().replica("a").await, modern());
        let first = a.ask(&client, "tools/call", call("ask_first", json!({}))).await["result"].clone();
        assert_eq!(first["resultType"], "input_required");
        assert_eq!(first.get("taskId"), None);
        assert!(first["inputRequests"]["before"].is_object(), "{first}");
        let mut second = call("ask_first", json!({}));
        second["requestState"] = first["requestState"].clone();
        second["inputResponses"] = json!({"before": accept("before", "B")});
        // Nothing may follow the task, though the request wants progress.
        second["_meta"] = json!({"progressToken": 1});
        let mut sent = a.send_shared(&client, "tools/call", second).await.unwrap();
        let created = sent.next().await["result"].clone();
        assert_eq!(created["resultType"], "task", "{created}");
        assert_eq!((created.get("requestState"), created.get("inputRequests")), (None, None));
        // A connection that closes when it has its answer stops no task.
        sent.closed.cancel();
        let id = &created["taskId"];
        reach(&a, &client, id, "input_required").await;
        let answer = json!({"taskId": id, "inputResponses": {"during": accept("during", "D")}});
        a.ask(&client, "tasks/update", answer).await;
        let completed = reach(&a, &client, id, "completed").await;
        assert_eq!(completed["result"]["content"][0]["text"], "B, D");
        assert!(sent.is_silent());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_says_it_is_a_task_is_an_ordinary_call() {
    local(async {
        let (a, client) = (cluster().replica("a").await, modern());
        let plain = a.ask(&client, "tools/call", call("wait_first", json!({"seconds": 2}))).await;
        assert_eq!(plain["result"]["content"][0]["text"], "never a task", "{plain}");
        let sent = a.send(&client, "tools/call", call("wait_first", json!({"seconds": 60}))).await.unwrap();
        let in_flight = || a.core.services.metrics.now(Gauge::InFlight);
        assert_eq!(in_flight(), 1);
        sent.closed.cancel();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(in_flight(), 0, "it ends with its connection");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn where_no_task_can_begin_the_handler_is_told() {
    local(async {
        let limits = Limits { tasks_per_principal: 1, ..Limits::default() };
        let (a, client) = (Cluster::new(tools, limits).replica("a").await, modern());
        begin(&a, &client, "sleep", json!({"seconds": 0})).await;
        let mut second = call("ask_first", json!({}));
        second["inputResponses"] = json!({"before": accept("before", "B")});
        let plain = a.ask(&client, "tools/call", second).await["result"].clone();
        assert_eq!((&plain["resultType"], &plain["isError"]), (&json!("complete"), &json!(true)));
        assert!(plain["content"][0]["text"].as_str().unwrap().contains("tasks_per_principal"), "{plain}");
    })
    .await;
}
