//! The body of a request, as far as it may go.

use actix_web::{HttpRequest, http::header::CONTENT_LENGTH, web};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;

use super::Settings;
use crate::error::Refusal;

/// Reads a body. One that says it is too large is not read at all; one that does not say so is read up to the limit.
pub(super) async fn read(
    request: &HttpRequest,
    payload: web::Payload,
    settings: &Settings,
) -> Result<Bytes, Refusal> {
    let limit = settings.body;
    let declared = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if declared.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > limit as u64) {
        return Err(Refusal::BodyTooLarge { limit });
    }
    let reading = collect(payload, limit);
    let mut reading = std::pin::pin!(reading);
    // Most bodies are here already: no timer is set up for them.
    if let Some(body) = futures_util::FutureExt::now_or_never(reading.as_mut()) {
        return body;
    }
    tokio::time::timeout(settings.body_time, reading).await.map_err(|_| Refusal::BodyTooSlow)?
}

async fn collect(mut payload: web::Payload, limit: usize) -> Result<Bytes, Refusal> {
    let unreadable = |_| Refusal::BodyTooSlow;
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
