//! Signals.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use trunkline_hub::{Channel, Hub, HubError, Listener, Signal};

use super::Fixture;

pub(super) async fn who_listens_hears_in_order<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let channel = channel("inbox");
    let mut listeners = Vec::new();
    for hub in [&here, &there, &there] {
        listeners.push(hub.listen(&channel).await.unwrap());
    }
    let every_byte: Vec<u8> = (0..=255).collect();
    for payload in [Bytes::from("1"), Bytes::new(), Bytes::from(every_byte.clone()), Bytes::from("4")] {
        here.signal(&channel, payload).await.unwrap();
    }
    for mut listener in listeners {
        assert_eq!(hear(&mut listener).await, Signal { channel: channel.clone(), payload: Bytes::from("1") });
        assert_eq!(hear(&mut listener).await.payload, "");
        assert_eq!(hear(&mut listener).await.payload, every_byte);
        assert_eq!(hear(&mut listener).await.payload, "4");
    }
}

pub(super) async fn who_does_not_listen_yet_misses<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let channel = channel("inbox");
    send(&here, &channel, "nobody hears").await;
    fixture.pass(F::TICK).await;
    let mut first = there.listen(&channel).await.unwrap();
    send(&here, &channel, "one hears").await;
    fixture.pass(F::TICK).await;
    let mut second = there.listen(&channel).await.unwrap();
    send(&here, &channel, "both hear").await;
    assert_eq!(hear(&mut first).await.payload, "one hears");
    assert_eq!(hear(&mut first).await.payload, "both hear");
    assert_eq!(hear(&mut second).await.payload, "both hear");

    drop(first);
    send(&here, &channel, "the other hears").await;
    assert_eq!(hear(&mut second).await.payload, "the other hears");
    drop(second);
    send(&here, &channel, "nobody hears").await;
    fixture.pass(F::TICK).await;
    let mut again = there.listen(&channel).await.unwrap();
    send(&here, &channel, "again").await;
    assert_eq!(hear(&mut again).await.payload, "again");
}

pub(super) async fn channels_do_not_mix<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let long = "l".repeat(128);
    let names =
        ["a", "A", "*", "a*", "?", "[a]", "{a}", "{a}:b", "a/b", "a:b", "!", "~", "a\\", "\"a\"", &long];
    let mut listeners = Vec::new();
    for name in names {
        listeners.push(there.listen(&channel(name)).await.unwrap());
    }
    for name in names {
        send(&here, &channel(name), name).await;
        send(&here, &channel(name), "the end").await;
    }
    for (name, mut listener) in names.into_iter().zip(listeners) {
        let channel = channel(name);
        let expected = Signal { channel: channel.clone(), payload: Bytes::copy_from_slice(name.as_bytes()) };
        assert_eq!(hear(&mut listener).await, expected);
        assert_eq!(hear(&mut listener).await, Signal { channel, payload: Bytes::from("the end") });
    }
}

pub(super) async fn a_slow_listener_holds_nobody_up<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (flooded, quiet) = (channel("flooded"), channel("quiet"));
    let mut slow = there.listen(&flooded).await.unwrap();
    let mut other = there.listen(&quiet).await.unwrap();
    for n in 0..F::BURST {
        send(&here, &flooded, &n.to_string()).await;
    }
    send(&here, &quiet, "still there").await;
    assert_eq!(hear(&mut other).await.payload, "still there");

    // Some of the burst is lost. What is not, comes in order; and once it was taken there is room again.
    let mut heard = Vec::new();
    let after = loop {
        send(&here, &flooded, "after").await;
        let payload = hear(&mut slow).await.payload;
        if payload == "after" {
            break heard.len();
        }
        heard.push(std::str::from_utf8(&payload).unwrap().parse::<usize>().unwrap());
    };
    assert!((1..F::BURST).contains(&after), "{after} of {} were kept", F::BURST);
    assert!(heard.is_sorted_by(|a, b| a < b));
}

pub(super) async fn a_channels_name_is_bounded<F: Fixture>(fixture: F) {
    let [here, _] = fixture.replicas().await;
    let long = channel(&"l".repeat(129));
    let too_large = |error| matches!(error, HubError::TooLarge { size: 129, limit: 128, .. });
    assert!(too_large(here.signal(&long, Bytes::new()).await.unwrap_err()));
    assert!(here.listen(&long).await.is_err_and(too_large));
}

fn channel(name: &str) -> Channel {
    Channel(name.into())
}

async fn send(hub: &Arc<dyn Hub>, channel: &Channel, text: &str) {
    hub.signal(channel, Bytes::copy_from_slice(text.as_bytes())).await.unwrap();
}

async fn hear(listener: &mut Listener) -> Signal {
    listener.next().await.expect("the hub is there")
}
