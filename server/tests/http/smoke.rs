//! placeholder

use serde_json::json;

use crate::support::{LEGACY, Modern, TestServer};

#[test]
fn hello() {
    let server = TestServer::demo();
    for revision in LEGACY {
        let session = server.initialize(revision);
        let sum = session.tool("add", &json!({"a": 1, "b": 2}));
        assert!(sum["content"][0]["text"].as_str().unwrap().contains('3'), "{sum}");
        assert_eq!(session.delete().status(), 204);
    }
    let answer = server.modern(&Modern::tool("add", &json!({"a": 1, "b": 2})));
    assert_eq!(answer.result()["structuredContent"]["sum"], 3);
}

#[test]
fn here() {
    let server = TestServer::with(trunkline::Server::new("x", "1").demo());
    let answer = server.modern(&Modern::tool("add", &json!({"a": 1, "b": 2})));
    assert_eq!(answer.result()["structuredContent"]["sum"], 3);
}
