//! The JSON-RPC envelope: nothing panics, and what was read says the same when it is written and read again.

use std::collections::BTreeMap;

use serde_json::{json, value::RawValue};
use trunkline_protocol::{
    RequestId,
    error::code,
    jsonrpc::{Body, Bounds, Malformed, Message, parse, write_error, write_json, write_result},
    params::{Params, Text},
};

/// Requests whose parameters may be read with the envelope, and then are no longer there as they came.
const READ_AT_ONCE: [&str; 4] = ["tools/call", "tools/list", "resources/read", "prompts/get"];

/// Checks one body, within the usual bounds and within narrow ones.
pub(crate) fn check(data: &[u8]) {
    check_within(data, Bounds::default());
    check_within(data, Bounds { depth: 3, batch: 2 });
    check_taken(data);
}

/// The parameters of a request are those that stand in it, whichever way they were read.
fn check_taken(data: &[u8]) {
    let Ok(Body::Single(Message::Request(mut request))) = parse(data, Bounds::default()) else { return };
    let Ok(members) = serde_json::from_slice::<BTreeMap<String, &RawValue>>(data) else { return };
    let raw = members.get("params").copied().filter(|raw| raw.get() != "null");
    assert!(
        request.params.is_none_or(|params| Some(params.get()) == raw.map(RawValue::get)),
        "two parameters"
    );
    let (taken, expected) = (request.take_params(), Params::read(raw).map(Box::new));
    assert_eq!(taken.is_ok(), expected.is_ok(), "{taken:?} {expected:?}");
    if let (Ok(taken), Ok(expected)) = (taken, expected) {
        assert_eq!(format!("{taken:?}"), format!("{expected:?}"));
    }
}

fn check_within(data: &[u8], bounds: Bounds) {
    let parsed = parse(data, bounds);
    assert!(parsed.is_err() || std::str::from_utf8(data).is_ok(), "JSON is UTF-8 everywhere");
    match parsed {
        Ok(Body::Single(message)) => check_message(&message),
        Ok(Body::Batch(members)) => {
            assert!(!members.is_empty() && members.len() <= bounds.batch, "a batch within its bounds");
            for member in members {
                match member {
                    Ok(message) => check_message(&message),
                    Err(malformed) => check_malformed(&malformed),
                }
            }
        }
        Err(malformed) => {
            check_malformed(&malformed);
            // Read without a bound on its depth, the code says whether the body is JSON.
            if let Err(unbound) = parse(data, Bounds { depth: data.len(), ..bounds }) {
                let is_json = serde_json::from_slice::<&RawValue>(data).is_ok();
                assert_eq!(unbound.error.code == code::PARSE, !is_json, "{unbound:?}");
            }
        }
    }
}

fn check_malformed(malformed: &Malformed) {
    assert!(matches!(malformed.error.code, code::PARSE | code::INVALID_REQUEST), "{malformed:?}");
    let mut out = Vec::new();
    write_error(&mut out, malformed.id.as_ref(), &malformed.error);
    check_same(&out, |again| match again {
        Message::Response(response) => {
            assert_eq!(response.id, malformed.id);
            let error = response.outcome.as_ref().expect_err("an error");
            assert_eq!((error.code, &error.message), (malformed.error.code, &malformed.error.message));
        }
        other => panic!("an error was read as {other:?}"),
    });
}

fn check_message(message: &Message<'_>) {
    let mut out = Vec::new();
    match message {
        Message::Request(request) => {
            check_params(request.params);
            write_call(&mut out, Some(&request.id), &request.method, request.params);
            check_same(&out, |again| match again {
                Message::Request(again) => {
                    assert_eq!((&again.id, &again.method), (&request.id, &request.method));
                    check_written(&again.method, again.params, request.params);
                }
                other => panic!("a request was read as {other:?}"),
            });
        }
        Message::Notification(note) => {
            check_params(note.params);
            write_call(&mut out, None, &note.method, note.params);
            check_same(&out, |again| match again {
                Message::Notification(again) => {
                    assert_eq!(again.method, note.method);
                    check_written(&again.method, again.params, note.params);
                }
                other => panic!("a notification was read as {other:?}"),
            });
        }
        Message::Response(response) => {
            match (&response.id, &response.outcome) {
                (Some(id), Ok(result)) => {
                    write_result(&mut out, id, |out| out.extend_from_slice(result.get().as_bytes()));
                }
                (None, Ok(_)) => panic!("a result without an id"),
                (id, Err(error)) => write_error(&mut out, id.as_ref(), error),
            }
            check_same(&out, |again| match again {
                Message::Response(again) => {
                    assert_eq!(again.id, response.id);
                    match (&again.outcome, &response.outcome) {
                        (Ok(again), Ok(result)) => assert_eq!(again.get(), result.get()),
                        (Err(again), Err(error)) => {
                            assert_eq!((again.code, &again.message), (error.code, &error.message));
                            let data = |error: &Option<Box<RawValue>>| {
                                error.as_deref().map(|raw| raw.get().to_owned())
                            };
                            assert_eq!(data(&again.data), data(&error.data));
                        }
                        both => panic!("the outcome changed: {both:?}"),
                    }
                }
                other => panic!("a response was read as {other:?}"),
            });
        }
    }
}

/// Reads what we wrote; with us it has no bounds but those it came with.
fn check_same(out: &[u8], compare: impl FnOnce(&Message<'_>)) {
    match parse(out, Bounds { depth: 70, batch: 1 }) {
        Ok(Body::Single(message)) => compare(&message),
        other => panic!("{} was read as {other:?}", String::from_utf8_lossy(out)),
    }
}

fn check_written(method: &str, again: Option<&RawValue>, params: Option<&RawValue>) {
    let expected =
        if READ_AT_ONCE.contains(&method) { again.map(RawValue::get) } else { Some(or_empty(params)) };
    assert_eq!(again.map(RawValue::get), expected);
}

/// Calls are written by the revisions, for the methods they know; this writes any.
fn write_call(out: &mut Vec<u8>, id: Option<&RequestId>, method: &str, params: Option<&RawValue>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
    if let Some(id) = id {
        out.extend_from_slice(b"\"id\":");
        write_json(out, id);
        out.push(b',');
    }
    out.extend_from_slice(b"\"method\":");
    write_json(out, method);
    out.extend_from_slice(b",\"params\":");
    out.extend_from_slice(or_empty(params).as_bytes());
    out.push(b'}');
}

fn or_empty(params: Option<&RawValue>) -> &str {
    params.map_or("{}", RawValue::get)
}

fn check_params(raw: Option<&RawValue>) {
    let Ok(params) = Params::read(raw) else { return };
    let text = |text: &Option<Text<'_>>| text.as_ref().map(|text| text.0.clone().into_owned());
    let meta = params.meta.as_ref();
    let again = json!({
        "name": text(&params.name),
        "uri": text(&params.uri),
        "taskId": text(&params.task_id),
        "requestState": text(&params.request_state),
        "cursor": text(&params.cursor),
        "_meta": meta.map(|meta| json!({
            "progressToken": meta.progress_token,
            "io.modelcontextprotocol/protocolVersion": text(&meta.protocol_version),
            "io.modelcontextprotocol/logLevel": text(&meta.log_level),
            "traceparent": text(&meta.traceparent),
            "tracestate": text(&meta.tracestate),
        })),
    });
    let again = RawValue::from_string(again.to_string()).expect("JSON");
    let again = Params::read(Some(&again)).expect("what was read can be read");
    assert_eq!(again.name, params.name);
    assert_eq!(again.uri, params.uri);
    assert_eq!(again.task_id, params.task_id);
    assert_eq!(again.request_state, params.request_state);
    assert_eq!(again.cursor, params.cursor);
    let read = |meta: &trunkline_protocol::params::Meta<'_>| {
        (
            meta.progress_token.clone(),
            text(&meta.protocol_version),
            text(&meta.log_level),
            text(&meta.traceparent),
        )
    };
    assert_eq!(again.meta.as_ref().map(read), meta.map(read));
}
