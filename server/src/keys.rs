//! The secrets that let one replica trust what another handed out: session ids, cursors, event ids, task ids (signed), and
//! state that a client carries for us (sealed).
//!
//! All of it comes back from clients, who may change, mix, shorten or invent it. A text is taken only in the one spelling that
//! we write, and only for the purpose it was written for. What a text is bound to (principal, session, arguments) is the
//! caller's to name, in `binding`; what it says of time is the caller's to check. A text can be replayed: single use needs
//! the store.
//!
//! Keys rotate without a pause: give all replicas `[old, new]`, then `[new, old]`, then, once nothing signed by the old one
//! matters, `[new]`.

use std::fmt;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use chacha20poly1305::{
    AeadInPlace, KeyInit, XChaCha20Poly1305,
    aead::{Aead, Payload},
};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// What a text is for. Each purpose has keys of its own, so that none is taken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// Session ids; see [`KeyRing::mint_session_id`].
    SessionId,
    /// The state that resumes a call after its questions were answered (2026-07-28, multi round-trip requests).
    RequestState,
    /// Cursors of lists.
    Cursor,
    /// Event ids of streams.
    EventId,
    /// Ids of tasks.
    TaskId,
    /// Ids of questions to clients.
    QuestionId,
}

/// The keys of one endpoint, the same on every replica. The first signs and seals, all verify and open.
pub(crate) struct KeyRing {
    /// Never empty.
    keys: Box<[RingKey]>,
}

/// A tag that vouches for a message: 16 url-safe characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag([u8; Tag::LEN]);

/// Why keys make no ring.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// There are none.
    #[error("a key ring needs at least one key")]
    Empty,
    /// There are more than [`KeyRing::MAX_KEYS`].
    #[error("a key ring holds at most {} keys", KeyRing::MAX_KEYS)]
    TooMany,
    /// Two have one name.
    #[error("two keys are named {0:?}")]
    SameName(String),
    /// Two are the same key.
    #[error("the keys {0:?} and {1:?} are the same")]
    SameKey(String, String),
}

/// A plaintext is longer than [`KeyRing::MAX_PLAINTEXT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{size} bytes are too many to seal; the limit is {}", KeyRing::MAX_PLAINTEXT)]
pub(crate) struct TooLong {
    /// Its length in bytes.
    pub(crate) size: usize,
}

/// Why a text was not opened. Clients are told one thing for all of them; the difference is for counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OpenError {
    /// Longer than anything we seal.
    #[error("the sealed text is too long")]
    TooLong,
    /// Not the shape of a sealed text, or not its only spelling.
    #[error("the text is not one that was sealed here")]
    Malformed,
    /// Sealed by a key that this ring does not have: removed, another endpoint's, or made up.
    #[error("no key of the ring sealed the text")]
    UnknownKey,
    /// Changed, or sealed for another purpose or binding.
    #[error("the sealed text does not fit its key, purpose and binding")]
    Mismatch,
}

/// One key and what is derived from it, once.
struct RingKey {
    name: String,
    /// Tells a sealed text's key apart without trying all. Not a secret, and not unique by force: 32 bits may collide.
    id: [u8; KEY_ID],
    /// By [`Purpose::index`].
    derived: [Derived; Purpose::ALL.len()],
}

struct Derived {
    mac: Hmac<Sha256>,
    cipher: XChaCha20Poly1305,
}

/// The first byte of a sealed text, so that a later format is told apart.
const FORMAT: u8 = 1;
const KEY_ID: usize = 4;
const NONCE: usize = 24;
/// What Poly1305 adds.
const SEAL: usize = 16;
const HEAD: usize = 1 + KEY_ID;

/// The random part of a session id: 128 bits, which nobody guesses or meets by chance.
const SESSION_RANDOM: usize = 16;
/// Truncated to 96 bits: forging one takes 2^95 requests on average, each of which costs its sender a round trip.
const TAG: usize = 12;
const SESSION_BYTES: usize = SESSION_RANDOM + TAG;

// === impl Purpose ===

impl Purpose {
    const ALL: [Self; 6] =
        [Self::SessionId, Self::RequestState, Self::Cursor, Self::EventId, Self::TaskId, Self::QuestionId];

    /// The label from which keys are derived. Part of the format: changing one invalidates what clients hold.
    fn label(self) -> &'static str {
        match self {
            Self::SessionId => "session-id",
            Self::RequestState => "request-state",
            Self::Cursor => "cursor",
            Self::EventId => "event-id",
            Self::TaskId => "task-id",
            Self::QuestionId => "question-id",
        }
    }

    /// The place in [`Purpose::ALL`].
    fn index(self) -> usize {
        self as usize
    }
}

// === impl KeyRing ===

impl KeyRing {
    /// The most keys: a rotation needs two or three, and every forged id costs one HMAC per key.
    pub(crate) const MAX_KEYS: usize = 16;
    /// The longest plaintext that is sealed, in bytes. The client sends the text back in a body, beside its arguments, and
    /// some gateways refuse a body over 1 MiB.
    pub(crate) const MAX_PLAINTEXT: usize = 256 * 1024;
    /// The length of a session id in characters.
    pub(crate) const SESSION_ID_LEN: usize = encoded_len(SESSION_BYTES);
    /// The longest sealed text, in characters.
    const MAX_SEALED: usize = encoded_len(HEAD + NONCE + Self::MAX_PLAINTEXT + SEAL);

    /// A ring of named keys of 32 random bytes each; the first signs and seals.
    ///
    /// # Errors
    /// [`RingError`] if there is none, there are too many, or two have one name or are the same.
    pub(crate) fn new(keys: impl IntoIterator<Item = (String, [u8; 32])>) -> Result<Self, RingError> {
        let given: Vec<(String, [u8; 32])> = keys.into_iter().collect();
        if given.is_empty() {
            return Err(RingError::Empty);
        }
        if given.len() > Self::MAX_KEYS {
            return Err(RingError::TooMany);
        }
        for (at, (name, bytes)) in given.iter().enumerate() {
            for (earlier, other) in &given[..at] {
                if earlier == name {
                    return Err(RingError::SameName(name.clone()));
                }
                if other == bytes {
                    return Err(RingError::SameKey(earlier.clone(), name.clone()));
                }
            }
        }
        Ok(Self { keys: given.into_iter().map(|(name, bytes)| RingKey::new(name, &bytes)).collect() })
    }

    /// A ring of one random key, for a process that shares nothing with others: what it hands out ends with it.
    #[must_use]
    pub(crate) fn generate() -> Self {
        Self { keys: Box::new([RingKey::new("generated".to_owned(), &rand::random())]) }
    }

    /// The names of the keys, the signing one first.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.name.as_str())
    }

    /// A new session id: 128 random bits and a tag, [`KeyRing::SESSION_ID_LEN`] url-safe characters.
    #[must_use]
    pub(crate) fn mint_session_id(&self) -> String {
        self.session_id_of(rand::random())
    }

    /// The session id with this random part.
    pub(crate) fn session_id_of(&self, random: [u8; SESSION_RANDOM]) -> String {
        let mut id = [0; SESSION_BYTES];
        id[..SESSION_RANDOM].copy_from_slice(&random);
        id[SESSION_RANDOM..].copy_from_slice(&self.signer().tag(Purpose::SessionId, &[&random]));
        BASE64.encode(id)
    }

    /// Whether some replica with a key of this ring minted the id. Whether its session lives is the store's to say.
    ///
    /// Costs one HMAC per key: look a live session up first, and ask here before asking the store.
    #[must_use]
    pub(crate) fn verify_session_id(&self, id: &str) -> bool {
        // The decoder asks for room in whole groups of three.
        let mut room = [0; SESSION_BYTES.next_multiple_of(3)];
        if id.len() != Self::SESSION_ID_LEN || BASE64.decode_slice(id, &mut room) != Ok(SESSION_BYTES) {
            return false;
        }
        let (random, tag) = room[..SESSION_BYTES].split_at(SESSION_RANDOM);
        self.vouches(Purpose::SessionId, &[random], tag)
    }

    /// A tag over `parts` for this purpose. The parts are told apart: `["ab", "c"]` is not `["a", "bc"]`.
    ///
    /// Name what the text is bound to among the parts, as the principal. The tag hides nothing of them.
    #[must_use]
    pub(crate) fn sign(&self, purpose: Purpose, parts: &[&[u8]]) -> Tag {
        let mut text = [0; Tag::LEN];
        let written = BASE64.encode_slice(self.signer().tag(purpose, parts), &mut text);
        debug_assert_eq!(written, Ok(Tag::LEN));
        Tag(text)
    }

    /// Whether `tag` was made by [`KeyRing::sign`] over the same parts for the same purpose, by any key of this ring.
    #[must_use]
    pub(crate) fn verify(&self, purpose: Purpose, parts: &[&[u8]], tag: &str) -> bool {
        let mut bytes = [0; TAG];
        tag.len() == Tag::LEN
            && BASE64.decode_slice(tag, &mut bytes) == Ok(TAG)
            && self.vouches(purpose, parts, &bytes)
    }

    /// Encrypts and authenticates `plaintext`, bound to the purpose and to `binding`, as url-safe text.
    ///
    /// # Errors
    /// [`TooLong`] if the plaintext is longer than [`KeyRing::MAX_PLAINTEXT`].
    pub(crate) fn seal(&self, purpose: Purpose, binding: &[u8], plaintext: &[u8]) -> Result<String, TooLong> {
        let size = plaintext.len();
        if size > Self::MAX_PLAINTEXT {
            return Err(TooLong { size });
        }
        let key = self.signer();
        let nonce: [u8; NONCE] = rand::random();
        let mut sealed = Vec::with_capacity(HEAD + NONCE + size + SEAL);
        sealed.push(FORMAT);
        sealed.extend_from_slice(&key.id);
        let aad = [&sealed, binding].concat();
        sealed.extend_from_slice(&nonce);
        let start = sealed.len();
        sealed.extend_from_slice(plaintext);
        let tag = key
            .derived(purpose)
            .cipher
            .encrypt_in_place_detached(&nonce.into(), &aad, &mut sealed[start..])
            .expect("invariant: the cipher takes far more than MAX_PLAINTEXT");
        sealed.extend_from_slice(&tag);
        Ok(BASE64.encode(sealed))
    }

    /// Opens what [`KeyRing::seal`] made for the same purpose and binding, with any key of this ring.
    ///
    /// # Errors
    /// [`OpenError`] if the text is not such a one.
    pub(crate) fn open(&self, purpose: Purpose, binding: &[u8], text: &str) -> Result<Vec<u8>, OpenError> {
        if text.len() > Self::MAX_SEALED {
            return Err(OpenError::TooLong);
        }
        let sealed = BASE64.decode(text).map_err(|_| OpenError::Malformed)?;
        if sealed.len() < HEAD + NONCE + SEAL || sealed[0] != FORMAT {
            return Err(OpenError::Malformed);
        }
        let (head, rest) = sealed.split_at(HEAD);
        let (nonce, msg) = rest.split_at(NONCE);
        let aad = [head, binding].concat();
        let mut failure = OpenError::UnknownKey;
        for key in self.keys.iter().filter(|key| key.id == head[1..]) {
            match key.derived(purpose).cipher.decrypt(nonce.into(), Payload { msg, aad: &aad }) {
                Ok(plaintext) => return Ok(plaintext),
                Err(chacha20poly1305::Error) => failure = OpenError::Mismatch,
            }
        }
        Err(failure)
    }

    fn signer(&self) -> &RingKey {
        &self.keys[0]
    }

    /// Compares with every key's tag, each in constant time. Which key it was is no secret.
    fn vouches(&self, purpose: Purpose, parts: &[&[u8]], tag: &[u8]) -> bool {
        self.keys.iter().any(|key| key.tag(purpose, parts).ct_eq(tag).into())
    }
}

/// Names only.
impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyRing").field(&self.names().collect::<Vec<_>>()).finish()
    }
}

// === impl RingKey ===

impl RingKey {
    fn new(name: String, secret: &[u8; 32]) -> Self {
        let [a, b, c, d, ..] = derive(secret, "id", "");
        let derived = Purpose::ALL.map(|purpose| Derived {
            mac: keyed(&derive(secret, "sign", purpose.label())),
            cipher: XChaCha20Poly1305::new(&derive(secret, "seal", purpose.label()).into()),
        });
        Self { name, id: [a, b, c, d], derived }
    }

    fn derived(&self, purpose: Purpose) -> &Derived {
        &self.derived[purpose.index()]
    }

    fn tag(&self, purpose: Purpose, parts: &[&[u8]]) -> [u8; TAG] {
        let mut mac = self.derived(purpose).mac.clone();
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        let full = mac.finalize().into_bytes();
        let mut tag = [0; TAG];
        tag.copy_from_slice(&full[..TAG]);
        tag
    }
}

/// A key of its own for each use and label: one block of HKDF's expand step (RFC 5869), whose extract step a uniformly random
/// secret does not need.
fn derive(secret: &[u8; 32], usage: &str, label: &str) -> [u8; 32] {
    let mut mac = keyed(secret);
    mac.update(format!("trunkline 1 {usage} {label}").as_bytes());
    mac.update(&[1]);
    mac.finalize().into_bytes().into()
}

fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    <Hmac<Sha256> as Mac>::new_from_slice(key).expect("invariant: HMAC takes keys of any length")
}

/// The length of `bytes` bytes in base64 without padding.
const fn encoded_len(bytes: usize) -> usize {
    (bytes * 4).div_ceil(3)
}

// === impl Tag ===

impl Tag {
    /// Its length in characters.
    pub(crate) const LEN: usize = encoded_len(TAG);

    /// The tag as text.
    #[must_use]
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("invariant: base64 is ASCII")
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A tag vouches for whoever shows it.
impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tag(…)")
    }
}

#[cfg(test)]
mod tests;
