//! 2025-11-25: no extensions, and schemas and structured content are of objects.

use serde::Serialize;
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use super::step::Adapter;
use crate::model::{
    ClientCapabilities, ContentBlock, CreateMessageParams, ElicitParams, OrderedMap, ServerCapabilities, Tool,
};

pub(super) struct V2025_11_25;

impl Adapter for V2025_11_25 {
    fn client_capabilities(&self, it: &mut ClientCapabilities) {
        it.extensions = None;
    }

    fn server_capabilities(&self, it: &mut ServerCapabilities) {
        it.extensions = None;
    }

    fn tool(&self, it: &mut Tool) {
        if let Some(rewritten) = properties_as_objects(&it.input_schema) {
            it.input_schema = rewritten;
        }
        it.output_schema = it
            .output_schema
            .take()
            .filter(|schema| is_of_object(schema))
            .map(|schema| properties_as_objects(&schema).unwrap_or(schema));
    }

    fn has_structured(&self, json: &RawValue) -> bool {
        json.get().starts_with('{')
    }

    /// The id names the question in the notification that ends it, so one made up here would name nothing.
    fn elicit(&self, it: &mut ElicitParams) -> Result<(), &'static str> {
        match it {
            ElicitParams::Url(page) if page.elicitation_id.is_none() => Err("a page to open without an id"),
            _ => Ok(()),
        }
    }

    fn sampling(&self, it: &mut CreateMessageParams) -> Result<(), &'static str> {
        for block in it.messages.iter_mut().flat_map(|message| &mut message.content) {
            if let ContentBlock::ToolResult(result) = block {
                result.structured_content = result.structured_content.take().filter(Value::is_object);
            }
        }
        Ok(())
    }
}

/// Whether the schema says `"type": "object"` at its root, which clients of this revision insist on.
fn is_of_object(schema: &RawValue) -> bool {
    let root: Result<OrderedMap<&RawValue>, _> = serde_json::from_str(schema.get());
    root.is_ok_and(|root| root.get("type").is_some_and(|kind| kind.get() == r#""object""#))
}

/// Writes the schemas `true` and `false` of properties as objects that mean the same, where there are any. This
/// revision's schema of a schema has no booleans there, and its SDKs refuse the whole list for one.
fn properties_as_objects(schema: &RawValue) -> Option<Box<RawValue>> {
    #[derive(Serialize)]
    struct Never {
        not: OrderedMap<bool>,
    }
    let mut root: OrderedMap<Box<RawValue>> = serde_json::from_str(schema.get()).ok()?;
    let mut properties: OrderedMap<Box<RawValue>> =
        serde_json::from_str(root.get("properties")?.get()).ok()?;
    let mut changed = false;
    for property in properties.values_mut() {
        let object = match property.get() {
            "true" => to_raw_value(&OrderedMap::<bool>::new()),
            "false" => to_raw_value(&Never { not: OrderedMap::new() }),
            _ => continue,
        };
        *property = object.ok()?;
        changed = true;
    }
    if !changed {
        return None;
    }
    root.insert("properties", to_raw_value(&properties).ok()?);
    to_raw_value(&root).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn boolean_schemas_of_properties_become_objects_and_nothing_else_moves() {
        let schema = raw(
            r#"{"type":"object","properties":{"b":true,"a":false,"c":{"x":true}},"z":1,"additionalProperties":false}"#,
        );
        assert_eq!(
            properties_as_objects(&schema).unwrap().get(),
            r#"{"type":"object","properties":{"b":{},"a":{"not":{}},"c":{"x":true}},"z":1,"additionalProperties":false}"#
        );
        assert!(properties_as_objects(&raw(r#"{"type":"object","properties":{"c":{"x":true}}}"#)).is_none());
        assert!(properties_as_objects(&raw(r#"{"type":"object"}"#)).is_none());
    }

    #[test]
    fn output_schemas_that_are_not_of_objects_are_left_out() {
        for (schema, kept) in [
            (r#"{"type":"object"}"#, true),
            (r#"{ "$id" : "x", "type" : "object" }"#, true),
            (r#"{"type":"array","items":{"type":"object"}}"#, false),
            (r#"{"anyOf":[{"type":"object"}]}"#, false),
            ("true", false),
        ] {
            let mut tool = Tool::new("t").with_output_schema(raw(schema));
            V2025_11_25.tool(&mut tool);
            assert_eq!(tool.output_schema.is_some(), kept, "{schema}");
        }
    }
}
