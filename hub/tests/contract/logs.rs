//! Order, places, gaps, ends, bounds.

use bytes::Bytes;
use trunkline_hub::{Delivery, HubError, Position, Retention};

use super::{Fixture, end, entry, next, numbers, plenty, say, to_the_end, topic};

pub(super) async fn the_past_is_read_then_what_comes<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), plenty::<F>());
    let fence = Some(here.claim(&topic, keep).await.unwrap());
    for n in 1..=3 {
        say(&here, &topic, fence, keep, n).await.unwrap();
    }
    let mut follower = there.follow(&topic, Position::default()).await.unwrap();
    say(&here, &topic, fence, keep, 4).await.unwrap();
    assert_eq!(numbers(&mut follower, 4).await, [1, 2, 3, 4]);
    for n in 5..=7 {
        say(&here, &topic, fence, keep, n).await.unwrap();
        assert_eq!(numbers(&mut follower, 1).await, [n]);
    }
    end(&here, &topic, fence, keep, 8).await.unwrap();
    assert_eq!(numbers(&mut follower, 1).await, [8]);
    assert_eq!(next(&mut follower).await, None, "once each");
}

pub(super) async fn payloads_are_any_bytes<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), plenty::<F>());
    let every_byte: Vec<u8> = (0..=255).collect();
    let payloads = [Bytes::new(), Bytes::from(every_byte), Bytes::from("\r\n\0"), Bytes::new()];
    let mut positions = Vec::new();
    for (index, payload) in payloads.iter().enumerate() {
        let last = index + 1 == payloads.len();
        positions.push(here.append(&topic, None, keep, payload.clone(), last).await.unwrap());
    }
    let mut follower = there.follow(&topic, Position::default()).await.unwrap();
    for (index, (payload, position)) in payloads.iter().zip(positions).enumerate() {
        let entry = entry(&mut follower).await;
        assert_eq!((&entry.payload, entry.position), (payload, position));
        assert_eq!(entry.last, index + 1 == payloads.len());
    }
    assert_eq!(next(&mut follower).await, None);
}

pub(super) async fn reading_resumes_from_any_place<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), plenty::<F>());
    let mut places = vec![Position::default()];
    for n in 1..=10 {
        places.push(say(&here, &topic, None, keep, n).await.unwrap());
    }
    places.push(end(&there, &topic, None, keep, 11).await.unwrap());
    assert!(places.is_sorted_by(|a, b| a < b), "places are ordered as entries are: {places:?}");
    for (n, place) in places.iter().enumerate() {
        // As it comes back from a client.
        let place = place.to_string().parse().unwrap();
        let expected: Vec<_> = (n + 1..=11).map(Some).collect();
        assert_eq!(to_the_end(&here, &topic, place).await, expected, "after {n}");
        assert_eq!(to_the_end(&there, &topic, place).await, expected, "after {n}");
    }
}

pub(super) async fn followers_keep_their_own_places<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), plenty::<F>());
    let mut early = here.follow(&topic, Position::default()).await.unwrap();
    let dropped = here.follow(&topic, Position::default()).await.unwrap();
    say(&here, &topic, None, keep, 1).await.unwrap();
    let second = say(&here, &topic, None, keep, 2).await.unwrap();
    let mut late = there.follow(&topic, second).await.unwrap();
    assert_eq!(numbers(&mut early, 1).await, [1]);
    drop(dropped);
    end(&here, &topic, None, keep, 3).await.unwrap();
    assert_eq!(numbers(&mut late, 1).await, [3]);
    assert_eq!(next(&mut late).await, None);
    assert_eq!(numbers(&mut early, 2).await, [2, 3]);
    assert_eq!(next(&mut early).await, None);
}

pub(super) async fn a_log_to_come_is_waited_for<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let keep = plenty::<F>();
    // Made by its first entry, or by a claim.
    for claimed in [false, true] {
        let topic = topic(if claimed { "s/claimed" } else { "s/appended" });
        let follower = there.follow(&topic, Position::default()).await.unwrap();
        let reading = tokio::spawn(async move {
            let mut follower = follower;
            (numbers(&mut follower, 2).await, next(&mut follower).await)
        });
        fixture.pass(F::TICK).await;
        let fence = if claimed { Some(here.claim(&topic, keep).await.unwrap()) } else { None };
        fixture.pass(F::TICK).await;
        say(&here, &topic, fence, keep, 1).await.unwrap();
        end(&here, &topic, fence, keep, 2).await.unwrap();
        assert_eq!(reading.await.unwrap(), (vec![1, 2], None));
    }
    // A place in a log that does not exist is another matter.
    super::assert_gone(&there, &topic("s/never"), Position { major: 1, minor: 1 }).await;
}

pub(super) async fn position_is_the_newest_place<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), Retention { entries: 2, ..plenty::<F>() });
    assert_eq!(there.position(&topic).await.unwrap(), Position::default());
    let fence = Some(here.claim(&topic, keep).await.unwrap());
    assert_eq!(there.position(&topic).await.unwrap(), Position::default());
    for n in 1..=4 {
        let place = say(&here, &topic, fence, keep, n).await.unwrap();
        assert_eq!(there.position(&topic).await.unwrap(), place);
        assert_eq!(here.position(&topic).await.unwrap(), place);
    }
    let newest = there.position(&topic).await.unwrap();
    let mut follower = there.follow(&topic, newest).await.unwrap();
    let last = end(&here, &topic, fence, keep, 5).await.unwrap();
    assert_eq!(numbers(&mut follower, 1).await, [5], "only what is new");
    assert_eq!(next(&mut follower).await, None);
    assert_eq!(there.position(&topic).await.unwrap(), last);
}

pub(super) async fn what_was_trimmed_is_a_gap<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), Retention { entries: 3, ..plenty::<F>() });
    let mut places = vec![Position::default()];
    for n in 1..=9 {
        places.push(say(&here, &topic, None, keep, n).await.unwrap());
    }
    places.push(end(&here, &topic, None, keep, 10).await.unwrap());
    for (n, place) in places.into_iter().enumerate() {
        // 8, 9 and 10 are left; whoever has read 7 misses nothing.
        let expected: Vec<_> =
            if n < 7 { vec![None, Some(8), Some(9), Some(10)] } else { (n + 1..=10).map(Some).collect() };
        assert_eq!(to_the_end(&there, &topic, place).await, expected, "after {n}");
    }
}

pub(super) async fn a_slow_follower_meets_a_gap<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let (topic, keep) = (topic("s/1"), Retention { entries: 3, ..plenty::<F>() });
    let mut slow = there.follow(&topic, Position::default()).await.unwrap();
    for n in 1..=3 {
        say(&here, &topic, None, keep, n).await.unwrap();
    }
    assert_eq!(numbers(&mut slow, 2).await, [1, 2]);
    // Exactly what it has read is trimmed: no gap.
    for n in 4..=5 {
        say(&here, &topic, None, keep, n).await.unwrap();
    }
    assert_eq!(numbers(&mut slow, 1).await, [3]);
    for n in 6..=9 {
        say(&here, &topic, None, keep, n).await.unwrap();
    }
    fixture.pass(F::TICK).await;
    assert_eq!(next(&mut slow).await, Some(Delivery::Gap));
    assert_eq!(numbers(&mut slow, 2).await, [7, 8], "goes on after the gap");
    end(&here, &topic, None, keep, 10).await.unwrap();
    assert_eq!(numbers(&mut slow, 2).await, [9, 10]);
    assert_eq!(next(&mut slow).await, None);
}

pub(super) async fn the_retention_given_last_counts<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let keep = |entries| Retention { entries, ..plenty::<F>() };
    let topic = topic("s/1");
    for n in 1..=5 {
        say(&here, &topic, None, keep(5), n).await.unwrap();
    }
    say(&there, &topic, None, keep(3), 6).await.unwrap();
    say(&there, &topic, None, keep(5), 7).await.unwrap();
    let mut follower = here.follow(&topic, Position::default()).await.unwrap();
    assert_eq!(next(&mut follower).await, Some(Delivery::Gap));
    assert_eq!(numbers(&mut follower, 4).await, [4, 5, 6, 7]);
    end(&here, &topic, None, keep(0), 8).await.unwrap();
    assert_eq!(numbers(&mut follower, 1).await, [8]);
    assert_eq!(next(&mut follower).await, None);
    assert_eq!(to_the_end(&there, &topic, Position::default()).await, [None, Some(8)], "the newest stays");
}

pub(super) async fn nothing_follows_the_last_entry<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let keep = plenty::<F>();
    for claimed in [false, true] {
        let topic = topic(if claimed { "s/claimed" } else { "s/open" });
        let fence = if claimed { Some(here.claim(&topic, keep).await.unwrap()) } else { None };
        let first = say(&here, &topic, fence, keep, 1).await.unwrap();
        let mut waiting = there.follow(&topic, first).await.unwrap();
        let last = end(&here, &topic, fence, keep, 2).await.unwrap();
        for hub in [&here, &there] {
            assert!(matches!(say(hub, &topic, fence, keep, 3).await, Err(HubError::Ended)));
            assert!(matches!(end(hub, &topic, fence, keep, 3).await, Err(HubError::Ended)));
            assert_eq!(hub.position(&topic).await.unwrap(), last);
            assert_eq!(to_the_end(hub, &topic, Position::default()).await, [Some(1), Some(2)]);
            assert_eq!(to_the_end(hub, &topic, first).await, [Some(2)]);
            assert_eq!(to_the_end(hub, &topic, last).await, [], "ends at once");
        }
        let told = entry(&mut waiting).await;
        assert_eq!((told.position, told.last), (last, true));
        assert_eq!(next(&mut waiting).await, None);
    }
}

pub(super) async fn topics_do_not_mix<F: Fixture>(fixture: F) {
    let [here, there] = fixture.replicas().await;
    let keep = plenty::<F>();
    let long = "l".repeat(320);
    let names = [
        "a", "A", "a/", "a/b", "a/b/c", "a/b/*", "a/?", "a/[bc]", "{a}/b", "{a", "a}", "{}", "*", "!", "~",
        "%s", "a:b", "a-b", "a,b", "a;b", "a|b", "a\\b", "a\"b", "a'b", "$a", "(a)", "<a>", "a=b", "a@b",
        "a^b", "a`b", "a#b", "a+b", "a&b", "a_b", "a.b", "0", "0-0", &long,
    ];
    let mut followers = Vec::new();
    for name in names {
        followers.push(there.follow(&topic(name), Position::default()).await.unwrap());
    }
    let mut places = Vec::new();
    for (n, name) in names.iter().enumerate() {
        places.push(say(&here, &topic(name), None, keep, n).await.unwrap());
    }
    here.delete(&topic("a/b")).await.unwrap();
    for (n, name) in names.iter().enumerate() {
        let follower = &mut followers[n];
        if *name == "a/b" {
            continue;
        }
        assert_eq!(there.position(&topic(name)).await.unwrap(), places[n], "{name}");
        end(&here, &topic(name), None, keep, n + 1000).await.unwrap();
        assert_eq!(numbers(follower, 2).await, [n, n + 1000], "{name}");
        assert_eq!(next(follower).await, None, "{name}");
    }
}

pub(super) async fn what_is_too_large_changes_nothing<F: Fixture>(fixture: F) {
    let [here, _] = fixture.replicas().await;
    let (short, long, keep) = (topic("s/1"), topic(&"l".repeat(321)), plenty::<F>());
    let large = Bytes::from(vec![b'x'; F::ENTRY_BYTES + 1]);
    let refused = here.append(&short, None, keep, large.clone(), true).await;
    assert!(matches!(refused, Err(HubError::TooLarge { size, limit, .. }) if size == limit + 1));
    assert_eq!(here.position(&short).await.unwrap(), Position::default());
    let place = here.append(&short, None, keep, large.slice(1..), false).await.unwrap();
    assert!(here.append(&short, None, keep, large, true).await.is_err());
    assert_eq!(here.position(&short).await.unwrap(), place);
    end(&here, &short, None, keep, 1).await.unwrap();

    let too_large = |error| matches!(error, HubError::TooLarge { size: 321, limit: 320, .. });
    assert!(too_large(say(&here, &long, None, keep, 1).await.unwrap_err()));
    assert!(too_large(here.claim(&long, keep).await.unwrap_err()));
    assert!(here.follow(&long, Position::default()).await.is_err_and(too_large));
}
