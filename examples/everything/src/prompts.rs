//! Prompts: without and with arguments, with content of every kind, and one that asks.

use std::collections::BTreeMap;

use trunkline::{
    Exchange, HandlerError, Prompt,
    model::{ContentBlock, PromptMessage, ResourceContents},
    one_of,
};

use crate::{
    rounds::{ask_for, text_of},
    samples::PNG,
};

/// The arguments of a prompt by name. Those that are required are there.
type Arguments = BTreeMap<String, String>;

/// What all of them return.
type Messages = Result<Vec<PromptMessage>, HandlerError>;

/// All of them.
pub(crate) fn prompts() -> Vec<Prompt> {
    vec![
        Prompt::new("test_simple_prompt", simple).description("A text."),
        Prompt::new("test_prompt_with_arguments", with_arguments)
            .description("A text made from two arguments.")
            .required("arg1", "The first argument")
            .required("arg2", "The second argument")
            .complete("arg1", one_of(["test", "testing", "tested"]))
            .complete("arg2", one_of(["value", "variable"])),
        Prompt::new("test_prompt_with_embedded_resource", with_resource)
            .description("A resource, and what to do with it.")
            .required("resourceUri", "The address of the resource"),
        Prompt::new("test_prompt_with_image", with_image).description("A picture, and what to do with it."),
        Prompt::new("test_input_required_result_prompt", with_context)
            .description("A text made from what the user is asked for."),
    ]
}

async fn simple(_: Exchange, _: Arguments) -> Messages {
    Ok(vec![PromptMessage::user("This is a simple prompt for testing.")])
}

async fn with_arguments(_: Exchange, arguments: Arguments) -> Messages {
    let [arg1, arg2] = ["arg1", "arg2"].map(|name| argument(&arguments, name));
    Ok(vec![PromptMessage::user(format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))])
}

async fn with_resource(_: Exchange, arguments: Arguments) -> Messages {
    let uri = argument(&arguments, "resourceUri");
    let contents = ResourceContents::text(uri, "Embedded resource content for testing.");
    Ok(vec![
        PromptMessage::user(ContentBlock::resource(contents.with_mime_type("text/plain"))),
        PromptMessage::user("Please process the embedded resource above."),
    ])
}

async fn with_image(_: Exchange, _: Arguments) -> Messages {
    Ok(vec![
        PromptMessage::user(ContentBlock::image(PNG, "image/png")),
        PromptMessage::user("Please analyze the image above."),
    ])
}

async fn with_context(exchange: Exchange, _: Arguments) -> Messages {
    let question = ask_for("context", "What context should the prompt use?");
    let answer = exchange.elicit("user_context", question).await?;
    Ok(vec![PromptMessage::user(format!("Use this context: {}", text_of(&answer, "context")))])
}

fn argument<'a>(arguments: &'a Arguments, name: &str) -> &'a str {
    arguments.get(name).map_or("", String::as_str)
}
