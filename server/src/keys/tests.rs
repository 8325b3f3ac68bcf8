use super::*;

const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn ring(keys: &[u8]) -> KeyRing {
    KeyRing::new(keys.iter().map(|byte| (format!("k{byte}"), [*byte; 32]))).unwrap()
}

/// Every text that differs from `text` in one character, is a prefix of it, or continues it.
fn changed(text: &str) -> Vec<String> {
    let mut all: Vec<String> = (0..text.len()).map(|end| text[..end].to_owned()).collect();
    for at in 0..text.len() {
        let others = ALPHABET.chars().filter(|c| !text[at..].starts_with(*c));
        all.extend(others.map(|c| format!("{}{c}{}", &text[..at], &text[at + 1..])));
    }
    all.extend(["A", "AA", "AAA", "AAAA", "=", "==", " ", "\n"].map(|more| format!("{text}{more}")));
    all.extend(["A", "AAAA", " "].map(|more| format!("{more}{text}")));
    all
}

#[test]
fn a_minted_session_id_is_short_url_safe_and_verified() {
    let ring = KeyRing::generate();
    let (one, other) = (ring.mint_session_id(), ring.mint_session_id());
    assert_ne!(one, other);
    for id in [one, other] {
        assert_eq!((id.len(), KeyRing::SESSION_ID_LEN), (38, 38));
        assert!(id.chars().all(|c| ALPHABET.contains(c)), "{id}");
        assert!(ring.verify_session_id(&id));
    }
}

#[test]
fn what_another_ring_made_is_not_verified() {
    let (ours, theirs) = (KeyRing::generate(), KeyRing::generate());
    assert!(!ours.verify_session_id(&theirs.mint_session_id()));
    let tag = theirs.sign(Purpose::Cursor, &[b"x"]);
    assert!(!ours.verify(Purpose::Cursor, &[b"x"], tag.as_str()));
    let sealed = theirs.seal(Purpose::RequestState, b"", b"x").unwrap();
    assert_eq!(ours.open(Purpose::RequestState, b"", &sealed), Err(OpenError::UnknownKey));
}

#[test]
fn a_rotation_keeps_what_was_handed_out_until_its_key_is_removed() {
    let stages = [ring(&[1]), ring(&[1, 2]), ring(&[2, 1]), ring(&[2])];
    // Which stages accept what each stage handed out: during a rollout, neighbours run side by side.
    let accepted = [
        [true, true, true, false],
        [true, true, true, false],
        [false, true, true, true],
        [false, true, true, true],
    ];
    for (maker, accepted) in stages.iter().zip(accepted) {
        let id = maker.mint_session_id();
        let tag = maker.sign(Purpose::EventId, &[b"7"]);
        let sealed = maker.seal(Purpose::RequestState, b"me", b"state").unwrap();
        for (reader, accepted) in stages.iter().zip(accepted) {
            assert_eq!(reader.verify_session_id(&id), accepted, "{maker:?} {reader:?}");
            assert_eq!(
                reader.verify(Purpose::EventId, &[b"7"], tag.as_str()),
                accepted,
                "{maker:?} {reader:?}"
            );
            let expected = if accepted { Ok(b"state".to_vec()) } else { Err(OpenError::UnknownKey) };
            assert_eq!(reader.open(Purpose::RequestState, b"me", &sealed), expected, "{maker:?} {reader:?}");
        }
    }
}

#[test]
fn a_session_id_has_one_spelling_and_no_other_text_is_one() {
    let ring = ring(&[1, 2]);
    let id = ring.mint_session_id();
    for changed in changed(&id) {
        assert!(!ring.verify_session_id(&changed), "{changed:?} {id}");
    }
    for text in ["", "é", "\0", &"A".repeat(38), &"é".repeat(19), &"=".repeat(38), &"A".repeat(100_000)] {
        assert!(!ring.verify_session_id(text), "{text:.40}");
    }
}

#[test]
fn a_tag_has_one_spelling_and_no_other_text_is_one() {
    let ring = ring(&[1, 2]);
    let tag = ring.sign(Purpose::TaskId, &[b"task", b"me"]);
    assert_eq!(tag.as_str().len(), Tag::LEN);
    for changed in changed(tag.as_str()) {
        assert!(!ring.verify(Purpose::TaskId, &[b"task", b"me"], &changed), "{changed:?} {tag}");
    }
    for text in ["", &"é".repeat(8), &"=".repeat(16), &"A".repeat(16), &"A".repeat(100_000)] {
        assert!(!ring.verify(Purpose::TaskId, &[b"task", b"me"], text), "{text:.40}");
    }
}

#[test]
fn a_sealed_text_has_one_spelling_and_no_other_text_opens() {
    let ring = ring(&[1, 2]);
    // Lengths whose last character holds 0, 2 and 4 spare bits.
    for plaintext in [&b"abc"[..], b"abcd", b"abcde", b""] {
        let sealed = ring.seal(Purpose::RequestState, b"me", plaintext).unwrap();
        assert!(sealed.chars().all(|c| ALPHABET.contains(c)), "{sealed}");
        assert_eq!(ring.open(Purpose::RequestState, b"me", &sealed).unwrap(), plaintext);
        for changed in changed(&sealed) {
            assert!(ring.open(Purpose::RequestState, b"me", &changed).is_err(), "{changed:?} {sealed}");
        }
    }
}

#[test]
fn sealing_twice_gives_two_texts_that_show_nothing() {
    let ring = ring(&[1]);
    let seal = || ring.seal(Purpose::RequestState, b"binding", &[b'x'; 64]).unwrap();
    let (one, other) = (seal(), seal());
    let (one, other) = (BASE64.decode(one).unwrap(), BASE64.decode(other).unwrap());
    assert_eq!(one[..HEAD], other[..HEAD]);
    assert!(
        one[HEAD..].iter().zip(&other[HEAD..]).filter(|(a, b)| a == b).count() < 32,
        "the nonce is not random"
    );
    assert!(!one.windows(4).any(|part| part == b"xxxx" || part == b"bind"));
}

#[test]
fn a_text_is_good_for_its_purpose_only() {
    let ring = ring(&[1]);
    for made in Purpose::ALL {
        let tag = ring.sign(made, &[b"x"]);
        let sealed = ring.seal(made, b"me", b"x").unwrap();
        for used in Purpose::ALL {
            assert_eq!(ring.verify(used, &[b"x"], tag.as_str()), made == used, "{made:?} {used:?}");
            assert_eq!(ring.open(used, b"me", &sealed).is_ok(), made == used, "{made:?} {used:?}");
        }
    }
}

/// A session id carries the tag of its random part: a tag made over chosen parts for another purpose must not become one.
#[test]
fn no_tag_of_another_purpose_makes_a_session_id() {
    let ring = ring(&[1]);
    let random = [5; SESSION_RANDOM];
    for purpose in Purpose::ALL {
        let tag = BASE64.decode(ring.sign(purpose, &[&random]).as_str()).unwrap();
        let id = BASE64.encode([&random[..], &tag].concat());
        assert_eq!(ring.verify_session_id(&id), purpose == Purpose::SessionId, "{purpose:?}");
    }
}

#[test]
fn every_purpose_has_keys_of_its_own_and_its_place() {
    for (at, purpose) in Purpose::ALL.into_iter().enumerate() {
        assert_eq!(purpose.index(), at);
        let same = Purpose::ALL.into_iter().filter(|other| other.label() == purpose.label()).count();
        assert_eq!(same, 1, "{purpose:?}");
        assert_ne!(derive(&[1; 32], "sign", purpose.label()), derive(&[1; 32], "seal", purpose.label()));
    }
}

#[test]
fn a_text_is_bound_to_what_it_was_made_for() {
    let ring = ring(&[1]);
    let sealed = ring.seal(Purpose::RequestState, b"alice", b"x").unwrap();
    assert_eq!(ring.open(Purpose::RequestState, b"bob", &sealed), Err(OpenError::Mismatch));
    assert_eq!(ring.open(Purpose::RequestState, b"", &sealed), Err(OpenError::Mismatch));
    let tag = ring.sign(Purpose::Cursor, &[b"alice", b"1"]);
    for other in [
        &[&b"alice"[..], b"2"][..],
        &[b"alice1"],
        &[b"alice", b"1", b""],
        &[b"alic", b"e1"],
        &[b"1", b"alice"],
        &[],
    ] {
        assert!(!ring.verify(Purpose::Cursor, other, tag.as_str()), "{other:?}");
    }
}

#[test]
fn what_is_sealed_and_opened_is_bounded() {
    let ring = ring(&[1]);
    let most = vec![b'x'; KeyRing::MAX_PLAINTEXT];
    let sealed = ring.seal(Purpose::RequestState, b"", &most).unwrap();
    assert_eq!(ring.open(Purpose::RequestState, b"", &sealed).unwrap(), most);
    let more = vec![b'x'; KeyRing::MAX_PLAINTEXT + 1];
    assert_eq!(ring.seal(Purpose::RequestState, b"", &more), Err(TooLong { size: more.len() }));
    // Refused by its length alone: a text within it that is no better gets another answer.
    let invalid = "!".repeat(sealed.len() + 1);
    assert_eq!(ring.open(Purpose::RequestState, b"", &invalid), Err(OpenError::TooLong));
    assert_eq!(ring.open(Purpose::RequestState, b"", &invalid[1..]), Err(OpenError::Malformed));
}

#[test]
fn an_unknown_format_is_told_apart_from_a_broken_seal() {
    let ring = ring(&[1]);
    let mut bytes = BASE64.decode(ring.seal(Purpose::RequestState, b"", b"x").unwrap()).unwrap();
    let open = |bytes: &[u8]| ring.open(Purpose::RequestState, b"", &BASE64.encode(bytes));
    *bytes.last_mut().unwrap() ^= 1;
    assert_eq!(open(&bytes), Err(OpenError::Mismatch));
    bytes[1] ^= 1;
    assert_eq!(open(&bytes), Err(OpenError::UnknownKey));
    bytes[0] = FORMAT + 1;
    assert_eq!(open(&bytes), Err(OpenError::Malformed));
}

/// Two versions run side by side in an update, and both have to read what either made.
#[test]
fn what_earlier_versions_handed_out_is_still_read() {
    let ring = ring(&[7]);
    assert_eq!(ring.sign(Purpose::Cursor, &[b"page", b"2"]).as_str(), "w_9lIzGlySER2bIH");
    assert!(ring.verify_session_id("AAECAwQFBgcICQoLDA0OD-kEBQAgkFFJUQOvQQ"));
    let sealed = "AaeXeFVmzg_-SE22IVrvoqz_6F5t9SZgbBLeFPzIrV-h-nCCkjmyB32dkztaRMU6NbA";
    assert_eq!(ring.open(Purpose::RequestState, b"me", sealed).unwrap(), b"state");
}

#[test]
fn keys_that_make_no_ring_are_refused() {
    let key = |name: &str, byte: u8| (name.to_owned(), [byte; 32]);
    let refusal = |keys: Vec<(String, [u8; 32])>| KeyRing::new(keys).unwrap_err();
    assert_eq!(refusal(vec![]), RingError::Empty);
    assert_eq!(refusal(vec![key("a", 1), key("b", 2), key("a", 3)]), RingError::SameName("a".to_owned()));
    assert_eq!(refusal(vec![key("a", 1), key("b", 1)]), RingError::SameKey("a".to_owned(), "b".to_owned()));
    let many = |n: usize| (0..n).map(|i| key(&i.to_string(), u8::try_from(i).unwrap())).collect::<Vec<_>>();
    assert_eq!(refusal(many(KeyRing::MAX_KEYS + 1)), RingError::TooMany);
    assert!(KeyRing::new(many(KeyRing::MAX_KEYS)).is_ok());
}

#[test]
fn debug_output_shows_names_and_no_key() {
    let ring = KeyRing::new([("k2".to_owned(), [0xab; 32]), ("k1".to_owned(), [0xcd; 32])]).unwrap();
    assert_eq!(format!("{ring:?}"), r#"KeyRing(["k2", "k1"])"#);
    assert_eq!(ring.names().collect::<Vec<_>>(), ["k2", "k1"]);
    assert_eq!(format!("{:?}", ring.sign(Purpose::Cursor, &[])), "Tag(…)");
}
