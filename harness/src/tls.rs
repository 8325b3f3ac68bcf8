//! A private certificate authority, for servers on the loopback.

use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use crate::{HarnessError, scratch::Scratch};

/// Files in PEM that a server needs to be trusted, and that its clients need to trust it. They go with the folder.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The authority that clients have to trust.
    pub authority: PathBuf,
    /// The server's certificate, for `localhost` and `127.0.0.1`.
    pub certificate: PathBuf,
    /// The server's private key.
    pub key: PathBuf,
}

// === impl Certificates ===

impl Certificates {
    /// Makes an authority and a server's certificate.
    ///
    /// # Errors
    /// [`HarnessError::Certificate`], [`HarnessError::Files`].
    pub fn new(scratch: &Scratch) -> Result<Self, HarnessError> {
        let mut authority = CertificateParams::default();
        authority.distinguished_name.push(DnType::CommonName, "private test authority");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate()?;
        let authority_certificate = authority.self_signed(&authority_key)?;
        let issuer = Issuer::new(authority, authority_key);

        let mut server = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
        server.distinguished_name.push(DnType::CommonName, "localhost");
        let key = KeyPair::generate()?;
        let certificate = server.signed_by(&key, &issuer)?;
        Ok(Self {
            authority: scratch.write("authority.pem", authority_certificate.pem())?,
            certificate: scratch.write("certificate.pem", certificate.pem())?,
            key: scratch.write("key.pem", key.serialize_pem())?,
        })
    }
}
