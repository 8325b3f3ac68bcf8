//! A connection to a server, encrypted or not.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, lookup_host},
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use url::Url;

use crate::error::Error;

/// How long one address of a name may take to accept, TLS included. A name may have several; a dead first one must not
/// take all the time there is.
const CONNECT: Duration = Duration::from_secs(10);

/// Where to connect.
#[derive(Clone)]
pub(crate) struct Target {
    host: Box<str>,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// A connection.
pub(crate) enum Socket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

// === impl Target ===

impl Target {
    /// The origin of `url`. `tls` replaces the trust in the system's authorities.
    pub(crate) fn new(url: &Url, tls: Option<Arc<ClientConfig>>) -> Result<Self, Error> {
        let refuse = |what: &str| Error::Refused(format!("{url} is no URL of an MCP endpoint: {what}"));
        let host = url.host_str().ok_or_else(|| refuse("it has no host"))?;
        // An IPv6 address stands in brackets in a URL, and without them everywhere else.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = url.port_or_known_default().ok_or_else(|| refuse("it has no port"))?;
        let tls = match url.scheme() {
            "http" => None,
            "https" => {
                let name =
                    ServerName::try_from(host.to_owned()).map_err(|_| refuse("the host is no name"))?;
                Some((TlsConnector::from(tls.map_or_else(system_trust, Ok)?), name))
            }
            _ => return Err(refuse("the scheme must be http or https")),
        };
        Ok(Self { host: host.into(), port, tls })
    }

    /// What the header `Host` says.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.to_string() };
        let default = if self.tls.is_some() { 443 } else { 80 };
        if self.port == default { host } else { format!("{host}:{}", self.port) }
    }

    /// Connects to the first address of the name that accepts: `localhost` is `::1` to one program and 127.0.0.1 to
    /// another.
    pub(crate) async fn connect(&self) -> Result<Socket, Error> {
        let failed = |source| Error::Connect { address: format!("{}:{}", self.host, self.port), source };
        let addresses = lookup_host((&*self.host, self.port)).await.map_err(failed)?;
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in addresses {
            let attempt = async {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                self.encrypt(stream).await
            };
            match timeout(CONNECT, attempt).await {
                Ok(Ok(socket)) => return Ok(socket),
                Ok(Err(error)) => last = error,
                Err(_elapsed) => {
                    last = io::Error::new(io::ErrorKind::TimedOut, format!("{address} does not answer"));
                }
            }
        }
        Err(failed(last))
    }

    async fn encrypt(&self, stream: TcpStream) -> io::Result<Socket> {
        match &self.tls {
            None => Ok(Socket::Plain(stream)),
            Some((connector, name)) => {
                let stream = connector.connect(name.clone(), stream).await?;
                Ok(Socket::Tls(Box::new(stream)))
            }
        }
    }
}

/// Trust in the authorities that the operating system trusts.
fn system_trust() -> Result<Arc<ClientConfig>, Error> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (_added, _unreadable) = roots.add_parsable_certificates(found.certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Refused(format!("TLS cannot be set up: {error}")))?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

// === impl Socket ===

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
