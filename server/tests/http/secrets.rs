//! What must not leave the server: session ids, states and arguments in logs and metrics, internals in errors.

use serde_json::json;

use crate::support::{Modern, Request, TestServer, within};

#[test]
fn secrets_stay_out_of_logs_and_metrics() {
    let server = TestServer::builder().config("[telemetry]\nlog_level = \"trace\"").start();
    let session = server.initialize("2025-11-25");
    let secret = "xyzzy-secret-argument";
    session.tool("remember", &json!({"key": secret, "value": secret}));
    session.tool("echo", &json!({"text": secret}));
    session.request("tools/call", &json!({"name": "echo", "arguments": {"text": 5, "other": secret}}));
    session.request("resources/read", &json!({"uri": "demo://notes/xyzzy"}));
    drop(session.listen());
    server.send(&session.sign(Request::post_text("{")).header("Authorization", "Bearer xyzzy-token"));
    let confirm =
        Modern::tool("confirm", &json!({"question": secret})).capabilities(json!({"elicitation": {}}));
    let state = server.modern(&confirm).result()["requestState"].as_str().unwrap().to_owned();
    server.modern(&confirm.param("requestState", json!(format!("{state}x"))));
    server.send(&Request::get().session(&format!("{}x", session.id)));
    let failed = session.tool("fail", &json!({"kind": "internal"}))["content"][0]["text"].to_string();
    session.delete();
    // The reference is logged after all of it.
    let reference = failed.trim_end_matches('"').rsplit(' ').next().unwrap().to_owned();
    assert!(within(crate::support::DEADLINE, || server.log().iter().any(|line| line.contains(&reference))));
    let log = server.log().join("\n");
    let metrics = server.admin_page("/metrics").text();
    for hidden in [session.id.as_str(), &state, secret, "xyzzy"] {
        assert!(!metrics.contains(hidden), "{hidden} in\n{metrics}");
        assert!(!log.contains(hidden), "{hidden} in\n{log}");
    }
}

#[test]
fn health_and_metrics_list_no_session() {
    let server = TestServer::demo();
    let ids: Vec<String> = (0..5).map(|_| server.initialize("2025-06-18").id).collect();
    for path in ["/livez", "/readyz", "/metrics", "/"] {
        let page = server.admin_page(path).text();
        assert!(ids.iter().all(|id| !page.contains(id.as_str())), "{path}: {page}");
    }
}

#[test]
fn a_refusal_says_what_to_do_and_nothing_of_the_inside() {
    let server = TestServer::demo();
    let session = server.initialize("2025-06-18");
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let say =
        |request: &Request| server.send(request).json()["error"]["message"].as_str().unwrap().to_owned();
    let missing = say(&Request::post(&ping));
    assert!(missing.contains("missing") && missing.contains("initialize"), "{missing}");
    let unknown = say(&Request::post(&ping).session("dead"));
    assert!(unknown.contains("unknown, expired or deleted") && unknown.contains("initialize"), "{unknown}");
    // One that was forged, one that is over and one that never was are told apart by nobody.
    session.delete();
    assert_eq!(say(&session.post(&ping)), unknown);
    assert_eq!(say(&Request::post(&ping).session(&format!("{}x", session.id))), unknown);
    let version = say(&Request::post(&ping).session("dead").version("1999-01-01"));
    assert!(version.contains("1999-01-01") && version.contains("2025-11-25"), "{version}");
    for message in [missing, unknown, version] {
        for inside in ["src/", ".rs", "127.0.0.1", "panicked", "trunkline", "replica"] {
            assert!(!message.contains(inside), "{message}");
        }
    }
}

#[test]
fn what_a_client_sends_is_not_reflected_without_bounds() {
    let server = TestServer::demo();
    let session = server.initialize("2025-06-18");
    let long = "y".repeat(200_000);
    for response in [
        session.request(&long, &json!({})),
        session.request("tools/call", &json!({"name": long, "arguments": {}})),
        session.request("prompts/get", &json!({"name": long})),
        session.request("tools/call", &json!({"name": "add", "arguments": {"a": long, "b": long}})),
    ] {
        assert!(response.body.len() < 4096, "{} bytes: {:.200}", response.body.len(), response.text());
    }
}
