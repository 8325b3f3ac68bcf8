//! In what an answer is written, by what the client accepts.

use serde_json::json;

use crate::support::{Modern, Request, STREAMABLE, TestServer};

#[test]
fn nothing_we_can_produce_is_acceptable() {
    let server = TestServer::demo();
    let session = server.initialize("2025-11-25");
    let ping = session.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    for nothing in ["text/html", "image/*", "application/json;q=0, text/event-stream;q=0", "*/*;q=0"] {
        let response = server.send(&ping.clone().header("Accept", nothing));
        assert_eq!(response.refusal(), (406, -32600), "{nothing}");
    }
}

#[test]
fn a_client_that_accepts_only_one_kind_or_anything_or_does_not_say_is_served() {
    let server = TestServer::demo();
    for revision in STREAMABLE {
        let session = server.initialize(revision);
        let ping = session.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
        for json in [
            "application/json",
            "*/*",
            "application/*",
            "",
            "application/json, text/event-stream",
            "text/event-stream;q=0.9, application/json;q=0.1",
            "text/html, */*;q=0.1",
        ] {
            let response = server.send(&ping.clone().header("Accept", json));
            assert_eq!(response.header("content-type"), Some("application/json"), "{revision} {json:?}");
            assert_eq!(response.result(), json!({}), "{revision} {json:?}");
        }
        assert_eq!(server.send(&ping.clone().without("Accept")).result(), json!({}), "{revision}");
        for stream in ["text/event-stream", "text/*", "application/json;q=0, */*"] {
            let response = server.send(&ping.clone().header("Accept", stream));
            assert_eq!(response.header("content-type"), Some("text/event-stream"), "{revision} {stream}");
            assert_eq!(response.result(), json!({}), "{revision} {stream}");
        }
        // Two headers are one list.
        let two = ping.clone().header("Accept", "text/html").also("Accept", "application/json");
        assert_eq!(server.send(&two).status(), 200, "{revision}");
    }
}

#[test]
fn initialize_is_answered_as_accepted() {
    let server = TestServer::demo();
    let hello = Request::post(&crate::support::Session::hello("2025-06-18", &json!({})));
    let response = server.send(&hello.header("Accept", "text/event-stream"));
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    assert!(response.header("mcp-session-id").is_some());
    assert_eq!(response.result()["protocolVersion"], "2025-06-18");
}

#[test]
fn a_stream_needs_a_client_that_reads_one() {
    let server = TestServer::demo();
    let session = server.initialize("2025-11-25");
    let get = session.sign(Request::get());
    assert_eq!(server.send(&get.clone().header("Accept", "application/json")).status(), 406);
    for accepted in ["text/event-stream", "*/*", "text/*"] {
        drop(server.stream(&get.clone().header("Accept", accepted)));
    }
    drop(server.stream(&get.without("Accept")));
    let listen = Modern::new("subscriptions/listen", &json!({"notifications": {"toolsListChanged": true}}));
    let listen = listen.request().header("Accept", "application/json");
    assert_eq!(server.send(&listen).refusal(), (406, -32600));
    assert_eq!(server.send(&Request::get().path("/sse").header("Accept", "text/html")).status(), 406);
    server.await_metric("streams_open", 0);
}

#[test]
fn what_needs_no_stream_is_plain_json_however_large() {
    let server = TestServer::demo();
    let session = server.initialize("2025-06-18");
    for bytes in [64 << 10, 1 << 20, 4 << 20] {
        let response =
            session.request("tools/call", &json!({"name": "payload", "arguments": {"bytes": bytes}}));
        assert_eq!(response.header("content-type"), Some("application/json"), "{bytes}");
        assert_eq!(response.result()["content"][0]["text"].as_str().unwrap().len(), bytes, "{bytes}");
    }
}

#[test]
fn a_client_that_accepts_no_stream_waits_for_its_answer() {
    let server = TestServer::builder().config("[server]\nupgrade_after = \"10ms\"").start();
    let session = server.initialize("2025-11-25");
    let params = json!({"name": "slow", "arguments": {"ms": 100, "steps": 4}, "_meta": {"progressToken": 1}});
    let call = session.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let plain = server.send(&call.clone().header("Accept", "application/json"));
    assert_eq!(plain.header("content-type"), Some("application/json"));
    // The one body is the answer, never something that was said on the way to it.
    assert_eq!(plain.json()["id"], 1);
    assert_eq!(plain.result()["content"][0]["text"], "4 steps in 100 ms");
    let streamed = server.send(&call);
    assert_eq!(streamed.header("content-type"), Some("text/event-stream"));
    assert_eq!(streamed.result()["content"][0]["text"], "4 steps in 100 ms");
}
