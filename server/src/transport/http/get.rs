//! GET: the stream of what belongs to no call of a session, and the rest of a stream that broke (2025-03-26 to 2025-11-25).

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, http::header::HeaderName, web};
use tokio_util::task::AbortOnDropHandle;
use trunkline_hub::Position;
use trunkline_protocol::header::last_event_id;

use super::{
    Endpoint,
    event_id::{EventIds, Resume},
    feed::{Ends, Feed, Leave, OpenStream, Session},
    head::Head,
    reply,
    stream::sse,
};
use crate::{
    config::Sessions,
    error::Refusal,
    following::{Following, Life},
    outbox,
    principal::Principal,
    session::{LiveSession, StreamPermit, Watched},
    telemetry::Gauge,
    transport::broadcast::{Broadcasts, Wanted},
};

static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Serves GET on the MCP endpoint.
pub(super) async fn get(request: HttpRequest, endpoint: web::Data<Endpoint>) -> HttpResponse {
    match stream(&request, &endpoint).await {
        Ok(response) => response,
        Err(refusal) => reply::refuse(&endpoint, &refusal, None),
    }
}

async fn stream(request: &HttpRequest, endpoint: &web::Data<Endpoint>) -> Result<HttpResponse, Refusal> {
    let head = Head::admitted(request, &endpoint.settings)?;
    if head.is_modern() || endpoint.settings.sessions == Sessions::Off {
        return Err(Refusal::HttpMethod("POST"));
    }
    head.check_version()?;
    if !head.acceptable().sse {
        return Err(Refusal::NotAcceptable("text/event-stream"));
    }
    let id = head.session_id()?.ok_or(Refusal::SessionRequired)?;
    let session = endpoint.core.directory.find(id, &Principal::anonymous()).await?;
    let resume = resume(request, endpoint, &session)?;
    let permit = permit(endpoint, &session)?;
    match resume {
        Some(Resume::Call { stream, after }) => resumed(endpoint, session, permit, &stream, after).await,
        Some(Resume::Listen { after }) => listen(endpoint, session, permit, Some(after)).await,
        None => listen(endpoint, session, permit, None).await,
    }
}

/// What the client resumes, if anything.
fn resume(
    request: &HttpRequest,
    endpoint: &Endpoint,
    session: &LiveSession,
) -> Result<Option<Resume>, Refusal> {
    let mut values = request.headers().get_all(&LAST_EVENT_ID);
    let Some(value) = values.next() else { return Ok(None) };
    if !session.record().revision.features().resumable {
        return Ok(None);
    }
    if values.next().is_some() {
        return Err(Refusal::EventIdForeign);
    }
    let id = last_event_id(value.as_bytes()).map_err(|_| Refusal::EventIdForeign)?;
    Resume::read(&endpoint.core.services.keys, session.id(), id).map(Some).ok_or(Refusal::EventIdForeign)
}

/// Leave to open a stream.
pub(super) fn permit(endpoint: &Endpoint, session: &Arc<LiveSession>) -> Result<StreamPermit, Refusal> {
    let most = i64::try_from(endpoint.settings.streams).unwrap_or(i64::MAX);
    if endpoint.core.services.metrics.now(Gauge::Streams) >= most {
        return Err(Refusal::TooMany("streams on this replica (limits.streams)"));
    }
    session.open_stream().ok_or(Refusal::TooMany("streams of this session (limits.streams_per_session)"))
}

/// The rest of a call's stream. One that is no longer kept becomes a stream that listens: ended at once, it would be asked
/// for again and again.
async fn resumed(
    endpoint: &web::Data<Endpoint>,
    session: Arc<LiveSession>,
    permit: StreamPermit,
    stream: &str,
    after: Position,
) -> Result<HttpResponse, Refusal> {
    let services = &endpoint.core.services;
    let topic = outbox::topic(session.id(), stream);
    if services.hub.position(&topic).await? == Position::default() {
        services.metrics.gap();
        return listen(endpoint, session, permit, None).await;
    }
    let log = Following::begin(services.hub.clone(), topic, after, Life::Once).await;
    let ids = EventIds::of_call(&services.keys, session.id(), stream);
    // The client has the stream's beginning, or it could not name a place in it.
    let metrics = services.metrics.clone();
    let core = endpoint.core.clone();
    let watch = Watched { core, session: session.clone(), stream: stream.into() }.watch();
    let watch = Some(AbortOnDropHandle::new(tokio::spawn(watch)));
    let feed = Feed::Call { log, ids, priming: None, metrics, _watch: watch };
    let ends = Ends {
        drain: endpoint.drain.clone(),
        leave: Leave::AtOnce,
        session: Some(Session::new(endpoint, &session)),
        listening: None,
        _open: OpenStream::OfSession(permit),
    };
    Ok(sse(endpoint, feed, ends, None))
}

/// The stream that listens, from now or after a place.
async fn listen(
    endpoint: &web::Data<Endpoint>,
    session: Arc<LiveSession>,
    permit: StreamPermit,
    after: Option<Position>,
) -> Result<HttpResponse, Refusal> {
    let core = &endpoint.core;
    let features = session.record().revision.features();
    let begin = match after {
        Some(after) => after,
        None => core.services.hub.position(&crate::registry::Services::broadcast_topic()).await?,
    };
    let wanted = Wanted::Session(session.clone());
    let revision = session.record().revision;
    let broadcasts = Broadcasts::after(core.clone(), revision, wanted, Some(begin)).await?;
    let listening = core.listen(&session).await?;
    let ids = features.resumable.then(|| EventIds::of_listener(&core.services.keys, session.id()));
    let begin = (features.priming && after.is_none()).then_some(begin);
    let ends = Ends {
        drain: endpoint.drain.clone(),
        leave: Leave::AtOnce,
        session: Some(Session::new(endpoint, &session)),
        listening: Some(listening),
        _open: OpenStream::OfSession(permit),
    };
    Ok(sse(endpoint, Feed::Listener { broadcasts: Box::new(broadcasts), ids, begin }, ends, None))
}
