//! Which paths and verbs are served, and what every answer's head says.

use serde_json::json;

use crate::support::{Connection, Modern, Request, STREAMABLE, Session, TestServer};

fn hello() -> Request {
    Request::post(&Session::hello("2025-06-18", &json!({})))
}

#[test]
fn both_spellings_of_the_path_are_served_without_a_redirect() {
    let server = TestServer::demo();
    for path in ["/mcp", "/mcp/"] {
        let response = server.send(&hello().path(path));
        assert_eq!(response.status(), 200, "{path}: {}", response.text());
        assert_eq!(response.header("location"), None);
        let id = response.header("mcp-session-id").unwrap().to_owned();
        let stream = server.stream(&Request::get().path(path).session(&id));
        let deleted = server.send(&Request::new("DELETE", path).session(&id));
        assert_eq!(deleted.status(), 204, "{path}");
        drop(stream);
        let stateless = Modern::tool("add", &json!({"a": 1, "b": 2})).request().path(path);
        assert_eq!(server.send(&stateless).result()["structuredContent"]["sum"], 3, "{path}");
    }
}

#[test]
fn a_query_does_not_change_the_path() {
    let server = TestServer::demo();
    assert_eq!(server.send(&hello().path("/mcp?from=somewhere")).status(), 200);
}

#[test]
fn the_path_is_configurable() {
    for (configured, served) in [("/a/b", ["/a/b", "/a/b/"]), ("/", ["/", "/"])] {
        let server = TestServer::builder().config(&format!("[server]\npath = \"{configured}\"")).start();
        for path in served {
            assert_eq!(server.send(&hello().path(path)).status(), 200, "{path} of {configured}");
        }
        assert_eq!(server.send(&hello()).status(), 404, "{configured}");
    }
}

#[test]
fn other_verbs_are_405_with_those_that_are_served() {
    let server = TestServer::demo();
    for path in ["/mcp", "/mcp/"] {
        for verb in ["PUT", "PATCH", "OPTIONS", "HEAD", "BREW"] {
            let response = server.send(&Request::new(verb, path));
            assert_eq!(response.status(), 405, "{verb} {path}");
            assert_eq!(response.header("allow"), Some("GET, POST, DELETE"), "{verb} {path}");
        }
    }
    for (verb, path, allowed) in
        [("POST", "/sse", "GET"), ("GET", "/messages", "POST"), ("DELETE", "/sse", "GET")]
    {
        let response = server.send(&Request::new(verb, path));
        assert_eq!((response.status(), response.header("allow")), (405, Some(allowed)), "{verb} {path}");
    }
}

#[test]
fn the_revision_without_sessions_has_neither_get_nor_delete() {
    let server = TestServer::demo();
    for request in [Request::get(), Request::new("DELETE", "/mcp")] {
        let response = server.send(&request.version("2026-07-28"));
        assert_eq!((response.status(), response.header("allow")), (405, Some("POST")));
    }
}

#[test]
fn the_paths_of_2024_11_05_are_served_unless_switched_off() {
    let server = TestServer::demo();
    let mut stream = server.stream(&Request::get().path("/sse"));
    let first = stream.next_any().unwrap();
    assert_eq!(first.event.as_deref(), Some("endpoint"));
    assert!(first.data.starts_with("/messages?sessionId="), "{first:?}");
    let hello = Request::post(&Session::hello("2024-11-05", &json!({}))).path(&first.data);
    let posted = server.send(&hello);
    assert_eq!((posted.status(), posted.text().as_str()), (202, ""));
    let greeting = stream.message();
    assert_eq!(greeting["result"]["protocolVersion"], "2024-11-05", "{greeting}");
    // Its session ends with the stream.
    stream.close();
    server.await_metric("sessions_active", 0);

    let server = TestServer::builder().config("[server]\nsse_2024 = false").start();
    assert_eq!(server.send(&Request::get().path("/sse")).status(), 404);
    assert_eq!(server.send(&Request::post(&json!({})).path("/messages?sessionId=x")).status(), 404);
}

#[test]
fn the_message_path_begins_where_a_proxy_mounts_the_server() {
    let config = "[server]\npublic_url = \"https://example.com/tools\"";
    let server = TestServer::builder().config(config).start();
    let request = Request::get().path("/sse").header("Host", "example.com");
    let first = server.stream(&request).next_any().unwrap();
    assert!(first.data.starts_with("/tools/messages?sessionId="), "{first:?}");
}

#[test]
fn health_and_metrics_are_on_a_listener_of_their_own() {
    let server = TestServer::demo();
    for path in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(server.admin_page(path).status(), 200, "{path}");
        assert_eq!(server.send(&Request::new("GET", path)).status(), 404, "{path}");
        // A probe names the pod's address, and sends no header that a client would.
        let probe = Request::new("GET", path).header("Host", "10.1.2.3:9090");
        assert_eq!(Connection::open(server.admin).exchange(&probe).status(), 200, "{path}");
    }
    let mut admin = Connection::open(server.admin);
    assert_eq!(admin.exchange(&hello()).status(), 404);
    // Probes leave nothing behind.
    assert_eq!(server.metric("sessions_active"), 0);
}

#[test]
fn a_refusal_forbids_sniffing_and_a_stream_forbids_buffering() {
    let server = TestServer::demo();
    let session = server.initialize("2025-11-25");
    // What quotes a request is no page, whatever it looks like.
    for refused in
        [Request::post_text("<html>"), Request::new("PUT", "/mcp"), Request::get().session("<script>")]
    {
        let response = server.send(&refused);
        assert_eq!(response.header("content-type"), Some("application/json"), "{response:?}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{response:?}");
    }
    let listen = Modern::new("subscriptions/listen", &json!({"notifications": {"toolsListChanged": true}}));
    let ping = session.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    for request in [
        session.sign(Request::get()),
        Request::get().path("/sse"),
        listen.request(),
        // An answer that is there at once, to a client that reads nothing else.
        ping.header("Accept", "text/event-stream"),
    ] {
        let mut connection = server.connect();
        connection.send(&request.bytes());
        let head = connection.head();
        assert_eq!(head.status, 200);
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        assert_eq!(head.header("cache-control"), Some("no-cache, no-transform"));
        assert_eq!(head.header("x-accel-buffering"), Some("no"));
        assert!(connection.chunk().is_some(), "the head is not held back");
    }
}

#[test]
fn an_answer_names_its_replica_only_where_that_is_wanted() {
    let silent = TestServer::demo();
    assert_eq!(silent.send(&hello()).header("x-trunkline-replica"), None);
    let server = TestServer::builder().config("[server]\nserve_replica_header = true").start();
    let name = server.send(&hello()).header("x-trunkline-replica").unwrap().to_owned();
    let refused = server.send(&Request::post_text("{"));
    assert_eq!(refused.header("x-trunkline-replica"), Some(name.as_str()));
}

#[test]
fn a_session_id_is_short_and_visible() {
    let server = TestServer::demo();
    for revision in STREAMABLE {
        let id = server.initialize(revision).id;
        assert!((22..=128).contains(&id.len()), "{id}");
        assert!(id.bytes().all(|byte| matches!(byte, 0x21..=0x7e)), "{id}");
    }
}
