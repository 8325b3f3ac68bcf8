//! The secret that a coordinator and its agents share, and the proof that somebody knows it.
//!
//! The secret does not travel. Each side draws a nonce; the agent proves first, the coordinator second, with an HMAC over
//! both nonces and its own role, so that neither's proof can be played back to it, and an agent never works for whoever
//! happens to listen. Not covered: what follows the proofs is neither encrypted nor signed. Who can read or change the
//! traffic between the two reads the plan, with its headers and tokens; use a network that is yours.

use std::{env, fmt, fs, io, path::PathBuf};

use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// The variable that has the secret where no file is named.
pub const VARIABLE: &str = "TRUNKLINE_LOADTEST_SECRET";

/// The fewest bytes of a secret. Who sees a proof can try secrets against it for as long as he likes.
const LEAST: usize = 16;

/// The most bytes of a file that may be a secret.
const MOST: u64 = 4096;

/// The shared secret.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

/// Drawn once by each side for each connection.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nonce([u8; 32]);

/// That somebody knows the secret, for one pair of nonces.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof([u8; 32]);

/// Whose proof it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Proves to the coordinator.
    Agent,
    /// Proves to the agent.
    Coordinator,
}

/// Why there is no secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// None was given.
    #[error("there is no secret: name a file with --secret-file, or set {VARIABLE}")]
    Absent,
    /// The file cannot be read.
    #[error("cannot read the secret from {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is too short.
    #[error("the secret has {0} characters: take at least {LEAST}, as from `openssl rand -hex 32`")]
    Short(usize),
    /// The file is no secret.
    #[error("{} has more than {MOST} bytes and is no secret", .0.display())]
    Long(PathBuf),
}

// === impl Secret ===

impl Secret {
    /// Reads it from a file, or else from the environment. White space around it is no part of it.
    ///
    /// # Errors
    /// See [`SecretError`].
    pub fn read(file: Option<PathBuf>) -> Result<Self, SecretError> {
        let Some(path) = file else {
            return match env::var(VARIABLE) {
                Ok(text) if !text.trim().is_empty() => Self::new(&text),
                _ => Err(SecretError::Absent),
            };
        };
        let length = fs::metadata(&path).map(|metadata| metadata.len());
        match length
            .and_then(|length| if length > MOST { Ok(None) } else { fs::read_to_string(&path).map(Some) })
        {
            Ok(Some(text)) => Self::new(&text),
            Ok(None) => Err(SecretError::Long(path)),
            Err(source) => Err(SecretError::File { path, source }),
        }
    }

    /// The secret in a text.
    ///
    /// # Errors
    /// [`SecretError::Short`].
    pub fn new(text: &str) -> Result<Self, SecretError> {
        let text = text.trim();
        if text.len() < LEAST {
            Err(SecretError::Short(text.len()))
        } else {
            Ok(Self(text.as_bytes().to_vec()))
        }
    }

    /// The proof of a role, for these nonces.
    #[must_use]
    pub fn prove(&self, role: Role, agent: Nonce, coordinator: Nonce) -> Proof {
        Proof(self.mac(role, agent, coordinator).finalize().into_bytes().into())
    }

    /// Whether it is the proof of a role, for these nonces. Takes as long for a wrong one as for a right one.
    #[must_use]
    pub fn verifies(&self, proof: &Proof, role: Role, agent: Nonce, coordinator: Nonce) -> bool {
        self.mac(role, agent, coordinator).verify_slice(&proof.0).is_ok()
    }

    fn mac(&self, role: Role, agent: Nonce, coordinator: Nonce) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("invariant: an HMAC takes a key of any length");
        mac.update(match role {
            Role::Agent => b"trunkline-loadtest agent\0",
            Role::Coordinator => b"trunkline-loadtest coordinator\0",
        });
        mac.update(&agent.0);
        mac.update(&coordinator.0);
        mac
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

// === impl Nonce ===

impl Nonce {
    /// Draws one.
    #[must_use]
    pub fn draw() -> Self {
        Self(rand::random())
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nonce")
    }
}

// === impl Proof ===

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proof")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text).unwrap()
    }

    #[test]
    fn a_proof_is_of_one_secret_one_role_and_one_pair_of_nonces() {
        let (ours, other) = (secret("correct horse battery"), secret("wrong horse battery"));
        let (agent, coordinator) = (Nonce::draw(), Nonce::draw());
        let proof = ours.prove(Role::Agent, agent, coordinator);
        assert!(ours.verifies(&proof, Role::Agent, agent, coordinator));
        assert!(!other.verifies(&proof, Role::Agent, agent, coordinator));
        assert!(!ours.verifies(&proof, Role::Coordinator, agent, coordinator));
        assert!(!ours.verifies(&proof, Role::Agent, coordinator, agent));
        assert!(!ours.verifies(&proof, Role::Agent, agent, Nonce::draw()));
    }

    #[test]
    fn it_is_read_from_a_file_without_its_line_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, "correct horse battery\n").unwrap();
        assert_eq!(Secret::read(Some(path.clone())).unwrap().0, b"correct horse battery");
        fs::write(&path, "short\n").unwrap();
        let error = Secret::read(Some(path.clone())).unwrap_err().to_string();
        assert!(error.contains("at least 16"), "{error}");
        fs::write(&path, "x".repeat(5000)).unwrap();
        assert!(matches!(Secret::read(Some(path)), Err(SecretError::Long(_))));
        assert!(matches!(Secret::read(Some(folder.path().join("none"))), Err(SecretError::File { .. })));
    }

    #[test]
    fn it_is_never_shown() {
        assert_eq!(format!("{:?}", secret("correct horse battery")), "Secret(hidden)");
    }
}
