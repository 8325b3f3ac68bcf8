//! Resources: text, bytes, one to watch, and a family.

use std::collections::BTreeMap;

use serde_json::json;
use trunkline::{Exchange, HandlerError, Resource, ResourceTemplate, model::ResourceContents};

use crate::samples::PNG;

const BINARY: &str = "test://static-binary";

/// Those with an address of their own.
pub(crate) fn resources() -> Vec<Resource> {
    vec![
        Resource::new("test://static-text", "static-text", |_| async {
            Ok("This is the content of the static text resource.")
        })
        .title("Static text")
        .description("A text that never changes.")
        .mime_type("text/plain"),
        Resource::new(BINARY, "static-binary", |_| async { Ok(ResourceContents::blob(BINARY, PNG)) })
            .title("Static bytes")
            .description("A picture that never changes.")
            .mime_type("image/png"),
        Resource::new("test://watched-resource", "watched-resource", |_| async {
            Ok("This is the content of the watched resource.")
        })
        .title("Watched text")
        .description("A text to subscribe to.")
        .mime_type("text/plain"),
    ]
}

/// The family.
pub(crate) fn template() -> ResourceTemplate {
    ResourceTemplate::new("test://template/{id}/data", "template-data", data)
        .title("Data by id")
        .description("Data of any id.")
        .mime_type("application/json")
}

async fn data(_: Exchange, variables: BTreeMap<String, String>) -> Result<String, HandlerError> {
    let id = variables.get("id").map_or("", String::as_str);
    let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
    Ok(data.to_string())
}
