//! The body of a request, as far as it may go.

use std::{
    future::{Future, poll_fn},
    task::Poll,
};

use actix_web::{http::Version, web};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use trunkline_protocol::RpcError;

use super::{Settings, head::Head};
use crate::error::Refusal;

/// Reads a body. One that says it is too large is not read at all; one that does not say so is read up to the limit.
pub(super) async fn read(
    head: &Head<'_>,
    payload: web::Payload,
    settings: &Settings,
) -> Result<Bytes, Refusal> {
    let limit = settings.body;
    if head.content_length().is_some_and(|length| length > limit as u64) {
        return Err(Refusal::BodyTooLarge { limit });
    }
    // HTTP/1 asks for the body before it hands over what has come of it, and asks again at once: a body that is here is
    // there the second time, and needs no timer. HTTP/2 asks once.
    let mut patience = if head.version() < Version::HTTP_2 { 2 } else { 1 };
    let mut reading = std::pin::pin!(collect(payload, limit));
    let soon = poll_fn(|cx| match reading.as_mut().poll(cx) {
        Poll::Ready(body) => Poll::Ready(Some(body)),
        Poll::Pending => {
            patience -= 1;
            if patience == 0 { Poll::Ready(None) } else { Poll::Pending }
        }
    });
    match soon.await {
        Some(body) => body,
        None => tokio::time::timeout(settings.body_time, reading).await.map_err(|_| Refusal::BodyTooSlow)?,
    }
}

async fn collect(mut payload: web::Payload, limit: usize) -> Result<Bytes, Refusal> {
    // Broken off, or framed wrongly.
    let unreadable = |_| Refusal::Malformed(RpcError::parse("it cannot be read to its end"));
    let Some(first) = payload.next().await.transpose().map_err(unreadable)? else { return Ok(Bytes::new()) };
    if first.len() > limit {
        return Err(Refusal::BodyTooLarge { limit });
    }
    let Some(second) = payload.next().await.transpose().map_err(unreadable)? else { return Ok(first) };
    let mut body = BytesMut::from(&first[..]);
    let mut chunk = Some(second);
    while let Some(next) = chunk {
        if body.len() + next.len() > limit {
            return Err(Refusal::BodyTooLarge { limit });
        }
        body.extend_from_slice(&next);
        chunk = payload.next().await.transpose().map_err(unreadable)?;
    }
    Ok(body.freeze())
}
