//! What the tests of the harness share.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{collections::BTreeSet, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use trunkline_harness::wait::Wait;

/// After this, what has not happened will not happen. Far above what anything takes on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// An answer over HTTP.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

// === impl Answer ===

impl Answer {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// Whether a process is there; one that was killed and waited for is not, and neither is one that nobody waits for.
pub(crate) fn is_alive(id: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z')))
}

/// Waits until `happened` is true.
pub(crate) async fn eventually(what: &str, mut happened: impl AsyncFnMut() -> bool) {
    let wait = Wait::new(what, DEADLINE);
    while !happened().await {
        wait.again("not yet").await.unwrap();
    }
}

/// Calls the endpoint in a way that needs no session; which replica answers is in `x-trunkline-replica`.
pub(crate) async fn call(address: SocketAddr) -> std::io::Result<Answer> {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":20,"b":22},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: add\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    exchange(address, &format!("{head}{body}")).await
}

/// Sends a request that asks for the connection to be closed, and reads the answer.
pub(crate) async fn exchange(address: SocketAddr, request: &str) -> std::io::Result<Answer> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut bytes = Vec::new();
    tokio::time::timeout(DEADLINE, stream.read_to_end(&mut bytes)).await??;
    let text = String::from_utf8_lossy(&bytes);
    let parsed = text.split_once("\r\n\r\n").and_then(|(head, body)| {
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Answer { status, head: head.to_owned(), body: body.to_owned() })
    });
    parsed.ok_or_else(|| std::io::Error::other(format!("no answer: {text:?}")))
}

/// The replicas that answer a number of calls, all of which have to succeed.
pub(crate) async fn answering(address: SocketAddr, calls: usize) -> BTreeSet<String> {
    let mut replicas = BTreeSet::new();
    for _ in 0..calls {
        let answer = call(address).await.unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.body.contains("42"), "{answer:?}");
        replicas.insert(answer.header("x-trunkline-replica").unwrap().to_owned());
    }
    replicas
}
