//! 2025-06-18: no icons, no tasks, no pages to open, no tools for models; forms in an older dialect.

use serde_json::{Map, Value};

use super::step::Adapter;
use crate::model::{
    ClientCapabilities, ContentBlock, CreateMessageParams, ElicitForm, ElicitParams, ElicitResult,
    ElicitSchema, ElicitationCapability, Implementation, Prompt, PropertySchema, PropertyType, Resource,
    ResourceTemplate, SamplingCapability, SamplingMessage, ServerCapabilities, Tool,
};

pub(super) struct V2025_06_18;

impl Adapter for V2025_06_18 {
    fn implementation(&self, it: &mut Implementation) {
        it.icons.clear();
        (it.description, it.website_url) = (None, None);
    }

    fn client_capabilities(&self, it: &mut ClientCapabilities) {
        it.tasks = None;
        it.sampling = it.sampling.map(|_| SamplingCapability::default());
        it.elicitation = it.elicitation.map(|_| ElicitationCapability::default());
    }

    fn server_capabilities(&self, it: &mut ServerCapabilities) {
        it.tasks = None;
    }

    fn tool(&self, it: &mut Tool) {
        it.icons.clear();
        it.execution = None;
    }

    fn resource(&self, it: &mut Resource) {
        it.icons.clear();
    }

    fn resource_template(&self, it: &mut ResourceTemplate) {
        it.icons.clear();
    }

    fn prompt(&self, it: &mut Prompt) {
        it.icons.clear();
    }

    /// Links to resources have icons.
    fn touches_content(&self) -> bool {
        true
    }

    fn elicit(&self, it: &mut ElicitParams) -> Result<(), &'static str> {
        match it {
            ElicitParams::Form(form) => {
                rewrite_fields(&mut form.requested_schema);
                Ok(())
            }
            ElicitParams::Url(_) => Err("a page to open"),
        }
    }

    fn elicit_result(&self, asked: &ElicitForm, it: &mut ElicitResult) {
        if let Some(content) = &mut it.content {
            for (name, field) in asked.requested_schema.properties.iter() {
                gather_boxes(name, field, content);
            }
        }
    }

    /// Messages have one block each here, so one of several becomes several of one.
    fn sampling(&self, it: &mut CreateMessageParams) -> Result<(), &'static str> {
        if !it.tools.is_empty() || it.tool_choice.is_some() {
            return Err("tools for a model");
        }
        let mut single = Vec::with_capacity(it.messages.len());
        for message in it.messages.drain(..) {
            for block in message.content {
                if matches!(block, ContentBlock::ToolUse(_) | ContentBlock::ToolResult(_)) {
                    return Err("a model's use of tools");
                }
                single.push(SamplingMessage { role: message.role, content: vec![block], meta: None });
            }
        }
        it.messages = single;
        Ok(())
    }
}

/// Fields in the words of this revision: labels beside the values, no defaults but of booleans, and, as there is no
/// choice of several, a box to tick for each value.
fn rewrite_fields(schema: &mut ElicitSchema) {
    let mut required = std::mem::take(&mut schema.required);
    for (name, mut field) in std::mem::take(&mut schema.properties) {
        if field.kind == PropertyType::Array {
            required.retain(|other| *other != name);
            for (value, label) in choices(&field) {
                schema.properties.insert(box_name(&name, value), tick_box(&name, &field, value, label));
            }
            continue;
        }
        if let Some(labelled) = field.one_of.take() {
            let (values, labels) = labelled.into_iter().map(|choice| (choice.value, choice.title)).unzip();
            (field.values, field.enum_names) = (Some(values), Some(labels));
        }
        if field.kind != PropertyType::Boolean {
            field.default = None;
        }
        schema.properties.insert(name, field);
    }
    schema.required = required;
}

/// The values of a choice of several, with their labels.
fn choices(field: &PropertySchema) -> Vec<(&str, &str)> {
    let Some(items) = &field.items else { return Vec::new() };
    let plain = items.values.iter().flatten().map(|value| (value.as_str(), value.as_str()));
    let labelled = items.any_of.iter().flatten().map(|choice| (choice.value.as_str(), choice.title.as_str()));
    plain.chain(labelled).collect()
}

fn box_name(field: &str, value: &str) -> String {
    format!("{field}.{value}")
}

fn tick_box(name: &str, field: &PropertySchema, value: &str, label: &str) -> PropertySchema {
    let filled = field.default.as_ref().and_then(Value::as_array);
    PropertySchema {
        title: Some(format!("{}: {label}", field.title.as_deref().unwrap_or(name))),
        description: field.description.clone(),
        default: filled.map(|values| values.iter().any(|chosen| chosen == value).into()),
        ..PropertySchema::boolean()
    }
}

/// Puts the ticked boxes of one field back together, in the order of its values.
fn gather_boxes(name: &str, field: &PropertySchema, content: &mut Map<String, Value>) {
    // An answer that already has the field comes from a client that knows more than its revision asks for.
    if field.kind != PropertyType::Array || content.contains_key(name) {
        return;
    }
    let mut chosen = Vec::new();
    for (value, _) in choices(field) {
        if content.remove(&box_name(name, value)) == Some(Value::Bool(true)) {
            chosen.push(Value::from(value));
        }
    }
    content.insert(name.to_owned(), Value::Array(chosen));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ElicitAction;
    use serde_json::json;

    fn colours() -> ElicitSchema {
        ElicitSchema::new()
            .with("name", PropertySchema::string().with_default("x"))
            .with(
                "colours",
                PropertySchema::some_of_titled([("r", "Red"), ("g", "Green")])
                    .with_title("Colours")
                    .with_default(json!(["g"])),
            )
            .with_optional("size", PropertySchema::one_of_titled([("s", "Small")]))
    }

    #[test]
    fn a_choice_of_several_becomes_boxes_to_tick() {
        let mut params = ElicitParams::form("Which?", colours());
        V2025_06_18.elicit(&mut params).unwrap();
        let ElicitParams::Form(form) = params else { unreachable!() };
        assert_eq!(
            serde_json::to_value(&form.requested_schema).unwrap(),
            json!({"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"},
                "colours.r": {"type": "boolean", "title": "Colours: Red", "default": false},
                "colours.g": {"type": "boolean", "title": "Colours: Green", "default": true},
                "size": {"type": "string", "enum": ["s"], "enumNames": ["Small"]},
            }})
        );
    }

    #[test]
    fn ticked_boxes_come_back_as_the_values_that_were_asked_for() {
        let asked = ElicitForm { message: String::new(), requested_schema: colours() };
        let answer = |content: Value| {
            let content = content.as_object().cloned();
            let mut result = ElicitResult { action: ElicitAction::Accept, content, meta: None };
            V2025_06_18.elicit_result(&asked, &mut result);
            Value::from(result.content.unwrap())
        };
        assert_eq!(
            answer(json!({"name": "a", "colours.g": true, "colours.r": true})),
            json!({"name": "a", "colours": ["r", "g"]})
        );
        assert_eq!(answer(json!({"colours.g": false, "size": "s"})), json!({"colours": [], "size": "s"}));
        assert_eq!(answer(json!({"colours": ["g"]})), json!({"colours": ["g"]}));
    }

    #[test]
    fn a_message_of_several_blocks_becomes_several_messages() {
        let mut params = CreateMessageParams::new("a", 5);
        params.messages[0].content.push(ContentBlock::text("b"));
        V2025_06_18.sampling(&mut params).unwrap();
        let said: Vec<_> = params.messages.iter().map(|message| message.content[0].as_text()).collect();
        assert_eq!(said, [Some("a"), Some("b")]);
        assert!(V2025_06_18.sampling(&mut params.with_tool(Tool::new("t"))).is_err());
    }
}
