//! Questions in rounds (2026-07-28 *Multi Round-Trip Requests*): the call ends with its questions, and comes again with the
//! answers. The handler runs from its beginning each time, and finds the answers it had.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use trunkline_protocol::{
    Method,
    model::{InputRequest, InputRequiredResult},
};

use super::canonical::canonical;
use crate::{
    keys::{KeyRing, Purpose},
    principal::Principal,
};

/// The most answers and steps that a call may carry from round to round, in bytes of the sealed state's content: it comes
/// back in a body, and bodies have a bound.
const STATE_BYTES: usize = 256 * 1024;

/// What makes a call the same call in its next round, and what came with this one.
pub(crate) struct Call<'a> {
    /// Who asks.
    pub(crate) principal: &'a Principal,
    /// Which method.
    pub(crate) method: Method,
    /// The tool, prompt or resource.
    pub(crate) target: &'a str,
    /// The arguments, raw.
    pub(crate) arguments: Option<&'a [u8]>,
}

/// What a call carries from round to round.
pub(crate) struct Rounds {
    /// What the state is bound to: it opens for the same principal, method, target and arguments only.
    binding: Vec<u8>,
    carried: Mutex<Carried>,
    asked: Mutex<Vec<(String, InputRequest)>>,
    lifetime: Duration,
    /// A name for the state that resumed the call, if one did.
    resumed: Option<String>,
}

/// The content of a sealed state.
#[derive(Default, Serialize, Deserialize)]
struct Carried {
    /// When it lapses, in seconds since 1970. The one time that crosses replicas; their clocks need to agree within minutes.
    expires: u64,
    /// The answers so far, by the question's key.
    answers: BTreeMap<String, Box<RawValue>>,
    /// The results of steps that must not run again, by the step's key.
    steps: BTreeMap<String, Box<RawValue>>,
}

// === impl Rounds ===

impl Rounds {
    /// The first round of a call.
    pub(crate) fn first(call: &Call<'_>, lifetime: Duration) -> Self {
        let binding = binding(call);
        Self { binding, carried: Mutex::default(), asked: Mutex::default(), lifetime, resumed: None }
    }

    /// Opens what an earlier round left, and adds the answers that came with this one.
    ///
    /// # Errors
    /// What to tell the caller: the state was tampered with, has lapsed, or belongs to another call or caller; or the
    /// answers are not an object.
    pub(crate) fn resume(
        keys: &KeyRing,
        call: &Call<'_>,
        state: Option<&str>,
        responses: Option<&RawValue>,
        lifetime: Duration,
    ) -> Result<Self, String> {
        let mut rounds = Self::first(call, lifetime);
        rounds.resumed = state.map(|state| URL_SAFE_NO_PAD.encode(Sha256::digest(state)));
        {
            let mut carried = rounds.carried.lock();
            if let Some(state) = state {
                *carried = open_state(keys, &rounds.binding, state)?;
            }
            if let Some(responses) = responses {
                let responses: BTreeMap<String, Box<RawValue>> = serde_json::from_str(responses.get())
                    .map_err(|error| format!("invalid inputResponses: {error}"))?;
                carried.answers.extend(responses);
            }
        }
        Ok(rounds)
    }

    /// A name for the state that resumed the call, if one did: the same for the same state, and telling nothing of it.
    pub(crate) fn resumed(&self) -> Option<&str> {
        self.resumed.as_deref()
    }

    /// The answer to a question, if it has come.
    pub(crate) fn answer(&self, key: &str) -> Option<Box<RawValue>> {
        self.carried.lock().answers.get(key).cloned()
    }

    /// Notes a question for the end of this round. An answer that did not fit is forgotten.
    pub(crate) fn note(&self, key: &str, question: &InputRequest) {
        self.carried.lock().answers.remove(key);
        let mut asked = self.asked.lock();
        if asked.iter().all(|(known, _)| known != key) {
            asked.push((key.to_owned(), question.clone()));
        }
    }

    /// Whether this round has asked something.
    pub(crate) fn has_asked(&self) -> bool {
        !self.asked.lock().is_empty()
    }

    /// The result of a step of an earlier round.
    pub(crate) fn step(&self, key: &str) -> Option<Box<RawValue>> {
        self.carried.lock().steps.get(key).cloned()
    }

    /// Keeps the result of a step for the rounds to come.
    pub(crate) fn keep_step(&self, key: &str, result: Box<RawValue>) {
        self.carried.lock().steps.insert(key.to_owned(), result);
    }

    /// The questions of this round with the state that resumes the call, if it stopped to ask.
    ///
    /// # Errors
    /// If the call carries more than a state may hold.
    pub(crate) fn finish(&self, keys: &KeyRing) -> Result<Option<InputRequiredResult>, String> {
        let asked = std::mem::take(&mut *self.asked.lock());
        if asked.is_empty() {
            return Ok(None);
        }
        let mut carried = self.carried.lock();
        carried.expires = now() + self.lifetime.as_secs();
        let content = serde_json::to_vec(&*carried).map_err(|error| error.to_string())?;
        if content.len() > STATE_BYTES {
            return Err(format!("the call carries more than {STATE_BYTES} bytes from round to round"));
        }
        let state =
            keys.seal(Purpose::RequestState, &self.binding, &content).map_err(|error| error.to_string())?;
        Ok(Some(InputRequiredResult {
            input_requests: asked.into_iter().collect(),
            request_state: Some(state),
            meta: None,
        }))
    }
}

fn open_state(keys: &KeyRing, binding: &[u8], state: &str) -> Result<Carried, String> {
    let refused = |why: &str| format!("the requestState {why}; send the request again without it");
    let content = keys
        .open(Purpose::RequestState, binding, state)
        .map_err(|_| refused("was not issued for this request"))?;
    let carried: Carried = serde_json::from_slice(&content).map_err(|_| refused("cannot be read"))?;
    if carried.expires < now() { Err(refused("has expired")) } else { Ok(carried) }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A digest of everything that makes the call what it is, unambiguous by the length before each part.
fn binding(call: &Call<'_>) -> Vec<u8> {
    // A client may write them with other blanks, or its members in another order.
    let arguments = call.arguments.map_or_else(|| b"{}".to_vec(), canonical);
    let mut digest = Sha256::new();
    for part in [
        call.principal.as_str().as_bytes(),
        call.method.name().as_bytes(),
        call.target.as_bytes(),
        &arguments,
    ] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finalize().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFETIME: Duration = Duration::from_secs(60);

    fn call(principal: &Principal) -> Call<'_> {
        Call { principal, method: Method::ToolsCall, target: "confirm", arguments: None }
    }

    #[test]
    fn a_state_lapses() {
        let (keys, anybody) = (KeyRing::generate(), Principal::anonymous());
        let call = call(&anybody);
        let resume = |expires: u64| {
            let content = serde_json::to_vec(&Carried { expires, ..Carried::default() }).unwrap();
            let state = keys.seal(Purpose::RequestState, &binding(&call), &content).unwrap();
            Rounds::resume(&keys, &call, Some(&state), None, LIFETIME).err()
        };
        assert_eq!(resume(now() + 60), None);
        assert!(resume(now() - 1).unwrap().contains("has expired"));
        assert!(resume(0).unwrap().contains("has expired"));
    }

    #[test]
    fn a_state_says_when_it_lapses_and_belongs_to_who_it_was_issued_to() {
        let (keys, alice, bob) = (KeyRing::generate(), Principal::named("alice"), Principal::named("bob"));
        let rounds = Rounds::first(&call(&alice), LIFETIME);
        rounds.note("roots", &InputRequest::Roots);
        let state = rounds.finish(&keys).unwrap().and_then(|required| required.request_state).unwrap();
        let carried = open_state(&keys, &binding(&call(&alice)), &state).unwrap();
        assert!((now() + 50..=now() + 60).contains(&carried.expires));
        let resumed = Rounds::resume(&keys, &call(&bob), Some(&state), None, LIFETIME);
        assert!(resumed.err().unwrap().contains("was not issued for this request"));
    }
}
