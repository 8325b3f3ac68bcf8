//! Tools that may or must run as tasks. A handler does not know whether it does.

use std::time::Duration;

use futures_util::try_join;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::sleep;
use trunkline::{
    Exchange, HandlerError, NoArguments, Tool,
    model::{ElicitParams, ElicitSchema, PropertySchema, TaskSupport, ToolAnnotations},
    protocol::RpcError,
};

use crate::rounds::{ask_for, text_of};

/// The longest `slow_compute` in seconds.
const LONGEST: f64 = 600.0;

/// Before the time limit ends a call: a little more than the longest one takes.
const TIME_LIMIT: Duration = Duration::from_secs(660);

/// How long a job works before it fails.
const WORK: Duration = Duration::from_secs(1);

#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// Whom to greet.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Compute {
    /// How long it takes.
    #[schemars(range(min = 0.0, max = LONGEST))]
    seconds: f64,
    /// What to call it.
    label: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Delete {
    /// The file. Nothing is deleted.
    filename: String,
}

/// All of them.
pub(crate) fn tools() -> Vec<Tool> {
    vec![
        Tool::new("greet", greet).description("Greets somebody, at once.").read_only(),
        Tool::new("slow_compute", compute)
            .description("Computes for as long as asked for.")
            .read_only()
            .task_support(TaskSupport::Optional)
            .time_limit(TIME_LIMIT),
        Tool::new("failing_job", fail)
            .description("Works for a second, and fails.")
            .read_only()
            .task_support(TaskSupport::Required),
        Tool::new("protocol_error_job", break_off)
            .description("Ends in an error of the protocol.")
            .read_only()
            .task_support(TaskSupport::Optional),
        Tool::new("confirm_delete", delete)
            .description("Asks the user whether to delete a file. It deletes none.")
            .annotations(ToolAnnotations::default().with_idempotent(true))
            .task_support(TaskSupport::Required),
        Tool::new("multi_input", two_answers)
            .description("Asks the user two questions at once.")
            .read_only()
            .task_support(TaskSupport::Required),
        Tool::new("test_tool_with_task", ask_then_work)
            .description("Asks for a name before it begins to work.")
            .read_only()
            .task_support(TaskSupport::Required)
            .ask_before_task(),
    ]
}

async fn greet(_: Exchange, to: Greet) -> Result<String, HandlerError> {
    Ok(format!("Hello, {}!", to.name))
}

async fn compute(_: Exchange, asked: Compute) -> Result<String, HandlerError> {
    sleep(Duration::try_from_secs_f64(asked.seconds)?).await;
    let label = asked.label.as_deref().unwrap_or("The computation");
    Ok(format!("{label} took {} s", asked.seconds))
}

async fn fail(_: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    sleep(WORK).await;
    Err(HandlerError::new("The job failed, as it always does"))
}

async fn break_off(_: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    Err(HandlerError::rpc(RpcError::internal("the job ends in an error of the protocol, as it always does")))
}

async fn delete(exchange: Exchange, Delete { filename }: Delete) -> Result<String, HandlerError> {
    let form = ElicitSchema::new().with("confirm", PropertySchema::boolean());
    let question = ElicitParams::form(format!("Delete {filename}?"), form);
    let answer = exchange.elicit("confirm", question).await?;
    let confirmed = answer.accepted().and_then(|fields| fields.get("confirm")?.as_bool());
    Ok(match confirmed {
        Some(true) => format!("Deleted {filename}"),
        _ => format!("Kept {filename}"),
    })
}

async fn two_answers(exchange: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    let (first, second) = try_join!(
        exchange.elicit("first", ask_for("name", "Who is the first?")),
        exchange.elicit("second", ask_for("name", "Who is the second?")),
    )?;
    Ok(format!("{} and {}", text_of(&first, "name"), text_of(&second, "name")))
}

async fn ask_then_work(exchange: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    let answer = exchange.elicit("user_name", ask_for("name", "What is your name?")).await?;
    exchange.begin_task().await?;
    Ok(format!("Hello, {}! The work is done.", text_of(&answer, "name")))
}
