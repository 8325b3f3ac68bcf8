//! One HTTP/1.1 connection, and the answers that come on it.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Duration, timeout},
};

/// How long an answer may take; a stuck server is a finding, not a reason to hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// Headers that an answer may have.
const HEADERS: usize = 64;

/// As much of an answer as is shown.
const SHOWN: usize = 300;

/// A connection that is kept.
pub(in crate::bench) struct Connection {
    socket: TcpStream,
    buffer: Vec<u8>,
}

/// An answer.
pub(in crate::bench) struct Reply {
    pub(in crate::bench) status: u16,
    /// What `Mcp-Session-Id` says.
    pub(in crate::bench) session: Option<String>,
    is_stream: bool,
    body: Vec<u8>,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub(in crate::bench) enum ReplyError {
    #[error("the connection: {0}")]
    Io(#[from] std::io::Error),
    #[error("no answer for a minute")]
    Late,
    #[error("no HTTP/1.1: {0}")]
    Malformed(&'static str),
}

/// How a body ends.
pub(in crate::bench) enum Framing {
    Length(usize),
    Chunked,
}

// === impl Connection ===

impl Connection {
    pub(in crate::bench) async fn open(address: SocketAddr) -> Result<Self, ReplyError> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Self { socket, buffer: Vec::with_capacity(16 * 1024) })
    }

    /// Sends a request, and reads its answer to the end.
    pub(in crate::bench) async fn ask(&mut self, request: &[u8]) -> Result<Reply, ReplyError> {
        timeout(PATIENCE, self.exchange(request)).await.unwrap_or(Err(ReplyError::Late))
    }

    async fn exchange(&mut self, request: &[u8]) -> Result<Reply, ReplyError> {
        let (mut reply, framing) = self.begin(request).await?;
        self.finish(&mut reply, framing).await?;
        Ok(reply)
    }

    /// Reads the body of an answer whose head was read, to its end.
    pub(in crate::bench) async fn finish(
        &mut self,
        reply: &mut Reply,
        framing: Framing,
    ) -> Result<(), ReplyError> {
        match framing {
            Framing::Length(length) => {
                while self.buffer.len() < length {
                    self.read().await?;
                }
                reply.body = self.buffer.drain(..length).collect();
            }
            Framing::Chunked => {
                while let Some(chunk) = self.chunk().await? {
                    reply.body.extend_from_slice(&chunk);
                }
            }
        }
        Ok(())
    }

    /// Sends a request, and reads the head of its answer.
    pub(in crate::bench) async fn begin(&mut self, request: &[u8]) -> Result<(Reply, Framing), ReplyError> {
        self.socket.write_all(request).await?;
        loop {
            if let Some((reply, framing, head)) = read_head(&self.buffer)? {
                self.buffer.drain(..head);
                return Ok((reply, framing));
            }
            self.read().await?;
        }
    }

    /// The next chunk of a body that comes in chunks; `None` at its end.
    pub(in crate::bench) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, ReplyError> {
        loop {
            match httparse::parse_chunk_size(&self.buffer) {
                Err(_) => return Err(ReplyError::Malformed("a chunk without a length")),
                Ok(httparse::Status::Partial) => self.read().await?,
                Ok(httparse::Status::Complete((at, length))) => {
                    let length =
                        usize::try_from(length).map_err(|_| ReplyError::Malformed("a chunk too long"))?;
                    // With the line's end that follows it. No server here sends trailers.
                    while self.buffer.len() < at + length + 2 {
                        self.read().await?;
                    }
                    let chunk = self.buffer[at..at + length].to_vec();
                    self.buffer.drain(..at + length + 2);
                    return Ok((length > 0).then_some(chunk));
                }
            }
        }
    }

    async fn read(&mut self) -> Result<(), ReplyError> {
        self.buffer.reserve(4096);
        match self.socket.read_buf(&mut self.buffer).await? {
            0 => Err(ReplyError::Malformed("the connection was closed before the end of the answer")),
            _ => Ok(()),
        }
    }
}

/// The head of an answer, if it is there: how its body ends, and where it begins.
fn read_head(bytes: &[u8]) -> Result<Option<(Reply, Framing, usize)>, ReplyError> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut head = httparse::Response::new(&mut headers);
    let parsed = head.parse(bytes).map_err(|_| ReplyError::Malformed("an answer that cannot be read"))?;
    let httparse::Status::Complete(length) = parsed else { return Ok(None) };
    let status = head.code.unwrap_or_default();
    let value = |name: &str| {
        let found = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        found.and_then(|header| std::str::from_utf8(header.value).ok())
    };
    let framing = match (value("transfer-encoding"), value("content-length")) {
        (Some(_), _) => Framing::Chunked,
        (None, Some(length)) => Framing::Length(
            length.trim().parse().map_err(|_| ReplyError::Malformed("a length that is none"))?,
        ),
        (None, None) if status == 202 || status == 204 => Framing::Length(0),
        (None, None) => return Err(ReplyError::Malformed("an answer without a length")),
    };
    let is_stream = value("content-type").is_some_and(|media| media.starts_with("text/event-stream"));
    let session = value("mcp-session-id").map(str::to_owned);
    Ok(Some((Reply { status, session, is_stream, body: Vec::new() }, framing, length)))
}

// === impl Reply ===

impl Reply {
    /// Whether its body is a stream of events.
    pub(in crate::bench) fn is_stream(&self) -> bool {
        self.is_stream
    }

    /// The JSON-RPC message: the body, or the data of the last event that has some.
    pub(in crate::bench) fn message(&self) -> &[u8] {
        if !self.is_stream {
            return &self.body;
        }
        let lines = self.body.split(|byte| *byte == b'\n');
        let mut data = lines.filter_map(|line| line.strip_prefix(b"data:")).map(<[u8]>::trim_ascii);
        data.rfind(|data| !data.is_empty()).unwrap_or_default()
    }

    /// The beginning of the body, for a reader.
    pub(in crate::bench) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.body[..self.body.len().min(SHOWN)]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    async fn asked(answer: &[u8]) -> Result<Reply, ReplyError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut connection = Connection::open(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        server.write_all(answer).await.unwrap();
        drop(server);
        connection.ask(b"GET / HTTP/1.1\r\n\r\n").await
    }

    #[tokio::test]
    async fn answers_of_every_framing_are_read() {
        let json =
            asked(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nMcp-Session-Id: s\r\n\r\n{}").await.unwrap();
        assert_eq!((json.status, json.message(), json.session.as_deref()), (200, &b"{}"[..], Some("s")));
        let mut stream = String::from(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        );
        for chunk in ["id: 1\ndata: \n\n", "event: message\n", "data: {}\n\n", ": alive\n\n", ""] {
            stream += &format!("{:x}\r\n{chunk}\r\n", chunk.len());
        }
        assert_eq!(asked(stream.as_bytes()).await.unwrap().message(), b"{}");
        assert_eq!(asked(b"HTTP/1.1 202 Accepted\r\n\r\n").await.unwrap().status, 202);
    }

    #[tokio::test]
    async fn what_is_cut_short_is_no_answer() {
        for cut in [
            &b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}"[..],
            b"HTTP/1.1 200",
            b"HTTP/1.1 200 OK\r\n\r\n",
        ] {
            assert!(asked(cut).await.is_err());
        }
    }
}
