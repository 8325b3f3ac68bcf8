//! As much of HTTP as health and metrics need: one GET on a connection of its own.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::HarnessError;

/// A server on the loopback that takes longer stands still.
const LIMIT: Duration = Duration::from_secs(5);

/// The longest answer: far more than metrics ever are.
const LONGEST: u64 = 16 * 1024 * 1024;

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body as text, with what is not UTF-8 replaced.
    pub body: String,
}

/// Fetches a path, and never waits longer than 5 s.
///
/// # Errors
/// [`HarnessError::Connection`], [`HarnessError::Late`], [`HarnessError::Garbled`].
pub async fn get(server: &str, address: SocketAddr, path: &str) -> Result<Answer, HarnessError> {
    let failed = |source| HarnessError::Connection { server: format!("{server} at {address}"), source };
    let fetch = async {
        let mut stream = TcpStream::connect(address).await?;
        // HTTP/1.0: the answer has no chunks and ends with the connection.
        let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut bytes = Vec::new();
        stream.take(LONGEST).read_to_end(&mut bytes).await?;
        Ok(bytes)
    };
    match tokio::time::timeout(LIMIT, fetch).await {
        Ok(bytes) => parse(server, &bytes.map_err(failed)?),
        Err(_elapsed) => Err(HarnessError::Late {
            what: format!("the answer of {server} to GET {path}"),
            limit: LIMIT,
            seen: "nothing".to_owned(),
        }),
    }
}

fn parse(server: &str, bytes: &[u8]) -> Result<Answer, HarnessError> {
    let text = String::from_utf8_lossy(bytes);
    let parsed = text.split_once("\r\n\r\n").and_then(|(head, body)| {
        let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
        Some(Answer { status, body: body.to_owned() })
    });
    parsed.ok_or_else(|| HarnessError::Garbled {
        server: server.to_owned(),
        answer: text.chars().take(200).collect(),
    })
}
