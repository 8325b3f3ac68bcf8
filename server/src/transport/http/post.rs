//! POST: messages of the client, and the answers to its requests.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use trunkline_protocol::{
    Method, RequestId, Revision, RpcError,
    header::Acceptable,
    jsonrpc::{Body, Malformed, Message, Notification, Request, Response, parse},
    params::Params,
    revision::{Claim, Era, settle},
};

use super::{
    Endpoint, body,
    carrier::carrier,
    feed::{Ends, Feed},
    head::Head,
    listen, reply, socket,
    stream::{open, sse},
};
use crate::{
    cancel::Cancel,
    config::Sessions,
    error::Refusal,
    outbox::{Outbox, Output, Replies},
    principal::Principal,
    record::Greeting,
    session::{Context, Incoming, refused, serve},
    transport::context,
};

/// A request that is refused, with the id to answer where one was read.
pub(super) struct Rejected {
    refusal: Refusal,
    id: Option<RequestId>,
}

/// Serves POST on the MCP endpoint.
pub(super) async fn post(
    request: HttpRequest,
    payload: web::Payload,
    endpoint: web::Data<Endpoint>,
) -> HttpResponse {
    let _busy = socket::busy(&request);
    match take(&request, payload, &endpoint).await {
        Ok(response) => response,
        Err(Rejected { refusal, id }) => reply::refuse(&endpoint, &refusal, id.as_ref()),
    }
}

async fn take(
    request: &HttpRequest,
    payload: web::Payload,
    endpoint: &web::Data<Endpoint>,
) -> Result<HttpResponse, Rejected> {
    let head = Head::admitted(request, &endpoint.settings)?;
    head.check_content_type()?;
    let accept = head.acceptable();
    if !accept.json && !accept.sse {
        return Err(Refusal::NotAcceptable("application/json or text/event-stream").into());
    }
    let body = body::read(&head, payload, &endpoint.settings).await?;
    let exchange = Post { head: &head, endpoint, accept, body: &body };
    match parse(&body, endpoint.settings.bounds)? {
        Body::Single(Message::Request(mut message)) => {
            let answered = exchange.request(&mut message).await;
            answered.map_err(|refusal| Rejected { refusal, id: Some(message.id) })
        }
        Body::Single(Message::Notification(notification)) => {
            Box::pin(exchange.notification(&notification)).await.map_err(Rejected::from)
        }
        Body::Single(Message::Response(response)) => {
            Box::pin(exchange.response(response)).await.map_err(Rejected::from)
        }
        Body::Batch(messages) => Box::pin(exchange.batch(messages)).await.map_err(Rejected::from),
    }
}

/// One POST whose body has been read.
struct Post<'a> {
    head: &'a Head<'a>,
    endpoint: &'a web::Data<Endpoint>,
    accept: Acceptable,
    body: &'a Bytes,
}

/// Whether the session of a request has ended.
fn over(context: &Context) -> bool {
    context.session.as_ref().is_some_and(|session| session.closed().is_cancelled())
}

// === impl Post ===

impl Post<'_> {
    /// A request: settled, authenticated, put in its session, served.
    async fn request(&self, request: &mut Request<'_>) -> Result<HttpResponse, Refusal> {
        let params = match request.take_params().map_err(Refusal::InvalidParams) {
            Ok(params) => params,
            // With nothing to be read in them, the header alone tells the era.
            Err(refusal) if self.head.is_modern() => return Err(refusal),
            Err(refusal) => return self.as_error(&request.id, refusal),
        };
        let method = Method::from_name(&request.method);
        let version = self.head.protocol_version();
        let claim = settle(version, params.meta.as_ref(), method, true).map_err(Refusal::Revision)?;
        let principal = Principal::anonymous();
        let incoming = Incoming { request, method, params: &params, body: self.body };
        match claim {
            Claim::Modern(revision) => self.modern(revision, principal, &incoming).await,
            Claim::Legacy(header) => {
                let answered = self.legacy_request(&principal, header, &incoming).await;
                answered.or_else(|refusal| self.as_error(&request.id, refusal))
            }
        }
    }

    /// A request of the older revisions.
    async fn legacy_request(
        &self,
        principal: &Principal,
        header: Option<Revision>,
        incoming: &Incoming<'_>,
    ) -> Result<HttpResponse, Refusal> {
        if incoming.method == Some(Method::Initialize) {
            return Box::pin(self.initialize(principal, incoming.request)).await;
        }
        let context = self.legacy(principal, header).await?;
        self.answer(&context, incoming).await
    }

    /// In the older revisions, parameters that do not fit are an answer like any other: their clients take HTTP 400 for a
    /// fault of the connection.
    fn as_error(&self, id: &RequestId, refusal: Refusal) -> Result<HttpResponse, Refusal> {
        let Refusal::InvalidParams(_) = refusal else { return Err(refusal) };
        let answer = refused(Some(id), &refusal.answer().error, 200);
        Ok(reply::plain(self.endpoint, self.accept, Replies::one(answer), false, None))
    }

    /// A request that describes itself.
    async fn modern(
        &self,
        revision: Revision,
        principal: Principal,
        incoming: &Incoming<'_>,
    ) -> Result<HttpResponse, Refusal> {
        let Incoming { request, method, params, .. } = incoming;
        self.head.check_mirrored(&request.method, *method, params)?;
        if *method == Some(Method::ToolsCall) {
            self.head.check_params(&self.endpoint.core.registry.catalog(), params)?;
        }
        let context = context::modern_context(revision, principal, params, self.body);
        if *method == Some(Method::SubscriptionsListen) {
            return Box::pin(listen::open(self.endpoint, self.accept, &context, incoming)).await;
        }
        self.answer(&context, incoming).await
    }

    /// Serves a request, and sends what its outbox says.
    async fn answer(&self, context: &Context, incoming: &Incoming<'_>) -> Result<HttpResponse, Refusal> {
        let outbox = Arc::new(Outbox::new(carrier(self.endpoint, context, self.accept, self.body), 1));
        let cancel = Cancel::default();
        // In the modern era a closed stream is a cancellation; before, a broken connection says nothing.
        let modern = context.caller.revision.era() == Era::Modern;
        let guard = modern.then(|| cancel.on_drop());
        serve(&self.endpoint.core, context, incoming, &outbox, &cancel).await?;
        // Nearly every answer is there by now. The way of the others is kept out of this future, which is made for every call.
        let output = match outbox.take() {
            Some(output) => output,
            None => Box::pin(self.output(&outbox)).await?,
        };
        match output {
            // Nothing to say, and not since the client cancelled it: its session ended under the call.
            Output::Plain(replies) if replies.status() == 202 && over(context) => {
                Err(Refusal::SessionUnknown)
            }
            Output::Plain(replies) => {
                if let Some(guard) = guard {
                    guard.disarm();
                }
                Ok(reply::plain(self.endpoint, self.accept, replies, false, None))
            }
            Output::Broken => Err(Refusal::BackendUnavailable("the hub")),
            Output::Stream(source) => {
                let feed = Box::pin(Feed::of_call(self.endpoint, source, context)).await;
                let farewell = matches!(feed, Feed::Queue(_)).then(|| given_up(&incoming.request.id));
                Ok(open(self.endpoint, feed, Ends::of_call(self.endpoint, context), guard, farewell))
            }
        }
    }

    /// What to send, or that this replica has ended before there was anything: nobody is left waiting for a call that was
    /// given up.
    async fn output(&self, outbox: &Arc<Outbox>) -> Result<Output, Refusal> {
        let drain = &self.endpoint.drain;
        let output = tokio::select! {
            biased;
            output = self.awaited(outbox) => Some(output),
            () = drain.closing() => outbox.take(),
        };
        match output {
            Some(Output::Plain(replies)) if replies.status() == 202 && drain.is_closing() => {
                Err(Refusal::Draining)
            }
            output => output.ok_or(Refusal::Draining),
        }
    }

    /// The answer if it is there soon, or else a stream.
    async fn awaited(&self, outbox: &Arc<Outbox>) -> Output {
        if !self.accept.sse {
            return outbox.output().await;
        }
        tokio::select! {
            biased;
            output = outbox.output() => output,
            () = tokio::time::sleep(self.endpoint.settings.upgrade_after) => {
                // Answered at this very moment: the answer is taken.
                if let Err(error) = outbox.open().await {
                    tracing::debug!(%error, "the answer did not become a stream");
                }
                outbox.output().await
            }
        }
    }

    /// The session that a message of the older revisions belongs to.
    async fn legacy(&self, principal: &Principal, header: Option<Revision>) -> Result<Context, Refusal> {
        if self.endpoint.settings.sessions == Sessions::Off {
            return Ok(context::sessionless_context(header.unwrap_or(Revision::UNSTATED), principal));
        }
        let id = self.head.session_id()?.ok_or(Refusal::SessionRequired)?;
        let session = self.endpoint.core.directory.find(id, principal).await?;
        Ok(Context::of_session(session))
    }

    async fn initialize(
        &self,
        principal: &Principal,
        request: &Request<'_>,
    ) -> Result<HttpResponse, Refusal> {
        if self.endpoint.drain.is_draining() {
            return Err(Refusal::Draining);
        }
        let core = &self.endpoint.core;
        if let Some(id) = self.head.session_id().ok().flatten() {
            match core.directory.find(id, principal).await {
                Ok(_) => return Err(Refusal::SessionLive),
                Err(Refusal::SessionUnknown) => {}
                Err(refusal) => return Err(refusal),
            }
        }
        let greeting = Greeting::read(request.params).map_err(Refusal::InvalidParams)?;
        let revision = greeting.revision;
        let session = match self.endpoint.settings.sessions {
            Sessions::On => Some(core.directory.create(principal, &greeting).await?),
            Sessions::Off => None,
        };
        let answer = context::greet(core, revision, &request.id);
        Ok(reply::plain(self.endpoint, self.accept, Replies::one(answer), false, session.as_ref()))
    }

    async fn notification(&self, notification: &Notification<'_>) -> Result<HttpResponse, Refusal> {
        let params = Params::read(notification.params).unwrap_or_default();
        let method = Method::from_name(&notification.method);
        let version = self.head.protocol_version();
        match settle(version, params.meta.as_ref(), method, true).map_err(Refusal::Revision)? {
            // Over HTTP this era has no notification of the client with a meaning.
            Claim::Modern(_) => {}
            Claim::Legacy(header) => {
                let context = self.legacy(&Principal::anonymous(), header).await?;
                context::notified(&self.endpoint.core, &context, method, notification.params).await?;
            }
        }
        Ok(reply::accepted(self.endpoint))
    }

    async fn response(&self, response: Response<'_>) -> Result<HttpResponse, Refusal> {
        if self.head.is_modern() {
            let error = RpcError::invalid_request("this revision has no responses of clients");
            return Err(Refusal::Malformed(error));
        }
        self.head.check_version()?;
        let context = self.legacy(&Principal::anonymous(), None).await?;
        if let Some(session) = &context.session {
            self.endpoint.core.answer(session, response).await?;
        }
        Ok(reply::accepted(self.endpoint))
    }

    /// A batch: answered together, or on one stream (2025-03-26 *Sending Messages to the Server*).
    async fn batch(&self, messages: Vec<Result<Message<'_>, Malformed>>) -> Result<HttpResponse, Refusal> {
        let header = self.head.protocol_version();
        let stated =
            header.map(|name| Revision::from_name(name).ok_or(Refusal::BatchNotServed)).transpose()?;
        if stated.is_some_and(|revision| !revision.features().batch) {
            return Err(Refusal::BatchNotServed);
        }
        let context = self.legacy(&Principal::anonymous(), stated).await?;
        if !context.caller.revision.features().batch {
            return Err(Refusal::BatchNotServed);
        }
        let answers =
            messages.iter().filter(|message| matches!(message, Err(_) | Ok(Message::Request(_)))).count();
        let outbox = Arc::new(Outbox::new(carrier(self.endpoint, &context, self.accept, self.body), answers));
        for message in messages {
            self.member(&context, &outbox, message).await?;
        }
        if answers == 0 {
            return Ok(reply::accepted(self.endpoint));
        }
        match self.output(&outbox).await? {
            Output::Plain(replies) => Ok(reply::plain(self.endpoint, self.accept, replies, true, None)),
            Output::Broken => Err(Refusal::BackendUnavailable("the hub")),
            Output::Stream(source) => {
                let feed = Feed::of_call(self.endpoint, source, &context).await;
                Ok(sse(self.endpoint, feed, Ends::of_call(self.endpoint, &context), None))
            }
        }
    }

    /// One message of a batch. A refused request is answered in its place; the others go on.
    async fn member(
        &self,
        context: &Context,
        outbox: &Arc<Outbox>,
        message: Result<Message<'_>, Malformed>,
    ) -> Result<(), Refusal> {
        let core = &self.endpoint.core;
        let (id, refusal) = match message {
            Ok(Message::Request(mut request)) => {
                match self.member_request(context, outbox, &mut request).await {
                    Ok(()) => return Ok(()),
                    Err(refusal) => (Some(request.id), refusal),
                }
            }
            Ok(Message::Notification(note)) => {
                return context::notified(core, context, Method::from_name(&note.method), note.params).await;
            }
            Ok(Message::Response(response)) => {
                return match &context.session {
                    Some(session) => core.answer(session, response).await,
                    None => Ok(()),
                };
            }
            Err(malformed) => (malformed.id, Refusal::Malformed(malformed.error)),
        };
        let answer = refusal.answer();
        let answered = outbox.respond(refused(id.as_ref(), &answer.error, answer.status)).await;
        answered.map_err(|_| Refusal::BackendUnavailable("the hub"))
    }

    async fn member_request(
        &self,
        context: &Context,
        outbox: &Arc<Outbox>,
        request: &mut Request<'_>,
    ) -> Result<(), Refusal> {
        let params = request.take_params().map_err(Refusal::InvalidParams)?;
        let method = Method::from_name(&request.method);
        if method == Some(Method::Initialize) {
            return Err(Refusal::InvalidParams("`initialize` must not be part of a batch".into()));
        }
        let incoming = Incoming { request, method, params: &params, body: self.body };
        serve(&self.endpoint.core, context, &incoming, outbox, &Cancel::default()).await
    }
}

/// The last message of a stream that cannot be come back to, if it ends before its call.
fn given_up(id: &RequestId) -> Bytes {
    refused(Some(id), &RpcError::internal("the call was given up: the server or the session has ended"), 503)
        .body
}

// === impl Rejected ===

impl From<Refusal> for Rejected {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, id: None }
    }
}

impl From<Malformed> for Rejected {
    fn from(malformed: Malformed) -> Self {
        Self { refusal: Refusal::Malformed(malformed.error), id: malformed.id }
    }
}
