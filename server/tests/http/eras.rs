//! Which era and revision a request belongs to, settled before anything else is.

use serde_json::{Value, json};

use crate::support::{MODERN, Modern, Request, STREAMABLE, TestServer};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

#[test]
fn discover_is_answered_without_a_session() {
    let server = TestServer::demo();
    let response = server.modern(&Modern::new("server/discover", &json!({})));
    assert_eq!(response.status(), 200);
    let result = response.result();
    assert_eq!(result["supportedVersions"], json!([MODERN]));
    assert!(result["capabilities"]["tools"].is_object(), "{result}");
}

#[test]
fn a_probe_of_both_eras_recognises_every_answer() {
    let server = TestServer::demo();
    // Whatever a probe gets wrong, the error is one that only this era has.
    let discover = Modern::new("server/discover", &json!({}));
    let unknown = discover.clone().meta(VERSION, json!("2099-01-01")).request().version("2099-01-01");
    for (probe, expected) in [
        (unknown, -32022),
        (discover.request().without("MCP-Protocol-Version"), -32020),
        (discover.request().without("Mcp-Method"), -32020),
        (discover.request().header("Mcp-Method", "tools/list"), -32020),
    ] {
        assert_eq!(server.send(&probe).refusal(), (400, expected), "{probe:?}");
    }
    // And one endpoint serves both.
    assert_eq!(server.initialize("2025-11-25").call("ping", &json!({})), json!({}));
}

#[test]
fn unsupported_version() {
    let server = TestServer::demo();
    for version in ["2099-01-01", "1900-01-01", "v999.0.0", "2025-11-25", ""] {
        let request = Modern::tool("add", &json!({"a": 1, "b": 2})).meta(VERSION, json!(version)).request();
        let response = server.send(&request.version(version));
        assert_eq!(response.refusal(), (400, -32022), "{version:?}: {}", response.text());
        let error = &response.json()["error"];
        assert_eq!(error["data"]["supported"], json!([MODERN]), "{version:?}");
        assert_eq!(error["data"]["requested"], version);
        assert_eq!(response.json()["id"], 1);
    }
}

#[test]
fn unsupported_version_in_the_header_of_a_session() {
    let server = TestServer::demo();
    for revision in STREAMABLE {
        let session = server.initialize(revision);
        let messages = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": "q.a.b", "result": {}}),
        ];
        let posts = messages.iter().map(Request::post);
        let others = [Request::get(), Request::new("DELETE", "/mcp")];
        for request in posts.chain(others) {
            for version in ["1999-01-01", "DRAFT-2026", "", "2025-06-18, 2025-11-25"] {
                let response = server.send(&request.clone().session(&session.id).version(version));
                assert_eq!(response.status(), 400, "{revision} {version:?} {request:?}");
            }
        }
        // Nobody was harmed.
        assert_eq!(session.call("ping", &json!({})), json!({}), "{revision}");
    }
}

#[test]
fn without_the_header_the_session_knows_its_revision() {
    let server = TestServer::demo();
    let add = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}});
    for (revision, structured) in [("2025-03-26", false), ("2025-06-18", true), ("2025-11-25", true)] {
        let session = server.initialize(revision);
        let response = server.send(&session.post(&add).without("MCP-Protocol-Version"));
        assert_eq!(response.result().get("structuredContent").is_some(), structured, "{revision}");
    }
}

#[test]
fn header_checks_of_the_revision_without_sessions_are_for_its_requests_alone() {
    let server = TestServer::demo();
    for revision in STREAMABLE {
        let session = server.initialize(revision);
        let params = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
        let call =
            session.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
        // Headers that mean nothing to this client's revision are not looked at.
        let odd = call.header("Mcp-Method", "prompts/get").header("Mcp-Name", "nothing");
        assert_eq!(server.send(&odd).status(), 200, "{revision}");
    }
}

#[test]
fn header_and_body_disagree() {
    let server = TestServer::demo();
    let touch = Modern::tool("touch", &json!({"uri": "demo://counter"})).id(json!("the-id"));
    let good = touch.request();
    let bad = [
        good.clone().header("Mcp-Name", "add"),
        good.clone().header("Mcp-Name", "Touch"),
        good.clone().header("Mcp-Name", ""),
        good.clone().without("Mcp-Name"),
        good.clone().also("Mcp-Name", "touch"),
        good.clone().header("Mcp-Name", "=?base64?YWRk?="),
        good.clone().header("Mcp-Name", "=?base64?!!!?="),
        good.clone().header("Mcp-Name", "touch\u{e9}"),
        good.clone().header("Mcp-Method", "tools/list"),
        good.clone().header("Mcp-Method", "TOOLS/CALL"),
        good.clone().without("Mcp-Method"),
        good.clone().also("Mcp-Method", "tools/call"),
        good.clone().version("2025-11-25"),
        good.clone().version("2099-01-01"),
        good.clone().without("MCP-Protocol-Version"),
        good.clone().also("MCP-Protocol-Version", MODERN),
    ];
    for request in bad {
        let response = server.send(&request);
        assert_eq!(response.refusal(), (400, -32020), "{request:?}: {}", response.text());
        assert_eq!(response.json()["id"], "the-id");
    }
    let read = Modern::new("resources/read", &json!({"uri": "demo://counter"}));
    let response = server.send(&read.request().header("Mcp-Name", "demo://greeting"));
    assert_eq!(response.refusal(), (400, -32020));
    let prompt = Modern::new("prompts/get", &json!({"name": "summarize", "arguments": {"text": "x"}}));
    assert_eq!(server.send(&prompt.request().header("Mcp-Name", "other")).refusal(), (400, -32020));
    // Nothing of it was done.
    let untouched = server.modern(&read).result();
    assert_eq!(untouched["contents"][0]["text"], "0");
    assert_eq!(server.send(&good).result()["content"][0]["text"], "touched demo://counter");
    assert_eq!(server.modern(&read).result()["contents"][0]["text"], "1");
}

#[test]
fn header_names_have_no_case_and_values_may_be_encoded() {
    let server = TestServer::demo();
    let uri = "demo://notes/caf\u{e9}";
    let read = Modern::new("resources/read", &json!({"uri": uri})).request();
    let read = read.header("mcp-name", "=?base64?ZGVtbzovL25vdGVzL2NhZsOp?=");
    let response = server.send(&read);
    assert!(response.result()["contents"][0]["text"].as_str().unwrap().contains("caf\u{e9}"));
    let shouted = Modern::tool("add", &json!({"a": 1, "b": 2})).request();
    let shouted = shouted.without("Mcp-Method").header("MCP-METHOD", "tools/call");
    assert_eq!(server.send(&shouted).status(), 200);
}

#[test]
fn missing_required_meta() {
    let server = TestServer::demo();
    let add = Modern::tool("add", &json!({"a": 1, "b": 2}));
    for key in [VERSION, CAPABILITIES] {
        let response = server.modern(&add.clone().without_meta(key));
        assert_eq!(response.refusal(), (400, -32602), "{key}: {}", response.text());
        assert!(response.json()["error"]["message"].as_str().unwrap().contains(key));
        assert_eq!(response.json()["id"], 1);
    }
    // Who asks is not required.
    let anonymous = add.without_meta("io.modelcontextprotocol/clientInfo");
    assert_eq!(server.modern(&anonymous).status(), 200);
    let bare = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover"});
    let response = server.send(&Request::post(&bare).header("Mcp-Method", "server/discover"));
    assert_eq!(response.refusal(), (400, -32602));
}

#[test]
fn unknown_method() {
    let server = TestServer::demo();
    for method in
        ["nothing/like/it", "tools/Call", "initialize", "ping", "logging/setLevel", "resources/subscribe"]
    {
        let response = server.modern(&Modern::new(method, &json!({"uri": "demo://counter"})));
        assert_eq!(response.refusal(), (404, -32601), "{method}");
        assert_eq!(response.json()["id"], 1, "{method}");
    }
    for revision in STREAMABLE {
        let session = server.initialize(revision);
        for method in ["nothing/like/it", "tools/Call", "tasks/update/now"] {
            // 404 would tell the client to throw its session away.
            let response = session.request(method, &json!({}));
            assert_eq!(response.refusal(), (200, -32601), "{revision} {method}");
        }
        let tasks = session.request("tasks/list", &json!({}));
        let expected = if revision == "2025-11-25" { 0 } else { -32601 };
        assert_eq!(tasks.code(), expected, "{revision}: {}", tasks.text());
    }
}

#[test]
fn a_notification_of_the_revision_without_sessions_is_accepted() {
    let server = TestServer::demo();
    let meta = json!({VERSION: MODERN, CAPABILITIES: {}});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "_meta": meta}});
    let response = server.send(&Request::post(&note).version(MODERN));
    assert_eq!((response.status(), response.body), (202, Vec::new()));
}

#[test]
fn a_capability_the_client_did_not_declare_is_needed() {
    let server = TestServer::demo();
    let confirm = Modern::tool("confirm", &json!({"question": "Really?"}));
    let response = server.modern(&confirm);
    assert_eq!(response.refusal(), (400, -32021), "{}", response.text());
    let needed = response.json()["error"]["data"]["requiredCapabilities"].clone();
    assert!(needed["elicitation"].is_object(), "{needed}");
    // What one request declares is not remembered for the next.
    let able = confirm.clone().capabilities(json!({"elicitation": {}}));
    assert_eq!(server.modern(&able).result()["resultType"], "input_required");
    assert_eq!(server.modern(&confirm).code(), -32021);
    // An older client gets a result that its model can read.
    for revision in STREAMABLE {
        let session = server.initialize(revision);
        let result = session.tool("confirm", &json!({"question": "Really?"}));
        assert_eq!(result["isError"], Value::Bool(true), "{revision}");
    }
}
