//! What every request of a session has in common.

use std::sync::Arc;

use bytes::Bytes;
use http::{
    HeaderMap, Uri,
    header::{
        ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING,
    },
};
use trunkline_protocol::{Revision, SessionId};

use crate::{
    error::Error,
    transport::http1::{Lines, Request},
    wire::Dialect,
};

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// What is the client's own to say, whatever the program that uses it adds.
const OURS: [HeaderName; 10] = [
    ACCEPT,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    HOST,
    TRANSFER_ENCODING,
    PROTOCOL_VERSION,
    SESSION_ID,
    METHOD,
    NAME,
    LAST_EVENT_ID,
];

/// Where requests go, and with which headers, whatever the session.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) uri: Uri,
    host: HeaderValue,
    /// What the program that uses the client adds.
    headers: HeaderMap,
    pub(crate) token: Option<Arc<str>>,
}

/// What is spoken to the server, and the head of every request that speaks it.
pub(crate) struct Session {
    pub(crate) dialect: Arc<Dialect>,
    pub(crate) id: Option<SessionId>,
    pub(crate) place: Arc<Place>,
    /// The head of every POST, up to what differs from one to the other.
    post: Lines,
    /// The version that requests name.
    version: Option<&'static str>,
}

// === impl Session ===

impl Session {
    /// `opening` is the state before the handshake, when there is no version to name.
    pub(crate) fn new(
        place: Arc<Place>,
        dialect: Arc<Dialect>,
        id: Option<SessionId>,
        opening: bool,
    ) -> Result<Self, Error> {
        // The header came with 2025-06-18; servers of before do not mind it.
        let version = (!opening).then(|| dialect.revision.as_str());
        let mut post = place.lines("POST", version, id.as_ref())?;
        post.fixed("content-type", "application/json");
        post.fixed("accept", "application/json, text/event-stream");
        Ok(Self { dialect, id, place, post, version })
    }

    pub(crate) fn revision(&self) -> Revision {
        self.dialect.revision
    }

    /// The POST of a request. `name` is what `Mcp-Name` says.
    pub(crate) fn request(
        &self,
        method: &str,
        name: Option<&HeaderValue>,
        params: &[(HeaderName, HeaderValue)],
        body: Bytes,
    ) -> Result<Request, Error> {
        let mut lines = self.post.with_room(128 + body.len());
        if self.dialect.is_modern() {
            if !lines.text(&METHOD, method) {
                return Err(Error::Refused(format!("{method:?} is no name of a method")));
            }
            if let Some(name) = name {
                lines.header(&NAME, name);
            }
            for (header, value) in params {
                lines.header(header, value);
            }
        }
        Ok(lines.with_body(body))
    }

    /// The POST of a notification, or of an answer.
    pub(crate) fn message(&self, body: Bytes) -> Request {
        self.post.with_room(64 + body.len()).with_body(body)
    }

    /// The GET of a stream, after an event if there was one.
    pub(crate) fn get(&self, after: Option<&str>) -> Result<Request, Error> {
        let mut lines = self.bare("GET")?;
        lines.fixed("accept", "text/event-stream");
        if let Some(after) = after
            && !lines.text(&LAST_EVENT_ID, after)
        {
            return Err(Error::malformed("the id of an event cannot stand in a header"));
        }
        Ok(lines.bare())
    }

    /// The DELETE that ends the session.
    pub(crate) fn delete(&self) -> Result<Request, Error> {
        Ok(self.bare("DELETE")?.bare())
    }

    /// The head of a request without a body.
    fn bare(&self, method: &str) -> Result<Lines, Error> {
        self.place.lines(method, self.version, self.id.as_ref())
    }
}

// === impl Place ===

impl Place {
    pub(crate) fn new(uri: Uri, authority: &str, extra: &HeaderMap) -> Result<Self, Error> {
        let host = HeaderValue::from_str(authority)
            .map_err(|_| Error::Refused(format!("{authority:?} cannot stand in a header")))?;
        let mut headers = extra.clone();
        for name in OURS {
            headers.remove(name);
        }
        Ok(Self { uri, host, headers, token: None })
    }

    /// What every head begins with.
    fn lines(
        &self,
        method: &str,
        version: Option<&'static str>,
        id: Option<&SessionId>,
    ) -> Result<Lines, Error> {
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut lines = Lines::new(method, path);
        lines.header(&HOST, &self.host);
        for (name, value) in &self.headers {
            if self.token.is_none() || name != AUTHORIZATION {
                lines.header(name, value);
            }
        }
        if let Some(token) = &self.token
            && !lines.text(&AUTHORIZATION, &format!("Bearer {token}"))
        {
            return Err(Error::Refused("the access token cannot stand in a header".to_owned()));
        }
        if let Some(version) = version {
            lines.fixed("mcp-protocol-version", version);
        }
        if let Some(id) = id
            && !lines.text(&SESSION_ID, id.as_str())
        {
            return Err(Error::malformed("the session id cannot stand in a header"));
        }
        Ok(lines)
    }
}
