use proptest::prelude::*;

use super::*;

fn write(event: &Event<'_>) -> String {
    let mut out = Vec::new();
    write_event(&mut out, event);
    String::from_utf8(out).unwrap()
}

fn decode_in(decoder: &mut Decoder, stream: &[u8], sizes: &[usize]) -> Result<Vec<Received>, TooLarge> {
    let (mut events, mut rest, mut sizes) = (Vec::new(), stream, sizes.iter().cycle());
    while !rest.is_empty() {
        let size = sizes.next().map_or(rest.len(), |size| (*size).min(rest.len()));
        let (mut chunk, tail) = rest.split_at(size);
        rest = tail;
        while let Some(event) = decoder.decode(&mut chunk)? {
            events.push(event);
        }
        assert!(chunk.is_empty(), "a chunk is read to its end");
    }
    Ok(events)
}

fn decode(stream: &[u8]) -> Vec<Received> {
    decode_in(&mut Decoder::default(), stream, &[]).unwrap()
}

fn payloads(stream: &[u8]) -> Vec<String> {
    decode(stream).into_iter().map(|event| String::from_utf8(event.data).unwrap()).collect()
}

#[test]
fn an_event_is_written_field_by_field() {
    let event = Event {
        id: Some("7-0"),
        event: Some("endpoint"),
        retry: Some(Duration::from_millis(1500)),
        data: Some(b"{}"),
    };
    assert_eq!(write(&event), "id: 7-0\nevent: endpoint\nretry: 1500\ndata: {}\n\n");
    assert_eq!(write(&Event::message(b"{}")), "data: {}\n\n");
}

#[test]
fn a_priming_event_is_an_id_and_empty_data() {
    let written = write(&Event::priming("7-0", None));
    assert_eq!(written, "id: 7-0\ndata:\n\n");
    let events = decode(written.as_bytes());
    assert_eq!(events, [Received { id: Some("7-0".into()), ..Received::default() }]);
}

#[test]
fn data_with_line_ends_becomes_lines() {
    assert_eq!(write(&Event::message(b"a\nb\r\nc\rd\n")), "data: a\ndata: b\ndata: c\ndata: d\ndata:\n\n");
}

#[test]
fn an_id_or_type_that_would_forge_a_line_is_not_written() {
    for bad in ["a\nb", "a\rb", "a\0b"] {
        let event = Event { id: Some(bad), event: Some(bad), ..Event::message(b"x") };
        assert_eq!(write(&event), "data: x\n\n");
    }
}

#[test]
fn a_comment_is_no_event_whatever_it_holds() {
    let mut out = Vec::new();
    write_comment(&mut out, "keep\ndata: alive");
    assert_eq!(out, b": keep\n: data: alive\n\n");
    assert_eq!(decode(&out), []);
}

#[test]
fn the_three_line_ends_are_one_each() {
    for stream in ["data: a\n\ndata: b\n\n", "data: a\r\n\r\ndata: b\r\n\r\n", "data: a\r\rdata: b\r\r"] {
        assert_eq!(payloads(stream.as_bytes()), ["a", "b"], "{stream:?}");
    }
    assert_eq!(payloads(b"data: a\r\ndata: b\ndata: c\r\r"), ["a\nb\nc"]);
}

#[test]
fn an_event_ends_with_the_cr_of_its_empty_line() {
    // Waiting for an LF that may never come would hold the event back.
    assert_eq!(payloads(b"data: a\r\r"), ["a"]);
    let mut decoder = Decoder::default();
    let first = decode_in(&mut decoder, b"data: a\r\n\r", &[]).unwrap();
    let second = decode_in(&mut decoder, b"\ndata: b\r\n\r\n", &[]).unwrap();
    assert_eq!((first.len(), second.len()), (1, 1));
}

#[test]
fn one_byte_order_mark_is_skipped_at_the_beginning_only() {
    assert_eq!(payloads("\u{feff}data: a\n\n\u{feff}data: b\n\n".as_bytes()), ["a"]);
    let split = decode_in(&mut Decoder::default(), "\u{feff}data: a\n\n".as_bytes(), &[1]).unwrap();
    assert_eq!(split.len(), 1);
}

#[test]
fn fields_are_read_as_the_format_says() {
    let cases: [(&str, &[&str]); 7] = [
        ("data\n\n", &[""]),
        ("data:\n\n", &[""]),
        ("data:  two\n\n", &[" two"]),
        ("data:none\n\n", &["none"]),
        ("data: a:b\n\n", &["a:b"]),
        ("Data: a\n\n", &[]),
        (": data: a\nother: b\n\n", &[]),
    ];
    for (stream, expected) in cases {
        assert_eq!(payloads(stream.as_bytes()), expected, "{stream:?}");
    }
}

#[test]
fn the_last_id_stays_until_another_whole_block_names_one() {
    let mut decoder = Decoder::default();
    let mut step = |stream: &str| {
        decode_in(&mut decoder, stream.as_bytes(), &[]).unwrap();
        decoder.last_event_id().map(str::to_owned)
    };
    assert_eq!(step("data: a\n\n"), None);
    assert_eq!(step("id: 1\ndata: a\n\n").as_deref(), Some("1"));
    assert_eq!(step("data: b\n\n").as_deref(), Some("1"));
    assert_eq!(step("id: 2\n\n").as_deref(), Some("2"), "a block without data counts");
    assert_eq!(step("id: 3\0\ndata: c\n\n").as_deref(), Some("2"), "an id with NUL does not");
    assert_eq!(step("id: 4\ndata: d\n").as_deref(), Some("2"), "an event that is not whole does not");
    assert_eq!(step("\n").as_deref(), Some("4"));
    assert_eq!(step("id\n\n"), None, "an empty id forgets");
}

#[test]
fn retry_is_digits_only_and_is_kept() {
    let mut decoder = Decoder::default();
    decode_in(&mut decoder, b"retry: 500\n\nretry: -1\nretry: 5s\nretry:\nretry: +7\n\n", &[]).unwrap();
    decode_in(&mut decoder, b"retry: 99999999999999999999999\n\n", &[]).unwrap();
    assert_eq!(decoder.retry(), Some(Duration::from_millis(500)));
    let events = decode(b"retry: 500\ndata: a\n\ndata: b\n\n");
    assert_eq!(events[0].retry, Some(Duration::from_millis(500)));
    assert_eq!(events[1].retry, None);
}

#[test]
fn what_the_end_of_the_stream_cuts_short_is_no_event() {
    assert_eq!(decode(b"data: a\n"), []);
    assert_eq!(decode(b"data: a"), []);
}

#[test]
fn a_line_has_its_bound_wherever_it_is_cut() {
    let bounds = Bounds { line: 10, event: 100 };
    let limit = Err(TooLarge::Line { limit: 10 });
    for sizes in [&[][..], &[1], &[3]] {
        let run =
            |stream: &[u8]| decode_in(&mut Decoder::new(bounds), stream, sizes).map(|events| events.len());
        assert_eq!(run(b"data: 4567\n\n"), Ok(1));
        assert_eq!(run(b"data: 45678\n\n"), limit);
        assert_eq!(run(b": a comment that goes on and on"), limit, "before its end is seen");
    }
}

#[test]
fn an_event_has_its_bound_and_nothing_is_read_after_it() {
    let mut decoder = Decoder::new(Bounds { line: 100, event: 5 });
    let mut stream = &b"data: 12\ndata: 34\n\ndata: 12\ndata: 345\n\ndata: x\n\n"[..];
    assert_eq!(decoder.decode(&mut stream).unwrap().unwrap().data, b"12\n34");
    assert_eq!(decoder.decode(&mut stream), Err(TooLarge::Event { limit: 5 }));
    assert_eq!(decoder.decode(&mut &b"data: x\n\n"[..]), Err(TooLarge::Event { limit: 5 }));
}

// === any sequence, cut anywhere ===

#[derive(Clone, Debug)]
enum Item {
    Comment(String),
    Event { id: Option<String>, event: Option<String>, retry: Option<u32>, data: Option<Vec<u8>> },
}

fn item() -> impl Strategy<Value = Item> {
    let name = "[a-z0-9 :\\-é\n\r\0]{0,6}";
    let data = prop::collection::vec(
        prop_oneof![Just(b'\n'), Just(b'\r'), Just(b' '), Just(b':'), any::<u8>()],
        0..20,
    );
    let fields = (
        proptest::option::of(name),
        proptest::option::of(name),
        proptest::option::of(any::<u32>()),
        proptest::option::of(data),
    );
    prop_oneof![
        1 => ".{0,8}".prop_map(Item::Comment),
        4 => fields.prop_map(|(id, event, retry, data)| Item::Event { id, event, retry, data }),
    ]
}

fn writable(name: Option<&String>) -> Option<&str> {
    name.map(String::as_str).filter(|name| !name.contains(['\n', '\r', '\0']))
}

/// What a reader must see of `item`, told without the encoder or the decoder.
fn seen(item: &Item) -> Option<Received> {
    let Item::Event { id, event, retry, data: Some(data) } = item else { return None };
    let mut joined = Vec::new();
    let mut bytes = data.iter().peekable();
    while let Some(byte) = bytes.next() {
        if *byte == b'\r' && bytes.peek() == Some(&&b'\n') {
            continue;
        }
        joined.push(if *byte == b'\r' { b'\n' } else { *byte });
    }
    Some(Received {
        id: writable(id.as_ref()).map(Into::into),
        event: writable(event.as_ref()).filter(|name| !name.is_empty()).map(Into::into),
        retry: retry.map(|retry| Duration::from_millis(retry.into())),
        data: joined,
    })
}

fn write_item(out: &mut Vec<u8>, item: &Item) {
    match item {
        Item::Comment(text) => write_comment(out, text),
        Item::Event { id, event, retry, data } => write_event(
            out,
            &Event {
                id: id.as_deref(),
                event: event.as_deref(),
                retry: retry.map(|retry| Duration::from_millis(retry.into())),
                data: data.as_deref(),
            },
        ),
    }
}

proptest! {
    #[test]
    fn what_was_written_is_read_however_it_is_cut(
        items in prop::collection::vec(item(), 0..8),
        end in prop_oneof![Just("\n"), Just("\r"), Just("\r\n")],
        sizes in prop::collection::vec(1_usize..12, 1..6),
    ) {
        let mut written = Vec::new();
        for item in &items {
            write_item(&mut written, item);
        }
        let mut stream = Vec::new();
        for byte in written {
            if byte == b'\n' { stream.extend_from_slice(end.as_bytes()) } else { stream.push(byte) }
        }
        let expected: Vec<Received> = items.iter().filter_map(seen).collect();
        let mut decoder = Decoder::default();
        prop_assert_eq!(&decode_in(&mut decoder, &stream, &sizes).unwrap(), &expected);
        let last = items.iter().rev().find_map(|item| match item {
            Item::Event { id, .. } => writable(id.as_ref()),
            Item::Comment(_) => None,
        });
        prop_assert_eq!(decoder.last_event_id(), last.filter(|id| !id.is_empty()));
    }
}
