//! What the head of an answer says.

use std::time::Duration;

use http::Uri;
use serde::Deserialize;
use trunkline_protocol::{RequestId, RpcError, SessionId};

use super::link::Broken;
use crate::{
    error::{Error, StatusError},
    limits::Limits,
    transport::http1::{Connection, Field, Head, Incomplete},
};

/// An answer whose body was not read yet.
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: Head,
    pub(crate) body: Incomplete,
}

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Events,
    Other,
}

// === impl Reply ===

impl Reply {
    pub(crate) fn new((head, body): (Head, Incomplete)) -> Self {
        Self { status: head.status, head, body }
    }

    pub(crate) fn media(&self) -> Media {
        let Some(value) = self.head.get(Field::ContentType) else { return Media::Other };
        let end = memchr::memchr(b';', value).unwrap_or(value.len());
        let kind = value[..end].trim_ascii();
        if kind.eq_ignore_ascii_case(b"application/json") {
            Media::Json
        } else if kind.eq_ignore_ascii_case(b"text/event-stream") {
            Media::Events
        } else {
            Media::Other
        }
    }

    /// Which replica answered, where it says so.
    pub(crate) fn replica(&self) -> Option<Box<str>> {
        self.head.text(Field::Replica).map(Box::from)
    }

    /// The session that the server opened with this answer, if it did.
    pub(crate) fn session(&self) -> Result<Option<SessionId>, Error> {
        let Some(value) = self.head.get(Field::SessionId) else { return Ok(None) };
        let id = std::str::from_utf8(value).ok().and_then(|id| SessionId::parse(id).ok());
        id.map(Some)
            .ok_or_else(|| Error::malformed("the session id is not 1 to 256 visible ASCII characters"))
    }

    /// Where a redirect leads that keeps the method and the body (307, 308): a path of the same origin.
    pub(crate) fn redirect(&self, from: &Uri, authority: &str, secure: bool) -> Option<Result<Uri, Error>> {
        if !matches!(self.status, 307 | 308) {
            return None;
        }
        let location = self.head.text(Field::Location);
        Some(location.map_or_else(
            || Err(Error::NotMcp { seen: format!("HTTP status {} without a Location", self.status) }),
            |location| same_origin(location, from, authority, secure),
        ))
    }

    /// Reads a refusal: a JSON-RPC error where the body has one that answers the request, or else the status.
    ///
    /// Statuses that say what to do next (401, 403, 429, 503, and 404 in a session) are told as statuses.
    pub(crate) async fn refusal(self, by_status: bool) -> (Broken, Option<Box<Connection>>) {
        let Self { status: code, head, body } = self;
        let json = head.get(Field::ContentType).is_some_and(|kind| kind.starts_with(b"application/json"));
        let (text, connection) = match body.collect(Limits::REFUSAL).await {
            Ok((text, connection)) => (text, Some(connection)),
            Err(_unreadable) => (bytes::Bytes::new(), None),
        };
        let error = read_error(&text);
        let told_by_status = by_status || matches!(code, 401 | 403 | 429 | 503);
        if let Some(error) = &error
            && !told_by_status
        {
            return (Broken::Error(error.clone().into()), connection);
        }
        let message = error
            .map_or_else(|| if json { String::new() } else { excerpt(&text) }, |error| cut(&error.message));
        let status = StatusError {
            code,
            retry_after: head.text(Field::RetryAfter).and_then(retry_after),
            challenge: head.text(Field::Challenge).map(cut),
            message,
        };
        (Broken::Error(status.into()), connection)
    }

    /// Says what answered instead of a server of this protocol.
    pub(crate) async fn not_mcp(self) -> Error {
        let kind = self.head.get(Field::ContentType).map_or("no content type".to_owned(), |kind| {
            format!("content type {}", cut(&String::from_utf8_lossy(kind)))
        });
        let status = self.status;
        let text = match self.body.collect(Limits::REFUSAL).await {
            Ok((text, _connection)) => excerpt(&text),
            Err(_) => String::new(),
        };
        let body =
            if text.is_empty() { "an empty body".to_owned() } else { format!("a body that begins {text:?}") };
        Error::NotMcp { seen: format!("HTTP status {status} with {kind} and {body}") }
    }
}

/// A JSON-RPC error in a body, whatever its id: HTTP says which request it is the answer to.
fn read_error(body: &[u8]) -> Option<RpcError> {
    #[derive(Deserialize)]
    struct Envelope {
        #[serde(default)]
        #[expect(dead_code, reason = "must be an id, if there is one")]
        id: Option<RequestId>,
        error: RpcError,
    }
    serde_json::from_slice::<Envelope>(body).ok().map(|envelope| envelope.error)
}

/// Whole seconds. The other form, a date, would be compared with a clock that is not the server's.
fn retry_after(value: &str) -> Option<Duration> {
    value.trim().parse().ok().map(Duration::from_secs)
}

fn excerpt(body: &[u8]) -> String {
    cut(String::from_utf8_lossy(body).trim())
}

fn cut(text: &str) -> String {
    let end = (0..=text.len().min(Limits::EXCERPT)).rev().find(|at| text.is_char_boundary(*at));
    text[..end.unwrap_or(0)].to_owned()
}

/// Follows to the same scheme, host and port only: tokens and sessions are not carried anywhere else.
fn same_origin(location: &str, from: &Uri, authority: &str, secure: bool) -> Result<Uri, Error> {
    let scheme = if secure { "https" } else { "http" };
    let elsewhere =
        || Error::NotMcp { seen: format!("a redirect to {:?}, which is another origin", cut(location)) };
    let base = url::Url::parse(&format!("{scheme}://{authority}{from}")).map_err(|_| elsewhere())?;
    let target = base.join(location).map_err(|_| elsewhere())?;
    if target.origin() != base.origin() {
        return Err(elsewhere());
    }
    let path = match target.query() {
        Some(query) => format!("{}?{query}", target.path()),
        None => target.path().to_owned(),
    };
    path.parse().map_err(|_| elsewhere())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_stay_within_the_origin() {
        let from: Uri = "/mcp".parse().unwrap();
        let to =
            |location: &str| same_origin(location, &from, "example.com:81", false).map(|uri| uri.to_string());
        assert_eq!(to("/mcp/?a=1").unwrap(), "/mcp/?a=1");
        assert_eq!(to("other").unwrap(), "/other");
        assert_eq!(to("http://example.com:81/x").unwrap(), "/x");
        for other in ["https://example.com:81/x", "http://example.com/x", "//evil.example/x", "http://[/"] {
            assert!(matches!(to(other), Err(Error::NotMcp { .. })), "{other}");
        }
    }

    #[test]
    fn excerpts_end_between_characters() {
        assert_eq!(cut(&"é".repeat(300)).len(), 200);
        assert_eq!(cut(&format!("a{}", "é".repeat(300))).len(), 199);
    }

    #[test]
    fn only_seconds_are_read() {
        assert_eq!(retry_after(" 7 "), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Wed, 21 Oct 2026 07:28:00 GMT"), None);
        assert_eq!(retry_after("-1"), None);
    }
}
