//! Which parameters of a tool are mirrored in headers (2026-07-28 Streamable HTTP, *Custom Headers from Tool Parameters*).

use std::{borrow::Cow, collections::HashSet, fmt};

use serde_json::{Map, Value};

use super::is_token;

const KEYWORD: &str = "x-mcp-header";

/// The deepest schema that is searched. Schemas written by hand or derived from types stay below a dozen levels, and
/// JSON of a peer is bounded well below this when it is parsed.
const MAX_DEPTH: usize = 128;

/// One mirrored parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The whole name of the header: `Mcp-Param-` and what the schema says, in its spelling. Names of headers compare
    /// without regard to case.
    pub header: Box<str>,
    /// The names of the properties that lead from the arguments to the value.
    pub path: Box<[Box<str>]>,
}

/// An annotation that makes the tool's definition invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{KEYWORD}` at {place}: {fault}")]
pub struct InvalidAnnotation {
    /// Where in the schema, as a JSON pointer with `#` before it.
    pub place: String,
    /// What is wrong there.
    pub fault: Fault,
}

/// What is wrong with an annotation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is not a name that a header can have.
    #[error("must be a non-empty token of letters, digits and !#$%&'*+-.^_`|~")]
    Name,
    /// Another annotation has the name, letters' case aside.
    #[error("the name {0:?} is used twice; upper and lower case do not tell headers apart")]
    Duplicate(Box<str>),
    /// Values of the property cannot be mirrored.
    #[error("only properties of type integer, string or boolean are mirrored")]
    Type,
    /// The property does not lie at one place in the arguments.
    #[error("only properties reached from the root through `properties` alone are mirrored")]
    Unreachable,
    /// The schema is nested too deeply to be searched.
    #[error("schemas are searched {MAX_DEPTH} levels deep")]
    Depth,
}

/// Where the search stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spot {
    Root,
    /// A property that `properties` alone lead to.
    Property,
    Elsewhere,
}

struct Search<'s> {
    found: Vec<Annotation>,
    /// In lower case.
    names: HashSet<String>,
    place: Vec<Cow<'s, str>>,
}

/// Finds the parameters that a tool's `inputSchema` mirrors in headers, and checks every annotation wherever it stands.
///
/// A property's type may admit `null` beside the one type that is mirrored, since a null argument has no header. What
/// `const`, `enum`, `default` and `examples` hold are values, not schemas, and a property may be named `x-mcp-header`.
///
/// # Errors
/// [`InvalidAnnotation`] for the first one that breaks a rule: a server must not offer the tool, a client must drop it.
pub fn annotations(schema: &Value) -> Result<Vec<Annotation>, InvalidAnnotation> {
    let mut search = Search { found: Vec::new(), names: HashSet::new(), place: Vec::new() };
    search.visit(schema, Spot::Root)?;
    Ok(search.found)
}

// === impl Annotation ===

impl Annotation {
    /// The value in a call's arguments, if there is one.
    #[must_use]
    pub fn value<'v>(&self, arguments: &'v Value) -> Option<&'v Value> {
        self.path.iter().try_fold(arguments, |value, name| value.get(&**name))
    }
}

// === impl Search ===

impl<'s> Search<'s> {
    fn visit(&mut self, node: &'s Value, spot: Spot) -> Result<(), InvalidAnnotation> {
        if self.place.len() > MAX_DEPTH {
            return Err(self.refuse(Fault::Depth));
        }
        match node {
            Value::Object(schema) => self.visit_schema(schema, spot),
            Value::Array(members) => members.iter().enumerate().try_for_each(|(index, member)| {
                self.within(index.to_string(), |search| search.visit(member, Spot::Elsewhere))
            }),
            _ => Ok(()),
        }
    }

    fn visit_schema(&mut self, schema: &'s Map<String, Value>, spot: Spot) -> Result<(), InvalidAnnotation> {
        if let Some(annotation) = schema.get(KEYWORD) {
            self.take(annotation, schema.get("type"), spot)?;
        }
        for (keyword, value) in schema {
            match (keyword.as_str(), value) {
                (KEYWORD | "const" | "enum" | "default" | "examples", _) => {}
                ("properties", Value::Object(named)) => {
                    let spot = if spot == Spot::Elsewhere { spot } else { Spot::Property };
                    self.visit_named(keyword, named, spot)?;
                }
                (
                    "patternProperties" | "dependentSchemas" | "dependencies" | "$defs" | "definitions",
                    Value::Object(named),
                ) => self.visit_named(keyword, named, Spot::Elsewhere)?,
                _ => self.within(keyword.as_str(), |search| search.visit(value, Spot::Elsewhere))?,
            }
        }
        Ok(())
    }

    /// The schemas of an object whose keys are names, not keywords.
    fn visit_named(
        &mut self,
        keyword: &'s str,
        named: &'s Map<String, Value>,
        spot: Spot,
    ) -> Result<(), InvalidAnnotation> {
        self.within(keyword, |search| {
            named.iter().try_for_each(|(name, schema)| {
                search.within(name.as_str(), |search| search.visit(schema, spot))
            })
        })
    }

    fn within<T>(&mut self, step: impl Into<Cow<'s, str>>, run: impl FnOnce(&mut Self) -> T) -> T {
        self.place.push(step.into());
        let outcome = run(self);
        self.place.pop();
        outcome
    }

    fn take(
        &mut self,
        annotation: &Value,
        kind: Option<&Value>,
        spot: Spot,
    ) -> Result<(), InvalidAnnotation> {
        if spot != Spot::Property {
            return Err(self.refuse(Fault::Unreachable));
        }
        let Some(name) = annotation.as_str().filter(|name| is_token(name.as_bytes())) else {
            return Err(self.refuse(Fault::Name));
        };
        if !kind.is_some_and(is_mirrored_type) {
            return Err(self.refuse(Fault::Type));
        }
        if !self.names.insert(name.to_ascii_lowercase()) {
            return Err(self.refuse(Fault::Duplicate(name.into())));
        }
        // Every other step is the word `properties`.
        let path = self.place.iter().skip(1).step_by(2).map(|name| Box::from(&**name)).collect();
        self.found.push(Annotation { header: format!("Mcp-Param-{name}").into(), path });
        Ok(())
    }

    fn refuse(&self, fault: Fault) -> InvalidAnnotation {
        InvalidAnnotation { place: Pointer(&self.place).to_string(), fault }
    }
}

fn is_mirrored_type(kind: &Value) -> bool {
    let mirrored = |kind: &Value| matches!(kind.as_str(), Some("integer" | "string" | "boolean"));
    match kind {
        Value::Array(kinds) => {
            let mut rest = kinds.iter().filter(|kind| kind.as_str() != Some("null"));
            rest.next().is_some_and(mirrored) && rest.next().is_none()
        }
        _ => mirrored(kind),
    }
}

/// Writes steps as a JSON pointer in a URI fragment, without the percent-encoding nobody reads.
struct Pointer<'a>(&'a [Cow<'a, str>]);

impl fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("#")?;
        self.0.iter().try_for_each(|step| write!(f, "/{}", step.replace('~', "~0").replace('/', "~1")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(name: &Value, kind: &Value) -> Value {
        json!({ "type": "object", "properties": { "p": { "type": kind, "x-mcp-header": name } } })
    }

    fn refused(schema: &Value) -> (String, Fault) {
        let error = annotations(schema).expect_err(&schema.to_string());
        (error.place, error.fault)
    }

    #[test]
    fn the_example_of_the_specification() {
        let schema = json!({ "type": "object", "required": ["region", "query"], "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "query": { "type": "string" },
        } });
        let found = annotations(&schema).unwrap();
        assert_eq!(
            found,
            [Annotation { header: "Mcp-Param-Region".into(), path: Box::new(["region".into()]) }]
        );
        assert_eq!(found[0].value(&json!({ "region": "us-west1" })), Some(&json!("us-west1")));
        assert_eq!(found[0].value(&json!({ "query": "q" })), None);
        assert_eq!(annotations(&json!(true)), Ok(Vec::new()));
    }

    #[test]
    fn nested_properties_are_found_by_their_path() {
        let schema = json!({ "properties": { "a": { "properties": {
            "properties": { "type": "integer", "x-mcp-header": "N" },
        } } } });
        let found = annotations(&schema).unwrap();
        assert_eq!(*found[0].path, ["a".into(), "properties".into()]);
        assert_eq!(found[0].value(&json!({ "a": { "properties": 3 } })), Some(&json!(3)));
        for without in [json!({}), json!({ "a": 1 }), json!({ "a": [3] }), json!([])] {
            assert_eq!(found[0].value(&without), None);
        }
    }

    #[test]
    fn a_name_is_a_token() {
        for name in
            [json!(""), json!("a b"), json!("a:b"), json!("a\r\nb"), json!("é"), json!(5), json!(null)]
        {
            assert_eq!(
                refused(&one(&name, &json!("string"))),
                ("#/properties/p".into(), Fault::Name),
                "{name}"
            );
        }
    }

    #[test]
    fn names_differ_by_more_than_case() {
        let schema = json!({ "properties": {
            "a": { "type": "string", "x-mcp-header": "Region" },
            "b": { "properties": { "c": { "type": "string", "x-mcp-header": "REGION" } } },
        } });
        let (place, fault) = refused(&schema);
        assert_eq!(place, "#/properties/b/properties/c");
        assert_eq!(fault, Fault::Duplicate("REGION".into()));
    }

    #[test]
    fn only_integers_strings_and_booleans_are_mirrored() {
        for kind in [json!("integer"), json!("string"), json!("boolean"), json!(["string", "null"])] {
            assert_eq!(annotations(&one(&json!("N"), &kind)).map(|found| found.len()), Ok(1), "{kind}");
        }
        let others =
            [json!("number"), json!("object"), json!("array"), json!("null"), json!(null), json!(["null"])];
        for kind in
            others.into_iter().chain([json!([]), json!(["string", "integer"]), json!(["number", "null"])])
        {
            assert_eq!(refused(&one(&json!("N"), &kind)).1, Fault::Type, "{kind}");
        }
        let untyped = json!({ "properties": { "p": { "x-mcp-header": "N" } } });
        assert_eq!(refused(&untyped).1, Fault::Type);
    }

    #[test]
    fn an_annotation_anywhere_else_is_refused_where_it_stands() {
        let inner = json!({ "type": "string", "x-mcp-header": "N" });
        let object = json!({ "properties": { "a": inner } });
        let cases = [
            (inner.clone(), "#"),
            (json!({ "properties": { "p": { "items": inner } } }), "#/properties/p/items"),
            (json!({ "properties": { "p": { "prefixItems": [inner] } } }), "#/properties/p/prefixItems/0"),
            (json!({ "oneOf": [{}, object] }), "#/oneOf/1/properties/a"),
            (json!({ "allOf": [object] }), "#/allOf/0/properties/a"),
            (json!({ "not": object }), "#/not/properties/a"),
            (json!({ "if": object }), "#/if/properties/a"),
            (json!({ "then": object }), "#/then/properties/a"),
            (json!({ "$defs": { "a/b~": inner } }), "#/$defs/a~1b~0"),
            (json!({ "$defs": { "default": inner } }), "#/$defs/default"),
            (json!({ "patternProperties": { ".*": inner } }), "#/patternProperties/.*"),
            (json!({ "additionalProperties": inner }), "#/additionalProperties"),
            (json!({ "dependentSchemas": { "a": object } }), "#/dependentSchemas/a/properties/a"),
            (json!({ "vendor-keyword": { "x": inner } }), "#/vendor-keyword/x"),
        ];
        for (schema, place) in cases {
            assert_eq!(refused(&schema), (place.into(), Fault::Unreachable), "{schema}");
        }
    }

    #[test]
    fn values_and_names_are_no_annotations() {
        let value = json!({ "x-mcp-header": "N" });
        let schema = json!({
            "default": value, "const": value, "examples": [value], "enum": [value],
            "properties": { "x-mcp-header": { "type": "string" }, "default": { "type": "string", "x-mcp-header": "D" } },
        });
        let found = annotations(&schema).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(*found[0].path, ["default".into()]);
    }

    #[test]
    fn a_bottomless_schema_is_refused() {
        let mut schema = json!({ "type": "string" });
        for _ in 0..200 {
            schema = json!({ "properties": { "p": schema } });
        }
        assert_eq!(refused(&schema).1, Fault::Depth);
    }

    #[test]
    fn the_error_names_place_and_rule() {
        let error = annotations(&one(&json!("N"), &json!("number"))).unwrap_err().to_string();
        assert!(error.contains("#/properties/p") && error.contains("integer, string or boolean"), "{error}");
    }
}
