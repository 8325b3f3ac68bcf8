//! What goes over the wire: requests in the words of a revision, and whatever a server says.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline_protocol::{
    RequestId, Revision, RpcError,
    jsonrpc::{self, Body, Message, Response, write_json},
    model::{ClientCapabilities, Implementation, LogLevel, OrderedMap, keys},
    revision::Era,
};

use crate::error::Error;

/// Nested deeper, an answer is no data but an attack on whoever reads it. Two times what a server of ours accepts.
const BOUNDS: jsonrpc::Bounds = jsonrpc::Bounds { depth: 128, batch: 50 };

/// A revision, and what each request of this client says in it.
#[derive(Debug)]
pub(crate) struct Dialect {
    pub(crate) revision: Revision,
    /// What the client can do, in this revision's words.
    pub(crate) capabilities: ClientCapabilities,
    /// Who the client is, in this revision's words.
    pub(crate) implementation: Implementation,
    /// The members that every `_meta` has, without braces: none on the older revisions.
    meta: Vec<u8>,
}

/// The variable parts of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) id: i64,
    pub(crate) method: &'a str,
    /// A JSON object, or empty.
    pub(crate) params: &'a [u8],
    /// Further members of the parameters, without braces.
    pub(crate) extra: &'a [u8],
    /// Whether to ask for progress, whose token is the id.
    pub(crate) progress: bool,
    /// The least severe log message wanted, where requests say it.
    pub(crate) log: Option<LogLevel>,
}

/// Something that a server said.
#[derive(Debug)]
pub(crate) enum Said {
    /// The answer to a request.
    Answer(Option<RequestId>, Result<Bytes, RpcError>),
    /// A request of its own.
    Request { id: RequestId, method: Box<str>, params: Bytes },
    /// A notification.
    Notification { method: Box<str>, params: Bytes },
}

/// The answer to a request that went well, and nothing beside it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected<'a> {
    #[serde(rename = "jsonrpc")]
    _version: Version,
    id: i64,
    #[serde(borrow)]
    result: &'a RawValue,
}

#[derive(Deserialize)]
enum Version {
    #[serde(rename = "2.0")]
    Two,
}

/// An unfinished result, raw: what is sent back goes back byte for byte.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InputRequired<'a> {
    #[serde(borrow, default)]
    result_type: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) input_requests: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) request_state: Option<&'a RawValue>,
}

// === impl Dialect ===

impl Dialect {
    pub(crate) fn new(revision: Revision, who: &Implementation, can: &ClientCapabilities) -> Self {
        let capabilities = revision.known_capabilities(can);
        let implementation = revision.known_implementation(who);
        let mut meta = Vec::new();
        if revision.era() == Era::Modern {
            let mut members = OrderedMap::new();
            members.insert(keys::PROTOCOL_VERSION, raw(&revision.as_str()));
            members.insert(keys::CLIENT_INFO, raw(&implementation));
            members.insert(keys::CLIENT_CAPABILITIES, raw(&capabilities));
            write_json(&mut meta, &members);
            meta = meta[1..meta.len() - 1].to_vec();
        }
        Self { revision, capabilities, implementation, meta }
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.revision.era() == Era::Modern
    }

    /// Writes a request.
    ///
    /// # Errors
    /// [`Error::Refused`] if the method or the parameters cannot be sent.
    pub(crate) fn request(&self, parts: &Parts<'_>) -> Result<Bytes, Error> {
        let inner = inner(parts.params)?;
        check_method(parts.method)?;
        if memchr::memmem::find(inner, b"\"_meta\"").is_some() {
            return self.request_with_meta(parts);
        }
        Ok(self.assemble(parts, inner, b""))
    }

    /// The parameters seem to bring a `_meta` of their own: its members come after ours.
    fn request_with_meta(&self, parts: &Parts<'_>) -> Result<Bytes, Error> {
        let unreadable = |error| Error::Refused(format!("the parameters are not JSON: {error}"));
        let mut params: OrderedMap<&RawValue> = serde_json::from_slice(parts.params).map_err(unreadable)?;
        let theirs = match params.remove("_meta") {
            Some(meta) => serde_json::from_str(meta.get()).map_err(unreadable)?,
            None => OrderedMap::<&RawValue>::new(),
        };
        let ours = |key: &str| {
            let modern = [keys::PROTOCOL_VERSION, keys::CLIENT_INFO, keys::CLIENT_CAPABILITIES];
            (self.is_modern() && modern.contains(&key)) || (parts.progress && key == "progressToken")
        };
        let kept: OrderedMap<&RawValue> = theirs.into_iter().filter(|(key, _)| !ours(key)).collect();
        let (mut inner, mut meta) = (Vec::new(), Vec::new());
        write_json(&mut inner, &params);
        write_json(&mut meta, &kept);
        Ok(self.assemble(parts, &inner[1..inner.len() - 1], &meta[1..meta.len() - 1]))
    }

    /// One buffer of the right size.
    fn assemble(&self, parts: &Parts<'_>, inner: &[u8], meta: &[u8]) -> Bytes {
        let length =
            160 + parts.method.len() + inner.len() + parts.extra.len() + self.meta.len() + meta.len();
        let mut out = Vec::with_capacity(length);
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        write_integer(&mut out, parts.id);
        out.extend_from_slice(b",\"method\":\"");
        out.extend_from_slice(parts.method.as_bytes());
        out.push(b'"');
        let log = parts.log.filter(|_| self.is_modern());
        let has_meta = !self.meta.is_empty() || !meta.is_empty() || parts.progress;
        if has_meta || !inner.is_empty() || !parts.extra.is_empty() {
            out.extend_from_slice(b",\"params\":{");
            out.extend_from_slice(inner);
            join(&mut out, parts.extra);
            if has_meta {
                join(&mut out, b"\"_meta\":{");
                out.extend_from_slice(&self.meta);
                if parts.progress {
                    join(&mut out, b"\"progressToken\":");
                    write_integer(&mut out, parts.id);
                }
                if let Some(level) = log {
                    join(&mut out, b"\"");
                    out.extend_from_slice(keys::LOG_LEVEL.as_bytes());
                    out.extend_from_slice(b"\":\"");
                    out.extend_from_slice(level.as_str().as_bytes());
                    out.push(b'"');
                }
                join(&mut out, meta);
                out.push(b'}');
            }
            out.push(b'}');
        }
        out.push(b'}');
        Bytes::from(out)
    }
}

/// Writes a notification. `params` is a JSON object, or empty.
pub(crate) fn notification(method: &str, params: &[u8]) -> Result<Bytes, Error> {
    check_method(method)?;
    let mut out = Vec::with_capacity(64 + method.len() + params.len());
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":\"");
    out.extend_from_slice(method.as_bytes());
    out.push(b'"');
    if !params.is_empty() {
        out.extend_from_slice(b",\"params\":");
        out.extend_from_slice(params);
    }
    out.push(b'}');
    Ok(Bytes::from(out))
}

/// The notification that takes a request back (up to 2025-11-25, and on stdio).
pub(crate) fn cancelled(id: i64, reason: &str) -> Bytes {
    let mut params = format!("{{\"requestId\":{id},\"reason\":").into_bytes();
    write_json(&mut params, reason);
    params.push(b'}');
    notification("notifications/cancelled", &params).expect("invariant: the name is a method's")
}

/// Reads what a server said: one message, or a batch.
///
/// # Errors
/// [`Error::Malformed`] with what is wrong.
pub(crate) fn read(bytes: &Bytes, mut each: impl FnMut(Said)) -> Result<(), Error> {
    match jsonrpc::parse(bytes, BOUNDS) {
        Ok(Body::Single(message)) => each(said(bytes, message)),
        Ok(Body::Batch(members)) => {
            for member in members {
                match member {
                    Ok(message) => each(said(bytes, message)),
                    Err(malformed) => return Err(Error::malformed(malformed.error.message)),
                }
            }
        }
        Err(malformed) => return Err(Error::malformed(malformed.error.message)),
    }
    Ok(())
}

/// Reads the one answer that a JSON body holds.
///
/// # Errors
/// [`Error::Rpc`] if it is an error, [`Error::WrongAnswer`] if it answers another request, [`Error::Malformed`].
pub(crate) fn read_answer(bytes: &Bytes, asked: i64) -> Result<Bytes, Error> {
    // Nearly every answer is the expected one: it is read in one pass, and anything else again, with care.
    if let Ok(Expected { id, result, .. }) = serde_json::from_slice::<Expected<'_>>(bytes)
        && id == asked
    {
        return Ok(bytes.slice_ref(result.get().as_bytes()));
    }
    if let Ok(Body::Single(Message::Response(response))) = jsonrpc::parse(bytes, BOUNDS) {
        return settle(bytes, response, asked);
    }
    // A batch of answers is a batch's answer on 2025-03-26, and some of that time send it for a single request, too.
    let mut answer = None;
    read(bytes, |said| {
        if let Said::Answer(id, outcome) = said
            && (answer.is_none() || id == Some(RequestId::Number(asked)))
        {
            answer = Some((id, outcome));
        }
    })?;
    match answer {
        Some((id, outcome)) => settle_parts(id, outcome, asked),
        None => Err(Error::malformed("the answer to a request is a message, and no response")),
    }
}

fn settle(bytes: &Bytes, response: Response<'_>, asked: i64) -> Result<Bytes, Error> {
    let outcome = response.outcome.map(|raw| bytes.slice_ref(raw.get().as_bytes()));
    settle_parts(response.id, outcome, asked)
}

/// Whether an answer is the one to `asked`. An error without an id is: HTTP says which request it answers.
fn settle_parts(id: Option<RequestId>, outcome: Result<Bytes, RpcError>, asked: i64) -> Result<Bytes, Error> {
    match (id, outcome) {
        (Some(RequestId::Number(id)), outcome) if id == asked => outcome.map_err(Error::from),
        (None, Err(error)) => Err(error.into()),
        (id, _) => {
            let got = id.map_or_else(|| "none".to_owned(), |id| id.to_string());
            Err(Error::WrongAnswer { asked, got })
        }
    }
}

fn said(bytes: &Bytes, message: Message<'_>) -> Said {
    let cut =
        |raw: Option<&RawValue>| raw.map_or_else(Bytes::new, |raw| bytes.slice_ref(raw.get().as_bytes()));
    match message {
        Message::Request(request) => {
            Said::Request { id: request.id, method: (&*request.method).into(), params: cut(request.params) }
        }
        Message::Notification(notification) => {
            Said::Notification { method: (&*notification.method).into(), params: cut(notification.params) }
        }
        Message::Response(response) => {
            let outcome = response.outcome.map(|raw| bytes.slice_ref(raw.get().as_bytes()));
            Said::Answer(response.id, outcome)
        }
    }
}

/// What an unfinished result asks for; `None` if the result is finished, which one without a type is.
///
/// # Errors
/// [`Error::Malformed`] if it is unfinished and cannot be read.
pub(crate) fn input_required(result: &[u8]) -> Result<Option<InputRequired<'_>>, Error> {
    if memchr::memmem::find(result, b"input_required").is_none() {
        return Ok(None);
    }
    match serde_json::from_slice::<InputRequired<'_>>(result) {
        Ok(read) if read.result_type.as_deref() == Some("input_required") => Ok(Some(read)),
        Ok(_) => Ok(None),
        Err(error) => Err(Error::malformed(format!("an unfinished result cannot be read: {error}"))),
    }
}

/// The members of an object, without its braces.
fn inner(params: &[u8]) -> Result<&[u8], Error> {
    let params = params.trim_ascii();
    if params.is_empty() {
        return Ok(params);
    }
    params
        .strip_prefix(b"{")
        .and_then(|rest| rest.strip_suffix(b"}"))
        .map(<[u8]>::trim_ascii)
        .ok_or_else(|| Error::Refused("the parameters must be a JSON object".to_owned()))
}

fn check_method(method: &str) -> Result<(), Error> {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    if method.is_empty() || !method.bytes().all(plain) {
        return Err(Error::Refused(format!("{method:?} is no name of a method")));
    }
    Ok(())
}

/// Appends members, after a comma if there are some already.
fn join(out: &mut Vec<u8>, members: &[u8]) {
    if members.is_empty() {
        return;
    }
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.extend_from_slice(members);
}

fn write_integer(out: &mut Vec<u8>, value: i64) {
    write_json(out, &value);
}

fn raw<T: serde::Serialize>(value: &T) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("invariant: our types serialize")
}

#[cfg(test)]
mod tests;
