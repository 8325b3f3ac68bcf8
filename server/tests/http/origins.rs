//! Who may call: the guard against pages that reach the server through a visitor's browser.

use serde_json::json;

use crate::support::{Connection, Modern, Request, Session, TestServer};

/// One of each kind of request, all good but for what the test changes.
fn kinds() -> Vec<Request> {
    vec![
        Request::post(&Session::hello("2025-06-18", &json!({}))),
        Modern::tool("add", &json!({"a": 1, "b": 2})).request(),
        Request::get(),
        Request::new("DELETE", "/mcp"),
        Request::new("PUT", "/mcp"),
        Request::new("OPTIONS", "/mcp"),
        Request::get().path("/sse"),
        Request::post(&json!({})).path("/messages?sessionId=x"),
    ]
}

#[test]
fn origin_not_allowed() {
    let server = TestServer::demo();
    for origin in [
        "https://evil.example",
        "null",
        "",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "http://evil.example/localhost",
        "localhost",
        "http://",
        "file://",
        "http://127.0.0.1.evil.example:80",
        "http://localhost:80:80",
        "\u{e9}",
    ] {
        for request in kinds() {
            let response = server.send(&request.clone().header("Origin", origin));
            assert_eq!(response.status(), 403, "{origin:?} {request:?}");
            assert_eq!(response.header("access-control-allow-origin"), None, "{origin:?}");
            assert_eq!(response.header("mcp-session-id"), None, "{origin:?}");
        }
    }
    let twice = kinds()[0].clone().also("Origin", "http://localhost").also("Origin", "https://evil.example");
    assert_eq!(server.send(&twice).status(), 403);
    assert_eq!(server.metric("sessions_active"), 0);
}

#[test]
fn no_origin_or_one_of_this_machine_is_served() {
    let server = TestServer::demo();
    for request in &kinds()[..2] {
        assert_eq!(server.send(request).status(), 200);
        for origin in
            ["http://localhost", "http://localhost:6274", "https://127.0.0.1:8443", "http://[::1]:3000"]
        {
            assert_eq!(server.send(&request.clone().header("Origin", origin)).status(), 200, "{origin}");
        }
    }
}

#[test]
fn listed_origins_alone_are_served() {
    let config =
        "[server]\nallowed_origins = [\"https://chat.example\"]\npublic_url = \"https://mcp.example/x\"";
    let server = TestServer::builder().config(config).start();
    let hello = kinds().remove(0);
    for (origin, status) in [
        ("https://chat.example", 200),
        ("https://CHAT.example", 200),
        ("https://mcp.example", 200),
        ("http://chat.example", 403),
        ("https://chat.example:8443", 403),
        ("https://sub.chat.example", 403),
        ("http://localhost", 403),
        ("null", 403),
    ] {
        assert_eq!(server.send(&hello.clone().header("Origin", origin)).status(), status, "{origin}");
    }
}

#[test]
fn any_origin_where_the_operator_says_so() {
    let server = TestServer::builder().config("[server]\nallowed_origins = [\"*\"]").start();
    let hello = kinds().remove(0);
    let anywhere = hello.clone().header("Origin", "https://anywhere.example");
    assert_eq!(server.send(&anywhere).status(), 200);
    // A page without an origin of its own, as of a file or a sandbox, cannot be told from a hostile one.
    assert_eq!(server.send(&hello.header("Origin", "null")).status(), 403);
}

#[test]
fn host_not_allowed() {
    let server = TestServer::demo();
    for host in [
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.7",
        "localhost:x",
        "localhost:1:2",
        "",
        "[::1",
        "user@localhost",
    ] {
        for request in kinds() {
            let response = server.send(&request.clone().header("Host", host));
            // The HTTP library refuses what is no host at all before we see it.
            assert!(matches!(response.status(), 403 | 400), "{host:?} {request:?}: {}", response.status());
            assert_eq!(response.header("mcp-session-id"), None, "{host:?}");
        }
    }
    assert_eq!(server.send(&kinds()[0].clone().header("Host", "evil.example")).refusal(), (403, -32600));
    assert_eq!(server.metric("sessions_active"), 0);
}

#[test]
fn two_hosts_or_none_are_refused() {
    let server = TestServer::demo();
    let hello = &kinds()[0];
    for request in [hello.clone().also("Host", "evil.example"), hello.clone().without("Host")] {
        let status = server.send(&request).status();
        assert!(matches!(status, 400 | 403), "{status} {request:?}");
    }
}

#[test]
fn a_host_in_the_target_counts_as_well_as_the_header() {
    let server = TestServer::demo();
    for (target, host, status) in [
        ("localhost", "localhost", 200),
        ("evil.example", "localhost", 403),
        ("localhost", "evil.example", 403),
    ] {
        let request = kinds()[0].clone().path(&format!("http://{target}/mcp")).header("Host", host);
        assert_eq!(server.send(&request).status(), status, "{target} {host}");
    }
}

#[test]
fn names_of_this_machine_are_served_with_any_port() {
    let server = TestServer::demo();
    let port = server.address.port();
    for host in
        ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:99", &format!("127.0.0.1:{port}"), "127.8.8.8"]
    {
        assert_eq!(server.send(&kinds()[0].clone().header("Host", host)).status(), 200, "{host}");
    }
}

#[test]
fn listed_hosts_alone_are_served() {
    let config = "[server]\nallowed_hosts = [\"mcp.example\", \"other.example:8443\"]\npublic_url = \"https://public.example\"";
    let server = TestServer::builder().config(config).start();
    for (host, status) in [
        ("mcp.example", 200),
        ("MCP.example:443", 200),
        ("mcp.example:", 200),
        ("other.example:8443", 200),
        ("public.example", 200),
        ("other.example", 403),
        ("localhost", 403),
        ("sub.mcp.example", 403),
    ] {
        assert_eq!(server.send(&kinds()[0].clone().header("Host", host)).status(), status, "{host}");
    }
    // What probes the server does not know its names.
    let probe = Request::new("GET", "/readyz").header("Host", "10.0.0.7:9090");
    assert_eq!(Connection::open(server.admin).exchange(&probe).status(), 200);
}

#[test]
fn a_server_on_every_address_is_called_by_any_address_and_no_other_name() {
    let server = TestServer::builder().bind("0.0.0.0:0").start();
    for (host, status) in
        [("10.0.0.7:8080", 200), ("[2001:db8::1]", 200), ("localhost", 200), ("evil.example", 403)]
    {
        assert_eq!(server.send(&kinds()[0].clone().header("Host", host)).status(), status, "{host}");
    }
}

#[test]
fn the_guard_comes_before_everything_else() {
    let server = TestServer::demo();
    // Wrong in every way at once: the caller learns of the first alone.
    let wrong = Request::post_text("{").header("Content-Type", "text/plain").header("Accept", "text/html");
    let response = server.send(&wrong.clone().header("Origin", "https://evil.example").session("dead"));
    assert_eq!(response.status(), 403);
    assert_eq!(server.send(&wrong).status(), 415);
    assert_eq!(server.send(&wrong.clone().header("Content-Type", "application/json")).status(), 406);
    // A foreign page's body is not even waited for.
    let mut connection = server.connect();
    let large = wrong.header("Origin", "https://evil.example").header("Content-Length", "1000000");
    connection.send(&large.head());
    assert_eq!(connection.head().status, 403);
}
