//! The JSON-RPC envelope: one pass over the body, parameters and results left as the raw JSON they came as.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

use crate::{
    error::RpcError,
    ids::RequestId,
    params::{Params, Text},
};

/// What one HTTP body or one line holds.
#[derive(Debug)]
pub enum Body<'a> {
    /// One message.
    Single(Message<'a>),
    /// A batch, in its order; each member is a message or says why it is none. 2025-03-26 only, never empty.
    Batch(Vec<Result<Message<'a>, Malformed>>),
}

/// One JSON-RPC message.
#[derive(Debug)]
pub enum Message<'a> {
    /// Expects an answer.
    Request(Request<'a>),
    /// Expects none.
    Notification(Notification<'a>),
    /// Answers a request of ours.
    Response(Response<'a>),
}

/// A request.
#[derive(Debug)]
pub struct Request<'a> {
    /// Echoed in the answer.
    pub id: RequestId,
    /// The method's name, known or not.
    pub method: Cow<'a, str>,
    /// An object, if anything. Not parsed yet; absent where [`Request::params`] has been read already.
    pub params: Option<&'a RawValue>,
    /// The parameters of a method that is called often, read in the same pass as the envelope. Boxed: they are large, and a
    /// request is moved around.
    read: Option<Box<Params<'a>>>,
}

/// A notification.
#[derive(Debug)]
pub struct Notification<'a> {
    /// The method's name, known or not.
    pub method: Cow<'a, str>,
    /// An object, if anything. Not parsed yet; absent where the method is one that is read at once and no notification.
    pub params: Option<&'a RawValue>,
}

/// An answer of the peer.
#[derive(Debug)]
pub struct Response<'a> {
    /// The request it answers; absent where the peer could not read it.
    pub id: Option<RequestId>,
    /// What the peer says.
    pub outcome: Result<&'a RawValue, RpcError>,
}

/// Why a body is not a message, with the id to answer where one could be read.
#[derive(Debug)]
pub struct Malformed {
    /// The request's id, if it had a readable one.
    pub id: Option<RequestId>,
    /// What to answer.
    pub error: RpcError,
}

/// Bounds on what is parsed at all.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The most arrays and objects inside one another.
    pub depth: usize,
    /// The most messages in a batch.
    pub batch: usize,
}

// === impl Bounds ===

impl Default for Bounds {
    /// 64 levels: hand-written schemas and documents stay far below, and no parser's stack is near its end.
    /// 50 messages: an SDK's batch is a few; each may hold a call in flight.
    fn default() -> Self {
        Self { depth: 64, batch: 50 }
    }
}

// === impl Malformed ===

impl Malformed {
    fn new(id: Option<RequestId>, error: RpcError) -> Self {
        Self { id, error }
    }
}

/// Reads a body.
///
/// # Errors
/// [`Malformed`] with -32700 if the body is not JSON, and -32600 if it is JSON but no message, an empty batch, or
/// past one of the `bounds`.
pub fn parse(body: &[u8], bounds: Bounds) -> Result<Body<'_>, Malformed> {
    if too_deep(body, bounds.depth) {
        let reason = format!("the JSON is nested deeper than {} levels", bounds.depth);
        return Err(Malformed::new(None, RpcError::invalid_request(reason)));
    }
    // Once for the whole body: every string in it is then read without being looked at again.
    let text = std::str::from_utf8(body).map_err(|error| Malformed::new(None, RpcError::parse(error)))?;
    if body.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'[') {
        return parse_batch(text, bounds.batch);
    }
    parse_message(text).map(Body::Single)
}

/// Whether brackets nest deeper than `limit`. Brackets inside strings do not count.
fn too_deep(body: &[u8], limit: usize) -> bool {
    // Counting is cheap and nearly always enough: no more opening brackets than `limit`, no deeper nesting.
    if opening(body) <= limit {
        return false;
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// How many opening brackets there are. Eight bits count faster than a word does, as many as they hold at a time.
fn opening(body: &[u8]) -> usize {
    let is_opening = |byte: &u8| u8::from(*byte | 0x20 == b'{');
    let counts = body.chunks(usize::from(u8::MAX)).map(|chunk| chunk.iter().map(is_opening).sum::<u8>());
    counts.map(usize::from).sum()
}

fn parse_batch(body: &str, most: usize) -> Result<Body<'_>, Malformed> {
    let members: Vec<&RawValue> =
        serde_json::from_str(body).map_err(|error| Malformed::new(None, RpcError::parse(error)))?;
    if members.is_empty() {
        return Err(Malformed::new(None, RpcError::invalid_request("the batch is empty")));
    }
    if members.len() > most {
        let reason = format!("the batch holds {} messages; at most {most} are accepted", members.len());
        return Err(Malformed::new(None, RpcError::invalid_request(reason)));
    }
    Ok(Body::Batch(members.into_iter().map(|member| parse_message(member.get())).collect()))
}

fn parse_message(json: &str) -> Result<Message<'_>, Malformed> {
    let mut envelope = Envelope::default();
    if read_envelope(json, true, &mut envelope).is_err() {
        // Parameters that do not fit are the method's to complain of, not the envelope's.
        envelope = Envelope::default();
        read_envelope(json, false, &mut envelope).map_err(|error| explain(json, &error))?;
    }
    envelope.into_message()
}

/// Reads into `envelope`, which is larger than what is to be moved from hand to hand.
fn read_envelope<'a>(
    json: &'a str,
    with_params: bool,
    envelope: &mut Envelope<'a>,
) -> serde_json::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    deserializer.deserialize_map(EnvelopeVisitor { with_params, envelope })?;
    deserializer.end()
}

/// Whether a request of this method needs no more of its parameters than [`Params`] has.
fn is_read_at_once(method: &str) -> bool {
    matches!(method, "tools/call" | "tools/list" | "resources/read" | "prompts/get")
}

/// The slow path of a message that could not be read: syntax or shape, and which id to answer.
fn explain(json: &str, error: &serde_json::Error) -> Malformed {
    #[derive(Deserialize)]
    struct IdOnly<'a> {
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
    }
    // Raw, since what is ignored is not checked to be UTF-8.
    if let Err(syntax) = serde_json::from_str::<&RawValue>(json) {
        return Malformed::new(None, RpcError::parse(syntax));
    }
    let id = serde_json::from_str::<IdOnly<'_>>(json)
        .ok()
        .and_then(|found| found.id)
        .and_then(|raw| serde_json::from_str(raw.get()).ok());
    Malformed::new(id, RpcError::invalid_request(format!("not a JSON-RPC message: {error}")))
}

/// The members of an envelope as they came. `Some(None)` is a member that is present and null.
#[derive(Default)]
struct Envelope<'a> {
    /// Whether it is the one that is spoken.
    version: Option<bool>,
    id: Option<Option<RequestId>>,
    method: Option<Cow<'a, str>>,
    params: Option<Option<&'a RawValue>>,
    read: Option<Box<Params<'a>>>,
    result: Option<&'a RawValue>,
    error: Option<RpcError>,
}

// === impl Envelope ===

impl<'a> Envelope<'a> {
    fn into_message(self) -> Result<Message<'a>, Malformed> {
        let refuse = |id, reason: &str| Err(Malformed::new(id, RpcError::invalid_request(reason)));
        if self.version != Some(true) {
            return refuse(self.id.flatten(), "`jsonrpc` must be \"2.0\"");
        }
        let params = self.params.flatten();
        if let Some(params) = params
            && !params.get().starts_with('{')
        {
            return refuse(self.id.flatten(), "`params` must be an object");
        }
        match (self.method, self.id, self.result, self.error) {
            (Some(method), Some(Some(id)), None, None) => {
                Ok(Message::Request(Request { id, method, params, read: self.read }))
            }
            (Some(method), None, None, None) => Ok(Message::Notification(Notification { method, params })),
            (Some(_), Some(None), None, None) => refuse(None, "the id of a request must not be null"),
            (None, Some(Some(id)), Some(result), None) => {
                Ok(Message::Response(Response { id: Some(id), outcome: Ok(result) }))
            }
            (None, id, None, Some(error)) => {
                Ok(Message::Response(Response { id: id.flatten(), outcome: Err(error) }))
            }
            (_, id, _, _) => {
                refuse(id.flatten(), "a message has a `method`, or an `id` and either `result` or `error`")
            }
        }
    }
}

struct EnvelopeVisitor<'a, 'e> {
    /// Reads the parameters, too, where the method's name came before them.
    with_params: bool,
    envelope: &'e mut Envelope<'a>,
}

/// Sets a member once: a repeated key lets two readers of one body see two messages.
fn once<T, E: de::Error>(slot: &mut Option<T>, value: T, key: &'static str) -> Result<(), E> {
    if slot.replace(value).is_some() { Err(E::duplicate_field(key)) } else { Ok(()) }
}

impl<'de> de::Visitor<'de> for EnvelopeVisitor<'de, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message object")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { with_params, envelope } = self;
        while let Some(Text(key)) = map.next_key::<Text<'de>>()? {
            match &*key {
                "jsonrpc" => {
                    once(&mut envelope.version, map.next_value::<Text<'de>>()?.0 == "2.0", "jsonrpc")?;
                }
                "id" => once(&mut envelope.id, map.next_value()?, "id")?,
                "method" => once(&mut envelope.method, map.next_value::<Text<'de>>()?.0, "method")?,
                "params" if envelope.params.is_some() => return Err(de::Error::duplicate_field("params")),
                "params" if with_params && envelope.method.as_deref().is_some_and(is_read_at_once) => {
                    once(&mut envelope.read, map.next_value::<Object<'de>>()?.0, "params")?;
                }
                "params" => envelope.params = Some(map.next_value()?),
                "result" => once(&mut envelope.result, map.next_value()?, "result")?,
                "error" => once(&mut envelope.error, map.next_value()?, "error")?,
                // Raw, since what is ignored is not checked to be UTF-8, and a body that is not is no JSON.
                _ => drop(map.next_value::<&'de RawValue>()?),
            }
        }
        Ok(())
    }
}

/// Parameters that are an object: a derived reader would take an array for one.
struct Object<'a>(Box<Params<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> de::Visitor<'de> for ObjectVisitor {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Object<'de>, A::Error> {
        Params::deserialize(de::value::MapAccessDeserializer::new(map)).map(Box::new).map(Object)
    }
}

// === impl Request ===

impl<'a> Request<'a> {
    /// The parameters that decide where the request goes. To be called once.
    ///
    /// # Errors
    /// A message for the caller that names the member which does not fit.
    pub fn take_params(&mut self) -> Result<Box<Params<'a>>, String> {
        self.read.take().map_or_else(|| Params::read(self.params).map(Box::new), Ok)
    }
}

// === writing ===

/// Writes a result response; `result` appends the result itself.
pub fn write_result(out: &mut Vec<u8>, id: &RequestId, result: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    write_id(out, Some(id));
    out.extend_from_slice(b",\"result\":");
    result(out);
    out.push(b'}');
}

/// Writes an error response. Without an id, `id` is null: the request's could not be read.
pub fn write_error(out: &mut Vec<u8>, id: Option<&RequestId>, error: &RpcError) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    write_id(out, id);
    out.extend_from_slice(b",\"error\":");
    write_json(out, error);
    out.push(b'}');
}

fn write_id(out: &mut Vec<u8>, id: Option<&RequestId>) {
    match id {
        Some(id) => write_json(out, id),
        None => out.extend_from_slice(b"null"),
    }
}

/// Appends `value` as JSON.
///
/// # Panics
/// If the value's `Serialize` fails, which the types of this crate never do.
pub fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("invariant: our types serialize into memory");
}

#[cfg(test)]
mod tests;
