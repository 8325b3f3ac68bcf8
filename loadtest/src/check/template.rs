//! Arguments and expectations of a scenario's own tools.

use std::fmt::Write;

use rand::Rng;
use serde_json::{Map, Value};

use super::{
    result::{Wrong, shape, wrong},
    unique::Unique,
};
use crate::{
    plan::{Argument, Expect, Expectation, ToolCall},
    tally::Check,
};

/// What templates are filled in with.
pub(crate) struct Values<'a> {
    pub(crate) client: &'a str,
    pub(crate) sequence: u32,
    pub(crate) unique: Unique,
}

// === impl Values ===

impl Values<'_> {
    /// A text with `{client}`, `{sequence}`, `{unique}` and `{random A B}` filled in; other braces stay.
    pub(crate) fn fill(&self, text: &str, rng: &mut impl Rng) -> String {
        let mut filled = String::with_capacity(text.len() + 16);
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let known = after.split_once('}').and_then(|(name, tail)| Some((self.value(name, rng)?, tail)));
            match known {
                Some((value, tail)) => {
                    filled.push_str(&value);
                    rest = tail;
                }
                None => {
                    filled.push('{');
                    rest = after;
                }
            }
        }
        filled.push_str(rest);
        filled
    }

    fn value(&self, name: &str, rng: &mut impl Rng) -> Option<String> {
        let mut value = String::new();
        match name {
            "client" => value.push_str(self.client),
            "sequence" => write!(value, "{}", self.sequence).ok()?,
            "unique" => write!(value, "{}", self.unique.number()).ok()?,
            _ => {
                let (least, most) = name.strip_prefix("random ")?.split_once(' ')?;
                let (least, most): (i64, i64) = (least.parse().ok()?, most.parse().ok()?);
                write!(value, "{}", rng.random_range(least..=most.max(least))).ok()?;
            }
        }
        Some(value)
    }

    /// The arguments of one call.
    pub(crate) fn arguments(&self, call: &ToolCall, rng: &mut impl Rng) -> Map<String, Value> {
        let filled = call.arguments.iter().map(|(name, argument)| {
            let value = match argument {
                Argument::Fixed(value) => value.clone(),
                Argument::Text(text) => Value::String(self.fill(text, rng)),
                Argument::Number(text) => {
                    let text = self.fill(text, rng);
                    text.parse::<i64>().map_or(Value::String(text), Value::from)
                }
            };
            (name.clone(), value)
        });
        filled.collect()
    }

    /// Whether a result is what was expected.
    ///
    /// # Errors
    /// What is not.
    pub(crate) fn check(
        &self,
        call: &ToolCall,
        arguments: &Map<String, Value>,
        result: &[u8],
        rng: &mut impl Rng,
    ) -> Result<(), Wrong> {
        if call.expect.is_empty() {
            return Ok(());
        }
        let result: Value = serde_json::from_slice(result).map_err(|error| shape(&error, result))?;
        call.expect.iter().try_for_each(|expectation| self.meets(expectation, arguments, &result, rng))
    }

    fn meets(
        &self,
        Expectation { pointer, expect }: &Expectation,
        arguments: &Map<String, Value>,
        result: &Value,
        rng: &mut impl Rng,
    ) -> Result<(), Wrong> {
        let seen = result.pointer(pointer);
        let (held, expected) = match expect {
            Expect::Absent => (seen.is_none(), "nothing".to_owned()),
            Expect::Equals(value) => (seen == Some(value), value.to_string()),
            Expect::EqualsArgument(name) => {
                let value = arguments.get(name);
                (seen == value, value.map_or_else(|| "nothing".to_owned(), Value::to_string))
            }
            Expect::Contains(text) => {
                let text = self.fill(text, rng);
                (seen.and_then(Value::as_str).is_some_and(|seen| seen.contains(&text)), format!("…{text}…"))
            }
            Expect::Is(name) => (seen.is_some_and(|seen| is(seen, name)), name.clone()),
        };
        let seen = seen.map_or_else(|| "nothing".to_owned(), Value::to_string);
        if held {
            Ok(())
        } else {
            Err(wrong(Check::Expectation, &format!("{expected} at {pointer:?}"), &seen))
        }
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => value.is_null(),
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::SmallRng};
    use serde_json::json;

    use super::*;

    const VALUES: fn() -> Values<'static> =
        || Values { client: "c7", sequence: 3, unique: Unique::new(7, 3) };

    #[test]
    fn templates_are_filled_in() {
        let mut rng = SmallRng::seed_from_u64(1);
        assert_eq!(VALUES().fill("{client}-{sequence} {x} {", &mut rng), "c7-3 {x} {");
        let number: i64 = VALUES().fill("{random 5 6}", &mut rng).parse().unwrap();
        assert!((5..=6).contains(&number));
    }

    #[test]
    fn results_are_held_against_expectations() {
        let mut rng = SmallRng::seed_from_u64(1);
        let expect = |pointer: &str, expect| Expectation { pointer: pointer.to_owned(), expect };
        let arguments = vec![("name".to_owned(), Argument::Text("{client}".to_owned()))];
        let expectations = vec![
            expect("/a", Expect::EqualsArgument("name".to_owned())),
            expect("/b", Expect::Contains("hello {client}".to_owned())),
            expect("/n", Expect::Is("integer".to_owned())),
            expect("/e", Expect::Absent),
        ];
        let call = ToolCall { tool: "t".to_owned(), arguments, expect: expectations };
        let arguments = VALUES().arguments(&call, &mut rng);
        let mut check =
            |result: Value| VALUES().check(&call, &arguments, result.to_string().as_bytes(), &mut rng);
        assert!(check(json!({ "a": "c7", "b": "oh hello c7!", "n": 4 })).is_ok());
        for wrong in [
            json!({ "a": "c8", "b": "hello c7", "n": 4 }),
            json!({ "a": "c7", "b": "hello", "n": 4 }),
            json!({ "a": "c7", "b": "hello c7", "n": 4.5 }),
            json!({ "a": "c7", "b": "hello c7", "n": 4, "e": null }),
        ] {
            assert!(check(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
