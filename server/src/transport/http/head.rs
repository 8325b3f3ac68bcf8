//! What the head of a request says, and whether the request is let in at all.

use actix_web::{
    HttpRequest,
    http::{
        Version,
        header::{ACCEPT, CONTENT_ENCODING, HOST, HeaderName, HeaderValue, ORIGIN},
    },
};
use trunkline_protocol::{
    Method, Revision,
    header::{Acceptable, Media, check_param, decode_mirrored},
    params::Params,
    revision::{Dispute, Era},
};

use super::Settings;
use crate::{error::Refusal, registry::Catalog};

/// Names the session (2025-03-26 to 2025-11-25).
pub(super) static SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// What the head of a request says. All headers that matter are found in one pass over them: each lookup of its own would
/// cost as much.
pub(super) struct Head<'a> {
    request: &'a HttpRequest,
    /// As it is written in HTTP/1.
    size: usize,
    host: Field<'a>,
    origin: Field<'a>,
    accept: Field<'a>,
    content_type: Field<'a>,
    content_encoding: Field<'a>,
    content_length: Field<'a>,
    session: Field<'a>,
    version: Field<'a>,
    method: Field<'a>,
    name: Field<'a>,
}

/// A header.
#[derive(Clone, Copy, Default)]
enum Field<'a> {
    /// It is not there.
    #[default]
    Absent,
    /// Its only value.
    Once(&'a HeaderValue),
    /// It is there more than once.
    Repeated,
}

// === impl Head ===

impl<'a> Head<'a> {
    /// Reads the head of a request, which may say anything.
    pub(super) fn of(request: &'a HttpRequest) -> Self {
        let mut head = Self {
            request,
            size: request.uri().path().len() + request.query_string().len(),
            host: Field::Absent,
            origin: Field::Absent,
            accept: Field::Absent,
            content_type: Field::Absent,
            content_encoding: Field::Absent,
            content_length: Field::Absent,
            session: Field::Absent,
            version: Field::Absent,
            method: Field::Absent,
            name: Field::Absent,
        };
        for (name, value) in request.headers() {
            let name = name.as_str();
            head.size += name.len() + value.len() + 4;
            let field = match name {
                "host" => &mut head.host,
                "origin" => &mut head.origin,
                "accept" => &mut head.accept,
                "content-type" => &mut head.content_type,
                "content-encoding" => &mut head.content_encoding,
                "content-length" => &mut head.content_length,
                "mcp-session-id" => &mut head.session,
                "mcp-protocol-version" => &mut head.version,
                "mcp-method" => &mut head.method,
                "mcp-name" => &mut head.name,
                _ => continue,
            };
            field.add(value);
        }
        head
    }

    /// The head of a request that comes from where requests may come from: not from a page of somebody else's, nor by a name
    /// that a page's author chose (transports, *Security Warning*). Checked before anything else of the request is looked at.
    pub(super) fn admitted(request: &'a HttpRequest, settings: &Settings) -> Result<Self, Refusal> {
        let head = Self::of(request);
        if head.size > settings.head {
            return Err(Refusal::HeadTooLarge { limit: settings.head });
        }
        if !head.is_served(settings) {
            head.refused(&HOST);
            let reason =
                "the Host is missing, repeated or not served here; the operator sets server.allowed_hosts";
            return Err(Refusal::OriginForbidden(reason.into()));
        }
        if !matches!(head.origin, Field::Absent)
            && !settings.origins.allows(head.values(head.origin, &ORIGIN))
        {
            head.refused(&ORIGIN);
            let reason = "pages of this Origin may not call; the operator sets server.allowed_origins";
            return Err(Refusal::OriginForbidden(reason.into()));
        }
        Ok(head)
    }

    /// Whether the host that the request is for is one of ours.
    fn is_served(&self, settings: &Settings) -> bool {
        let by_header = || match self.host {
            Field::Once(host) => {
                let host = host.as_bytes();
                settings.is_usual_host(host) || settings.hosts.allows([host])
            }
            field => settings.hosts.allows(self.values(field, &HOST)),
        };
        match self.request.uri().authority() {
            None => by_header(),
            // HTTP/2 names the host in the request's target. Where the header does too, what either says is used somewhere.
            Some(authority) => {
                let by_target = settings.hosts.allows([authority.as_str().as_bytes()]);
                by_target && (matches!(self.host, Field::Absent) || by_header())
            }
        }
    }

    /// For the operator who looks why clients are refused. Not louder: whoever sends them decides how many there are.
    fn refused(&self, header: &HeaderName) {
        const LONGEST: usize = 256;
        let value = self.request.headers().get(header).map_or(&b""[..], HeaderValue::as_bytes);
        let value = String::from_utf8_lossy(&value[..value.len().min(LONGEST)]);
        tracing::debug!(%header, ?value, "a request was refused by its Host or Origin");
    }

    /// What the client can read.
    pub(super) fn acceptable(&self) -> Acceptable {
        Acceptable::of_accept(self.values(self.accept, &ACCEPT))
    }

    /// Whether the body is JSON as it stands, by what the head says.
    pub(super) fn check_content_type(&self) -> Result<(), Refusal> {
        let mut codings = self.values(self.content_encoding, &CONTENT_ENCODING);
        if !codings.all(|coding| coding.eq_ignore_ascii_case(b"identity")) {
            return Err(Refusal::UnsupportedMediaType);
        }
        match self.content_type {
            Field::Once(value) if Media::of_content_type(value.as_bytes()) == Some(Media::Json) => Ok(()),
            _ => Err(Refusal::UnsupportedMediaType),
        }
    }

    /// The version of HTTP.
    pub(super) fn version(&self) -> Version {
        self.request.version()
    }

    /// How long the body is, where the head says so.
    pub(super) fn content_length(&self) -> Option<u64> {
        self.content_length.only()?.ok()?.parse().ok()
    }

    /// The session that the request names. One that no session can have is unknown.
    pub(super) fn session_id(&self) -> Result<Option<&'a str>, Refusal> {
        match self.session.only() {
            None => Ok(None),
            Some(Ok(id)) => Ok(Some(id)),
            Some(Err(())) => Err(Refusal::SessionUnknown),
        }
    }

    /// The protocol version that the request names. An unreadable one is none that is served.
    pub(super) fn protocol_version(&self) -> Option<&'a str> {
        self.version.only().map(|version| version.unwrap_or("?"))
    }

    /// Whether the version that the request names, if any, is served at all (2025-06-18, *Protocol Version Header*).
    pub(super) fn check_version(&self) -> Result<(), Refusal> {
        match self.protocol_version() {
            Some(name) if Revision::from_name(name).is_none() => {
                Err(Refusal::Revision(Dispute::UnknownHeader { requested: name.to_owned() }))
            }
            _ => Ok(()),
        }
    }

    /// Whether the header names the modern era, which has neither GET nor DELETE.
    pub(super) fn is_modern(&self) -> bool {
        let named = self.protocol_version().and_then(Revision::from_name);
        named.is_some_and(|revision| revision.era() == Era::Modern)
    }

    /// Whether the headers that mirror the body say what the body says (2026-07-28 *Server Validation*).
    pub(super) fn check_mirrored(
        &self,
        method_name: &str,
        method: Option<Method>,
        params: &Params<'_>,
    ) -> Result<(), Refusal> {
        let mismatch = |reason: String| Err(Refusal::HeaderMismatch(reason));
        match self.method.only() {
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
        match self.name {
            Field::Absent => mismatch("the header Mcp-Name is missing".into()),
            Field::Repeated => mismatch("the header Mcp-Name is repeated".into()),
            Field::Once(value) => match decode_mirrored(value.as_bytes()) {
                Ok(name) if name == named.0 => Ok(()),
                Ok(_) => mismatch("the header Mcp-Name differs from the body".into()),
                Err(error) => mismatch(format!("the header Mcp-Name: {error}")),
            },
        }
    }

    /// All values of a header, which is called `name`.
    fn values(&self, field: Field<'a>, name: &'a HeaderName) -> impl Iterator<Item = &'a [u8]> {
        let (once, repeated) = match field {
            Field::Absent => (None, None),
            Field::Once(value) => (Some(value), None),
            Field::Repeated => (None, Some(self.request.headers().get_all(name))),
        };
        once.into_iter().chain(repeated.into_iter().flatten()).map(HeaderValue::as_bytes)
    }

    /// Whether the headers that mirror a tool's arguments say what the arguments say (2026-07-28 *Server Behavior for Custom
    /// Headers*).
    pub(super) fn check_params(&self, catalog: &Catalog, params: &Params<'_>) -> Result<(), Refusal> {
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
            let mut values = self.request.headers().get_all(&*annotation.header);
            let (value, repeated) = (values.next(), values.next().is_some());
            if repeated {
                return Err(Refusal::HeaderMismatch(format!("the header {} is repeated", annotation.header)));
            }
            check_param(value.map(|value| value.as_bytes()), annotation.value(&arguments)).map_err(
                |error| Refusal::HeaderMismatch(format!("the header {}: {error}", annotation.header)),
            )?;
        }
        Ok(())
    }
}

// === impl Field ===

impl<'a> Field<'a> {
    fn add(&mut self, value: &'a HeaderValue) {
        *self = if matches!(self, Self::Absent) { Self::Once(value) } else { Self::Repeated };
    }

    /// The only value; an error if it is repeated or no visible ASCII.
    fn only(self) -> Option<Result<&'a str, ()>> {
        match self {
            Self::Absent => None,
            Self::Once(value) => Some(value.to_str().map_err(|_| ())),
            Self::Repeated => Some(Err(())),
        }
    }
}
