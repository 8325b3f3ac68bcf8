//! Names of records, as Redis knows them.

use crate::{Key, Kind};

/// Writes and reads the names of keys.
#[derive(Debug)]
pub(super) struct Keys {
    /// The prefix and a colon.
    prefix: Box<[u8]>,
}

// === impl Keys ===

impl Keys {
    pub(super) fn new(prefix: &str) -> Self {
        Self { prefix: format!("{prefix}:").into_bytes().into() }
    }

    pub(super) fn write(&self, key: &Key) -> Vec<u8> {
        [&self.prefix, kind(key.kind).as_bytes(), b"{", key.id.as_bytes(), b"}"].concat()
    }

    /// What was written; `None` for what never was.
    pub(super) fn read(&self, name: &[u8]) -> Option<Key> {
        let rest = name.strip_prefix(&*self.prefix)?;
        let (kind, id) = KINDS.into_iter().find_map(|kind| {
            let rest = rest.strip_prefix(self::kind(kind).as_bytes())?;
            Some((kind, rest.strip_prefix(b"{")?.strip_suffix(b"}")?))
        })?;
        Some(Key { kind, id: std::str::from_utf8(id).ok()?.into() })
    }
}

const KINDS: [Kind; 5] = [Kind::Session, Kind::Handle, Kind::Task, Kind::Nonce, Kind::Endpoint];

/// What stands before the brace.
fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Session => "",
        Kind::Handle => "handle:",
        Kind::Task => "task:",
        Kind::Nonce => "nonce:",
        Kind::Endpoint => "endpoint:",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_was_written() {
        let keys = Keys::new("my:app");
        let names =
            ["my:app:{i}", "my:app:handle:{i}", "my:app:task:{i}", "my:app:nonce:{i}", "my:app:endpoint:{i}"];
        for (kind, expected) in KINDS.into_iter().zip(names) {
            assert_eq!(keys.write(&Key::new(kind, "i")), expected.as_bytes());
            for id in ["i", "", "}", "{", "a}{b", "handle:{x}", "!odd-but~legal:{id}/*?[a]\\%"] {
                let key = Key::new(kind, id);
                assert_eq!(keys.read(&keys.write(&key)), Some(key));
            }
        }
        for other in ["my:app2:{i}", "my:app:i", "my:app:{i", "my:app:other:{i}", "app:{i}", ""] {
            assert_eq!(keys.read(other.as_bytes()), None, "{other}");
        }
    }
}
