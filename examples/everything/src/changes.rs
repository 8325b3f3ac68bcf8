//! Tools that announce changes to everybody who listens for them.

use trunkline::{Exchange, HandlerError, NoArguments, Tool, model::ToolAnnotations};

/// All of them.
pub(crate) fn tools() -> Vec<Tool> {
    let harmless = || ToolAnnotations::default().with_destructive(false).with_idempotent(true);
    vec![
        Tool::new("test_trigger_tool_change", tools_changed)
            .description("Announces that the list of tools changed.")
            .annotations(harmless()),
        Tool::new("test_trigger_prompt_change", prompts_changed)
            .description("Announces that the list of prompts changed.")
            .annotations(harmless()),
    ]
}

async fn tools_changed(exchange: Exchange, _: NoArguments) -> Result<&'static str, HandlerError> {
    exchange.tools_changed().await?;
    Ok("Announced a change of the tools")
}

async fn prompts_changed(exchange: Exchange, _: NoArguments) -> Result<&'static str, HandlerError> {
    exchange.prompts_changed().await?;
    Ok("Announced a change of the prompts")
}
