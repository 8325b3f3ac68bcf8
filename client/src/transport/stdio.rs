//! stdio: a server that is a child process, one message a line.
//!
//! - [`lines`]: what the process writes, cut into messages
//! - [`words`]: what it writes to stderr, and the last of it
//! - [`keeper`]: its end, wanted or not, in the order that the specification asks for
//!
//! The process leads a process group of its own, which ends with it: one that is started by a shell or by a package runner
//! leaves nothing behind. It has to stay in that group; what makes itself a daemon is on its own.

mod keeper;
mod lines;
mod words;

use std::{process::Stdio as Io, sync::Arc};

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::{
    io::AsyncWriteExt,
    process::{ChildStdin, Command},
    sync::mpsc,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::{keeper::Keeper, lines::Lines, words::Words};
use super::pipe::{Inbox, Pipe};
use crate::{error::Error, limits::Limits};

/// Messages that wait for a process which does not read. Whoever sends one more waits until there is room, and each that
/// waits is a call that somebody made.
const QUEUE: usize = 64;

/// As much as is written at once when several messages wait.
const WRITE: usize = 64 * 1024;

/// A running process. Dropped, it is ended in the background as [`Pipe::close`] does; where there is no runtime any more
/// to do that, it is killed.
struct Process {
    name: String,
    /// Taken out when the process is to end: its stdin is closed then.
    queue: Mutex<Option<mpsc::Sender<Bytes>>>,
    /// Fires when nobody needs the process any more; also when this is dropped.
    unwanted: CancellationToken,
    _unwanted: DropGuard,
    /// Fires when it is gone.
    gone: CancellationToken,
}

/// Starts the server's process.
///
/// # Errors
/// [`Error::Connect`] if it cannot be started.
pub(crate) async fn open(mut command: Command, limits: Limits, inbox: Inbox) -> Result<Box<dyn Pipe>, Error> {
    command.stdin(Io::piped()).stdout(Io::piped()).stderr(Io::piped()).process_group(0).kill_on_drop(true);
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    let not_started = |source| Error::Connect { address: name.clone(), source };
    let mut child = command.spawn().map_err(not_started)?;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(not_started(std::io::Error::other("the process has no pipes")));
    };
    let (queue, messages) = mpsc::channel(QUEUE);
    let (unwanted, gone) = (CancellationToken::new(), CancellationToken::new());
    let words = Arc::new(Words::default());
    Keeper {
        name: name.clone(),
        stdin: tokio::spawn(write(stdin, messages)),
        stdout: tokio::spawn(Lines::new(stdout, limits.event).read(inbox.clone())),
        stderr: tokio::spawn(words::drain(stderr, name.clone(), words.clone())),
        words,
        inbox,
        unwanted: unwanted.clone(),
        gone: gone.clone(),
    }
    .start(child);
    let queue = Mutex::new(Some(queue));
    Ok(Box::new(Process { name, queue, _unwanted: unwanted.clone().drop_guard(), unwanted, gone }))
}

// === impl Process ===

impl Pipe for Process {
    fn send(&self, message: Bytes) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let queue = self.queue.lock().clone().ok_or(Error::Closed)?;
            // What is in the queue may be read by the process at any time. When it ends instead, the inbox is told.
            tokio::select! {
                biased;
                () = self.unwanted.cancelled() => Err(Error::Closed),
                sent = queue.send(message) => sent.map_err(|_ended| {
                    Error::unsent(format!("the process of {} does not read any more", self.name))
                }),
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        drop(self.queue.lock().take());
        self.unwanted.cancel();
        Box::pin(self.gone.cancelled())
    }
}

/// Writes what is queued, a line each, until nobody can queue any more; then stdin is closed. A task of its own, since a
/// message that was begun has to be finished, whoever stops waiting for it.
async fn write(mut stdin: ChildStdin, mut messages: mpsc::Receiver<Bytes>) {
    let mut lines = BytesMut::new();
    while let Some(message) = messages.recv().await {
        lines.clear();
        push_line(&mut lines, &message);
        while lines.len() < WRITE
            && let Ok(message) = messages.try_recv()
        {
            push_line(&mut lines, &message);
        }
        if let Err(error) = stdin.write_all(&lines).await {
            // It has closed its stdin, or has ended: which one, its keeper finds out.
            tracing::debug!(%error, "the process does not read any more");
            return;
        }
    }
}

/// Line ends in a message can only be space between its parts: in a string they are escaped. Ours have none; parameters
/// that a caller wrote may.
fn push_line(lines: &mut BytesMut, message: &[u8]) {
    let start = lines.len();
    lines.extend_from_slice(message);
    if memchr::memchr2(b'\n', b'\r', message).is_some() {
        for byte in &mut lines[start..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    lines.extend_from_slice(b"\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line() {
        let mut lines = BytesMut::new();
        push_line(&mut lines, b"{\"a\":1}");
        push_line(&mut lines, b"{\r\n\"b\": \"\\n\"}");
        assert_eq!(lines, "{\"a\":1}\n{  \"b\": \"\\n\"}\n");
    }
}
