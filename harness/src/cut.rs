//! A TCP proxy on the loopback that can be severed and healed, to cut one server off from another.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::watch,
    task::JoinHandle,
};

use crate::{
    HarnessError,
    ports::Port,
    wait::{self, Wait},
};

/// Connections that wait to be accepted. While the cut is frozen, none is, and a client beyond these hangs in its connect.
const BACKLOG: u32 = 1024;

/// Bytes that are under way in one direction of a connection.
const BUFFER: usize = 16 * 1024;

/// A target on the loopback that takes longer to accept does not listen.
const CONNECT: Duration = Duration::from_secs(5);

/// How a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severed {
    /// Open connections are reset, new ones are refused: the server's process is gone.
    Refused,
    /// Open connections and new ones stay open and carry nothing, until the cut is healed; then they carry on, without a
    /// lost byte: the network is gone.
    Frozen,
}

/// A proxy in front of one address. It runs on the runtime that started it; dropped, its connections are closed.
#[derive(Debug)]
pub struct Cut {
    port: Port,
    target: SocketAddr,
    state: watch::Sender<State>,
    /// The task that accepts; none while new connections are refused.
    accepting: Option<JoinHandle<()>>,
}

/// What connections have to know.
#[derive(Clone, Copy, Debug)]
struct State {
    frozen: bool,
    /// How often all connections were reset. One that was opened at a lower count is to end.
    resets: u64,
}

/// A connection's own view of [`State`].
#[derive(Clone, Debug)]
struct View {
    state: watch::Receiver<State>,
    born: u64,
}

/// The connection is to end at once.
struct Reset;

// === impl Cut ===

impl Cut {
    /// Starts a proxy to `target`, which need not listen yet.
    ///
    /// # Errors
    /// [`HarnessError::NoPort`], [`HarnessError::Connection`] when the port cannot be listened on.
    pub async fn start(target: SocketAddr) -> Result<Self, HarnessError> {
        let (port, listener) = listening()?;
        let (state, view) = watch::channel(State { frozen: false, resets: 0 });
        let accepting = Some(tokio::spawn(accept(listener, target, view)));
        Ok(Self { port, target, state, accepting })
    }

    /// Where clients connect instead of the target. It stays the same while severed.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Where it leads.
    #[must_use]
    pub fn target(&self) -> SocketAddr {
        self.target
    }

    /// Cuts the connection, and returns when it is cut.
    pub async fn sever(&mut self, how: Severed) {
        match how {
            Severed::Frozen => self.state.send_modify(|state| state.frozen = true),
            Severed::Refused => {
                if let Some(accepting) = self.accepting.take() {
                    accepting.abort();
                    // Awaited, so that nobody is accepted after this call.
                    let _aborted = accepting.await;
                }
                self.reset();
            }
        }
    }

    /// Resets the connections that are open. New ones are served as before.
    pub fn reset(&self) {
        self.state.send_modify(|state| state.resets += 1);
    }

    /// Lets everything through again.
    ///
    /// # Errors
    /// [`HarnessError::Late`] when somebody else took the port meanwhile.
    pub async fn heal(&mut self) -> Result<(), HarnessError> {
        self.state.send_modify(|state| state.frozen = false);
        if self.accepting.is_none() {
            let address = self.address();
            let wait = Wait::new(&format!("listening on {address} again"), wait::START);
            let listener = loop {
                match listen(address) {
                    Ok(listener) => break listener,
                    Err(error) => wait.again(&error).await?,
                }
            };
            self.accepting = Some(tokio::spawn(accept(listener, self.target, self.state.subscribe())));
        }
        Ok(())
    }

    /// How many connections are open.
    #[must_use]
    pub fn connections(&self) -> usize {
        // Two views of each connection, one for each direction, and one of the task that accepts.
        self.state.receiver_count().saturating_sub(usize::from(self.accepting.is_some())) / 2
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
        self.reset();
    }
}

// === impl View ===

impl View {
    /// Waits until bytes may flow.
    async fn open(&mut self) -> Result<(), Reset> {
        let born = self.born;
        match self.state.wait_for(|state| !state.frozen || state.resets != born).await {
            Ok(state) if state.resets == born => Ok(()),
            _ => Err(Reset),
        }
    }

    /// Waits until bytes may no longer flow.
    async fn closed(&mut self) {
        let born = self.born;
        let _cut = self.state.wait_for(|state| state.frozen || state.resets != born).await;
    }

    /// Waits until the connection is to end.
    async fn reset(&mut self) -> Reset {
        let born = self.born;
        let _reset = self.state.wait_for(|state| state.resets != born).await;
        Reset
    }
}

fn listening() -> Result<(Port, TcpListener), HarnessError> {
    let mut last = None;
    for _ in 0..crate::ports::STARTS {
        let port = Port::draw()?;
        match listen(port.address()) {
            Ok(listener) => return Ok((port, listener)),
            Err(error) => last = Some((port.address(), error)),
        }
    }
    match last {
        Some((address, source)) => Err(HarnessError::Connection { server: address.to_string(), source }),
        None => unreachable!("invariant: at least one start is tried"),
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    // Connections that were reset a moment ago are in nobody's way.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn accept(listener: TcpListener, target: SocketAddr, state: watch::Receiver<State>) {
    loop {
        // A failure concerns the connection that was to be accepted.
        let Ok((client, _)) = listener.accept().await else {
            // Were it for want of descriptors, it would fail again at once.
            tokio::time::sleep(wait::LOOK).await;
            continue;
        };
        let born = state.borrow().resets;
        tokio::spawn(serve(client, target, View { state: state.clone(), born }));
    }
}

/// Carries one connection to its end.
async fn serve(mut client: TcpStream, target: SocketAddr, mut view: View) {
    let mut other = view.clone();
    if view.open().await.is_err() {
        return abort([&client]);
    }
    let Ok(Ok(mut server)) = tokio::time::timeout(CONNECT, TcpStream::connect(target)).await else {
        return abort([&client]);
    };
    for stream in [&client, &server] {
        // Only latency is at stake.
        let _set = stream.set_nodelay(true);
    }
    let carried = {
        let (mut from_client, mut to_client) = client.split();
        let (mut from_server, mut to_server) = server.split();
        let up = pump(&mut from_client, &mut to_server, &mut view);
        let down = pump(&mut from_server, &mut to_client, &mut other);
        tokio::try_join!(up, down)
    };
    if carried.is_err() {
        abort([&client, &server]);
    }
}

/// Carries one direction to its end, or until the connection is reset by either side or by the cut.
async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    view: &mut View,
) -> Result<(), Reset> {
    let mut buffer = vec![0; BUFFER];
    loop {
        view.open().await?;
        let read = tokio::select! {
            biased;
            () = view.closed() => continue,
            read = from.read(&mut buffer) => read,
        };
        let length = read.map_err(|_| Reset)?;
        // It may have been cut while the bytes were read; then they are written once it is healed.
        view.open().await?;
        if length == 0 {
            return to.shutdown().await.map_err(|_| Reset);
        }
        tokio::select! {
            biased;
            reset = view.reset() => return Err(reset),
            written = to.write_all(&buffer[..length]) => written.map_err(|_| Reset)?,
        }
    }
}

/// Has the connections reset, rather than closed, when they are dropped.
fn abort<const N: usize>(streams: [&TcpStream; N]) {
    for stream in streams {
        let _set = stream.set_zero_linger();
    }
}
