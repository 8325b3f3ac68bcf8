//! HTTP+SSE of 2024-11-05: one stream down, and a POST for each message up.
//!
//! The stream is the session: it cannot be taken up again. When it is lost, whoever waits is told that the outcome is not
//! known ([`Error::InFlight`]), and a new client has to be connected.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::Uri;
use parking_lot::Mutex;
use tokio::{
    task::AbortHandle,
    time::{sleep, timeout},
};
use trunkline_protocol::Revision;
use url::Url;

use super::{
    http::{Broken, Events, Link, Media, Place, Session},
    pipe::{Inbox, Pipe},
};
use crate::{
    error::{Error, Phase, StatusError},
    limits::Limits,
    wire::Dialect,
};

/// How long the first event may take. It comes with the head of the stream: what stays silent is a stream of another kind.
const ENDPOINT: Duration = Duration::from_secs(30);

/// How long a POST may take: it is accepted and not served. One that nobody waits for any more ends with this, too.
const ACCEPTED: Duration = Duration::from_secs(60);

/// Where messages go, and what reads what comes.
struct Sse {
    up: Arc<Up>,
    reader: AbortHandle,
}

/// The way up.
struct Up {
    link: Arc<Link>,
    dialect: Arc<Dialect>,
    endpoint: Uri,
    /// The head of each POST, and the token in it. Made anew when the token was refused.
    session: Mutex<Arc<Session>>,
}

/// Opens the stream at `url`, which is the link's, and waits for the server to say where messages go.
///
/// # Errors
/// [`Error::NotMcp`] if it is no such stream, [`Error::Malformed`] if messages are to go to another origin, and whatever a
/// request can end with.
pub(crate) async fn open(url: &Url, link: Arc<Link>, inbox: Inbox) -> Result<Box<dyn Pipe>, Error> {
    let dialect = Arc::new(link.shared.dialect(Revision::V2024_11_05));
    let mut events = stream(&link, &dialect, url).await?;
    let endpoint = match timeout(ENDPOINT, events.next()).await {
        Ok(Ok(Some(event))) if event.event.as_deref() == Some("endpoint") => endpoint(url, &event.data)?,
        Ok(Ok(Some(event))) => {
            let kind = event.event.as_deref().unwrap_or("message");
            let kind: String = kind.chars().take(Limits::EXCERPT / 4).collect();
            return Err(Error::NotMcp { seen: format!("a stream that begins with the event {kind:?}") });
        }
        Ok(Ok(None)) => return Err(Error::NotMcp { seen: "a stream that ends at once".to_owned() }),
        Ok(Err(error)) => return Err(error),
        Err(_elapsed) => {
            let seen = format!("a stream that does not say within {ENDPOINT:?} where messages go");
            return Err(Error::NotMcp { seen });
        }
    };
    let session = Mutex::new(post_head(&link, &dialect, &endpoint)?);
    let up = Arc::new(Up { link, dialect, endpoint, session });
    let reader = tokio::spawn(read(events, inbox)).abort_handle();
    Ok(Box::new(Sse { up, reader }))
}

/// Opens the stream, with as much patience as any other opening has.
async fn stream(link: &Arc<Link>, dialect: &Arc<Dialect>, url: &Url) -> Result<Events, Error> {
    let retry = link.shared.config.retry;
    let (mut attempt, mut redirects, mut authorized) = (0, 0, false);
    let mut uri = link.place().uri.clone();
    loop {
        let mut place = Place::clone(&link.place());
        place.uri = uri.clone();
        let token = place.token.clone();
        let head = Session::new(Arc::new(place), dialect.clone(), None, true)?;
        let error = match stream_once(link, &head, url).await {
            Ok(events) => return Ok(events),
            Err(Broken::Redirect(_)) if redirects >= Limits::REDIRECTS => {
                return Err(Error::Endless { what: "redirects", limit: Limits::REDIRECTS });
            }
            Err(Broken::Redirect(to)) => {
                redirects += 1;
                uri = to;
                continue;
            }
            Err(Broken::Error(error)) => error,
        };
        if error.status() == Some(401) && link.shared.config.bearer.is_some() && !authorized {
            authorized = true;
            link.refresh(token.as_deref()).await?;
            continue;
        }
        // Nobody may ever have been there: whoever opens wants to know at once.
        if !error.is_transient() || matches!(error, Error::Connect { .. }) || attempt >= retry.attempts {
            return Err(error);
        }
        sleep(retry.wait(attempt, retry_after(&error))).await;
        attempt += 1;
    }
}

async fn stream_once(link: &Link, head: &Session, url: &Url) -> Result<Events, Broken> {
    let reply = link.request(head.get(None)?).await?;
    let authority = url.port().map_or_else(
        || url.host_str().unwrap_or_default().to_owned(),
        |port| format!("{}:{port}", url.host_str().unwrap_or_default()),
    );
    if let Some(redirect) = reply.redirect(&head.place.uri, &authority, url.scheme() == "https") {
        return Err(Broken::Redirect(redirect?));
    }
    match (reply.status, reply.media()) {
        (200, Media::Events) => Ok(Events::new(reply.body, link.shared.config.limits)),
        (200..400, _) => Err(reply.not_mcp().await.into()),
        _ => Err(reply.refusal(true).await.0),
    }
}

fn retry_after(error: &Error) -> Option<Duration> {
    match error {
        Error::Status(status) => status.retry_after,
        _ => None,
    }
}

/// Where messages go: a URL, whole or not, of the stream's own origin. Tokens are not carried anywhere else.
fn endpoint(stream: &Url, data: &[u8]) -> Result<Uri, Error> {
    let named = String::from_utf8_lossy(data);
    let named = named.trim();
    let excerpt: String = named.chars().take(Limits::EXCERPT / 4).collect();
    let url = stream
        .join(named)
        .map_err(|error| Error::malformed(format!("the endpoint {excerpt:?} is no URL: {error}")))?;
    if url.origin() != stream.origin() {
        return Err(Error::malformed(format!(
            "the endpoint {excerpt:?} is of another origin than the stream"
        )));
    }
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    path.parse()
        .map_err(|error| Error::malformed(format!("the endpoint {excerpt:?} cannot be requested: {error}")))
}

fn post_head(link: &Link, dialect: &Arc<Dialect>, endpoint: &Uri) -> Result<Arc<Session>, Error> {
    let mut place = Place::clone(&link.place());
    place.uri = endpoint.clone();
    Session::new(Arc::new(place), dialect.clone(), None, true).map(Arc::new)
}

/// Delivers what comes until nothing comes any more.
async fn read(mut events: Events, inbox: Inbox) {
    let why = loop {
        match events.next().await {
            // Other kinds are none of this protocol's.
            Ok(Some(event)) if event.event.as_deref().is_none_or(|kind| kind == "message") => {
                inbox.deliver(&Bytes::from(event.data));
            }
            Ok(Some(_)) => {}
            Ok(None) => break "the server has ended the stream, and with it the session".to_owned(),
            Err(Error::InFlight { source, .. }) => {
                break format!("the stream is lost, and with it the session: {source}");
            }
            Err(error) => break error.to_string(),
        }
    };
    inbox.closed(&why);
}

// === impl Sse ===

impl Pipe for Sse {
    fn send(&self, message: Bytes) -> BoxFuture<'_, Result<(), Error>> {
        let up = self.up.clone();
        Box::pin(async move {
            // A task of its own, so that a message that was begun arrives whole, whoever stops waiting for it: an answer
            // on the stream is often quicker than the status of its POST. There are as many as there are calls.
            let posted = tokio::spawn(async move { timeout(ACCEPTED, up.post(message)).await });
            match posted.await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(_elapsed)) => {
                    let why = format!("the message was not accepted within {ACCEPTED:?}");
                    Err(Error::in_flight(Phase::Send, why))
                }
                Err(ended) => Err(Error::in_flight(Phase::Send, ended)),
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        // The end of the stream is the end of the session.
        self.reader.abort();
        let up = Arc::downgrade(&self.up);
        Box::pin(async move {
            if let Some(up) = Weak::upgrade(&up) {
                let _no_session = up.link.close().await;
            }
        })
    }
}

impl Drop for Sse {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

// === impl Up ===

impl Up {
    async fn post(&self, message: Bytes) -> Result<(), Error> {
        let session = self.session.lock().clone();
        match self.link.tell(&session, message.clone()).await {
            Err(Error::Status(status)) if status.code == 401 && self.link.shared.config.bearer.is_some() => {
                self.renew_head(&session).await?;
                let session = self.session.lock().clone();
                told(self.link.tell(&session, message).await)
            }
            outcome => told(outcome),
        }
    }

    /// A head with another token than the one that was refused.
    async fn renew_head(&self, refused: &Session) -> Result<(), Error> {
        self.link.refresh(refused.place.token.as_deref()).await?;
        *self.session.lock() = post_head(&self.link, &self.dialect, &self.endpoint)?;
        Ok(())
    }
}

/// The endpoint is the session's: when it is not there, the session is not.
fn told(outcome: Result<(), Error>) -> Result<(), Error> {
    match outcome {
        Err(Error::Status(status)) if matches!(*status, StatusError { code: 404, .. }) => {
            Err(Error::SessionLost { may_have_run: false })
        }
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_to_the_origin_of_the_stream() {
        let stream = Url::parse("http://example.com:81/base/sse?x=1").unwrap();
        let of = |data: &str| endpoint(&stream, data.as_bytes()).map(|uri| uri.to_string());
        assert_eq!(of("/messages?sessionId=1").unwrap(), "/messages?sessionId=1");
        assert_eq!(of("messages/").unwrap(), "/base/messages/");
        assert_eq!(of("?s=1").unwrap(), "/base/sse?s=1");
        assert_eq!(of(" http://example.com:81/m \n").unwrap(), "/m");
        for other in ["http://example.com/m", "https://example.com:81/m", "//evil.example/m", "http://[/"] {
            assert!(matches!(of(other), Err(Error::Malformed { .. })), "{other}");
        }
    }
}
