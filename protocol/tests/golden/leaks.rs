//! Which revision has which member: what a revision must not contain, found by walking what it writes.

use serde_json::Value;
use trunkline_protocol::Revision::{self, V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

/// A member, or a kind of content, with the first and the last revision that has it.
struct Rule {
    name: &'static str,
    since: Revision,
    until: Revision,
    met_by: fn(&Place<'_>) -> bool,
}

/// A member where it was found.
struct Place<'a> {
    /// The key of the object that it is in, or of the array that this object is in.
    inside: &'a str,
    key: &'a str,
    value: &'a Value,
}

/// JSON of others: schemas, arguments, data. Anything may be in there.
const OPAQUE: &[&str] =
    &["inputSchema", "outputSchema", "structuredContent", "input", "data", "metadata", "experimental"];

const RULES: &[Rule] = &[
    Rule::from("audio", V2025_03_26, |at| at.is("type", "audio")),
    Rule::from("resource_link", V2025_06_18, |at| at.is("type", "resource_link")),
    Rule::from("tool_use", V2025_11_25, |at| at.is("type", "tool_use")),
    Rule::from("tool_result", V2025_11_25, |at| at.is("type", "tool_result")),
    Rule::from("a choice of several", V2025_11_25, |at| at.inside != "items" && at.is("type", "array")),
    Rule::from("hints of tools", V2025_03_26, |at| at.key == "readOnlyHint"),
    Rule::from("a title among hints", V2025_03_26, |at| at.key == "title" && at.inside == "annotations"),
    Rule::from("title", V2025_06_18, |at| at.key == "title" && at.inside != "annotations"),
    Rule::from("completions", V2025_03_26, |at| at.key == "completions"),
    Rule::from("a message of progress", V2025_03_26, |at| {
        at.key == "message" && at.inside == "params" && at.value == "half"
    }),
    Rule::from("_meta of a tool or resource", V2025_06_18, |at| {
        at.key == "_meta" && !["", "result", "params"].contains(&at.inside)
    }),
    Rule::from("lastModified", V2025_06_18, |at| at.key == "lastModified"),
    Rule::from("outputSchema", V2025_06_18, |at| at.key == "outputSchema"),
    Rule::from("structuredContent", V2025_06_18, |at| at.key == "structuredContent"),
    Rule::from("structuredContent that is no object", V2026_07_28, |at| {
        at.key == "structuredContent" && !at.value.is_object()
    }),
    Rule::from("outputSchema that is of no object", V2026_07_28, |at| {
        at.key == "outputSchema" && at.value["type"] != "object"
    }),
    Rule::from("a boolean as the schema of a property", V2026_07_28, |at| {
        at.key == "inputSchema" && at.value["properties"]["anything"].is_boolean()
    }),
    Rule::from("elicitation/create", V2025_06_18, |at| at.is("method", "elicitation/create")),
    Rule::from("requestedSchema", V2025_06_18, |at| at.key == "requestedSchema"),
    Rule::from("mode", V2025_11_25, |at| at.key == "mode" && at.inside == "params"),
    Rule::from("oneOf", V2025_11_25, |at| at.key == "oneOf"),
    Rule::from("anyOf", V2025_11_25, |at| at.key == "anyOf"),
    Rule::from("a default that is no boolean", V2025_11_25, |at| {
        at.key == "default" && !at.value.is_boolean()
    }),
    Rule::range("enumNames", V2025_06_18, V2025_06_18, |at| at.key == "enumNames"),
    Rule::range("elicitationId", V2025_11_25, V2025_11_25, |at| at.key == "elicitationId"),
    Rule::from("icons", V2025_11_25, |at| at.key == "icons"),
    Rule::from("websiteUrl", V2025_11_25, |at| at.key == "websiteUrl"),
    Rule::from("description of a program", V2025_11_25, |at| {
        at.key == "description" && at.value == "Shows everything."
    }),
    Rule::from("tools for a model", V2025_11_25, |at| at.key == "toolChoice"),
    Rule::from("several blocks in a message", V2025_11_25, |at| {
        at.key == "content" && at.inside == "messages" && at.value.is_array()
    }),
    Rule::range("execution", V2025_11_25, V2025_11_25, |at| at.key == "execution"),
    Rule::range("tasks", V2025_11_25, V2025_11_25, |at| at.key == "tasks"),
    Rule::range("task", V2025_11_25, V2025_11_25, |at| at.key == "task"),
    Rule::range("ttl", V2025_11_25, V2025_11_25, |at| at.key == "ttl"),
    Rule::range("pollInterval", V2025_11_25, V2025_11_25, |at| at.key == "pollInterval"),
    Rule::range("related-task", V2025_11_25, V2025_11_25, |at| {
        at.key == "io.modelcontextprotocol/related-task"
    }),
    Rule::from("taskId", V2025_11_25, |at| at.key == "taskId"),
    Rule::range("protocolVersion", V2024_11_05, V2025_11_25, |at| at.key == "protocolVersion"),
    Rule::range("serverInfo", V2024_11_05, V2025_11_25, |at| at.key == "serverInfo"),
    Rule::from("extensions", V2026_07_28, |at| at.key == "extensions"),
    Rule::from("resultType", V2026_07_28, |at| at.key == "resultType"),
    Rule::from("ttlMs", V2026_07_28, |at| at.key == "ttlMs"),
    Rule::from("pollIntervalMs", V2026_07_28, |at| at.key == "pollIntervalMs"),
    Rule::from("cacheScope", V2026_07_28, |at| at.key == "cacheScope"),
    Rule::from("inputRequests", V2026_07_28, |at| at.key == "inputRequests"),
    Rule::from("requestState", V2026_07_28, |at| at.key == "requestState"),
    Rule::from("supportedVersions", V2026_07_28, |at| at.key == "supportedVersions"),
    Rule::from("serverInfo in _meta", V2026_07_28, |at| at.key == "io.modelcontextprotocol/serverInfo"),
    Rule::from("subscriptionId", V2026_07_28, |at| at.key == "io.modelcontextprotocol/subscriptionId"),
];

// === impl Rule ===

impl Rule {
    const fn range(
        name: &'static str,
        since: Revision,
        until: Revision,
        met_by: fn(&Place<'_>) -> bool,
    ) -> Self {
        Self { name, since, until, met_by }
    }

    const fn from(name: &'static str, since: Revision, met_by: fn(&Place<'_>) -> bool) -> Self {
        Self::range(name, since, V2026_07_28, met_by)
    }
}

// === impl Place ===

impl Place<'_> {
    fn is(&self, key: &str, value: &str) -> bool {
        self.key == key && self.value == value
    }
}

/// The names of all rules.
pub(crate) fn rules() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.name)
}

/// What is in `json` and not of `revision`.
pub(crate) fn find(revision: Revision, json: &Value) -> Vec<&'static str> {
    matching(json, |rule| !(rule.since..=rule.until).contains(&revision))
}

/// The rules that something in `json` meets.
pub(crate) fn met(json: &Value) -> Vec<&'static str> {
    matching(json, |_| true)
}

fn matching(json: &Value, relevant: impl Fn(&Rule) -> bool) -> Vec<&'static str> {
    let relevant: Vec<&Rule> = RULES.iter().filter(|rule| relevant(rule)).collect();
    let mut found = Vec::new();
    walk("", json, &mut |place| {
        found.extend(relevant.iter().filter(|rule| (rule.met_by)(place)).map(|rule| rule.name));
    });
    found
}

fn walk(inside: &str, json: &Value, visit: &mut impl FnMut(&Place<'_>)) {
    match json {
        Value::Object(members) => {
            for (key, value) in members {
                visit(&Place { inside, key, value });
                if !OPAQUE.contains(&key.as_str()) {
                    walk(key, value, visit);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(inside, item, visit)),
        _ => {}
    }
}
