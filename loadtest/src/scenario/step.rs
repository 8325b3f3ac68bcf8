//! Steps of a scenario, and what they do.

use toml::{Table as Toml, Value};

use super::{table::Table, template, tool::read_tool};
use crate::{
    cli::{Mistakes, no_such},
    plan::{Action, Sizes, Step},
    units::Span,
};

/// The largest payload of the demonstration.
const PAYLOAD: u32 = 4 << 20;

/// The largest weight.
const WEIGHT: u32 = 1_000_000;

/// What a step may do.
const ACTIONS: [&str; 15] = [
    "add",
    "echo",
    "payload",
    "counter",
    "remember",
    "confirm",
    "slow",
    "cancel",
    "cut",
    "task",
    "list-tools",
    "list-resources",
    "read",
    "ping",
    "tool",
];

pub(super) fn read_step(step: Toml, place: &str, found: &mut Mistakes) -> Step {
    let mut table = Table::new(step, place, found);
    let weight = table.number("weight", WEIGHT).unwrap_or(1);
    let name = table.name("do");
    let Some(action) = read_action(&name, &mut table) else {
        if !name.is_empty() {
            table.wrong("do", no_such(&name, &ACTIONS));
        }
        // Of its other keys nobody can say whether they are right.
        return Step { weight, action: Action::Add };
    };
    table.finish();
    Step { weight, action }
}

fn read_action(name: &str, table: &mut Table<'_>) -> Option<Action> {
    Some(match name {
        "echo" => Action::Echo { bytes: sizes(table) },
        "payload" => Action::Payload { bytes: sizes(table) },
        "counter" => Action::Counter,
        "remember" => Action::Remember,
        "confirm" => Action::Confirm { delay: table.span("delay").unwrap_or_default() },
        "slow" => {
            let takes = takes(table);
            Action::Slow { takes, steps: table.number("steps", 10_000).unwrap_or(1).max(1) }
        }
        "cancel" => Action::Cancel { takes: takes(table) },
        "cut" => Action::Cut { takes: takes(table) },
        "task" => Action::Task { takes: takes(table) },
        "list-tools" => Action::ListTools,
        "list-resources" => Action::ListResources,
        "read" => Action::Read { uri: read_uri(table) },
        "ping" => Action::Ping,
        "tool" => Action::Tool(read_tool(table)),
        "add" => Action::Add,
        _ => return None,
    })
}

fn read_uri(table: &mut Table<'_>) -> String {
    let uri = table.name("uri");
    if template::is_one(&uri) {
        table.wrong("uri", "is read as it is, without templates; write one that is there");
    }
    uri
}

fn takes(table: &mut Table<'_>) -> Span {
    if !table.has("takes") {
        table.wrong("takes", "is missing: say how long the tool takes, as \"1s\"");
    }
    table.span("takes").unwrap_or_default()
}

/// `1024`, or `[16, 4096]` for something between.
fn sizes(table: &mut Table<'_>) -> Sizes {
    let size = |value: &Value| {
        let size = value.as_integer().and_then(|size| u32::try_from(size).ok());
        size.filter(|size| *size <= PAYLOAD)
    };
    let sizes = match table.take("bytes") {
        None => Some((64, 64)),
        Some(Value::Array(ends)) if ends.len() == 2 => size(&ends[0]).zip(size(&ends[1])),
        Some(value) => size(&value).map(|size| (size, size)),
    };
    match sizes.filter(|(least, most)| least <= most) {
        Some((least, most)) => Sizes { least, most },
        None => {
            table.wrong(
                "bytes",
                format!("must be a number up to {PAYLOAD}, or two as [16, 4096], the smaller one first"),
            );
            Sizes { least: 0, most: 0 }
        }
    }
}
