//! HTTP/1.1 connections of one client, and no other's.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, StatusCode, Uri,
    body::Incoming,
    client::conn::http1::{self, SendRequest},
    header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER},
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpStream;

use super::history::{Broke, What};

/// Idle connections that are kept: as many as a client has lanes.
const IDLE: usize = 4;

/// How long an idle connection is kept. Far shorter than any server's own limit, so that none closes one under a request.
const IDLE_FOR: Duration = Duration::from_secs(5);

/// Names the replica that answers, where replicas are told to.
const REPLICA: &str = "x-trunkline-replica";

/// The connections to one server.
pub(super) struct Http {
    authority: String,
    idle: Mutex<Vec<Idle>>,
}

/// The head of a response, and its body to come.
pub(super) struct Response<'a> {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    body: Incoming,
    connection: Option<SendRequest<Full<Bytes>>>,
    pool: &'a Http,
}

struct Idle {
    connection: SendRequest<Full<Bytes>>,
    since: Instant,
}

// === impl Http ===

impl Http {
    /// Connections to the server that a URL names.
    pub(super) fn new(url: &Uri) -> Self {
        let authority = url.authority().map(ToString::to_string).unwrap_or_default();
        let authority = if url.port().is_some() { authority } else { format!("{authority}:80") };
        Self { authority, idle: Mutex::new(Vec::new()) }
    }

    /// The value of `Host`.
    pub(super) fn host(&self) -> &str {
        &self.authority
    }

    /// Sends a request on a connection that nothing else uses, and waits for the head of the response.
    ///
    /// # Errors
    /// [`Broke::Unsent`] if the server has not seen it, [`Broke::InFlight`] if it may have.
    pub(super) async fn send(&self, mut request: Request<Full<Bytes>>) -> Result<Response<'_>, Broke> {
        while let Some(mut connection) = self.idle() {
            match connection.try_send_request(request).await {
                Ok(response) => return Ok(self.response(connection, response)),
                // Closed while it was idle: the request comes back untouched.
                Err(mut refused) => match refused.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(Broke::InFlight),
                },
            }
        }
        let mut connection = self.connect().await.map_err(|_| Broke::Unsent)?;
        match connection.try_send_request(request).await {
            Ok(response) => Ok(self.response(connection, response)),
            Err(mut refused) => {
                Err(if refused.take_message().is_some() { Broke::Unsent } else { Broke::InFlight })
            }
        }
    }

    async fn connect(&self) -> std::io::Result<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect(&self.authority).await?;
        stream.set_nodelay(true)?;
        let shaken = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(std::io::Error::other)?;
        // It ends with the connection. What goes wrong on it is told to whoever waits for the response.
        drop(tokio::spawn(connection));
        Ok(sender)
    }

    fn idle(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.idle.lock();
        idle.retain(|idle| idle.since.elapsed() < IDLE_FOR && !idle.connection.is_closed());
        let ready = idle.iter().rposition(|idle| idle.connection.is_ready())?;
        Some(idle.swap_remove(ready).connection)
    }

    fn keep(&self, connection: SendRequest<Full<Bytes>>) {
        let mut idle = self.idle.lock();
        if idle.len() < IDLE && !connection.is_closed() {
            idle.push(Idle { connection, since: Instant::now() });
        }
    }

    fn response(
        &self,
        connection: SendRequest<Full<Bytes>>,
        response: hyper::Response<Incoming>,
    ) -> Response<'_> {
        let (head, body) = response.into_parts();
        Response {
            status: head.status,
            headers: head.headers,
            body,
            connection: Some(connection),
            pool: self,
        }
    }
}

// === impl Response ===

impl Response<'_> {
    /// Whether the body is a stream of events.
    pub(super) fn is_stream(&self) -> bool {
        self.header(CONTENT_TYPE.as_str()).is_some_and(|value| value.starts_with("text/event-stream"))
    }

    /// How long to stay away.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.header(RETRY_AFTER.as_str())?.trim().parse().ok().map(Duration::from_secs)
    }

    /// What is noted of the head.
    pub(super) fn head(&self, call: u32) -> What {
        What::Head {
            call,
            status: self.status.as_u16(),
            retry_after: self.retry_after().is_some(),
            replica: self.headers.contains_key(REPLICA),
        }
    }

    /// A header as text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The next part of the body; `None` at its end.
    ///
    /// # Errors
    /// If the connection breaks before the end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, ()> {
        loop {
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(_)) => return Err(()),
                None => {
                    if let Some(connection) = self.connection.take() {
                        self.pool.keep(connection);
                    }
                    return Ok(None);
                }
            }
        }
    }

    /// The whole body, of `most` bytes at the most.
    ///
    /// # Errors
    /// If the connection breaks before the end, or the body is longer.
    pub(super) async fn body(&mut self, most: usize) -> Result<Vec<u8>, ()> {
        let mut body = Vec::new();
        while let Some(part) = self.chunk().await? {
            if body.len() + part.len() > most {
                return Err(());
            }
            body.extend_from_slice(&part);
        }
        Ok(body)
    }
}
