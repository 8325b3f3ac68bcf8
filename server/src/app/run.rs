//! A server at work, from the first socket to the last.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use actix_server::{Server, ServerHandle};
use actix_web::web;
use tokio::{
    net::TcpSocket,
    signal::unix::{SignalKind, signal},
};
use trunkline_protocol::jsonrpc::Bounds;

use super::build::{App, Assembled};
use crate::{
    admin,
    config::Config,
    drain::Drain,
    telemetry::{Gauge, Metrics},
    transport::{
        http::{self, Endpoint, Settings},
        stdio,
    },
};

/// Connections that wait to be accepted: a fleet that reconnects at once, at a few KiB of the kernel's each.
const BACKLOG: u32 = 4096;

/// How long a worker may take to close its connections once every request is done or given up.
const LAST_WORDS: u64 = 2;

/// Where a server listens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    /// The endpoint.
    pub(super) endpoint: SocketAddr,
    /// Health and metrics.
    pub(super) admin: SocketAddr,
}

/// Serves over HTTP until a signal ends it.
pub(super) fn http(app: App) -> io::Result<()> {
    actix_web::rt::System::new().block_on(async {
        let end = terminated();
        serve(app, |_| {}, end).await
    })
}

/// Serves over HTTP: says where once it listens, and shuts down once `end` is there.
pub(super) async fn serve(
    app: App,
    listening: impl FnOnce(Addresses),
    end: impl Future<Output = ()> + 'static,
) -> io::Result<()> {
    let workers = app.config.server.worker_count().get();
    let (assembled, config) = app.assemble().map_err(io::Error::other)?;
    let endpoint = web::Data::new(Endpoint {
        core: assembled.core.clone(),
        drain: assembled.drain.clone(),
        settings: Settings::of(&config),
    });
    let (admin, admin_address) = admin::serve(
        config.server.admin_bind,
        assembled.core.clone(),
        assembled.drain.clone(),
        config.server.readiness,
    )?;
    let listener = listen(config.server.bind)?;
    let address = listener.local_addr()?;
    let builder = Server::build().workers(workers).disable_signals().shutdown_timeout(LAST_WORDS);
    let (ended, settings) = (builder.graceful_shutdown_signal(), config.server.clone());
    let connections = move || http::service(endpoint.clone(), &settings, ended.clone());
    let server = builder.listen("trunkline", listener, connections)?.run();
    tracing::info!(%address, path = config.server.path, replica = %assembled.core.services.replica, "serving");
    let core = actix_web::rt::spawn(assembled.core.clone().run());
    let admin_handle = admin.handle();
    let admin = actix_web::rt::spawn(admin);
    let shutdown = actix_web::rt::spawn(shut_down(assembled, config, server.handle(), end));
    listening(Addresses { endpoint: address, admin: admin_address });
    let served = server.await;
    shutdown.abort();
    core.abort();
    admin_handle.stop(false).await;
    let _stopped = admin.await;
    served
}

fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // One that comes after another does not wait for the connections of that one to be forgotten.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)?.into_std()
}

/// Serves one client over standard input and output.
pub(super) fn stdio(app: App) -> io::Result<()> {
    actix_web::rt::System::new().block_on(async move {
        let (assembled, config) = app.assemble().map_err(io::Error::other)?;
        let core = actix_web::rt::spawn(assembled.core.clone().run());
        let settings = stdio::Settings {
            line: config.limits.body,
            bounds: Bounds { depth: config.limits.json_depth, batch: config.limits.batch },
            listen_subscriptions: config.limits.listen_subscriptions,
        };
        let (drain, end) = (assembled.drain.clone(), terminated());
        let ended = actix_web::rt::spawn(async move {
            end.await;
            drain.begin();
        });
        let served = stdio::run(
            assembled.core.clone(),
            assembled.drain,
            settings,
            stdio::input(),
            tokio::io::stdout(),
        )
        .await;
        assembled.core.directory.close_all();
        ended.abort();
        core.abort();
        served
    })
}

/// The phases of a shutdown: not ready, draining, closing, stopped.
async fn shut_down(
    assembled: Assembled,
    config: Config,
    server: ServerHandle,
    end: impl Future<Output = ()>,
) {
    end.await;
    tracing::info!("draining: no new sessions, idle streams end, running calls go on");
    assembled.drain.begin();
    // The balancer needs a moment to see that this replica is not ready; until then it still sends.
    tokio::time::sleep(config.server.drain_delay).await;
    let done = idle(&assembled.metrics);
    if tokio::time::timeout(config.server.drain_grace, done).await.is_err() {
        tracing::warn!("the grace period is over; what still runs is given up");
    }
    close(&assembled.drain, &assembled.core);
    // Its clients go on elsewhere at once, rather than when its lease has lapsed.
    assembled.core.leave().await;
    server.stop(true).await;
}

fn close(drain: &Drain, core: &Arc<crate::session::Core>) {
    drain.close();
    core.directory.close_all();
}

/// Waits until nothing runs, no task either, and no stream is open.
async fn idle(metrics: &Metrics) {
    /// How often it is looked: well below what anybody notices at the end of a process.
    const LOOK: Duration = Duration::from_millis(20);
    const BUSY: [Gauge; 3] = [Gauge::InFlight, Gauge::Tasks, Gauge::Streams];
    while BUSY.iter().any(|gauge| metrics.now(*gauge) > 0) {
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits for SIGTERM or SIGINT. They are received from this call on, and not only once it is waited: one that comes as soon as
/// the server listens is no crash, and as the first process of a container it would not hear of it at all.
fn terminated() -> impl Future<Output = ()> {
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut term), Ok(mut interrupt)) = signals else {
            tracing::error!("signals cannot be received; the server ends only when it is killed");
            return std::future::pending().await;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}
