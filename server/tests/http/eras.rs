//! Which era and revision a request belongs to, settled before anything else is.

use serde_json::{Value, json};
use trunkline::{Exchange, NoArguments, Server, Tool};

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

/// The extension has its own error for that, whatever is asked of tasks (*Tasks Extension*, Capability Negotiation).
#[test]
fn what_is_about_tasks_needs_a_client_that_knows_them() {
    let server = TestServer::demo();
    let knows = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let listen = |tasks: Value| {
        Modern::new(
            "subscriptions/listen",
            &json!({"notifications": {"toolsListChanged": true, "taskIds": tasks}}),
        )
    };
    for asked in [
        Modern::new("tasks/get", &json!({"taskId": "t"})),
        Modern::new("tasks/cancel", &json!({"taskId": "t"})),
        Modern::new("tasks/update", &json!({"taskId": "t", "inputResponses": {}})),
        listen(json!(["t"])),
    ] {
        for without in
            [json!({}), json!({"tasks": {}}), json!({"extensions": {}}), json!({"elicitation": {}})]
        {
            let response = server.refused(&asked.clone().capabilities(without.clone()).request());
            assert_eq!(response.refusal(), (400, -32021), "{without} {asked:?}: {}", response.text());
            assert_eq!(response.json()["error"]["data"]["requiredCapabilities"], knows, "{asked:?}");
            assert_eq!(response.json()["id"], 1, "{asked:?}");
        }
    }
    assert_eq!(server.metric("streams_open"), 0);
    // Who knows them is answered. Nothing is delivered of tasks, and the acknowledgement does not say that it would be.
    let unknown =
        server.modern(&Modern::new("tasks/get", &json!({"taskId": "t"})).capabilities(knows.clone()));
    assert_eq!(unknown.code(), -32602, "{}", unknown.text());
    let granted = json!({"toolsListChanged": true});
    for tasks in [json!(["t"]), json!([])] {
        let mut stream = server.stream(&listen(tasks).capabilities(knows.clone()).request());
        assert_eq!(stream.message()["params"]["notifications"], granted);
    }
    // To name none is to ask for nothing.
    let mut stream = server.stream(&listen(json!([])).request());
    assert_eq!(stream.message()["params"]["notifications"], granted);
}

#[test]
fn a_method_of_what_the_server_does_not_offer_is_unknown() {
    let tool = Tool::new("only", |_: Exchange, _: NoArguments| async { Ok("x") });
    let server = TestServer::with(Server::new("tools", "1").tool(tool));
    let session = server.initialize("2025-11-25");
    for (method, params, entries) in [
        ("prompts/list", json!({}), "prompts"),
        ("resources/list", json!({}), "resources"),
        ("resources/templates/list", json!({}), "resourceTemplates"),
        ("prompts/get", json!({"name": "x"}), ""),
        ("resources/read", json!({"uri": "x://y"}), ""),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "x", "value": ""}}),
            "",
        ),
    ] {
        assert_eq!(server.modern(&Modern::new(method, &params)).refusal(), (404, -32601), "{method}");
        let old = session.request(method, &params);
        assert_eq!(old.status(), 200, "{method}: {}", old.text());
        if !entries.is_empty() {
            assert_eq!(old.result()[entries], json!([]), "{method}");
        }
    }
    assert_eq!(server.modern(&Modern::new("tools/list", &json!({}))).status(), 200);
    let server = TestServer::with(Server::new("nothing", "1"));
    for (method, params) in [("tools/list", json!({})), ("tools/call", json!({"name": "x"}))] {
        assert_eq!(server.modern(&Modern::new(method, &params)).refusal(), (404, -32601), "{method}");
    }
}

/// A client may send any version that is served; its session was opened in one, and stays in that.
#[test]
fn a_session_keeps_its_revision_whatever_the_header_names() {
    let server = TestServer::demo();
    let add = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}});
    for (revision, structured) in [("2025-03-26", false), ("2025-06-18", true)] {
        let session = server.initialize(revision);
        for header in STREAMABLE {
            let response = server.send(&session.post(&add).version(header));
            assert_eq!(
                response.result().get("structuredContent").is_some(),
                structured,
                "{revision} {header}"
            );
        }
    }
}

#[test]
fn the_era_is_settled_before_the_session_is_looked_for() {
    let server = TestServer::demo();
    let modern = Modern::new("tools/list", &json!({}));
    for request in [
        modern.clone().meta(VERSION, json!("2099-01-01")).request().version("2099-01-01"),
        modern.clone().without_meta(CAPABILITIES).request(),
        modern.request().header("Mcp-Method", "tools/call"),
    ] {
        let code = server.send(&request).refusal();
        assert_eq!(server.send(&request.session("00000000-dead")).refusal(), code);
    }
    // And before it is asked which session it would be.
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for id in [None, Some("00000000-dead")] {
        let request = Request::post(&ping).version("1999-01-01");
        let request = id.map_or(request.clone(), |id| request.session(id));
        let response = server.send(&request);
        assert_eq!(response.status(), 400, "{id:?}");
        assert!(response.text().contains("1999-01-01"), "{id:?}: {}", response.text());
    }
}

#[test]
fn a_notification_that_contradicts_itself_is_refused() {
    let server = TestServer::demo();
    let note = |meta: Value| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "_meta": meta}});
    let whole = note(json!({VERSION: MODERN, CAPABILITIES: {}}));
    for (message, version, code) in [
        (&whole, Some("2025-11-25"), -32020),
        (&whole, None, -32020),
        (&note(json!({VERSION: "2099-01-01", CAPABILITIES: {}})), Some("2099-01-01"), -32022),
        (&note(json!({})), Some(MODERN), -32602),
    ] {
        let request = Request::post(message);
        let request = version.map_or(request.clone(), |version| request.version(version));
        assert_eq!(server.send(&request).refusal(), (400, code), "{version:?} {message}");
    }
}
