//! Answers as HTTP responses.

use actix_web::{
    HttpResponse, HttpResponseBuilder,
    http::{
        StatusCode,
        header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER},
    },
};
use bytes::Bytes;
use trunkline_protocol::{
    RequestId, SessionId,
    header::Acceptable,
    jsonrpc::write_error,
    sse::{Event, write_event},
};

use super::{Endpoint, head::SESSION_ID};
use crate::{error::Refusal, outbox::Replies};

static BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
static REPLICA: HeaderName = HeaderName::from_static("x-trunkline-replica");
static NOSNIFF: HeaderName = HeaderName::from_static("x-content-type-options");

/// The refusal of a request, with the id to answer where there is one.
pub(super) fn refuse(endpoint: &Endpoint, refusal: &Refusal, id: Option<&RequestId>) -> HttpResponse {
    endpoint.core.services.metrics.refused();
    let answer = refusal.answer();
    let mut body = Vec::with_capacity(192);
    write_error(&mut body, id, &answer.error);
    let mut response = response(endpoint, answer.status);
    // A refusal may quote what was asked for; no browser is to guess that it is a page.
    response.insert_header((NOSNIFF.clone(), HeaderValue::from_static("nosniff")));
    if let Some(after) = answer.retry_after {
        // Spread over as much again, so that those refused together do not come back together.
        let jitter = rand::random_range(0..=after.as_secs().max(1));
        response.insert_header((RETRY_AFTER, HeaderValue::from(after.as_secs() + jitter)));
    }
    if matches!(answer.status, 408 | 413 | 431) {
        // What is still to come of the request is not waited for.
        response.force_close();
    }
    if let Refusal::HttpMethod(allowed) = refusal {
        response.insert_header((ALLOW, HeaderValue::from_static(allowed)));
    }
    response.insert_header((CONTENT_TYPE, HeaderValue::from_static("application/json"))).body(body)
}

/// Nothing more to say: a notification or an answer was taken.
pub(super) fn accepted(endpoint: &Endpoint) -> HttpResponse {
    response(endpoint, 202).finish()
}

/// A session has been deleted.
pub(super) fn deleted(endpoint: &Endpoint) -> HttpResponse {
    response(endpoint, 204).finish()
}

/// Answers that need no stream: one body, in what the client can read.
pub(super) fn plain(
    endpoint: &Endpoint,
    accept: Acceptable,
    replies: Replies,
    batch: bool,
    session: Option<&SessionId>,
) -> HttpResponse {
    let status = if batch { 200 } else { replies.status() };
    let mut bodies = replies.into_iter().map(|reply| reply.body).filter(|body| !body.is_empty()).peekable();
    let mut response = response(endpoint, status);
    if let Some(Ok(id)) = session.map(|id| HeaderValue::from_str(id.as_str())) {
        response.insert_header((SESSION_ID.clone(), id));
    }
    if bodies.peek().is_none() {
        return response.status(StatusCode::ACCEPTED).finish();
    }
    if !accept.json {
        let mut events = Vec::new();
        bodies.for_each(|body| write_event(&mut events, &Event::message(&body)));
        stream_headers(&mut response);
        return response.body(events);
    }
    response.insert_header((CONTENT_TYPE, HeaderValue::from_static("application/json")));
    response.body(if batch { array(bodies) } else { bodies.next().unwrap_or_default() })
}

/// The beginning of a stream's response.
pub(super) fn stream(endpoint: &Endpoint) -> HttpResponseBuilder {
    let mut response = response(endpoint, 200);
    stream_headers(&mut response);
    response
}

fn stream_headers(response: &mut HttpResponseBuilder) {
    response
        .insert_header((CONTENT_TYPE, HeaderValue::from_static("text/event-stream")))
        .insert_header((CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform")))
        .insert_header((BUFFERING.clone(), HeaderValue::from_static("no")));
}

fn response(endpoint: &Endpoint, status: u16) -> HttpResponseBuilder {
    let mut response = HttpResponse::build(StatusCode::from_u16(status).unwrap_or(StatusCode::OK));
    if endpoint.settings.replica_header
        && let Ok(replica) = HeaderValue::from_str(&endpoint.core.services.replica)
    {
        response.insert_header((REPLICA.clone(), replica));
    }
    if endpoint.drain.is_draining() {
        response.force_close();
    }
    response
}

fn array(bodies: impl Iterator<Item = Bytes>) -> Bytes {
    let mut out = vec![b'['];
    for body in bodies {
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(&body);
    }
    out.push(b']');
    out.into()
}
