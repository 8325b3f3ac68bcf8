//! Connections: how one begins, and how one that asks for nothing ends.
//!
//! The HTTP library bounds the time of a connection's first head, and the pause between two requests. What it waits for
//! without end is watched here: the first byte of all, the rest of a head after the first, the rest of a body that is not
//! wanted, and a reader that takes nothing. Not covered: bodies that are wanted, which have a time of their own.

use std::{
    cell::Cell,
    io,
    net::SocketAddr,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use actix_http::{HttpService, Protocol, error::DispatchError};
use actix_server::GracefulShutdownSignal;
use actix_service::{
    IntoServiceFactory, ServiceFactory, ServiceFactoryExt, apply_fn_factory, fn_service, map_config,
};
use actix_web::{App, HttpRequest, dev::AppConfig, web};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep, timeout},
};

use super::{Endpoint, reset, routes};
use crate::config::ServerConfig;

/// How a connection of HTTP/2 begins, as far as one look will most likely show it.
const HTTP_2: &[u8; 12] = b"PRI * HTTP/2";

/// How long a connection that is being closed is listened to, so that the client sees the answer before the end.
const LINGER: Duration = Duration::from_secs(1);

/// How long connections may take over what.
#[derive(Clone, Copy)]
struct Times {
    /// The first byte, and a head.
    head: Duration,
    /// The pause between two requests.
    keep_alive: Duration,
    /// At rest, whatever comes of a request or its body meanwhile.
    rest: Duration,
}

/// Whether anything happens on a connection besides bytes that come in.
#[derive(Default)]
pub(super) struct Activity {
    /// Requests that are being worked on.
    busy: Cell<usize>,
    /// Something was sent since it was last looked at.
    sent: Cell<bool>,
}

/// A request that is being worked on, until this is dropped.
pub(super) struct Busy(Rc<Activity>);

/// A connection that ends when it has been at rest for long.
struct Socket {
    io: TcpStream,
    activity: Rc<Activity>,
    rest: Duration,
    /// Fires after each `rest`, so that a connection at rest ends before twice as long.
    timer: Pin<Box<Sleep>>,
    /// Whom the timer wakes.
    waker: Option<Waker>,
}

/// What serves connections, made once a worker.
pub(crate) fn service(
    endpoint: web::Data<Endpoint>,
    server: &ServerConfig,
    ended: GracefulShutdownSignal,
) -> impl ServiceFactory<TcpStream, Config = (), Response = (), Error = DispatchError, InitError = ()> + use<>
{
    let times = Times::of(server);
    let app = App::new()
        .app_data(endpoint.clone())
        .configure(move |services| routes(&endpoint, services))
        .into_factory()
        .map_err(|error| error.error_response());
    let http = HttpService::build()
        .graceful_shutdown_signal(move || {
            let ended = ended.clone();
            async move { ended.notified().await }
        })
        .keep_alive(times.keep_alive)
        .client_request_timeout(times.head)
        .client_disconnect_timeout(LINGER)
        // A client that closes has gone, and its call or stream with it; otherwise that is seen only when a write fails.
        .h1_allow_half_closed(false)
        .on_connect_ext(|socket: &Socket, data| drop(data.insert(socket.activity.clone())))
        .finish(apply_fn_factory(map_config(app, |()| AppConfig::default()), reset::serve));
    fn_service(move |io| begin(io, times)).and_then(http)
}

/// Notes that a request is being worked on: its connection is not at rest, though nothing may be sent for long.
pub(super) fn busy(request: &HttpRequest) -> Option<Busy> {
    let activity = request.conn_data::<Rc<Activity>>()?;
    activity.busy.set(activity.busy.get() + 1);
    Some(Busy(activity.clone()))
}

async fn begin(io: TcpStream, times: Times) -> Result<(Socket, Protocol, Option<SocketAddr>), DispatchError> {
    io.set_nodelay(true)?;
    let mut first = [0; HTTP_2.len()];
    timeout(times.head, io.peek(&mut first))
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let protocol = if first == *HTTP_2 { Protocol::Http2 } else { Protocol::Http1 };
    let peer = io.peer_addr().ok();
    Ok((Socket::new(io, times.rest), protocol, peer))
}

// === impl Times ===

impl Times {
    fn of(server: &ServerConfig) -> Self {
        let head = server.request_timeout;
        // A quiet stream is not at rest: it sends its comments.
        let rest = server.keep_alive.max(server.stream_keep_alive) + head;
        Self { head, keep_alive: server.keep_alive, rest }
    }
}

// === impl Busy ===

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.set(self.0.busy.get() - 1);
    }
}

// === impl Socket ===

impl Socket {
    fn new(io: TcpStream, rest: Duration) -> Self {
        Self { io, activity: Rc::default(), rest, timer: Box::pin(sleep(rest)), waker: None }
    }

    /// The error that ends the connection once it has been at rest for long. To be asked when there is nothing to do.
    fn poll_rest(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let waits = self.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
        if waits && !self.timer.is_elapsed() {
            return Poll::Pending;
        }
        while self.timer.as_mut().poll(context).is_ready() {
            let sent = self.activity.sent.replace(false);
            if !sent && self.activity.busy.get() == 0 {
                return Poll::Ready(io::ErrorKind::TimedOut.into());
            }
            self.timer.as_mut().reset(Instant::now() + self.rest);
        }
        self.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// What came of a write, or the end of a connection whose reader takes nothing.
    fn written(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(written) => {
                self.activity.sent.set(true);
                Poll::Ready(written)
            }
            Poll::Pending => self.poll_rest(context).map(Err),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.io).poll_read(context, buffer) {
            Poll::Ready(read) => Poll::Ready(read),
            Poll::Pending => self.poll_rest(context).map(Err),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(context, bytes);
        self.written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(context, slices);
        self.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}
