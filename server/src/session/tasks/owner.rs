//! Whose a task is, and its id, which tells.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use trunkline_protocol::revision::TaskDialect;

use crate::{
    keys::{KeyRing, Purpose, Tag},
    principal::Principal,
    registry::{Caller, Client},
};

/// Who may ask for a task: the principal that began it, in the words of the same dialect. Where nobody is told from anybody,
/// it is the session that began it, and without sessions whoever has the id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    principal: Principal,
    session: Option<Box<str>>,
    dialect: TaskDialect,
}

/// The random part of an id: 128 bits, which nobody guesses or meets by chance. As text, 22 characters.
const RANDOM: usize = 16;
const RANDOM_LEN: usize = 22;

// === impl Owner ===

impl Owner {
    /// Whose a task of this caller would be; `None` if its revision has no tasks.
    pub(super) fn of(caller: &Caller) -> Option<Self> {
        let dialect = caller.revision.features().tasks?;
        let anonymous = caller.principal == Principal::anonymous();
        let session = match &caller.client {
            Client::Session { id, .. } if anonymous => Some(Box::from(&**id)),
            _ => None,
        };
        Some(Self { principal: caller.principal.clone(), session, dialect })
    }

    /// The words its tasks are spoken of in.
    pub(super) fn dialect(&self) -> TaskDialect {
        self.dialect
    }

    /// The principal.
    pub(super) fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The session that its tasks are bound to.
    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Whether it is told from others, so that its tasks can be listed.
    pub(super) fn is_known(&self) -> bool {
        self.session.is_some() || self.principal != Principal::anonymous()
    }

    /// A new id: random, with a tag that binds it to the owner.
    pub(super) fn mint(&self, keys: &KeyRing) -> String {
        let mut id = URL_SAFE_NO_PAD.encode(rand::random::<[u8; RANDOM]>());
        let tag = keys.sign(Purpose::TaskId, &self.binding(&id));
        id.push_str(tag.as_str());
        id
    }

    /// Whether the id was minted for this owner, by any replica. Costs the store nothing.
    pub(super) fn minted(&self, keys: &KeyRing, id: &str) -> bool {
        id.len() == RANDOM_LEN + Tag::LEN
            && id
                .split_at_checked(RANDOM_LEN)
                .is_some_and(|(random, tag)| keys.verify(Purpose::TaskId, &self.binding(random), tag))
    }

    /// A tag on a place in the list of this owner's tasks.
    pub(super) fn sign_place(&self, keys: &KeyRing, place: &str) -> Tag {
        keys.sign(Purpose::Cursor, &self.binding(place))
    }

    /// Whether the place in the list was given to this owner.
    pub(super) fn issued_place(&self, keys: &KeyRing, place: &str, tag: &str) -> bool {
        keys.verify(Purpose::Cursor, &self.binding(place), tag)
    }

    /// A name for the owner that is short and tells nothing.
    pub(super) fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for part in self.binding("") {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        URL_SAFE_NO_PAD.encode(digest.finalize())
    }

    fn binding<'a>(&'a self, of: &'a str) -> [&'a [u8]; 5] {
        let dialect: &[u8] = match self.dialect {
            TaskDialect::Core => b"core",
            TaskDialect::Extension => b"extension",
        };
        let session = self.session.as_deref().unwrap_or_default();
        [b"tasks", dialect, self.principal.as_str().as_bytes(), session.as_bytes(), of.as_bytes()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(principal: &str, session: Option<&str>, dialect: TaskDialect) -> Owner {
        Owner { principal: Principal::named(principal), session: session.map(Into::into), dialect }
    }

    #[test]
    fn an_id_is_its_owners_alone() {
        let keys = KeyRing::generate();
        let owners = [
            owner("a", None, TaskDialect::Core),
            owner("a", None, TaskDialect::Extension),
            owner("b", None, TaskDialect::Core),
            owner("a", Some("s"), TaskDialect::Core),
        ];
        for (at, owner) in owners.iter().enumerate() {
            let id = owner.mint(&keys);
            let whose: Vec<_> = owners.iter().map(|other| other.minted(&keys, &id)).collect();
            assert_eq!(whose.iter().position(|minted| *minted), Some(at));
            assert_eq!(whose.iter().filter(|minted| **minted).count(), 1);
            assert!(!owner.minted(&KeyRing::generate(), &id), "another endpoint's");
        }
    }

    #[test]
    fn an_id_has_one_spelling() {
        let (keys, owner) = (KeyRing::generate(), owner("a", None, TaskDialect::Core));
        let id = owner.mint(&keys);
        assert!(owner.minted(&keys, &id));
        for forged in [&id[1..], &format!("{id}A"), &id.to_lowercase(), "", "é", &"é".repeat(19)] {
            assert!(!owner.minted(&keys, forged), "{forged}");
        }
    }
}
