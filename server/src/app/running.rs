//! A server within a process that has more to do, as a test.

use std::{
    io,
    net::SocketAddr,
    sync::mpsc,
    thread::{Builder, JoinHandle},
};

use tokio_util::sync::CancellationToken;

use super::{
    build::{App, StartError},
    run::{Addresses, serve},
};

/// A server that runs within this process. It ends when this is dropped.
#[derive(Debug)]
pub struct Running {
    addresses: Addresses,
    end: CancellationToken,
    thread: Option<JoinHandle<io::Result<()>>>,
}

// === impl Running ===

impl Running {
    pub(super) fn start(app: App) -> Result<Self, StartError> {
        let end = CancellationToken::new();
        let ended = end.clone();
        // One message: where the server listens.
        let (found, addresses) = mpsc::sync_channel(1);
        let listening = move |addresses| {
            // Whoever asked waits for it.
            let _sent = found.send(addresses);
        };
        let serving = move || {
            let served = serve(app, listening, async move { ended.cancelled().await });
            actix_web::rt::System::new().block_on(served)
        };
        let thread =
            Builder::new().name("trunkline".to_owned()).spawn(serving).map_err(StartError::Listen)?;
        match addresses.recv() {
            Ok(addresses) => Ok(Self { addresses, end, thread: Some(thread) }),
            // The thread has ended without listening: it says why.
            Err(_) => Err(StartError::Listen(joined(thread).err().unwrap_or_else(gone))),
        }
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.addresses.endpoint
    }

    /// Where health and metrics are served.
    #[must_use]
    pub fn admin_address(&self) -> SocketAddr {
        self.addresses.admin
    }

    /// Shuts the server down as a signal would, and waits until it has ended: for running calls, not longer than the
    /// configuration's `server.drain_delay` and `server.drain_grace`.
    ///
    /// # Errors
    /// What made the server end before.
    pub fn stop(mut self) -> io::Result<()> {
        self.end.cancel();
        self.thread.take().map_or(Ok(()), joined)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end.cancel();
        if let Some(Err(error)) = self.thread.take().map(joined) {
            tracing::error!(%error, "the server had ended before");
        }
    }
}

fn joined(thread: JoinHandle<io::Result<()>>) -> io::Result<()> {
    thread.join().unwrap_or_else(|_| Err(gone()))
}

fn gone() -> io::Error {
    io::Error::other("the server's thread panicked")
}
