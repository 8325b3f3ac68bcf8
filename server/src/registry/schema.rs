//! JSON schemas of arguments: made from types, compiled once, never fetched from a network.

use jsonschema::Validator;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};

/// How deep a schema may nest. Hand-written ones stay below ten; validation recurses.
const MAX_DEPTH: usize = 32;

/// How many objects and arrays a schema may hold: composition keywords multiply the work of validating.
const MAX_NODES: usize = 2_000;

/// A schema that is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// It is nested too deep.
    #[error("the schema is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// It is too large.
    #[error("the schema holds more than {MAX_NODES} objects and arrays")]
    TooLarge,
    /// It refers to something outside of itself.
    #[error("the schema refers to {0:?}; only references within the schema are followed")]
    External(String),
    /// It is no valid JSON schema.
    #[error("the schema is not valid: {0}")]
    Invalid(String),
}

/// A compiled schema.
pub(crate) struct Schema {
    value: Value,
    validator: Validator,
    /// Whether it asks for nothing that the type it was made from does not ask for by itself.
    said_by_type: bool,
}

// === impl Schema ===

impl Schema {
    /// The schema of a type (2020-12). An object schema without members still says that it is an object.
    pub(crate) fn of<T: JsonSchema>() -> Result<Self, SchemaError> {
        let value = value_of::<T>();
        let said_by_type = is_said_by_type(&value);
        Ok(Self { said_by_type, ..Self::compile(value)? })
    }

    /// Compiles a schema.
    ///
    /// # Errors
    /// [`SchemaError`] if it is over a bound, refers outside of itself, or is not valid.
    pub(crate) fn compile(schema: Value) -> Result<Self, SchemaError> {
        let mut nodes = 0;
        check(&schema, 0, &mut nodes)?;
        let validator =
            jsonschema::validator_for(&schema).map_err(|error| SchemaError::Invalid(error.to_string()))?;
        Ok(Self { value: schema, validator, said_by_type: false })
    }

    /// Reads JSON that fits the schema. The message names the place and the rule, for a model to mend it.
    ///
    /// # Errors
    /// What does not fit the schema, or the type.
    pub(crate) fn read<T: DeserializeOwned>(&self, json: &str) -> Result<T, String> {
        // What can be read as a type that says as much as its schema fits the schema. An array would be read as one, too.
        if self.said_by_type
            && json.starts_with('{')
            && let Ok(value) = serde_json::from_str(json)
        {
            return Ok(value);
        }
        let value: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
        self.check(&value)?;
        T::deserialize(value).map_err(|error| error.to_string())
    }

    /// The schema itself.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// The schema as JSON text.
    pub(crate) fn to_raw(&self) -> Box<RawValue> {
        to_raw_value(&self.value).expect("invariant: a JSON value can be written")
    }

    /// Checks a value. The message names the place and the rule, for a model to mend it.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        // A few are enough to mend a call by, and the rest follow from them.
        const SHOWN: usize = 5;
        let faults: Vec<String> = self
            .validator
            .iter_errors(value)
            .take(SHOWN)
            .map(|error| {
                let place = error.instance_path().to_string();
                let place = if place.is_empty() { "the arguments".to_owned() } else { place };
                format!("{place}: {} (rule {})", told(error.to_string()), error.schema_path())
            })
            .collect();
        Err(faults.join("; "))
    }
}

/// What is wrong with a value, which it quotes: a value may be as long as a body, and be quoted once for each rule.
fn told(mut fault: String) -> String {
    /// Enough for a list of the values that are allowed.
    const MOST: usize = 500;
    if let Some((end, _)) = fault.char_indices().nth(MOST) {
        fault.truncate(end);
        fault.push('…');
    }
    fault
}

/// The JSON of a type's schema.
pub(crate) fn value_of<T: JsonSchema>() -> Value {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    let mut value = schema.to_value();
    if let Value::Object(members) = &mut value {
        // They say nothing to a client: 2020-12 is the protocol's default, and what a type is called and documented as is for
        // readers of the source. The tool has a description of its own.
        for name in ["$schema", "title", "description"] {
            members.remove(name);
        }
        if members.get("type").is_some_and(|kind| kind == "object") {
            members.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        }
    }
    value
}

/// Whether a schema is an object of plain members: strings, numbers and booleans, or lists of them, that may be null, with no
/// rule but their type, and the range of the type for numbers. Anything else may say more than the type does.
fn is_said_by_type(schema: &Value) -> bool {
    const OF_OBJECTS: [&str; 5] = ["type", "title", "description", "properties", "required"];
    let Some(members) = schema.as_object() else { return false };
    let plain = |property: &Value| is_plain(property);
    schema["type"] == "object"
        && members.keys().all(|key| OF_OBJECTS.contains(&key.as_str()))
        && members.get("properties").and_then(Value::as_object).is_some_and(|of| of.values().all(plain))
}

fn is_plain(property: &Value) -> bool {
    const OF_PLAIN: [&str; 5] = ["type", "title", "description", "format", "x-mcp-header"];
    const TYPES: [&str; 5] = ["string", "integer", "number", "boolean", "null"];
    /// What `schemars` writes for the number types of Rust. Other formats are for strings, and say more than the type.
    const NUMBERS: [&str; 12] = [
        "int8", "int16", "int32", "int64", "int", "uint8", "uint16", "uint32", "uint64", "uint", "float",
        "double",
    ];
    let Some(members) = property.as_object() else { return false };
    let known = |kind: &Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
    let typed = match members.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().all(known),
        Some(kind) => known(kind),
        None => false,
    };
    typed
        && members.iter().all(|(key, value)| match key.as_str() {
            "minimum" => {
                value == 0
                    && members
                        .get("format")
                        .is_some_and(|of| of.as_str().is_some_and(|of| of.starts_with('u')))
            }
            "format" => value.as_str().is_some_and(|format| NUMBERS.contains(&format)),
            key => OF_PLAIN.contains(&key),
        })
}

fn check(schema: &Value, depth: usize, nodes: &mut usize) -> Result<(), SchemaError> {
    if depth > MAX_DEPTH {
        return Err(SchemaError::TooDeep);
    }
    *nodes += usize::from(schema.is_object() || schema.is_array());
    if *nodes > MAX_NODES {
        return Err(SchemaError::TooLarge);
    }
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                if let ("$ref" | "$dynamicRef", Value::String(target)) = (name.as_str(), value)
                    && !target.starts_with('#')
                {
                    return Err(SchemaError::External(target.clone()));
                }
                check(value, depth + 1, nodes)?;
            }
        }
        Value::Array(items) => {
            for item in items {
                check(item, depth + 1, nodes)?;
            }
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(serde::Deserialize, JsonSchema)]
    struct Add {
        a: i64,
        b: i64,
    }

    #[test]
    fn a_fault_names_the_place_and_the_rule() {
        let schema = Schema::of::<Add>().unwrap();
        assert!(schema.check(&json!({"a": 1, "b": 2})).is_ok());
        let fault = schema.check(&json!({"a": "x", "b": 2})).unwrap_err();
        assert!(fault.starts_with("/a: ") && fault.contains("/properties/a/type"), "{fault}");
        let fault = schema.check(&json!({"a": 1})).unwrap_err();
        assert!(fault.starts_with("the arguments: ") && fault.contains("/required"), "{fault}");
        for unread in ["[1,2]", r#"{"a":1}"#, r#"{"a":1,"b":"2"}"#, "null", "{"] {
            assert!(schema.read::<Add>(unread).is_err(), "{unread}");
        }
        assert_eq!(schema.read::<Add>(r#"{"b":2,"a":1,"c":3}"#).map(|add| (add.a, add.b)), Ok((1, 2)));
    }

    #[test]
    fn only_schemas_without_rules_of_their_own_are_said_by_their_type() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Plain {
            a: i64,
            b: u32,
            c: Option<String>,
            d: bool,
            e: f64,
        }
        assert!(Schema::of::<Plain>().unwrap().said_by_type);
        for more in [
            json!({"type": "integer", "minimum": 1}),
            json!({"type": "integer", "minimum": 0, "format": "int64"}),
            json!({"type": "string", "format": "email"}),
            json!({"type": "string", "enum": ["a"]}),
            json!({"$ref": "#/$defs/x"}),
            json!({"type": "object"}),
            json!(true),
        ] {
            let schema = json!({"type": "object", "properties": {"x": more}});
            assert!(!is_said_by_type(&schema), "{schema}");
        }
        let closed = json!({"type": "object", "properties": {}, "additionalProperties": false});
        assert!(!is_said_by_type(&closed));
    }

    #[test]
    fn schemas_that_are_too_much_or_reach_outside_are_refused() {
        let mut deep = json!({"type": "string"});
        for _ in 0..MAX_DEPTH {
            deep = json!({"properties": {"x": deep}});
        }
        assert!(matches!(Schema::compile(deep), Err(SchemaError::TooDeep)));
        let many = json!({"anyOf": vec![json!({"type": "string"}); MAX_NODES]});
        assert!(matches!(Schema::compile(many), Err(SchemaError::TooLarge)));
        let outside = json!({"properties": {"x": {"$ref": "http://127.0.0.1:1/schema"}}});
        assert!(matches!(Schema::compile(outside), Err(SchemaError::External(_))));
        assert!(matches!(Schema::compile(json!({"type": 5})), Err(SchemaError::Invalid(_))));
    }
}
