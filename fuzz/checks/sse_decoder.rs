//! Event streams: what is read does not depend on how the stream was cut, and can be written and read again.

use trunkline_protocol::sse::{Bounds, Decoder, Event, Received, TooLarge, write_event};

/// Everything a reader learns from a stream.
#[derive(Debug, PartialEq)]
struct Reading {
    events: Vec<Received>,
    end: Result<(), TooLarge>,
    last_event_id: Option<String>,
    retry: Option<std::time::Duration>,
}

/// Checks one stream, within the usual bounds and within narrow ones.
pub(crate) fn check(data: &[u8]) {
    let whole = read(data, Bounds::default(), &[usize::MAX]);
    assert_eq!(whole.end, Ok(()), "an input below the bounds");
    for bounds in [Bounds::default(), Bounds { line: 12, event: 9 }] {
        let whole = read(data, bounds, &[usize::MAX]);
        assert!(
            whole.events.iter().all(|event| event.data.len() <= bounds.event),
            "an event within its bound"
        );
        for sizes in [&[1][..], &[2], &[3, 1, 5], &[7, 64]] {
            assert_eq!(read(data, bounds, sizes), whole, "cut into {sizes:?}");
        }
    }
    check_again(&whole.events);
}

fn read(mut data: &[u8], bounds: Bounds, sizes: &[usize]) -> Reading {
    let (mut decoder, mut events, mut end) = (Decoder::new(bounds), Vec::new(), Ok(()));
    for size in sizes.iter().cycle() {
        if data.is_empty() || end.is_err() {
            break;
        }
        let (mut chunk, rest) = data.split_at(data.len().min(*size));
        data = rest;
        end = loop {
            match decoder.decode(&mut chunk) {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        assert!(chunk.is_empty() || end.is_err(), "a chunk is read to its end");
    }
    let last_event_id = decoder.last_event_id().map(str::to_owned);
    Reading { events, end, last_event_id, retry: decoder.retry() }
}

fn check_again(events: &[Received]) {
    let mut out = Vec::new();
    for event in events {
        let id = event.id.as_deref();
        let name = event.event.as_deref();
        write_event(&mut out, &Event { id, event: name, retry: event.retry, data: Some(&event.data) });
    }
    // The format reads a type with NUL, which we do not write.
    let writable = |event: &Received| Received {
        event: event.event.clone().filter(|name| !name.contains('\0')),
        ..event.clone()
    };
    let expected: Vec<Received> = events.iter().map(writable).collect();
    assert_eq!(read(&out, Bounds::default(), &[usize::MAX]).events, expected);
}
