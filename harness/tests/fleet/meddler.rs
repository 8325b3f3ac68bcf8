//! A proxy that does something to one message of a kind in eight.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinHandle,
};

/// One message of a kind in so many is meddled with. The first ones are let be: with them the clients get started.
const ONE_IN: u64 = 8;

/// What is done to messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meddling {
    /// Those that contain this.
    text: &'static str,
    act: Act,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Drop,
    Repeat,
    /// What stands in the place of the text.
    Replace(&'static str),
}

/// The proxy. It ends when this is dropped.
pub(crate) struct Meddler {
    address: SocketAddr,
    counter: Arc<Counter>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Counter {
    seen: AtomicU64,
    done: AtomicU64,
}

// === impl Meddling ===

impl Meddling {
    pub(crate) fn drop(text: &'static str) -> Self {
        Self { text, act: Act::Drop }
    }

    pub(crate) fn repeat(text: &'static str) -> Self {
        Self { text, act: Act::Repeat }
    }

    pub(crate) fn replace(text: &'static str, by: &'static str) -> Self {
        Self { text, act: Act::Replace(by) }
    }

    /// Whether it is a part of a stream that is meddled with, or a whole body.
    fn on_streams(self) -> bool {
        !matches!(self.act, Act::Replace(_))
    }
}

// === impl Meddler ===

impl Meddler {
    pub(crate) async fn start(target: SocketAddr, meddling: Meddling) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let counter = Arc::new(Counter::default());
        let task = tokio::spawn(accept(listener, target, meddling, counter.clone()));
        Self { address, counter, task }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How often something was done.
    pub(crate) fn done(&self) -> u64 {
        self.counter.done.load(Ordering::Acquire)
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.task.abort();
    }
}

// === impl Counter ===

impl Counter {
    /// Whether it is this one's turn.
    fn takes(&self, meddling: Meddling, message: &str) -> bool {
        // What only gets clients started and stopped is not counted by anybody.
        let apart = message.contains("-prime") || message.contains("-end");
        if apart || !message.contains(meddling.text) {
            return false;
        }
        let takes = self.seen.fetch_add(1, Ordering::AcqRel) % ONE_IN == ONE_IN - 1;
        self.done.fetch_add(u64::from(takes), Ordering::AcqRel);
        takes
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, meddling: Meddling, counter: Arc<Counter>) {
    while let Ok((client, _)) = listener.accept().await {
        let counter = counter.clone();
        tokio::spawn(async move {
            let Ok(server) = TcpStream::connect(target).await else { return };
            server.set_nodelay(true).unwrap();
            client.set_nodelay(true).unwrap();
            let (mut from_client, to_client) = client.into_split();
            let (from_server, mut to_server) = server.into_split();
            // Either side's end is the other's.
            tokio::select! {
                _ = copy(&mut from_client, &mut to_server) => {}
                () = responses(from_server, to_client, meddling, &counter) => {}
            }
        });
    }
}

/// Passes responses on.
async fn responses(server: OwnedReadHalf, mut client: OwnedWriteHalf, meddling: Meddling, counter: &Counter) {
    let mut server = BufReader::new(server);
    while response(&mut server, &mut client, meddling, counter).await.is_some() {}
}

async fn response(
    server: &mut BufReader<OwnedReadHalf>,
    client: &mut OwnedWriteHalf,
    meddling: Meddling,
    counter: &Counter,
) -> Option<()> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        (server.read_line(&mut head).await.ok()? > 0).then_some(())?;
    }
    let lower = head.to_ascii_lowercase();
    if lower.contains("transfer-encoding: chunked") {
        client.write_all(head.as_bytes()).await.ok()?;
        return chunks(server, client, meddling, counter).await;
    }
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    let mut body = vec![0; length];
    server.read_exact(&mut body).await.ok()?;
    let text = String::from_utf8_lossy(&body).into_owned();
    if let Act::Replace(by) = meddling.act
        && counter.takes(meddling, &text)
    {
        let changed = text.replace(meddling.text, by);
        let framing = |length: usize| format!("content-length: {length}\r\n");
        let (old, new) = (framing(length), framing(changed.len()));
        let at = lower.find(&old)?;
        head.replace_range(at..at + old.len(), &new);
        body = changed.into_bytes();
    }
    client.write_all(head.as_bytes()).await.ok()?;
    client.write_all(&body).await.ok()
}

/// Passes the parts of a stream on. The server writes each event as a part of its own.
async fn chunks(
    server: &mut BufReader<OwnedReadHalf>,
    client: &mut OwnedWriteHalf,
    meddling: Meddling,
    counter: &Counter,
) -> Option<()> {
    loop {
        let mut chunk = Vec::new();
        (server.read_until(b'\n', &mut chunk).await.ok()? > 0).then_some(())?;
        let size = usize::from_str_radix(std::str::from_utf8(&chunk).ok()?.trim(), 16).ok()?;
        let start = chunk.len();
        chunk.resize(start + size + 2, 0);
        server.read_exact(&mut chunk[start..]).await.ok()?;
        let takes = meddling.on_streams() && counter.takes(meddling, &String::from_utf8_lossy(&chunk));
        let times = match meddling.act {
            Act::Drop if takes => 0,
            Act::Repeat if takes => 2,
            _ => 1,
        };
        for _ in 0..times {
            client.write_all(&chunk).await.ok()?;
        }
        if size == 0 {
            return Some(());
        }
    }
}
