//! What the client adds to a loop that is written by hand on the same HTTP library.
//!
//!     overhead hand|client URL REVISION CALLS
//!
//! Calls `add` one after the other over one connection, and prints the calls per second and the CPU time of each. To count
//! instructions, run it under `valgrind --tool=callgrind` with two numbers of calls, and divide the difference.

#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement: its figures are printed, and it ends when it cannot go on"
)]

use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, client::conn::http1, header::HeaderValue};
use hyper_util::rt::TokioIo;
use trunkline_client::{Call, Client};
use trunkline_protocol::{Revision, revision::Era};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, how, url, revision, calls] = &arguments[..] else { panic!("hand|client URL REVISION CALLS") };
    let revision = Revision::from_name(revision).unwrap();
    let calls: u32 = calls.parse().unwrap();
    let started = Instant::now();
    match how.as_str() {
        "hand" => by_hand(url, revision, calls).await,
        _ => by_client(url, revision, calls).await,
    }
    let (took, cpu) = (started.elapsed(), cpu());
    let each = cpu.as_secs_f64() * 1e6 / f64::from(calls);
    println!("{how}: {:.0} calls/s, {each:.1} us of CPU each", f64::from(calls) / took.as_secs_f64());
}

fn cpu() -> std::time::Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    std::time::Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

async fn by_client(url: &str, revision: Revision, calls: u32) {
    let client = Client::http(url).revision(revision).connect().await.unwrap();
    for n in 0..calls {
        let answer = client.raw(&Call::tool("add", &format!("{{\"a\":{n},\"b\":1}}"))).await.unwrap();
        assert!(answer.result.len() > 10);
    }
    client.close().await.unwrap();
}

/// The least that a program can do: one connection, a head that is cloned, an answer whose id is read and compared.
async fn by_hand(url: &str, revision: Revision, calls: u32) {
    let url: hyper::Uri = url.parse().unwrap();
    let stream = tokio::net::TcpStream::connect(url.authority().unwrap().as_str()).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let modern = revision.era() == Era::Modern;
    let mut head = Request::new(());
    *head.method_mut() = hyper::Method::POST;
    *head.uri_mut() = url.path().parse().unwrap();
    let headers = head.headers_mut();
    headers.insert("host", HeaderValue::from_str(url.authority().unwrap().as_str()).unwrap());
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
    if modern {
        headers.insert("mcp-protocol-version", HeaderValue::from_static("2026-07-28"));
        headers.insert("mcp-method", HeaderValue::from_static("tools/call"));
        headers.insert("mcp-name", HeaderValue::from_static("add"));
    } else {
        let hello = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"hand","version":"1"}}}}}}"#
        );
        let answer = sender.send_request(head.clone().map(|()| Full::new(Bytes::from(hello)))).await.unwrap();
        let session = answer.headers()["mcp-session-id"].clone();
        answer.into_body().collect().await.unwrap();
        let headers = head.headers_mut();
        headers.insert("mcp-session-id", session);
        headers.insert("mcp-protocol-version", HeaderValue::from_static(revision.as_str()));
    }
    let meta = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"hand","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
    let meta = if modern { meta } else { "" };
    for n in 0..calls {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"add","arguments":{{"a":{n},"b":1}}{meta}}}}}"#
        );
        let request = head.clone().map(|()| Full::new(Bytes::from(body)));
        let answer = sender.send_request(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let read: Read<'_> = serde_json::from_slice(&body).unwrap();
        assert!(read.id == u64::from(n) && read.result.get().len() > 10);
    }
}

#[derive(serde::Deserialize)]
struct Read<'a> {
    id: u64,
    #[serde(borrow)]
    result: &'a serde_json::value::RawValue,
}
