//! HTTP+SSE (2024-11-05): one stream that carries everything the server says, and a path for what the client says. The two
//! may be on different replicas.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use serde::Deserialize;
use trunkline_hub::Position;
use trunkline_protocol::{
    Method, Revision, RpcError,
    jsonrpc::{Body, Message, Request, parse},
};

use super::{
    Endpoint, body,
    feed::{Connection, Ends, Feed, Leave, OpenStream, Session},
    get::permit,
    head::Head,
    reply, socket,
    stream::sse,
};
use crate::{
    cancel::Cancel,
    config::Sessions,
    error::Refusal,
    following::{Following, Life},
    outbox::{Carrier, LogCarrier, Outbox, Shared},
    principal::Principal,
    record::Greeting,
    session::{Calls, Context, Incoming, LiveSession, refused, serve},
    telemetry::Gauge,
    transport::{
        broadcast::{Broadcasts, Wanted},
        context,
    },
};

/// Opens the stream, and tells the client where to post.
pub(super) async fn open(request: HttpRequest, endpoint: web::Data<Endpoint>) -> HttpResponse {
    match stream(&request, &endpoint).await {
        Ok(response) => response,
        Err(refusal) => reply::refuse(&endpoint, &refusal, None),
    }
}

/// Takes a message; what it is answered with goes to the stream.
pub(super) async fn post(
    request: HttpRequest,
    payload: web::Payload,
    endpoint: web::Data<Endpoint>,
) -> HttpResponse {
    let _busy = socket::busy(&request);
    match take(&request, payload, &endpoint).await {
        Ok(()) => reply::accepted(&endpoint),
        Err(refusal) => reply::refuse(&endpoint, &refusal, None),
    }
}

/// The log of everything that is said to the client of a session, to answer what is in `body`.
fn log(endpoint: &Endpoint, session: &LiveSession, body: Bytes) -> LogCarrier {
    LogCarrier::of_connection(endpoint.core.services.logs.clone(), session.id().clone(), body)
}

async fn stream(request: &HttpRequest, endpoint: &web::Data<Endpoint>) -> Result<HttpResponse, Refusal> {
    let head = Head::admitted(request, &endpoint.settings)?;
    if endpoint.settings.sessions == Sessions::Off {
        return Err(Refusal::HttpMethod("POST"));
    }
    if !head.acceptable().sse {
        return Err(Refusal::NotAcceptable("text/event-stream"));
    }
    if endpoint.drain.is_draining() {
        return Err(Refusal::Draining);
    }
    let core = &endpoint.core;
    // Before there is a session, which would be made in vain.
    let most = i64::try_from(endpoint.settings.streams).unwrap_or(i64::MAX);
    if core.services.metrics.now(Gauge::Streams) >= most {
        return Err(Refusal::TooMany("streams on this replica (limits.streams)"));
    }
    let principal = Principal::anonymous();
    let id = core.directory.create_unopened(&principal).await?;
    let session = core.directory.find(id.as_str(), &principal).await?;
    let connection = Connection::new(core.clone(), session.clone());
    let permit = permit(endpoint, &session)?;
    let topic = log(endpoint, &session, Bytes::new()).topic();
    let log = Following::open(core.services.hub.clone(), topic, Position::default(), Life::Renewed).await?;
    let wanted = Wanted::Session(session.clone());
    let broadcasts = Broadcasts::after(core.clone(), Revision::V2024_11_05, wanted, None).await?;
    let feed = Feed::Connection {
        endpoint: Some(format!("{}/messages?sessionId={}", endpoint.settings.mount, id.as_str()).into()),
        log,
        broadcasts: Box::new(broadcasts),
        calls: Box::new(Calls::new(core.clone(), session.clone())),
        _connection: connection,
    };
    let ends = Ends {
        drain: endpoint.drain.clone(),
        // This client cannot come back to its session: it gets the answers it waits for first.
        leave: Leave::WhenQuiet,
        session: Some(Session::new(endpoint, &session)),
        listening: None,
        _open: OpenStream::OfSession(permit),
    };
    Ok(sse(endpoint, feed, ends, None))
}

async fn take(
    request: &HttpRequest,
    payload: web::Payload,
    endpoint: &web::Data<Endpoint>,
) -> Result<(), Refusal> {
    #[derive(Deserialize)]
    struct Query {
        #[serde(rename = "sessionId")]
        session_id: String,
    }
    let head = Head::admitted(request, &endpoint.settings)?;
    head.check_content_type()?;
    let query =
        web::Query::<Query>::from_query(request.query_string()).map_err(|_| Refusal::SessionRequired)?;
    let session = endpoint.core.directory.find(&query.session_id, &Principal::anonymous()).await?;
    let body = body::read(&head, payload, &endpoint.settings).await?;
    let posted = Posted { endpoint, session, body: &body };
    match parse(&body, endpoint.settings.bounds)? {
        Body::Single(Message::Request(mut request)) => posted.request(&mut request).await,
        Body::Single(Message::Notification(note)) => {
            let context = Context::of_session(posted.session);
            let method = Method::from_name(&note.method);
            context::notified(&endpoint.core, &context, method, note.params).await
        }
        Body::Single(Message::Response(response)) => endpoint.core.answer(&posted.session, response).await,
        Body::Batch(_) => Err(Refusal::BatchNotServed),
    }
}

/// One POST whose body has been read.
struct Posted<'a> {
    endpoint: &'a web::Data<Endpoint>,
    session: Arc<LiveSession>,
    body: &'a Bytes,
}

// === impl Posted ===

impl Posted<'_> {
    async fn request(&self, request: &mut Request<'_>) -> Result<(), Refusal> {
        let log = log(self.endpoint, &self.session, self.body.clone());
        let outbox = Arc::new(Outbox::new(Carrier::Shared(Shared::Log(log)), 1));
        // Once the session is known, every request is answered where its client reads: on the stream.
        let Err(refusal) = self.serve(request, &outbox).await else { return Ok(()) };
        let answer = refusal.answer();
        let answered = outbox.respond(refused(Some(&request.id), &answer.error, answer.status)).await;
        answered.map_err(|_| Refusal::BackendUnavailable("the hub"))
    }

    async fn serve(&self, request: &mut Request<'_>, outbox: &Arc<Outbox>) -> Result<(), Refusal> {
        let core = &self.endpoint.core;
        let method = Method::from_name(&request.method);
        if method == Some(Method::Initialize) {
            return self.initialize(request, outbox).await;
        }
        if !self.session.record().open {
            let error = RpcError::invalid_request("the session is not initialized; send `initialize` first");
            return Err(Refusal::Malformed(error));
        }
        let params = request.take_params().map_err(Refusal::InvalidParams)?;
        let incoming = Incoming { request, method, params: &params, body: self.body };
        let context = Context::of_session(self.session.clone());
        serve(core, &context, &incoming, outbox, &Cancel::default()).await
    }

    async fn initialize(&self, request: &Request<'_>, outbox: &Arc<Outbox>) -> Result<(), Refusal> {
        let core = &self.endpoint.core;
        if self.session.record().open {
            return Err(Refusal::SessionLive);
        }
        let greeting = Greeting::read(request.params).map_err(Refusal::InvalidParams)?;
        let revision = greeting.revision;
        core.directory.open(&self.session, &greeting).await?;
        let greeted = outbox.respond(context::greet(core, revision, &request.id)).await;
        greeted.map_err(|_| Refusal::BackendUnavailable("the hub"))
    }
}
