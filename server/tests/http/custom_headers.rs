//! Arguments that are mirrored in headers (`x-mcp-header`, 2026-07-28).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use trunkline::{Exchange, Server, Tool};

use crate::support::{Modern, Request, TestServer};

/// A tool with mirrored arguments, and how often it has run.
fn start() -> (TestServer, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let schema = json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "shard": {"type": "integer", "x-mcp-header": "Shard"},
            "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
            "where": {"type": "object", "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}}},
            "query": {"type": "string"},
        },
    });
    let tool = Tool::with_schema("query", schema, move |_: Exchange, _: Value| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Ok("done") }
    });
    (TestServer::with(Server::new("mirrored", "1").tool(tool)), runs)
}

fn call(arguments: &Value) -> Request {
    Modern::tool("query", arguments).request()
}

#[test]
fn a_header_that_says_what_the_argument_says_is_served() {
    let (server, runs) = start();
    let good = [
        call(&json!({"region": "eu"})).header("Mcp-Param-Region", "eu"),
        call(&json!({"region": "eu"})).header("MCP-PARAM-REGION", "eu"),
        call(&json!({"region": "eu west"})).header("Mcp-Param-Region", "eu west"),
        call(&json!({"region": "\u{e9}u"})).header("Mcp-Param-Region", "=?base64?w6l1?="),
        call(&json!({"region": "eu"})).header("Mcp-Param-Region", "=?base64?ZXU=?="),
        call(&json!({"shard": 42})).header("Mcp-Param-Shard", "42"),
        call(&json!({"shard": 42})).header("Mcp-Param-Shard", "42.0"),
        call(&json!({"shard": -7})).header("Mcp-Param-Shard", "-7"),
        call(&json!({"dry": true})).header("Mcp-Param-Dry-Run", "true"),
        call(&json!({"where": {"zone": "a"}})).header("Mcp-Param-Zone", "a"),
        // Absent and null arguments have no header.
        call(&json!({})),
        call(&json!({"query": "select 1"})),
        // One that no argument of this tool has is somebody else's.
        call(&json!({})).header("Mcp-Param-Other", "x"),
    ];
    let count = good.len();
    for request in good {
        let response = server.send(&request);
        assert_eq!(response.result()["content"][0]["text"], "done", "{request:?}: {}", response.text());
    }
    assert_eq!(runs.load(Ordering::Relaxed), count);
}

#[test]
fn a_header_that_disagrees_is_refused_before_the_tool_runs() {
    let (server, runs) = start();
    let bad = [
        call(&json!({"region": "us"})).header("Mcp-Param-Region", "eu"),
        call(&json!({"region": "EU"})).header("Mcp-Param-Region", "eu"),
        call(&json!({"region": "eu"})),
        call(&json!({})).header("Mcp-Param-Region", "eu"),
        call(&json!({"region": null})).header("Mcp-Param-Region", "null"),
        call(&json!({"region": "eu"})).header("Mcp-Param-Region", "eu").also("mcp-param-region", "eu"),
        call(&json!({"region": "eu"})).header("Mcp-Param-Region", "=?base64?dXM=?="),
        call(&json!({"region": "eu"})).header("Mcp-Param-Region", "=?base64?***?="),
        call(&json!({"region": "\u{e9}"})).header("Mcp-Param-Region", "\u{e9}"),
        call(&json!({"shard": 42})).header("Mcp-Param-Shard", "43"),
        call(&json!({"shard": 42})).header("Mcp-Param-Shard", "42.5"),
        call(&json!({"shard": 42})).header("Mcp-Param-Shard", "0x2a"),
        call(&json!({"dry": true})).header("Mcp-Param-Dry-Run", "True"),
        call(&json!({"where": {"zone": "a"}})).header("Mcp-Param-Zone", "b"),
        call(&json!({"where": {"zone": "a"}})),
    ];
    for request in bad {
        let response = server.send(&request);
        assert_eq!(response.refusal(), (400, -32020), "{request:?}: {}", response.text());
        assert_eq!(response.json()["id"], 1);
    }
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[test]
fn a_null_argument_has_no_header() {
    let (server, _) = start();
    // Nothing is wrong with the headers; the schema has its own say.
    let response = server.send(&call(&json!({"region": null})));
    assert_eq!(response.status(), 200, "{}", response.text());
}

#[test]
fn older_revisions_have_no_such_headers() {
    let (server, runs) = start();
    let session = server.initialize("2025-11-25");
    session.tool("query", &json!({"region": "eu"}));
    let params = json!({"name": "query", "arguments": {"region": "us"}});
    let message = json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params});
    assert_eq!(server.send(&session.post(&message).header("Mcp-Param-Region", "eu")).status(), 200);
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}

#[test]
fn the_annotation_is_in_the_list_for_clients_to_follow() {
    let (server, _) = start();
    let listed = server.modern(&Modern::new("tools/list", &json!({}))).result();
    assert_eq!(listed["tools"][0]["inputSchema"]["properties"]["region"]["x-mcp-header"], "Region");
}

#[test]
fn a_tool_that_breaks_the_rules_of_mirroring_does_not_start() {
    let start = |properties: Value| {
        let schema = json!({"type": "object", "properties": properties});
        let tool = Tool::with_schema("bad", schema, |_: Exchange, _: Value| async { Ok("done") });
        let mut config = trunkline::config::Config::default();
        config.server.bind.set_port(0);
        config.server.admin_bind.set_port(0);
        Server::new("bad", "1").tool(tool).start(config).map(drop)
    };
    for properties in [
        json!({"a": {"type": "string", "x-mcp-header": ""}}),
        json!({"a": {"type": "string", "x-mcp-header": "A B"}}),
        json!({"a": {"type": "string", "x-mcp-header": "A:"}}),
        json!({"a": {"type": "number", "x-mcp-header": "A"}}),
        json!({"a": {"type": "object", "x-mcp-header": "A"}}),
        json!({"a": {"type": "string", "x-mcp-header": "Same"}, "b": {"type": "string", "x-mcp-header": "same"}}),
        json!({"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}),
    ] {
        let error = start(properties.clone()).expect_err(&properties.to_string());
        assert!(std::error::Error::source(&error).is_some(), "{error}");
    }
    start(json!({"a": {"type": "string", "x-mcp-header": "A"}})).unwrap();
}
