//! Tools that answer at once.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline::{
    Exchange, HandlerError, NoArguments, Tool,
    model::{ContentBlock, ResourceContents},
};

use crate::samples::{PNG, WAV};

#[derive(Deserialize, JsonSchema)]
struct Regional {
    /// The region. Clients send it as the header `Mcp-Param-Region` too, so that a proxy can route by it.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

/// All of them, the plainest first.
pub(crate) fn tools() -> Vec<Tool> {
    let schema_tool = Tool::with_schema("json_schema_2020_12_tool", contact(), |_, contact| async move {
        Ok(format!("JSON Schema 2020-12 tool called with: {contact}"))
    });
    [
        Tool::new("test_simple_text", text).description("Answers with a text."),
        Tool::new("test_image_content", image).description("Answers with a picture."),
        Tool::new("test_audio_content", audio).description("Answers with a sound."),
        Tool::new("test_embedded_resource", resource).description("Answers with a resource."),
        Tool::new("test_multiple_content_types", mixed)
            .description("Answers with a text, a picture and a resource."),
        Tool::new("test_error_handling", fail).description("Fails, with a message for the model."),
        Tool::new("test_x_mcp_header", region)
            .description("Answers with its argument, which clients mirror into a header."),
        schema_tool.description("Takes arguments that are described by a schema of many keywords."),
    ]
    .map(Tool::read_only)
    .into()
}

async fn text(_: Exchange, _: NoArguments) -> Result<&'static str, HandlerError> {
    Ok("This is a simple text response for testing.")
}

async fn image(_: Exchange, _: NoArguments) -> Result<Vec<ContentBlock>, HandlerError> {
    Ok(vec![ContentBlock::image(PNG, "image/png")])
}

async fn audio(_: Exchange, _: NoArguments) -> Result<Vec<ContentBlock>, HandlerError> {
    Ok(vec![ContentBlock::audio(WAV, "audio/wav")])
}

async fn resource(_: Exchange, _: NoArguments) -> Result<Vec<ContentBlock>, HandlerError> {
    let contents =
        ResourceContents::text("test://embedded-resource", "This is an embedded resource content.");
    Ok(vec![ContentBlock::resource(contents.with_mime_type("text/plain"))])
}

async fn mixed(_: Exchange, _: NoArguments) -> Result<Vec<ContentBlock>, HandlerError> {
    let data = json!({"test": "data", "value": 123});
    let contents = ResourceContents::text("test://mixed-content-resource", data.to_string());
    Ok(vec![
        ContentBlock::text("Multiple content types test:"),
        ContentBlock::image(PNG, "image/png"),
        ContentBlock::resource(contents.with_mime_type("application/json")),
    ])
}

async fn fail(_: Exchange, _: NoArguments) -> Result<String, HandlerError> {
    Err(HandlerError::new("This tool intentionally returns an error for testing"))
}

async fn region(_: Exchange, asked: Regional) -> Result<String, HandlerError> {
    Ok(format!("The region is {}", asked.region))
}

/// A schema with the keywords that a server must pass on as they are.
fn contact() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}
