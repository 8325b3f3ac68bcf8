//! Values of headers: nothing panics, and what is said in two ways says the same. Every check sees every input.

use std::{
    collections::HashSet,
    net::{IpAddr, Ipv4Addr},
};

use serde_json::Value;
use trunkline_protocol::header::{
    Acceptable, AllowedHost, HostPolicy, MAX_EVENT_ID, Media, OriginPolicy, annotations, check_param,
    decode_mirrored, encode_mirrored, last_event_id, mirror_param,
};

/// Checks one value as every header there is, and as a schema.
pub(crate) fn check(data: &[u8]) {
    check_mirrored(data);
    check_accept(data);
    check_origin(data);
    check_entry(data);
    if let Ok(id) = last_event_id(data) {
        assert!((1..=MAX_EVENT_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic()));
    }
    if let Some(media) = Media::of_content_type(data) {
        let text = String::from_utf8_lossy(data).to_ascii_lowercase();
        assert!(text.contains(media.as_str()), "{text:?} is not {media:?}");
    }
    if let Ok(value) = serde_json::from_slice::<Value>(data) {
        check_argument(&value);
        check_schema(&value);
    }
}

fn check_mirrored(data: &[u8]) {
    let decoded = decode_mirrored(data).ok();
    let literal = std::str::from_utf8(data).ok();
    for text in decoded.as_deref().into_iter().chain(literal) {
        let header = encode_mirrored(text);
        assert!(header.bytes().all(|byte| (0x20..=0x7e).contains(&byte)), "{header:?} is no header");
        assert_eq!(decode_mirrored(header.as_bytes()).as_deref(), Ok(text));
        assert_eq!(check_param(Some(header.as_bytes()), Some(&text.into())), Ok(()));
    }
    for argument in [Value::Null, true.into(), 42.into(), "x".into()] {
        let said = check_param(Some(data), Some(&argument)).is_ok();
        assert!(!said || !argument.is_null(), "null has no header");
    }
}

fn check_argument(value: &Value) {
    match mirror_param(Some(value)) {
        Ok(header) => {
            let header = header.map(|text| text.into_owned().into_bytes());
            assert_eq!(check_param(header.as_deref(), Some(value)), Ok(()), "{value}");
        }
        Err(_) => assert!(check_param(Some(b"x"), Some(value)).is_err()),
    }
}

fn check_accept(data: &[u8]) {
    let alone = Acceptable::of_accept([data]);
    let with = |other: &'static [u8]| Acceptable::of_accept([other, data]);
    assert!(with(b"application/json").json && with(b"text/event-stream").sse, "what is named is accepted");
    let padded = [&b" , "[..], data].concat();
    assert_eq!(Acceptable::of_accept([&padded[..]]), alone, "an empty member changes nothing");
}

fn check_origin(data: &[u8]) {
    let any_origin = OriginPolicy::parse(["*"]).expect("an entry");
    let any_host = HostPolicy::parse(["*"]).expect("an entry");
    let some = ["*.example.com", "localhost:8080", "[::1]:443", "a.example"];
    let origins = OriginPolicy::parse(some).expect("entries");
    let hosts = HostPolicy::parse(some).expect("entries");
    if OriginPolicy::default().allows([data]) || origins.allows([data]) {
        assert!(any_origin.allows([data]));
    }
    if HostPolicy::default().allows([data]) || hosts.allows([data]) {
        assert!(any_host.allows([data]));
    }
    let as_origin = [&b"http://"[..], data].concat();
    let (host, origin) = (any_host.allows([data]), any_origin.allows([&as_origin[..]]));
    let empty_port = data.ends_with(b":");
    assert!(host == origin || (empty_port && !origin), "one grammar for both, save for an empty port");
    check_default(data, &as_origin);
    assert!(!data.eq_ignore_ascii_case(b"null") || !any_origin.allows([data]));
}

/// What is served where nothing is configured. A second opinion on what an address is comes from the standard library.
fn check_default(host: &[u8], origin: &[u8]) {
    let own = HostPolicy::default().allows([host]);
    assert!(own || !OriginPolicy::default().allows([origin]), "{host:?} is loopback for pages only");
    let text = String::from_utf8_lossy(host).to_ascii_lowercase();
    let name = text.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix(':').unwrap_or(&text);
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let address = bare.parse::<IpAddr>();
    assert!(!own || name == "localhost" || address.as_ref().is_ok_and(IpAddr::is_loopback), "{text:?}");
    let on_all = HostPolicy::from_iter([AllowedHost::bound_to(Ipv4Addr::UNSPECIFIED.into())]);
    assert!(!on_all.allows([host]) || address.is_ok(), "{text:?} is no address");
    if let Ok(address) = address {
        let bound = HostPolicy::from_iter([AllowedHost::bound_to(address)]);
        assert!(!on_all.allows([host]) || bound.allows([host]), "{text:?} is not itself");
    }
}

/// The value as an entry of the lists: it fits itself, and nothing it is part of.
fn check_entry(data: &[u8]) {
    let Ok(entry) = std::str::from_utf8(data) else { return };
    let suffixed = [data, b".evil.example"].concat();
    let wild = entry.contains('*');
    if let Ok(policy) = HostPolicy::parse([entry]) {
        assert!(wild || policy.allows([data]), "{entry:?} as a host does not fit itself");
        assert!(entry == "*" || !policy.allows([&suffixed[..]]), "{entry:?} fits more than itself");
    }
    if let Ok(policy) = OriginPolicy::parse([entry])
        && entry.contains("://")
    {
        let origin = data.strip_suffix(b"/").unwrap_or(data);
        assert!(wild || policy.allows([origin]), "{entry:?} as an origin does not fit itself");
        assert!(!policy.allows([&suffixed[..]]), "{entry:?} fits more than itself");
    }
}

fn check_schema(schema: &Value) {
    let Ok(found) = annotations(schema) else { return };
    let mut names = HashSet::new();
    for annotation in found {
        assert!(names.insert(annotation.header.to_ascii_lowercase()), "{} is there twice", annotation.header);
        let property = annotation.path.iter().fold(schema, |node, name| &node["properties"][&**name]);
        let name = property["x-mcp-header"].as_str().expect("an annotated property");
        assert_eq!(*annotation.header, format!("Mcp-Param-{name}"));
        assert_eq!(annotation.value(&Value::Null), None);
    }
}
