//! DELETE: the client is done with its session (2025-03-26 to 2025-11-25, *Session Management*).

use actix_web::{HttpRequest, HttpResponse, web};

use super::{Endpoint, head::Head, reply};
use crate::{config::Sessions, error::Refusal, principal::Principal};

/// Serves DELETE on the MCP endpoint.
pub(super) async fn delete(request: HttpRequest, endpoint: web::Data<Endpoint>) -> HttpResponse {
    match end(&request, &endpoint).await {
        Ok(()) => reply::deleted(&endpoint),
        Err(refusal) => reply::refuse(&endpoint, &refusal, None),
    }
}

async fn end(request: &HttpRequest, endpoint: &Endpoint) -> Result<(), Refusal> {
    let head = Head::admitted(request, &endpoint.settings)?;
    if head.is_modern() || endpoint.settings.sessions == Sessions::Off {
        return Err(Refusal::HttpMethod("POST"));
    }
    head.check_version()?;
    let id = head.session_id()?.ok_or(Refusal::SessionRequired)?;
    let session = endpoint.core.directory.find(id, &Principal::anonymous()).await?;
    endpoint.core.end(&session).await
}
