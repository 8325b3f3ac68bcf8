//! How a client is built.

use std::{sync::Arc, time::Duration};

use http::header::{HeaderName, HeaderValue};
use rustls::ClientConfig;
use tokio::process::Command;
use trunkline_protocol::{
    Revision,
    model::{ClientCapabilities, Implementation},
};
use url::Url;

use crate::{
    client::Client,
    config::{Config, Versions},
    connect::{To, connect},
    error::Error,
    limits::Limits,
    questions::Questions,
    retry::Retry,
    token::TokenSource,
};

/// Headers that the client writes itself.
const OWN: [&str; 9] = [
    "host",
    "content-length",
    "content-type",
    "accept",
    "transfer-encoding",
    "connection",
    "mcp-session-id",
    "mcp-protocol-version",
    "last-event-id",
];

/// Says where the server is and how it is spoken to, and then [connects](Self::connect).
pub struct Builder {
    to: Result<To, Error>,
    config: Config,
    /// The first thing that was said wrong; told when it connects.
    mistake: Option<Error>,
}

// === impl Builder ===

impl Builder {
    pub(crate) fn http(url: &str) -> Self {
        Self::new(read_url(url).map(To::Http))
    }

    pub(crate) fn sse(url: &str) -> Self {
        Self::new(read_url(url).map(To::Sse))
    }

    pub(crate) fn stdio(command: Command) -> Self {
        Self::new(Ok(To::Stdio(Box::new(command))))
    }

    fn new(to: Result<To, Error>) -> Self {
        Self { to, config: Config::default(), mistake: None }
    }

    /// Speaks this revision and no other. By default it is the newest that the server has, too.
    #[must_use]
    pub fn revision(mut self, revision: Revision) -> Self {
        self.config.versions = Versions::Exactly(revision);
        self
    }

    /// Opens with `initialize`, as clients before 2026-07-28 do, and takes the revision that the server offers.
    #[must_use]
    pub fn handshake(mut self) -> Self {
        self.config.versions = Versions::Handshake;
        self
    }

    /// Who the client is; shown by servers in their logs.
    #[must_use]
    pub fn implementation(mut self, implementation: Implementation) -> Self {
        self.config.implementation = implementation;
        self
    }

    /// Answers what the server asks, and declares that it does.
    #[must_use]
    pub fn questions(mut self, questions: impl Questions) -> Self {
        self.config.capabilities = questions.capabilities();
        self.config.questions = Some(Arc::new(questions));
        self
    }

    /// Declares these capabilities instead of those that the questions' handler has. What is declared and not answered is
    /// refused when it is asked.
    #[must_use]
    pub fn capabilities(mut self, capabilities: ClientCapabilities) -> Self {
        self.config.capabilities = capabilities;
        self
    }

    /// Sends a bearer token with every HTTP request. Not used by stdio.
    #[must_use]
    pub fn bearer(mut self, tokens: impl TokenSource) -> Self {
        self.config.bearer = Some(Arc::new(tokens));
        self
    }

    /// Sends a header of your own with every HTTP request. Several of one name are sent all.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match read_header(name, value) {
            Ok((name, value)) => drop(self.config.headers.append(name, value)),
            Err(error) => self.mistake = self.mistake.or(Some(error)),
        }
        self
    }

    /// How TLS is done, such as with a private authority. By default the system's certificates are trusted.
    #[must_use]
    pub fn tls(mut self, config: Arc<ClientConfig>) -> Self {
        self.config.tls = Some(config);
        self
    }

    /// The longest wait for an answer, for calls that say nothing else (5 min).
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.config.timeout = Some(timeout);
        self
    }

    /// When a request is sent again, where that cannot run anything twice.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.config.retry = retry;
        self
    }

    /// Bounds on what the server can make the client hold.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.config.limits = limits;
        self
    }

    /// Calls at the same time over HTTP (64), each of which has a connection to itself while it lasts; at least one. Further
    /// ones wait. Streams that listen are not counted.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.config.connections = connections.max(1);
        self
    }

    /// Notifications that wait for a slow receiver (256). What comes when there are more is dropped and counted
    /// ([`StreamEvent::Lagged`](crate::StreamEvent::Lagged)).
    #[must_use]
    pub fn notifications(mut self, waiting: usize) -> Self {
        self.config.notifications = waiting;
        self
    }

    /// Whether a server of 2026-07-28 is asked to describe itself when the client connects with that revision by name
    /// (yes). Without, the first request is the first call.
    #[must_use]
    pub fn discover(mut self, discover: bool) -> Self {
        self.config.discover = discover;
        self
    }

    /// Connects: finds out the revision and opens the session, where there is one.
    ///
    /// # Errors
    /// What was said wrong to the builder ([`Error::Refused`]), [`Error::Connect`], [`Error::NotMcp`],
    /// [`Error::Unsupported`], or any other that a request can end with.
    pub async fn connect(self) -> Result<Client, Error> {
        if let Some(mistake) = self.mistake {
            return Err(mistake);
        }
        connect(self.to?, self.config).await
    }
}

fn read_url(text: &str) -> Result<Url, Error> {
    let wrong =
        |why: &dyn std::fmt::Display| Error::Refused(format!("{text:?} is no URL of a server: {why}"));
    let url = Url::parse(text).map_err(|error| wrong(&error))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong(&"it begins with http:// or https:// and a host"));
    }
    Ok(url)
}

fn read_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Error> {
    let header = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| Error::Refused(format!("{name:?} is no name of a header")))?;
    if OWN.contains(&header.as_str()) {
        return Err(Error::Refused(format!("the header {header} is the client's own")));
    }
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| Error::Refused(format!("the value of {header} cannot stand in a header")))?;
    value.set_sensitive(true);
    Ok((header, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn mistake(builder: Builder) -> String {
        builder.connect().await.map(drop).unwrap_err().to_string()
    }

    #[tokio::test]
    async fn what_is_said_wrong_is_told_before_anything_is_sent() {
        assert!(mistake(Builder::http("localhost:80")).await.contains("http://"));
        assert!(mistake(Builder::http("ftp://localhost")).await.contains("http://"));
        let with = |name, value| Builder::http("http://localhost:1").header(name, value);
        assert!(mistake(with("a b", "c")).await.contains("\"a b\""));
        assert!(mistake(with("Host", "c")).await.contains("host"));
        let text = mistake(with("x-key", "secret\n")).await;
        assert!(text.contains("x-key") && !text.contains("secret"), "{text}");
    }
}
