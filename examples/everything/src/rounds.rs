//! Tools that need several answers. Where a client's revision asks in rounds, a call ends with its questions and comes
//! again with the answers; the handlers below do not see that.

use futures_util::try_join;
use trunkline::{
    AskError, Exchange, HandlerError, NoArguments, Tool,
    model::{CreateMessageParams, ElicitParams, ElicitResult, ElicitSchema, PropertySchema},
};

/// All of them.
pub(crate) fn tools() -> Vec<Tool> {
    [
        Tool::new("test_input_required_result_elicitation", greet)
            .description("Asks for a name, and greets."),
        Tool::new("test_input_required_result_sampling", capital).description("Asks the client's model."),
        Tool::new("test_input_required_result_list_roots", roots)
            .description("Asks which directories the client works in."),
        Tool::new("test_input_required_result_request_state", confirm)
            .description("Asks for a yes, and depends on the state of the call."),
        Tool::new("test_input_required_result_multiple_inputs", all_at_once)
            .description("Asks the user, the model and the client at once."),
        Tool::new("test_input_required_result_multi_round", one_by_one)
            .description("Asks for a name, and then for a colour."),
        Tool::new("test_input_required_result_tampered_state", confirm)
            .description("Asks for a yes, and refuses a state that was changed on its way."),
        Tool::new("test_input_required_result_capabilities", what_is_possible)
            .description("Asks whatever the client declared that it can be asked."),
    ]
    .map(Tool::read_only)
    .into()
}

async fn greet(exchange: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    let answer = exchange.elicit("user_name", ask_for("name", "What is your name?")).await?;
    Ok(format!("Hello, {}!", text_of(&answer, "name")))
}

async fn capital(exchange: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    let question = CreateMessageParams::new("What is the capital of France?", 100);
    let answer = exchange.sample("capital_question", question).await?;
    Ok(format!("The model says: {}", answer.text()))
}

async fn roots(exchange: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    let roots = exchange.roots("client_roots").await?;
    let uris: Vec<_> = roots.into_iter().map(|root| root.uri).collect();
    Ok(format!("The client works in: {}", uris.join(", ")))
}

async fn confirm(exchange: Exchange, _: NoArguments) -> Result<&'static str, HandlerError> {
    // Done in the first round. That its result is here in the second is what the state carries.
    let kept = exchange.once("kept", async { Ok("state-ok".to_owned()) }).await?;
    let form = ElicitSchema::new().with("ok", PropertySchema::boolean());
    let answer = exchange.elicit("confirm", ElicitParams::form("Please confirm", form)).await?;
    match answer.accepted() {
        Some(_) if kept == "state-ok" => Ok("state-ok"),
        _ => Ok("not confirmed"),
    }
}

async fn all_at_once(exchange: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    let (name, greeting, roots) = try_join!(
        exchange.elicit("user_name", ask_for("name", "What is your name?")),
        exchange.sample("greeting", CreateMessageParams::new("Generate a greeting", 50)),
        exchange.roots("client_roots"),
    )?;
    Ok(format!("{} {} You work in {} places.", text_of(&name, "name"), greeting.text(), roots.len()))
}

async fn one_by_one(exchange: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    let name = exchange.elicit("step1", ask_for("name", "Step 1: What is your name?")).await?;
    let color = exchange.elicit("step2", ask_for("color", "Step 2: What is your favorite color?")).await?;
    Ok(format!("{} likes {}", text_of(&name, "name"), text_of(&color, "color")))
}

async fn what_is_possible(exchange: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    let can = exchange.client_capabilities();
    let user = async {
        match can.supports_elicitation_form() {
            true => exchange.elicit("user_name", ask_for("name", "What is your name?")).await.map(Some),
            false => Ok::<_, AskError>(None),
        }
    };
    let model = async {
        match can.supports_sampling() {
            true => exchange.sample("greeting", CreateMessageParams::new("Say hello", 50)).await.map(Some),
            false => Ok(None),
        }
    };
    let client = async {
        match can.supports_roots() {
            true => exchange.roots("client_roots").await.map(Some),
            false => Ok(None),
        }
    };
    let (user, model, client) = try_join!(user, model, client)?;
    Ok(format!("Asked: user {}, model {}, client {}", user.is_some(), model.is_some(), client.is_some()))
}

/// A form of one text.
pub(crate) fn ask_for(field: &str, message: &str) -> ElicitParams {
    ElicitParams::form(message, ElicitSchema::new().with(field, PropertySchema::string()))
}

/// A text of an accepted form.
pub(crate) fn text_of<'a>(answer: &'a ElicitResult, field: &str) -> &'a str {
    answer.accepted().and_then(|fields| fields.get(field)?.as_str()).unwrap_or("somebody")
}
