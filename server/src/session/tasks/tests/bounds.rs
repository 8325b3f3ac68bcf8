//! What bounds a task, and what a refused request leaves behind: nothing.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_principal_has_so_many_tasks_until_they_expire() {
    local(async {
        let limits = Limits { tasks_per_principal: 2, ..Limits::default() };
        let ttl = limits.task_ttl;
        let (a, client) = (Cluster::new(tools, limits).replica("a").await, modern());
        for _ in 0..2 {
            begin(&a, &client, "sleep", json!({"seconds": 0})).await;
        }
        let refused = a.ask(&client, "tools/call", call("sleep", json!({"seconds": 0}))).await;
        assert_eq!(refused["status"], 503);
        assert!(refused["error"]["message"].as_str().unwrap().contains("limits.tasks_per_principal"));
        let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        let other = Peer::modern(&Principal::named("ada"), &capabilities);
        begin(&a, &other, "sleep", json!({"seconds": 0})).await;
        tokio::time::sleep(ttl).await;
        begin(&a, &client, "sleep", json!({"seconds": 0})).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_runs_so_many_tasks() {
    local(async {
        let limits = Limits { in_flight: 2, ..Limits::default() };
        let (a, client) = (Cluster::new(tools, limits).replica("a").await, modern());
        for _ in 0..2 {
            begin(&a, &client, "sleep", json!({"seconds": 5})).await;
        }
        let refused = a.ask(&client, "tools/call", call("sleep", json!({"seconds": 0}))).await;
        assert_eq!(refused["status"], 503);
        tokio::time::sleep(Duration::from_secs(6)).await;
        begin(&a, &client, "sleep", json!({"seconds": 0})).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_task_is_unknown_and_its_handler_stops() {
    local(async {
        let limits = Limits { task_ttl: Duration::from_secs(10), ..Limits::default() };
        let (a, client) = (Cluster::new(tools, limits).replica("a").await, modern());
        let ended = begin(&a, &client, "sleep", json!({"seconds": 0})).await;
        let running_on = begin(&a, &client, "sleep", json!({"seconds": 60})).await;
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert_eq!(get(&a, &client, &ended).await["result"]["status"], "completed");
        tokio::time::sleep(Duration::from_secs(7)).await;
        for id in [&ended, &running_on] {
            for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
                let params = json!({"taskId": id, "inputResponses": {}});
                assert_eq!(a.ask(&client, method, params).await["error"]["code"], -32602);
            }
        }
        assert_eq!(running(&a), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_and_a_time_limit_end_the_task_as_they_end_a_call() {
    local(async {
        let (a, client) = (cluster().replica("a").await, modern());
        for (tool, said) in [("panic", "the server's log has the details"), ("forever", "its limit of 30 s")]
        {
            let id = begin(&a, &client, tool, json!({})).await;
            let completed = reach(&a, &client, &id, "completed").await;
            assert_eq!(completed["result"]["isError"], true);
            let text = completed["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.contains(said), "{text}");
            assert!(!text.contains("boom"), "{text}");
        }
        assert_eq!(running(&a), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_result_is_bounded_and_a_large_one_is_kept_in_parts() {
    local(async {
        let limits = Limits { result_bytes: 20_000, value_bytes: 1024, ..Limits::default() };
        let (a, client) = (Cluster::new(tools, limits).replica("a").await, modern());
        for (bytes, fits) in [(10_000, true), (15_800, true), (16_000, false), (30_000, false)] {
            let id = begin(&a, &client, "large", json!({"seconds": bytes})).await;
            let completed = reach(&a, &client, &id, "completed").await;
            let text = completed["result"]["content"][0]["text"].as_str().unwrap();
            assert_eq!(text.len() == bytes, fits, "{bytes}: {}", text.len());
            assert_eq!(text.contains("limits.result_bytes"), !fits);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_task_asks_so_many_questions_at_once() {
    local(async {
        let limits = Limits { questions_per_session: 1, ..Limits::default() };
        let (a, client) = (Cluster::new(tools, limits).replica("a").await, modern());
        let id = begin(&a, &client, "ask_two", json!({})).await;
        let asking = reach(&a, &client, &id, "input_required").await;
        assert_eq!(asking["inputRequests"].as_object().unwrap().len(), 1);
        let answer = json!({"taskId": id, "inputResponses": {"a": accept("a", "A")}});
        a.ask(&client, "tasks/update", answer).await;
        let completed = reach(&a, &client, &id, "completed").await;
        assert!(completed["result"]["content"][0]["text"].as_str().unwrap().contains("too many questions"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_request_leaves_nothing_behind() {
    local(async {
        let cluster = cluster();
        let a = cluster.replica("a").await;
        let (client, stranger) = (modern(), Peer::modern(&anybody(), &json!({})));
        let asked = cluster.store.asked();
        let refused = a.ask(&stranger, "tools/call", call("fail", json!({}))).await;
        assert_eq!(refused["error"]["code"], -32021);
        let misfit = a.ask(&client, "tools/call", call("sleep", json!({"seconds": "x"}))).await;
        assert_eq!(misfit["result"]["isError"], true, "a model can mend that: {misfit}");
        let unknown = a.ask(&client, "tools/call", call("nothing", json!({}))).await;
        assert_eq!(unknown["error"]["code"], -32602);
        assert_eq!((cluster.store.asked(), running(&a)), (asked, 0));
        assert_eq!(a.core.services.metrics.now(Gauge::InFlight), 0);
    })
    .await;
}
