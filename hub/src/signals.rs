//! Signals within one process: a bounded queue per listener. Every hub has one.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{Channel, Signal};

/// How far a listener may be behind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backlog {
    pub(crate) signals: usize,
    pub(crate) bytes: usize,
}

/// Who listens to what. The number of listeners is fixed by how many places listen, a few in a replica; clients add none.
#[derive(Debug)]
pub(crate) struct Signals {
    backlog: Backlog,
    channels: Mutex<HashMap<Channel, Vec<Arc<Inbox>>>>,
    pub(crate) listeners: AtomicUsize,
    /// Signals that found a full queue, counted once for each.
    pub(crate) lost: AtomicU64,
}

#[derive(Debug, Default)]
struct Inbox {
    queue: Mutex<Queue>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    signals: VecDeque<Signal>,
    /// Of all payloads.
    bytes: usize,
    /// Nothing more comes: the hub is gone.
    closed: bool,
}

/// One listener. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Listening {
    signals: Arc<Signals>,
    channel: Channel,
    inbox: Arc<Inbox>,
}

// === impl Signals ===

impl Signals {
    pub(crate) fn new(backlog: Backlog) -> Self {
        Self { backlog, channels: Mutex::default(), listeners: AtomicUsize::new(0), lost: AtomicU64::new(0) }
    }

    pub(crate) fn listen(self: &Arc<Self>, channel: &Channel) -> Listening {
        let inbox = Arc::<Inbox>::default();
        self.channels.lock().entry(channel.clone()).or_default().push(Arc::clone(&inbox));
        self.listeners.fetch_add(1, Ordering::Relaxed);
        Listening { signals: Arc::clone(self), channel: channel.clone(), inbox }
    }

    pub(crate) fn send(&self, signal: &Signal) {
        // Copied, so that nobody is woken under the lock. There are a few at most.
        let inboxes = self.channels.lock().get(&signal.channel).cloned().unwrap_or_default();
        for inbox in &inboxes {
            if !inbox.put(signal, self.backlog) {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Whether nobody is remembered.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.channels.lock().is_empty()
    }

    /// Ends all listeners, after what they still hold.
    pub(crate) fn close(&self) {
        let inboxes: Vec<_> = self.channels.lock().values().flatten().cloned().collect();
        for inbox in inboxes {
            inbox.queue.lock().closed = true;
            inbox.wake.notify_one();
        }
    }
}

// === impl Inbox ===

impl Inbox {
    /// Whether there was room. The newest signal is the one that is lost.
    fn put(&self, signal: &Signal, backlog: Backlog) -> bool {
        let mut queue = self.queue.lock();
        let bytes = queue.bytes + signal.payload.len();
        if queue.signals.len() >= backlog.signals || bytes > backlog.bytes {
            return false;
        }
        queue.bytes = bytes;
        queue.signals.push_back(signal.clone());
        drop(queue);
        self.wake.notify_one();
        true
    }
}

// === impl Listening ===

impl Listening {
    /// The next signal; `None` when the hub is gone.
    pub(crate) async fn next(&mut self) -> Option<Signal> {
        tokio::task::consume_budget().await;
        loop {
            {
                let mut queue = self.inbox.queue.lock();
                if let Some(signal) = queue.signals.pop_front() {
                    queue.bytes -= signal.payload.len();
                    return Some(signal);
                }
                if queue.closed {
                    return None;
                }
            }
            // A permit is kept for whoever comes late, so nothing put since is missed.
            self.inbox.wake.notified().await;
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut channels = self.signals.channels.lock();
        if let Some(inboxes) = channels.get_mut(&self.channel) {
            inboxes.retain(|inbox| !Arc::ptr_eq(inbox, &self.inbox));
            if inboxes.is_empty() {
                channels.remove(&self.channel);
            }
        }
        self.signals.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}
