//! Calls of any server's tools, and what is expected of their results.

use serde_json::Value as Json;
use toml::{Table as Toml, Value};

use super::{table::Table, template};
use crate::{
    cli::{Mistakes, no_such},
    plan::{Argument, Expect, Expectation, ToolCall},
};

/// The types of JSON that a value may be expected to be of.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

pub(super) fn read_tool(table: &mut Table<'_>) -> ToolCall {
    let tool = table.name("tool");
    let mut arguments = Vec::new();
    let path = table.at("arguments");
    for (key, value) in table.table("arguments").unwrap_or_default() {
        let argument = read_argument(value, &format!("{path}.{key}"), table.found);
        arguments.push((key, argument));
    }
    let mut expect = Vec::new();
    for (at, expectation) in table.tables("expect").into_iter().enumerate() {
        let path = table.at(&format!("expect[{at}]"));
        expect.extend(read_expectation(expectation, &path, &arguments, table.found));
    }
    ToolCall { tool, arguments, expect }
}

fn read_argument(value: Value, path: &str, found: &mut Mistakes) -> Argument {
    let (argument, wrong) = match value {
        Value::String(text) if text.contains('{') => {
            let wrong = template::mistake(&text);
            (Argument::Text(text), wrong)
        }
        Value::Table(table) if table.len() == 1 && table.get("number").is_some_and(Value::is_str) => {
            let text = table["number"].as_str().unwrap_or_default();
            (Argument::Number(text.to_owned()), template::mistake_in_number(text))
        }
        value => {
            let inside = holds_template(&value);
            let what =
                "a template inside of a list or table is not filled in; write it as an argument of its own";
            (Argument::Fixed(json(value)), inside.then(|| what.to_owned()))
        }
    };
    if let Some(wrong) = wrong {
        found.add(path, wrong);
    }
    argument
}

fn holds_template(value: &Value) -> bool {
    match value {
        Value::String(text) => template::is_one(text),
        Value::Array(values) => values.iter().any(holds_template),
        Value::Table(table) => table.values().any(holds_template),
        _ => false,
    }
}

fn read_expectation(
    expectation: Toml,
    path: &str,
    arguments: &[(String, Argument)],
    found: &mut Mistakes,
) -> Option<Expectation> {
    let mut table = Table::new(expectation, path, found);
    let pointer = table.needed("at");
    if !pointer.is_empty() && !pointer.starts_with('/') {
        table.wrong("at", "must be a JSON pointer into the result, as \"/structuredContent/sum\"");
    }
    let mut expects = Vec::new();
    expects.extend(table.take("equals").map(|value| Expect::Equals(json(value))));
    expects.extend(table.text("equals-argument").map(Expect::EqualsArgument));
    expects.extend(table.text("contains").map(Expect::Contains));
    expects.extend(table.text("is").map(Expect::Is));
    let absent = table.take("absent");
    if absent.as_ref().is_some_and(|absent| *absent != Value::Boolean(true)) {
        table.wrong("absent", "must be true");
    }
    expects.extend(absent.map(|_| Expect::Absent));
    match &expects[..] {
        [expect] => check(expect, arguments, &mut table),
        _ => table.wrong("at", "needs one of equals, equals-argument, contains, is and absent beside it"),
    }
    table.finish();
    Some(Expectation { pointer, expect: expects.into_iter().next()? })
}

fn check(expect: &Expect, arguments: &[(String, Argument)], table: &mut Table<'_>) {
    match expect {
        Expect::Equals(Json::String(text)) if template::is_one(text) => {
            table.wrong("equals", "templates are not filled in here; write contains, or equals-argument");
        }
        Expect::EqualsArgument(name) if !arguments.iter().any(|(known, _)| known == name) => {
            let known: Vec<&str> = arguments.iter().map(|(known, _)| known.as_str()).collect();
            let text = if known.is_empty() {
                format!("the call has no argument {name:?}; write it below arguments")
            } else {
                no_such(name, &known)
            };
            table.wrong("equals-argument", text);
        }
        Expect::Contains(text) => {
            if let Some(wrong) = template::mistake(text) {
                table.wrong("contains", wrong);
            }
        }
        Expect::Is(name) if !TYPES.contains(&name.as_str()) => table.wrong("is", no_such(name, &TYPES)),
        _ => {}
    }
}

fn json(value: Value) -> Json {
    match value {
        Value::String(text) => Json::String(text),
        Value::Integer(number) => Json::from(number),
        Value::Float(number) => Json::from(number),
        Value::Boolean(flag) => Json::Bool(flag),
        Value::Datetime(time) => Json::String(time.to_string()),
        Value::Array(values) => values.into_iter().map(json).collect(),
        Value::Table(table) => {
            Json::Object(table.into_iter().map(|(key, value)| (key, json(value))).collect())
        }
    }
}
