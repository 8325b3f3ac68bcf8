//! Making one connection.

use std::{sync::Arc, time::Duration};

use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion,
    RedisConnectionInfo, RedisError, TlsCertificates,
    aio::{AsyncPushSender, MultiplexedConnection},
    io::tcp::TcpSettings,
};

use crate::{
    Host, OpenError, Settings,
    address::{Credentials, Mode},
};

/// Commands that wait to be written to one connection; who comes later waits for room, within the answer's time. 256 is what
/// a replica asks for in a few milliseconds at full load.
const QUEUED: usize = 256;

/// What all connections have in common.
#[derive(Clone, Debug)]
pub(crate) struct Dialer {
    /// The address of no host in particular, with what TLS needs.
    template: ConnectionAddr,
    greeting: RedisConnectionInfo,
    timeout: Duration,
}

// === impl Dialer ===

impl Dialer {
    /// For connections to servers.
    pub(crate) fn new(settings: &Settings) -> Result<Self, OpenError> {
        let greeting = greeting(&settings.address.credentials)
            .set_protocol(ProtocolVersion::RESP3)
            .set_db(settings.address.database);
        let template = template(settings)?;
        Ok(Self { template, greeting, timeout: settings.connect_timeout })
    }

    /// The same for connections to who tells where the servers are.
    pub(crate) fn informants(&self, settings: &Settings) -> Self {
        let credentials = match settings.address.mode {
            Mode::Sentinel { .. } => &settings.address.sentinel_credentials,
            _ => &settings.address.credentials,
        };
        Self { greeting: greeting(credentials), ..self.clone() }
    }

    /// Everything about a connection to this host.
    pub(crate) fn info(&self, host: &Host) -> Result<ConnectionInfo, RedisError> {
        let addr = match &self.template {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => ConnectionAddr::TcpTls {
                host: host.name.clone(),
                port: host.port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            },
            _ => ConnectionAddr::Tcp(host.name.clone(), host.port),
        };
        let info = addr.into_connection_info()?;
        Ok(info.set_redis_settings(self.greeting.clone()).set_tcp_settings(tcp()))
    }

    /// How connections behave. Who asks keeps the time of each answer, so that waiting for room counts too.
    pub(crate) fn config(&self) -> AsyncConnectionConfig {
        AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeout))
            .set_response_timeout(None)
            .set_pipeline_buffer_size(QUEUED)
    }

    /// Connects, and gives what Redis says unasked to `pushes`.
    pub(crate) async fn dial(
        &self,
        host: &Host,
        pushes: Option<Arc<dyn AsyncPushSender>>,
    ) -> Result<MultiplexedConnection, RedisError> {
        let client = Client::open(self.info(host)?)?;
        let config = match pushes {
            Some(pushes) => self.config().set_push_sender(pushes),
            None => self.config(),
        };
        client.get_multiplexed_async_connection_with_config(&config).await
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }
}

fn greeting(credentials: &Credentials) -> RedisConnectionInfo {
    let mut greeting = RedisConnectionInfo::default().set_lib_name("trunkline", env!("CARGO_PKG_VERSION"));
    if let Some(user) = &credentials.user {
        greeting = greeting.set_username(user);
    }
    if let Some(password) = &credentials.password {
        greeting = greeting.set_password(password);
    }
    greeting
}

fn tcp() -> TcpSettings {
    TcpSettings::default().set_nodelay(true)
}

fn template(settings: &Settings) -> Result<ConnectionAddr, OpenError> {
    let first = &settings.address.hosts[0];
    if !settings.address.tls {
        return Ok(ConnectionAddr::Tcp(first.name.clone(), first.port));
    }
    // Fails when the process has chosen already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let root_cert = settings
        .ca_file
        .as_ref()
        .map(|path| std::fs::read(path).map_err(|source| OpenError::CaFile { path: path.clone(), source }));
    let certificates = TlsCertificates { client_tls: None, root_cert: root_cert.transpose()? };
    let addr = ConnectionAddr::TcpTls {
        host: first.name.clone(),
        port: first.port,
        insecure: false,
        tls_params: None,
    };
    let client = Client::build_with_tls(addr, certificates).map_err(OpenError::Tls)?;
    Ok(client.get_connection_info().addr().clone())
}
