//! JSON schemas of arguments: made from types, compiled once, never fetched from a network.

use jsonschema::Validator;
use schemars::{JsonSchema, generate::SchemaSettings};
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
}

// === impl Schema ===

impl Schema {
    /// The schema of a type (2020-12). An object schema without members still says that it is an object.
    pub(crate) fn of<T: JsonSchema>() -> Result<Self, SchemaError> {
        Self::compile(value_of::<T>())
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
        Ok(Self { value: schema, validator })
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
                format!("{place}: {error} (rule {})", error.schema_path())
            })
            .collect();
        Err(faults.join("; "))
    }
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

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
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
