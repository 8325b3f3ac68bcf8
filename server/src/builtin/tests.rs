//! The demo as a whole. What each handler does is seen over HTTP, in the integration tests.

use serde_json::{Value, json};

use super::*;
use crate::{
    keys::KeyRing,
    model::{Caching, Implementation},
    registry::{Catalog, Declared},
};

fn catalog() -> Catalog {
    let declared = Declared {
        server: Implementation::new("demo", "1"),
        instructions: None,
        caching: Caching::default(),
        page_size: 100,
        tools: tools(),
        resources: resources(),
        templates: templates(),
        prompts: prompts(),
    };
    Catalog::compile(declared, &KeyRing::generate()).unwrap()
}

fn schema_of(catalog: &Catalog, tool: &str) -> Value {
    serde_json::from_str(catalog.tool(tool).unwrap().definition.input_schema.get()).unwrap()
}

#[test]
fn everything_promised_is_declared() {
    let catalog = catalog();
    for name in
        ["add", "echo", "payload", "counter", "remember", "recall", "confirm", "slow", "fail", "touch"]
    {
        let tool = &catalog.tool(name).unwrap().definition;
        assert!(tool.title.is_some() && tool.description.is_some(), "{name}");
    }
    for uri in ["demo://greeting", "demo://logo", "demo://counter"] {
        assert!(catalog.resource(uri).is_some(), "{uri}");
    }
    assert_eq!(catalog.templates()[0].definition.uri_template, "demo://notes/{id}");
    assert!(catalog.prompt("summarize").is_some());
    assert!(catalog.has_completions() && catalog.has_tasks());
}

#[test]
fn arguments_are_bounded_and_described() {
    let catalog = catalog();
    let payload = schema_of(&catalog, "payload");
    assert_eq!(payload["properties"]["bytes"]["maximum"], json!(4 * 1024 * 1024));
    let slow = schema_of(&catalog, "slow");
    assert_eq!(slow["required"], json!(["ms"]));
    assert_eq!(slow["properties"]["steps"]["minimum"], json!(1));
    let counter = schema_of(&catalog, "counter");
    assert_eq!(counter["required"], json!(["key"]));
    for name in ["key", "by", "handle"] {
        assert!(counter["properties"][name]["description"].is_string(), "{name}");
    }
}

#[test]
fn a_session_needs_no_handle_in_the_answers() {
    let counter = &catalog().tool("counter").unwrap().definition.output_schema.clone().unwrap();
    let schema: Value = serde_json::from_str(counter.get()).unwrap();
    assert_eq!(schema["required"], json!(["value"]));
}
