//! The end of a process: it is waited for, asked for, or made.

use std::{process::ExitStatus, sync::Arc, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{process::Child, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{lines::End, words::Words};
use crate::transport::pipe::Inbox;

/// How long a process may take to end by itself once its stdin is closed: it may have a call to finish.
const BY_ITSELF: Duration = Duration::from_secs(5);

/// How long it may take once it was asked to (SIGTERM).
const ASKED: Duration = Duration::from_secs(3);

/// How long the rest of its output may take once it has ended. It is in the pipe already, unless something that the
/// process started still writes.
const REST: Duration = Duration::from_millis(500);

/// Waits for the end of a process, and brings it about.
pub(super) struct Keeper {
    pub(super) name: String,
    /// Ends early when the process does not read any more.
    pub(super) stdin: JoinHandle<()>,
    pub(super) stdout: JoinHandle<End>,
    pub(super) stderr: JoinHandle<()>,
    pub(super) words: Arc<Words>,
    pub(super) inbox: Inbox,
    /// Fires when nobody needs the process any more.
    pub(super) unwanted: CancellationToken,
    /// To be fired when it is gone.
    pub(super) gone: CancellationToken,
}

/// The process group of a child. Dropped, it is killed, with whatever the child has left behind in it.
struct Group(Option<Pid>);

// === impl Keeper ===

impl Keeper {
    pub(super) fn start(self, child: Child) {
        let group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
        tokio::spawn(self.keep(child, group));
    }

    async fn keep(mut self, mut child: Child, group: Group) {
        let (mut read, mut status) = (None, None);
        tokio::select! {
            biased;
            () = self.unwanted.cancelled() => {}
            ended = child.wait() => status = ended.ok(),
            end = &mut self.stdout => {
                read = end.ok();
                status = self.give_up(&mut child, read.as_ref()).await;
            }
            _broken = &mut self.stdin => status = self.give_up(&mut child, None).await,
        }
        if status.is_none() {
            status = end(&mut child, &group).await;
        }
        // At once: the id of a group without a leader is its own only as long as something else lives in it.
        drop(group);
        if read.is_none() {
            read = timeout(REST, &mut self.stdout).await.ok().and_then(Result::ok);
        }
        let _rest = timeout(REST, &mut self.stderr).await;
        self.inbox.closed(&self.obituary(status, read.as_ref()));
        self.stdin.abort();
        self.stdout.abort();
        self.stderr.abort();
        self.gone.cancel();
    }

    /// Nothing can come of a process that does not read or does not write any more. Most have ended; of one that runs on,
    /// who waits is told, and its stdin is closed.
    async fn give_up(&self, child: &mut Child, read: Option<&End>) -> Option<ExitStatus> {
        let ended = timeout(REST, child.wait()).await.ok().and_then(Result::ok);
        if ended.is_none() {
            let deaf = End { why: "it has closed its stdin".to_owned(), nonsense: None };
            self.inbox.closed(&self.obituary(None, Some(read.unwrap_or(&deaf))));
            self.stdin.abort();
        }
        ended
    }

    /// What is told to whoever waits for an answer.
    fn obituary(&self, status: Option<ExitStatus>, read: Option<&End>) -> String {
        let mut text = format!("the process of {} ", self.name);
        match status {
            Some(status) => text.push_str(&format!("has ended ({status})")),
            None => text.push_str("is of no use any more"),
        }
        if let Some(End { why, nonsense }) = read {
            text.push_str("; ");
            text.push_str(why);
            if let Some(nonsense) = nonsense {
                text.push_str(&format!("; it wrote to stdout what is no message: {nonsense:?}"));
            }
        }
        let words = self.words.last();
        if !words.is_empty() {
            text.push_str("; its last words: ");
            text.push_str(&words);
        }
        text
    }
}

/// Waits until the process has ended by itself; asks it to, if that takes too long (SIGTERM), and ends it, if even that
/// does (SIGKILL): *Lifecycle*, Shutdown.
async fn end(child: &mut Child, group: &Group) -> Option<ExitStatus> {
    if let Ok(ended) = timeout(BY_ITSELF, child.wait()).await {
        return ended.ok();
    }
    group.signal(Signal::TERM);
    if let Ok(ended) = timeout(ASKED, child.wait()).await {
        return ended.ok();
    }
    group.signal(Signal::KILL);
    child.wait().await.ok()
}

// === impl Group ===

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // It fails where the group is gone already, which is what is wanted.
            let _gone = kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
