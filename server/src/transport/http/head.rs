//! What the head of a request says, and whether the request is let in at all.

use actix_web::{
    HttpRequest,
    http::header::{
        ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN,
    },
};
use trunkline_protocol::{
    Method, Revision,
    header::{Acceptable, Media, check_param, decode_mirrored},
    params::Params,
    revision::Dispute,
};

use super::Settings;
use crate::{error::Refusal, registry::Catalog};

/// Names the session (2025-03-26 to 2025-11-25).
pub(super) static SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
static PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static METHOD: HeaderName = HeaderName::from_static("mcp-method");
static NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Whether a request comes from where requests may come from: not from a page of somebody else's, nor by a name that a
/// page's author chose (transports, *Security Warning*). Checked before anything else of the request is looked at.
pub(super) fn admit(request: &HttpRequest, settings: &Settings) -> Result<(), Refusal> {
    if size(request) > settings.head {
        return Err(Refusal::HeadTooLarge { limit: settings.head });
    }
    let values = |name| request.headers().get_all(name).map(HeaderValue::as_bytes);
    let by_header = || {
        let mut hosts = values(HOST);
        match (hosts.next(), hosts.next()) {
            (Some(host), None) => settings.is_usual_host(host) || settings.hosts.allows([host]),
            (first, second) => settings.hosts.allows(first.into_iter().chain(second)),
        }
    };
    let served = match request.uri().authority() {
        None => by_header(),
        // HTTP/2 names the host in the request's target. Where the header does too, what either says is used somewhere.
        Some(authority) => {
            let by_target = settings.hosts.allows([authority.as_str().as_bytes()]);
            by_target && (!request.headers().contains_key(HOST) || by_header())
        }
    };
    if !served {
        refused(request, &HOST);
        let reason =
            "the Host is missing, repeated or not served here; the operator sets server.allowed_hosts";
        return Err(Refusal::OriginForbidden(reason.into()));
    }
    if request.headers().contains_key(ORIGIN) && !settings.origins.allows(values(ORIGIN)) {
        refused(request, &ORIGIN);
        let reason = "pages of this Origin may not call; the operator sets server.allowed_origins";
        return Err(Refusal::OriginForbidden(reason.into()));
    }
    Ok(())
}

/// For the operator who looks why clients are refused. Not louder: whoever sends them decides how many there are.
fn refused(request: &HttpRequest, header: &HeaderName) {
    const LONGEST: usize = 256;
    let value = request.headers().get(header).map_or(&b""[..], HeaderValue::as_bytes);
    let value = String::from_utf8_lossy(&value[..value.len().min(LONGEST)]);
    tracing::debug!(%header, ?value, "a request was refused by its Host or Origin");
}

/// The size of a request's head, as it is written in HTTP/1.
fn size(request: &HttpRequest) -> usize {
    let fields = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    request.uri().path().len() + request.query_string().len() + fields.sum::<usize>()
}

/// What the client can read.
pub(super) fn acceptable(request: &HttpRequest) -> Acceptable {
    Acceptable::of_accept(request.headers().get_all(ACCEPT).map(|value| value.as_bytes()))
}

/// Whether the body is JSON as it stands, by what the head says.
pub(super) fn check_content_type(request: &HttpRequest) -> Result<(), Refusal> {
    let headers = request.headers();
    let mut codings = headers.get_all(CONTENT_ENCODING);
    if !codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(Refusal::UnsupportedMediaType);
    }
    let mut types = headers.get_all(CONTENT_TYPE).map(|value| Media::of_content_type(value.as_bytes()));
    match (types.next().flatten(), types.next()) {
        (Some(Media::Json), None) => Ok(()),
        _ => Err(Refusal::UnsupportedMediaType),
    }
}

/// The session that the request names. One that no session can have is unknown.
pub(super) fn session_id(request: &HttpRequest) -> Result<Option<&str>, Refusal> {
    match only(request.headers(), &SESSION_ID) {
        None => Ok(None),
        Some(Ok(id)) => Ok(Some(id)),
        Some(Err(())) => Err(Refusal::SessionUnknown),
    }
}

/// The protocol version that the request names. An unreadable one is none that is served.
pub(super) fn protocol_version(request: &HttpRequest) -> Option<&str> {
    only(request.headers(), &PROTOCOL_VERSION).map(|version| version.unwrap_or("?"))
}

/// Whether the headers that mirror the body say what the body says (2026-07-28 *Server Validation*).
pub(super) fn check_mirrored(
    request: &HttpRequest,
    method_name: &str,
    method: Option<Method>,
    params: &Params<'_>,
) -> Result<(), Refusal> {
    let mismatch = |reason: String| Err(Refusal::HeaderMismatch(reason));
    match only(request.headers(), &METHOD) {
        Some(Ok(value)) if value.trim_matches([' ', '\t']) == method_name => {}
        None => return mismatch("the header Mcp-Method is missing".into()),
        Some(_) => return mismatch(format!("the header Mcp-Method is not {method_name:?}")),
    }
    let named = match method {
        Some(Method::ToolsCall | Method::PromptsGet) => params.name.as_ref(),
        Some(Method::ResourcesRead) => params.uri.as_ref(),
        Some(Method::TasksGet | Method::TasksUpdate | Method::TasksCancel) => params.task_id.as_ref(),
        _ => return Ok(()),
    };
    let Some(named) = named else {
        return Err(Refusal::InvalidParams(
            "params lack the name, uri or taskId of the request's target".into(),
        ));
    };
    let values = &mut request.headers().get_all(&NAME);
    match (values.next(), values.next()) {
        (None, _) => mismatch("the header Mcp-Name is missing".into()),
        (Some(_), Some(_)) => mismatch("the header Mcp-Name is repeated".into()),
        (Some(value), None) => match decode_mirrored(value.as_bytes()) {
            Ok(name) if name == named.0 => Ok(()),
            Ok(_) => mismatch("the header Mcp-Name differs from the body".into()),
            Err(error) => mismatch(format!("the header Mcp-Name: {error}")),
        },
    }
}

/// Whether the headers that mirror a tool's arguments say what the arguments say (2026-07-28 *Server Behavior for Custom
/// Headers*).
pub(super) fn check_params(
    request: &HttpRequest,
    catalog: &Catalog,
    params: &Params<'_>,
) -> Result<(), Refusal> {
    let Some(tool) = params.name.as_ref().and_then(|name| catalog.tool(&name.0)) else { return Ok(()) };
    if tool.headers.is_empty() {
        return Ok(());
    }
    let arguments: serde_json::Value = match params.arguments {
        Some(raw) => serde_json::from_str(raw.get())
            .map_err(|error| Refusal::InvalidParams(format!("invalid arguments: {error}")))?,
        None => serde_json::Value::Null,
    };
    for annotation in &tool.headers {
        let mut values = request.headers().get_all(&*annotation.header);
        let (value, repeated) = (values.next(), values.next().is_some());
        if repeated {
            return Err(Refusal::HeaderMismatch(format!("the header {} is repeated", annotation.header)));
        }
        check_param(value.map(|value| value.as_bytes()), annotation.value(&arguments))
            .map_err(|error| Refusal::HeaderMismatch(format!("the header {}: {error}", annotation.header)))?;
    }
    Ok(())
}

/// Whether the version that the request names, if any, is served at all (2025-06-18, *Protocol Version Header*).
pub(super) fn check_version(request: &HttpRequest) -> Result<(), Refusal> {
    match protocol_version(request) {
        Some(name) if Revision::from_name(name).is_none() => {
            Err(Refusal::Revision(Dispute::UnknownHeader { requested: name.to_owned() }))
        }
        _ => Ok(()),
    }
}

/// Whether the header names the modern era, which has neither GET nor DELETE.
pub(super) fn is_modern(request: &HttpRequest) -> bool {
    use trunkline_protocol::revision::Era;
    let named = protocol_version(request).and_then(Revision::from_name);
    named.is_some_and(|revision| revision.era() == Era::Modern)
}

/// The only value of a header; an error if it is repeated or no visible ASCII.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Result<&'a str, ()>> {
    let mut values = headers.get_all(name);
    let first = values.next()?;
    Some(match values.next() {
        Some(_) => Err(()),
        None => first.to_str().map_err(|_| ()),
    })
}
