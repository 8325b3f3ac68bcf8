//! How a client and a server find the revision that both speak (2026-07-28 *Versioning and Compatibility*).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{process::Command, time::timeout};
use trunkline_protocol::{Revision, revision::Era};
use url::Url;

use crate::{
    call::{Call, Trace},
    client::{Client, Way},
    config::{Config, Versions},
    error::Error,
    handshake::{self, Next, Server},
    shared::{Beat, Ctx, Shared},
    transport::{
        http::Link,
        pipe::{Pipe, PipeLink},
        sse, stdio,
    },
    wire::{self, Dialect},
};

/// How long a process may be silent when it is asked whether it is a modern server; one of before may never answer that.
const PROBE: Duration = Duration::from_secs(10);

/// The newest revision that begins with `initialize`.
const NEWEST_LEGACY: Revision = Revision::V2025_11_25;

/// Where a server is.
pub(crate) enum To {
    /// An MCP endpoint.
    Http(Url),
    /// The stream of a server of 2024-11-05.
    Sse(Url),
    /// A program to start.
    Stdio(Box<Command>),
}

/// Connects within the time that a call may take.
pub(crate) async fn connect(to: To, config: Config) -> Result<Client, Error> {
    let limit = config.timeout;
    let shared = Arc::new(Shared::new(config));
    let work = async {
        match to {
            To::Http(url) => http(url, shared).await,
            To::Sse(url) => http_sse(&url, shared).await,
            To::Stdio(command) => process(*command, shared).await,
        }
    };
    match limit {
        None => work.await,
        Some(after) => timeout(after, work).await.unwrap_or(Err(Error::Timeout { after })),
    }
}

async fn http(url: Url, shared: Arc<Shared>) -> Result<Client, Error> {
    let link = Link::new(&url, shared.clone())?;
    link.authorize().await?;
    let next = match shared.config.versions {
        Versions::Exactly(revision) if revision.era() == Era::Modern => {
            return modern_http(link, revision, shared.config.discover).await;
        }
        Versions::Exactly(revision) => Next::Initialize(revision),
        Versions::Handshake => Next::Initialize(NEWEST_LEGACY),
        Versions::Automatic => probe_http(&link).await?,
    };
    let (asked, exactly) = match next {
        Next::Speak(revision) => return modern_http(link, revision, true).await,
        Next::Initialize(revision) => (revision, matches!(shared.config.versions, Versions::Exactly(_))),
        Next::Fail(error) => return Err(error),
    };
    let dialect = Arc::new(shared.dialect(asked));
    match link.open(dialect, exactly, &mut Trace::default()).await {
        Ok(server) => {
            let revision = link.session().map_or(asked, |session| session.revision());
            Ok(Client::new(shared, Way::Http(link), revision, server))
        }
        // A server of 2024-11-05 may have its stream at this very URL (Streamable HTTP, *Backwards Compatibility*).
        Err(error) if is_no_endpoint(&error) && (!exactly || asked == Revision::V2024_11_05) => {
            http_sse(&url, shared).await.map_err(|_also| error)
        }
        Err(error) => Err(error),
    }
}

/// The statuses of a URL that does not take the POST of `initialize`.
fn is_no_endpoint(error: &Error) -> bool {
    matches!(error.status(), Some(400 | 404 | 405))
}

async fn modern_http(link: Arc<Link>, revision: Revision, discover: bool) -> Result<Client, Error> {
    let shared = link.shared.clone();
    let dialect = Arc::new(shared.dialect(revision));
    link.speak(dialect.clone())?;
    let server = if discover {
        let call = Call::new("server/discover", "");
        let described = link.opening(&dialect, &call, &mut Trace::default()).await;
        described_as(described.map(|(result, _no_session)| result), revision)?
    } else {
        Server::default()
    };
    Ok(Client::new(shared, Way::Http(link), revision, server))
}

/// What a server says of itself, if it serves the revision.
fn described_as(result: Result<Bytes, Error>, revision: Revision) -> Result<Server, Error> {
    let (supported, server) = handshake::discovered(&result.map_err(|error| named(error, revision))?)?;
    if supported.iter().any(|name| name == revision.as_str()) {
        return Ok(server);
    }
    Err(handshake::unsupported(revision, &supported))
}

/// A server of before says in many ways that it does not know this revision.
fn named(error: Error, wanted: Revision) -> Error {
    match error.rpc().and_then(handshake::supported) {
        Some(offered) => handshake::unsupported(wanted, &offered),
        None => error,
    }
}

async fn ask(way: &Way) -> Result<Bytes, Error> {
    let (call, beat, mut trace) = (Call::new("server/discover", ""), Beat::new(), Trace::default());
    way.call(&mut Ctx { call: &call, trace: &mut trace, beat: &beat }, b"").await
}

/// Finds out which era a server is of. One of before answers a request of today with anything at all.
async fn probe_http(link: &Arc<Link>) -> Result<Next, Error> {
    let dialect = Arc::new(link.shared.dialect(Revision::NEWEST));
    let call = Call::new("server/discover", "");
    match link.opening(&dialect, &call, &mut Trace::default()).await {
        Ok((result, _no_session)) => Ok(understood(&result)),
        Err(error) => judged(error),
    }
}

/// What the answer to the probe means.
fn understood(result: &Bytes) -> Next {
    match handshake::discovered(result) {
        Ok((supported, _server)) => handshake::choose(&supported, Revision::NEWEST),
        // A result that is no description: a server that answers everything.
        Err(_) => Next::Initialize(NEWEST_LEGACY),
    }
}

/// What an error in the place of an answer to the probe means.
fn judged(error: Error) -> Result<Next, Error> {
    if let Some(rpc) = error.rpc() {
        return Ok(handshake::modern_error(rpc, Revision::NEWEST).unwrap_or(Next::Initialize(NEWEST_LEGACY)));
    }
    match error.status() {
        // These are about the caller and the moment, not about the era.
        Some(401 | 403 | 429 | 502..=504) | None => Err(error),
        Some(_) => Ok(Next::Initialize(NEWEST_LEGACY)),
    }
}

async fn http_sse(url: &Url, shared: Arc<Shared>) -> Result<Client, Error> {
    let oldest = Revision::V2024_11_05;
    if let Versions::Exactly(revision) = shared.config.versions
        && revision != oldest
    {
        return Err(Error::Refused(format!("HTTP+SSE is {oldest}, and {revision} was asked for")));
    }
    let http = Link::new(url, shared.clone())?;
    http.authorize().await?;
    let (link, inbox) = PipeLink::new(shared.clone());
    let pipe: Box<dyn Pipe> = sse::open(url, http, inbox).await?;
    link.attach(pipe);
    // What is offered over this transport is what the transport can do.
    initialize(link, shared, oldest, false).await
}

async fn process(command: Command, shared: Arc<Shared>) -> Result<Client, Error> {
    let (link, inbox) = PipeLink::new(shared.clone());
    link.attach(stdio::open(command, shared.config.limits, inbox).await?);
    let next = match shared.config.versions {
        Versions::Exactly(revision) if revision.era() == Era::Modern => {
            return modern_pipe(link, shared, revision).await;
        }
        Versions::Exactly(revision) => Next::Initialize(revision),
        Versions::Handshake => Next::Initialize(NEWEST_LEGACY),
        Versions::Automatic => probe_pipe(&link).await?,
    };
    match next {
        Next::Speak(revision) => modern_pipe(link, shared, revision).await,
        Next::Initialize(revision) => {
            let exactly = matches!(shared.config.versions, Versions::Exactly(_));
            initialize(link, shared, revision, exactly).await
        }
        Next::Fail(error) => Err(error),
    }
}

async fn probe_pipe(link: &Arc<PipeLink>) -> Result<Next, Error> {
    link.speak(Arc::new(link.shared.dialect(Revision::NEWEST)));
    match timeout(PROBE, ask(&Way::Pipe(link.clone()))).await {
        Ok(Ok(result)) => Ok(understood(&result)),
        Ok(Err(error)) => judged(error),
        Err(_silent) => Ok(Next::Initialize(NEWEST_LEGACY)),
    }
}

async fn modern_pipe(link: Arc<PipeLink>, shared: Arc<Shared>, revision: Revision) -> Result<Client, Error> {
    link.speak(Arc::new(shared.dialect(revision)));
    let way = Way::Pipe(link);
    let server = match shared.config.discover {
        true => described_as(ask(&way).await, revision)?,
        false => Server::default(),
    };
    Ok(Client::new(shared, way, revision, server))
}

/// Opens the session of a pipe.
async fn initialize(
    link: Arc<PipeLink>,
    shared: Arc<Shared>,
    asked: Revision,
    exactly: bool,
) -> Result<Client, Error> {
    let dialect: Arc<Dialect> = Arc::new(shared.dialect(asked));
    link.speak(dialect.clone());
    let call = handshake::initialize(&dialect);
    let (beat, mut trace) = (Beat::new(), Trace::default());
    let result = link.call(&mut Ctx { call: &call, trace: &mut trace, beat: &beat }, b"").await?;
    let (revision, server) = handshake::initialized(&result, asked, exactly)?;
    if revision != asked {
        link.speak(Arc::new(shared.dialect(revision)));
    }
    link.send(wire::notification("notifications/initialized", b"")?).await?;
    Ok(Client::new(shared, Way::Pipe(link), revision, server))
}
