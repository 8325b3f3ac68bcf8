//! Tasks as a client sees them, on one replica and on several.

mod bounds;
mod core;
mod extension;
mod replicas;

use std::{future::pending, time::Duration};

use serde_json::{Value, json};
use trunkline_protocol::{
    RpcError,
    model::{ElicitParams, ElicitSchema, PropertySchema, TaskSupport},
};

use crate::{
    config::Limits,
    principal::Principal,
    registry::{Exchange, HandlerError, NoArguments, Tool},
    session::testing::{Cluster, Peer, Replica, local},
    telemetry::Gauge,
};

fn form(field: &str) -> ElicitParams {
    let schema = ElicitSchema::new().with(field, PropertySchema::string());
    ElicitParams::form(format!("{field}?"), schema)
}

/// The text that was answered.
async fn text(exchange: &Exchange, key: &str) -> Result<String, HandlerError> {
    let answer = exchange.elicit(key, form(key)).await?;
    let said = answer.accepted().and_then(|fields| fields.get(key)?.as_str().map(str::to_owned));
    Ok(said.unwrap_or_else(|| "nothing".to_owned()))
}

/// A tool that runs as a task, under these names: what it does is in the name.
fn tools() -> Vec<Tool> {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Seconds {
        seconds: u64,
    }
    let optional = |tool: Tool| tool.task_support(TaskSupport::Optional);
    let required = |tool: Tool| tool.task_support(TaskSupport::Required);
    vec![
        Tool::new("plain", |_: Exchange, _: NoArguments| async { Ok("plain") }),
        optional(Tool::new("sleep", |_: Exchange, Seconds { seconds }: Seconds| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok(format!("slept {seconds}"))
        })),
        required(Tool::new("fail", |_: Exchange, _: NoArguments| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Err::<String, _>(HandlerError::new("it failed"))
        })),
        optional(Tool::new("error", |_: Exchange, _: NoArguments| async {
            Err::<String, _>(HandlerError::rpc(RpcError::new(7, "no")))
        })),
        optional(Tool::new("panic", |_: Exchange, _: NoArguments| async {
            tokio::task::yield_now().await;
            if true {
                panic!("boom");
            }
            Ok("not reached")
        })),
        optional(Tool::new("forever", |_: Exchange, _: NoArguments| pending::<Result<String, _>>()))
            .time_limit(Duration::from_secs(30)),
        required(Tool::new("ask_one", |exchange: Exchange, _: NoArguments| async move {
            text(&exchange, "name").await.map(|name| format!("hello {name}"))
        })),
        required(Tool::new("ask_late", |exchange: Exchange, Seconds { seconds }: Seconds| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            text(&exchange, "name").await.map(|name| format!("hello {name}"))
        })),
        required(Tool::new("ask_two", |exchange: Exchange, _: NoArguments| async move {
            let (a, b) = tokio::join!(text(&exchange, "a"), text(&exchange, "b"));
            Ok(format!("{} and {}", a?, b?))
        })),
        required(Tool::new("ask_again", |exchange: Exchange, _: NoArguments| async move {
            Ok(format!("{}, {}", text(&exchange, "name").await?, text(&exchange, "name").await?))
        })),
        required(Tool::new("ask_briefly", |exchange: Exchange, _: NoArguments| async move {
            let answer = tokio::time::timeout(Duration::from_secs(3), text(&exchange, "name")).await;
            tokio::time::sleep(Duration::from_secs(10)).await;
            answer.unwrap_or_else(|_| Ok("gave up".to_owned()))
        })),
        required(Tool::new("ask_first", |exchange: Exchange, _: NoArguments| async move {
            let before = text(&exchange, "before").await?;
            exchange.begin_task().await?;
            exchange.progress(1.0, None, None).await;
            let during = text(&exchange, "during").await?;
            Ok(format!("{before}, {during}"))
        }))
        .ask_before_task(),
        optional(Tool::new("wait_first", |_: Exchange, Seconds { seconds }: Seconds| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok("never a task")
        }))
        .ask_before_task(),
        optional(Tool::new("large", |_: Exchange, Seconds { seconds }: Seconds| async move {
            Ok("x".repeat(usize::try_from(seconds)?))
        })),
    ]
}

fn cluster() -> Cluster {
    Cluster::new(tools, Limits::default())
}

fn anybody() -> Principal {
    Principal::anonymous()
}

/// A client of the extension.
fn modern() -> Peer {
    let capabilities = json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    Peer::modern(&anybody(), &capabilities)
}

/// How many tasks run on a replica.
fn running(replica: &Replica) -> i64 {
    replica.core.services.metrics.now(Gauge::Tasks)
}

#[expect(clippy::needless_pass_by_value, reason = "its callers have just made it")]
fn call(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

fn named(task: &Value) -> Value {
    json!({"taskId": task})
}

fn accept(field: &str, text: &str) -> Value {
    json!({"action": "accept", "content": {field: text}})
}

/// Begins a task of the extension, and returns its id.
async fn begin(replica: &Replica, peer: &Peer, tool: &str, arguments: Value) -> Value {
    let created = replica.ask(peer, "tools/call", call(tool, arguments)).await;
    assert_eq!(created["result"]["resultType"], "task", "{created}");
    created["result"]["taskId"].clone()
}

async fn get(replica: &Replica, peer: &Peer, task: &Value) -> Value {
    replica.ask(peer, "tasks/get", named(task)).await
}

/// Asks until the task has this status, as a client does.
async fn reach(replica: &Replica, peer: &Peer, task: &Value, status: &str) -> Value {
    for _ in 0..600 {
        let answer = get(replica, peer, task).await;
        if answer["result"]["status"] == status {
            return answer["result"].clone();
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("the task did not become {status}: {}", get(replica, peer, task).await);
}
