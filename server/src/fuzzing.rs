//! What a client hands back, under attack: a narrow door for the fuzz targets to what is private here. Not an interface.
//!
//! Each function takes a fuzzer's bytes and panics on a finding. The bytes choose what is issued, and what comes back: an
//! issued text with changes, parts of several joined, or any text at all. Only the exact text that was issued may be taken,
//! only where it was issued for, and for what was issued.
//!
//! Keys are a digest of the input: an input is always the same case, and holds nothing that was issued in it, although fuzzers
//! learn what was compared in earlier ones.
//!
//! Not covered: who holds a key can issue what it wants; a text can be replayed; what lapses by the clock.

use std::{fmt, time::Duration};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use trunkline_hub::Position;
use trunkline_protocol::{Method, model::InputRequest};

use crate::{
    keys::{KeyRing, Purpose},
    principal::Principal,
    registry::{Call, List, Rounds, read_cursor, write_cursor},
    transport::http::event_id::{EventIds, Resume},
};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// What the bytes choose, one after another. After their end every choice is 0.
struct Choices<'a>(&'a [u8]);

/// The rings of one endpoint in the middle of a rotation, and a stranger's.
struct Rings {
    /// Before the rotation.
    old: KeyRing,
    /// After it: signs with another key, and still verifies what the old one signed.
    new: KeyRing,
    /// Of another endpoint.
    foreign: KeyRing,
}

/// A call by value.
struct OwnCall {
    principal: Principal,
    method: Method,
    target: String,
    arguments: Option<Box<RawValue>>,
}

/// The members of an object as they are spelled, those of one name too.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

/// Session ids.
pub fn session_id(data: &[u8]) {
    let (choices, rings) = (&mut Choices(data), Rings::of(data));
    let random = choices.array();
    let issued = [rings.old.session_id_of(random), rings.new.session_id_of(random)];
    let mut around = vec![rings.foreign.session_id_of(random)];
    // What tags for other purposes over the same bytes would make.
    let others =
        [Purpose::RequestState, Purpose::Cursor, Purpose::EventId, Purpose::TaskId, Purpose::QuestionId];
    around.extend(others.map(|purpose| {
        let tag = BASE64.decode(rings.new.sign(purpose, &[&random]).as_str());
        BASE64.encode([&random[..], &tag.expect("invariant: a tag is base64")].concat())
    }));
    assert!(!around.iter().any(|other| rings.new.verify_session_id(other)), "an id that was never minted");
    around.extend_from_slice(&issued);
    let text = choices.returned(&around);
    assert_eq!(rings.new.verify_session_id(&text), issued.contains(&text), "{text:?}");
    assert!(!rings.foreign.verify_session_id(&text) || text == around[0], "{text:?}");
}

/// Cursors of lists.
pub fn cursor(data: &[u8]) {
    const LISTS: [List; 4] = [List::Tools, List::Resources, List::Templates, List::Prompts];
    let (choices, rings) = (&mut Choices(data), Rings::of(data));
    let pages = [choices.below(4), usize::from_be_bytes(choices.array())];
    let issue = |ring| {
        let written = move |list, page| (list, page, write_cursor(ring, list, page));
        LISTS.into_iter().flat_map(move |list| pages.map(|page| written(list, page)))
    };
    let issued: Vec<(List, usize, String)> = issue(&rings.old).chain(issue(&rings.new)).collect();
    let around: Vec<String> =
        issued.iter().cloned().chain(issue(&rings.foreign)).map(|(_, _, text)| text).collect();
    let text = choices.returned(&around);
    let takers = LISTS.into_iter().filter(|list| read_cursor(&rings.new, *list, &text).is_some());
    assert!(takers.count() <= 1, "{text:?} is good for several lists");
    for list in LISTS {
        let expected = issued.iter().find(|(for_list, _, issued)| *for_list == list && *issued == text);
        let page = read_cursor(&rings.new, list, &text);
        assert_eq!(page, expected.map(|(_, page, _)| *page), "{text:?} for {list:?}");
    }
}

/// Ids of events. The tag vouches for session and stream; the place in a stream is the client's to choose.
pub fn event_id(data: &[u8]) {
    let (choices, rings) = (&mut Choices(data), Rings::of(data));
    let sessions = [choices.name(), choices.name()];
    let streams = [choices.name(), choices.name()];
    let place =
        Position { major: u64::from_be_bytes(choices.array()), minor: u64::from_be_bytes(choices.array()) };
    let ids = |ring: &KeyRing, session: &str| {
        let calls = streams.each_ref().map(|stream| EventIds::of_call(ring, session, stream));
        calls.into_iter().chain([EventIds::of_listener(ring, session)]).collect::<Vec<_>>()
    };
    let mut around = Vec::new();
    for ring in [&rings.old, &rings.new, &rings.foreign] {
        around.extend(sessions.iter().flat_map(|session| ids(ring, session)).map(|ids| ids.at(place)));
    }
    let text = choices.returned(&around);
    for session in &sessions {
        let resume = Resume::read(&rings.new, session, &text);
        let after = match &resume {
            Some(Resume::Call { stream, after }) => {
                assert!(
                    streams.iter().any(|known| **known == **stream),
                    "{text:?} names the stream {stream:?}"
                );
                *after
            }
            Some(Resume::Listen { after }) => *after,
            None => place,
        };
        let issued = ids(&rings.old, session).into_iter().chain(ids(&rings.new, session));
        let known = issued.into_iter().any(|ids| ids.at(after) == text);
        assert_eq!(resume.is_some(), known, "{text:?} in the session {session:?}: {resume:?}");
    }
}

/// The state of a call that asked.
pub fn request_state(data: &[u8]) {
    const LIFETIME: Duration = Duration::from_secs(3600);
    let (choices, rings) = (&mut Choices(data), Rings::of(data));
    let calls = [OwnCall::chosen(choices), OwnCall::chosen(choices)];
    let (key, step, answer) = (choices.text(), choices.json(), choices.json());
    let issue = |ring, call: &OwnCall| {
        // Only what another round brought is an answer, so this is the state after two of them.
        let answers = answer.as_deref().map(|answer| {
            let name = serde_json::to_string(&key).expect("invariant: a text is JSON");
            let answers = format!("{{{name}:{}}}", answer.get());
            RawValue::from_string(answers).expect("invariant: made of JSON")
        });
        let rounds = Rounds::resume(ring, &call.as_call(), None, answers.as_deref(), LIFETIME);
        let rounds = rounds.expect("answers are an object");
        if let Some(step) = &step {
            rounds.keep_step(&key, step.clone());
        }
        rounds.note(&format!("{key} and more"), &InputRequest::Roots);
        let asked = rounds.finish(ring).expect("the state is below its bound").expect("a question was noted");
        asked.request_state.expect("a round that asked has a state")
    };
    let issued = [issue(&rings.old, &calls[0]), issue(&rings.new, &calls[0]), issue(&rings.new, &calls[1])];
    let mut around = issued.to_vec();
    around.push(issue(&rings.foreign, &calls[0]));
    let text = choices.returned(&around);
    for call in &calls {
        let resumed = Rounds::resume(&rings.new, &call.as_call(), Some(&text), None, LIFETIME);
        let at = issued.iter().position(|issued| *issued == text);
        let known = at.is_some_and(|at| calls[at / 2].is_same(call));
        assert_eq!(resumed.is_ok(), known, "{text:?}");
        let Ok(resumed) = resumed else { continue };
        let said = |value: &Option<Box<RawValue>>| value.as_deref().map(|value| value.get().to_owned());
        assert_eq!(said(&resumed.step(&key)), said(&step));
        assert_eq!(said(&resumed.answer(&key)), said(&answer));
    }
}

// === impl Choices ===

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    /// Below `bound`, which is not 0; of one byte, or of two where one is too few.
    fn below(&mut self, bound: usize) -> usize {
        let wide = usize::from(self.byte());
        let wide = if bound > 256 { wide << 8 | usize::from(self.byte()) } else { wide };
        wide % bound
    }

    fn bytes(&mut self) -> &[u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn text(&mut self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    /// A JSON value; `None` where the bytes are none.
    fn json(&mut self) -> Option<Box<RawValue>> {
        RawValue::from_string(self.text()).ok()
    }

    /// What names sessions and streams are made of.
    fn name(&mut self) -> String {
        self.bytes().iter().map(|byte| char::from(ALPHABET[usize::from(byte % 64)])).collect()
    }

    /// What a client sends where it should send one of `issued`. Takes all bytes that are left.
    fn returned(&mut self, issued: &[String]) -> String {
        let choice = usize::from(self.byte());
        let Some(text) = issued.get(choice) else {
            return String::from_utf8_lossy(self.0).into_owned();
        };
        let mut text = text.clone().into_bytes();
        while !self.0.is_empty() {
            self.change(&mut text, issued);
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    fn change(&mut self, text: &mut Vec<u8>, issued: &[String]) {
        let (change, at) = (self.byte(), self.below(text.len() + 1));
        match (change % 8, text.get_mut(at)) {
            // Another character of the alphabet, so many further: by a bit that decoders may pass over.
            (0, Some(byte)) => {
                let further = usize::from(self.byte());
                let place = ALPHABET.iter().position(|known| known == byte).unwrap_or(0);
                *byte = ALPHABET[(place + further) % 64];
            }
            (1, Some(byte)) => *byte = self.byte(),
            (2, Some(byte)) => *byte ^= 0x20,
            (3, Some(_)) => drop(text.remove(at)),
            (4, _) => text.insert(at, self.byte()),
            (5, _) => text.truncate(at),
            // Goes on as another issued text does.
            (6, _) => {
                let other = &issued[self.below(issued.len())].as_bytes();
                let from = self.below(other.len() + 1);
                text.truncate(at);
                text.extend_from_slice(&other[from..]);
            }
            // Without its first part.
            (7, _) => drop(text.drain(..at)),
            // There is nothing to change behind the end.
            _ => {}
        }
    }
}

// === impl Rings ===

impl Rings {
    fn of(data: &[u8]) -> Self {
        let ring = |keys: &[u8]| {
            let secret = |key: u8| Sha256::new().chain_update([key]).chain_update(data).finalize().into();
            let keys = keys.iter().map(|key| (key.to_string(), secret(*key)));
            KeyRing::new(keys).expect("invariant: the keys differ")
        };
        Self { old: ring(&[1]), new: ring(&[2, 1]), foreign: ring(&[3]) }
    }
}

// === impl OwnCall ===

impl OwnCall {
    fn chosen(choices: &mut Choices<'_>) -> Self {
        const METHODS: [Method; 3] = [Method::ToolsCall, Method::PromptsGet, Method::ResourcesRead];
        Self {
            principal: Principal::named(&choices.text()),
            method: METHODS[choices.below(METHODS.len())],
            target: choices.text(),
            arguments: choices.json(),
        }
    }

    fn as_call(&self) -> Call<'_> {
        Call {
            principal: &self.principal,
            method: self.method,
            target: &self.target,
            arguments: self.arguments.as_deref().map(|arguments| arguments.get().as_bytes()),
        }
    }

    /// Whether a client may mean the same call by both: the members of objects have no order, and nothing else may differ.
    fn is_same(&self, other: &Self) -> bool {
        let arguments = |call: &Self| call.arguments.as_deref().map_or_else(|| "{}".to_owned(), plain);
        self.principal == other.principal
            && self.method == other.method
            && self.target == other.target
            && arguments(self) == arguments(other)
    }
}

/// A value with its members in order and without blanks; all else as it is spelled. Slow, and written to be seen through.
fn plain(value: &RawValue) -> String {
    let text = value.get();
    if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) {
        let items: Vec<String> = items.into_iter().map(plain).collect();
        return format!("[{}]", items.join(","));
    }
    if let Ok(Members(mut members)) = serde_json::from_str(text) {
        members.sort_by_key(|(name, _)| name.get());
        let members: Vec<String> =
            members.into_iter().map(|(name, value)| format!("{}:{}", name.get(), plain(value))).collect();
        return format!("{{{}}}", members.join(","));
    }
    text.to_owned()
}

// === impl Members ===

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self(Vec::new()))
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Members<'a> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some(member) = map.next_entry()? {
            self.0.push(member);
        }
        Ok(self)
    }
}
