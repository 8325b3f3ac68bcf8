//! Tools that ask the client's user or model.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline::{
    Exchange, HandlerError, NoArguments, Tool,
    model::{
        ClientCapabilities, CreateMessageParams, ElicitAction, ElicitParams, ElicitResult, ElicitSchema,
        PropertySchema,
    },
};

#[derive(Deserialize, JsonSchema)]
struct Sampling {
    /// What the model is asked.
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
struct Elicitation {
    /// What the user is told.
    message: String,
}

/// All of them.
pub(crate) fn tools() -> Vec<Tool> {
    [
        Tool::new("test_sampling", sample).description("Asks the client's model."),
        Tool::new("test_elicitation", elicit).description("Asks the user for a name and an address."),
        Tool::new("test_elicitation_sep1034_defaults", defaults)
            .description("Shows the user a form that is filled in already."),
        Tool::new("test_elicitation_sep1330_enums", choices)
            .description("Shows the user a form of choices, written in every way there is."),
        Tool::new("test_streaming_elicitation", confirm).description("Asks the user for a yes."),
        Tool::new("test_missing_capability", needs_sampling).description("Needs a client with a model."),
    ]
    .map(Tool::read_only)
    .into()
}

async fn sample(exchange: Exchange, asked: Sampling) -> Result<String, HandlerError> {
    let answer = exchange.sample("sampling", CreateMessageParams::new(asked.prompt, 100)).await?;
    Ok(format!("LLM response: {}", answer.text()))
}

async fn elicit(exchange: Exchange, asked: Elicitation) -> Result<String, HandlerError> {
    let form = ElicitSchema::new()
        .with("username", PropertySchema::string().with_description("The user's name"))
        .with("email", PropertySchema::string().with_description("The user's email address"));
    let answer = exchange.elicit("user", ElicitParams::form(asked.message, form)).await?;
    Ok(format!("User response: {}", shown(&answer)))
}

async fn defaults(exchange: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    let status = PropertySchema::one_of(["active", "inactive", "pending"]);
    let form = ElicitSchema::new()
        .with_optional("name", PropertySchema::string().with_default("John Doe"))
        .with_optional("age", PropertySchema::integer().with_default(30))
        .with_optional("score", PropertySchema::number().with_default(95.5))
        .with_optional("status", status.with_default("active"))
        .with_optional("verified", PropertySchema::boolean().with_default(true));
    let answer = exchange.elicit("profile", ElicitParams::form("Is this right?", form)).await?;
    Ok(format!("Elicitation completed: {}", shown(&answer)))
}

async fn choices(exchange: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    let plain = ["option1", "option2", "option3"];
    let titled = [("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")];
    let labels = ["Option One", "Option Two", "Option Three"].map(str::to_owned);
    let legacy = PropertySchema {
        enum_names: Some(labels.into()),
        ..PropertySchema::one_of(["opt1", "opt2", "opt3"])
    };
    let form = ElicitSchema::new()
        .with_optional("untitledSingle", PropertySchema::one_of(plain))
        .with_optional("titledSingle", PropertySchema::one_of_titled(titled))
        .with_optional("legacyEnum", legacy)
        .with_optional("untitledMulti", PropertySchema::some_of(plain))
        .with_optional("titledMulti", PropertySchema::some_of_titled(titled));
    let answer = exchange.elicit("choices", ElicitParams::form("Which ones?", form)).await?;
    Ok(format!("Elicitation completed: {}", shown(&answer)))
}

async fn confirm(exchange: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    let form = ElicitSchema::new().with("ok", PropertySchema::boolean());
    let answer = exchange.elicit("confirm", ElicitParams::form("Please confirm", form)).await?;
    Ok(format!("User response: {}", shown(&answer)))
}

async fn needs_sampling(exchange: Exchange, _: NoArguments) -> Result<&'static str, HandlerError> {
    exchange.require(ClientCapabilities::default().with_sampling())?;
    Ok("The client has a model to ask")
}

/// An answer as one line.
fn shown(answer: &ElicitResult) -> String {
    let action = match answer.action {
        ElicitAction::Accept => "accept",
        ElicitAction::Decline => "decline",
        ElicitAction::Cancel => "cancel",
    };
    let content = answer.accepted().cloned().map_or_else(|| json!({}), Value::Object);
    format!("action={action}, content={content}")
}
