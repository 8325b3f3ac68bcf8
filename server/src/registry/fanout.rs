//! Broadcasts as they reach the listeners of this replica: read once, and handed only to those who may want them.
//!
//! A stream that has asked for one resource is not woken for the changes of all others: with thousands of streams, that is
//! most of what a broadcast costs. Whoever takes too little too slowly is let go, and reads the log for itself until it has
//! caught up.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};
use trunkline_hub::{Delivery, Entry, Hub, HubError, Operation, Position};

use super::services::{Broadcast, Services};
use crate::following::{Following, Life};

/// Broadcasts that wait for one listener, which may want them all. Who takes longer than so many reads the log.
const QUEUE: usize = 64;

/// How long a listener waits for the first word of the hub: a reconnection fits.
const PATIENCE: Duration = Duration::from_secs(2);

/// The pause before a hub that could not be reached is asked again.
const PAUSE: Duration = Duration::from_millis(250);

/// Hands out broadcasts on one replica.
pub(crate) struct Fanout {
    /// The place of the last broadcast that was handed out; `None` until the log is followed.
    place: watch::Sender<Option<Position>>,
    listeners: Mutex<HashMap<u64, Listener>>,
    numbers: AtomicU64,
}

/// Somebody who listens.
struct Listener {
    may_want: Box<dyn Fn(&Broadcast) -> bool + Send + Sync>,
    inbox: Arc<Inbox>,
}

/// What was handed to one listener and not taken yet.
#[derive(Default)]
struct Inbox {
    queue: Mutex<Queue>,
    news: Notify,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<(Position, Arc<Broadcast>)>,
    /// Where the listener was let go: everything up to there was handed to it, or it did not want it.
    let_go: Option<Position>,
}

/// One listener's share. Dropped, it gets no more.
pub(crate) struct Share {
    fanout: Arc<Fanout>,
    number: u64,
    inbox: Arc<Inbox>,
    from: Position,
}

// === impl Fanout ===

impl Fanout {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            place: watch::Sender::new(None),
            listeners: Mutex::default(),
            numbers: AtomicU64::new(0),
        })
    }

    /// Reads the log of broadcasts for everybody here, as long as it is polled.
    pub(crate) async fn run(&self, hub: &Arc<dyn Hub>) {
        let topic = Services::broadcast_topic();
        let place = loop {
            match hub.position(&topic).await {
                Ok(place) => break place,
                Err(error) => {
                    tracing::debug!(%error, "broadcasts cannot be followed yet");
                    sleep(PAUSE).await;
                }
            }
        };
        let mut log = Following::begin(hub.clone(), topic, place, Life::Renewed).await;
        self.place.send_replace(Some(place));
        while let Some(delivery) = log.next().await {
            match delivery {
                Delivery::Entry(entry) => self.hand_out(&entry),
                Delivery::Gap => self.let_everybody_go(),
                Delivery::Gone => {}
            }
        }
    }

    /// Listens. Everything after [`Share::from`] that `may_want` says yes to is handed out; a listener may still find that it
    /// does not want it.
    ///
    /// # Errors
    /// That the log is not followed here, since the hub cannot be reached.
    pub(crate) async fn join(
        self: &Arc<Self>,
        may_want: impl Fn(&Broadcast) -> bool + Send + Sync + 'static,
    ) -> Result<Share, HubError> {
        let mut place = self.place.subscribe();
        // What this returns is let go of at once: it would keep the place from changing.
        let begun = timeout(PATIENCE, place.wait_for(Option::is_some)).await.is_ok_and(|begun| begun.is_ok());
        if !begun {
            let source = "broadcasts are not followed yet".into();
            return Err(HubError::Unavailable { operation: Operation::Follow, source });
        }
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let inbox = Arc::<Inbox>::default();
        let mut listeners = self.listeners.lock();
        // Under the lock, under which it changes.
        let from = self.place.borrow().unwrap_or_default();
        listeners.insert(number, Listener { may_want: Box::new(may_want), inbox: inbox.clone() });
        drop(listeners);
        Ok(Share { fanout: self.clone(), number, inbox, from })
    }

    fn hand_out(&self, entry: &Entry) {
        let mut listeners = self.listeners.lock();
        let before = self.place.send_replace(Some(entry.position)).unwrap_or_default();
        let Ok(broadcast) = serde_json::from_slice::<Broadcast>(&entry.payload) else { return };
        let broadcast = Arc::new(broadcast);
        listeners.retain(|_, listener| {
            !(listener.may_want)(&broadcast) || listener.inbox.put(entry.position, &broadcast, before)
        });
    }

    /// Some were missed: each finds out for itself what that means for it.
    fn let_everybody_go(&self) {
        let mut listeners = self.listeners.lock();
        let place = self.place.borrow().unwrap_or_default();
        for (_, listener) in listeners.drain() {
            listener.inbox.let_go(place);
        }
    }
}

// === impl Inbox ===

impl Inbox {
    /// `false` if there is no room: the listener is let go, with everything up to `before`.
    fn put(&self, position: Position, broadcast: &Arc<Broadcast>, before: Position) -> bool {
        let mut queue = self.queue.lock();
        let has_room = queue.waiting.len() < QUEUE;
        if has_room {
            queue.waiting.push_back((position, broadcast.clone()));
        } else {
            queue.let_go = Some(before);
        }
        drop(queue);
        self.news.notify_one();
        has_room
    }

    fn let_go(&self, place: Position) {
        self.queue.lock().let_go = Some(place);
        self.news.notify_one();
    }
}

// === impl Share ===

impl Share {
    /// Everything after this place is handed out.
    pub(crate) fn from(&self) -> Position {
        self.from
    }

    /// The next one and its place; or, when this listener was let go, the place up to which it missed nothing. Nothing is lost
    /// if the future is dropped before it is done.
    pub(crate) async fn next(&self) -> Result<(Position, Arc<Broadcast>), Position> {
        loop {
            {
                let mut queue = self.inbox.queue.lock();
                if let Some(next) = queue.waiting.pop_front() {
                    // A burst is over: its room is given back.
                    if queue.waiting.is_empty() {
                        queue.waiting = VecDeque::new();
                    }
                    return Ok(next);
                }
                if let Some(place) = queue.let_go {
                    return Err(place);
                }
            }
            self.inbox.news.notified().await;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.fanout.listeners.lock().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use trunkline_hub::{
        Retention,
        memory::{MemoryHub, MemoryLimits},
    };

    use super::*;

    struct Replica {
        hub: Arc<dyn Hub>,
        fanout: Arc<Fanout>,
        reader: tokio::task::AbortHandle,
    }

    fn replica() -> Replica {
        let hub: Arc<dyn Hub> = Arc::new(MemoryHub::new(MemoryLimits::default()));
        let fanout = Fanout::new();
        let (of, follows) = (fanout.clone(), hub.clone());
        let reader = tokio::spawn(async move { of.run(&follows).await }).abort_handle();
        Replica { hub, fanout, reader }
    }

    impl Replica {
        async fn publish(&self, uri: &str) -> Position {
            let payload = Bytes::from(serde_json::to_vec(&Broadcast::Resource(uri.into())).unwrap());
            let retention = Retention { entries: 1000, age: Duration::from_secs(60) };
            self.hub.append(&Services::broadcast_topic(), None, retention, payload, false).await.unwrap()
        }

        async fn only(&self, uri: &'static str) -> Share {
            let wants = move |it: &Broadcast| matches!(it, Broadcast::Resource(changed) if **changed == *uri);
            self.fanout.join(wants).await.unwrap()
        }
    }

    impl Drop for Replica {
        fn drop(&mut self) {
            self.reader.abort();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_gets_what_it_may_want_from_when_it_joined() {
        let replica = replica();
        let (a, b) = (replica.only("a").await, replica.only("b").await);
        let places = [replica.publish("b").await, replica.publish("a").await, replica.publish("b").await];
        assert_eq!(a.next().await.unwrap().0, places[1]);
        assert_eq!(b.next().await.unwrap().0, places[0]);
        assert_eq!(b.next().await.unwrap().0, places[2]);
        let late = replica.only("b").await;
        assert_eq!(late.from(), places[2]);
        let nothing = timeout(Duration::from_secs(1), late.next()).await;
        assert!(nothing.is_err(), "what was before is not handed out");
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_slow_is_told_from_where_to_read_on() {
        let replica = replica();
        let slow = replica.only("a").await;
        let mut places = Vec::new();
        for _ in 0..=QUEUE {
            replica.publish("b").await;
            places.push(replica.publish("a").await);
        }
        let last_unwanted = {
            let watcher = replica.only("end").await;
            replica.publish("end").await;
            watcher.next().await.unwrap();
            places[QUEUE]
        };
        for place in &places[..QUEUE] {
            assert_eq!(slow.next().await.unwrap().0, *place);
        }
        let let_go = slow.next().await.unwrap_err();
        assert!(
            let_go > places[QUEUE - 1] && let_go < last_unwanted,
            "after all it has, and before what it lacks"
        );
        assert_eq!(replica.fanout.listeners.lock().len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_left_behind_and_who_leaves_is_forgotten() {
        let replica = replica();
        let share = replica.only("a").await;
        assert_eq!(replica.fanout.listeners.lock().len(), 1);
        drop(share);
        assert_eq!(replica.fanout.listeners.lock().len(), 0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn some_join_while_others_are_handed_something() {
        let replica = replica();
        let (fanout, all) = (replica.fanout.clone(), replica.only("a").await);
        let joining = tokio::spawn(async move {
            for _ in 0..2000 {
                drop(fanout.join(|_| true).await.unwrap());
                tokio::task::yield_now().await;
            }
        });
        let publishing = async {
            while !joining.is_finished() {
                let place = replica.publish("a").await;
                assert_eq!(all.next().await.unwrap().0, place);
            }
        };
        timeout(Duration::from_secs(30), publishing).await.expect("neither waits for the other");
        joining.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_log_nobody_listens() {
        let error = Fanout::new().join(|_| true).await.map(drop).unwrap_err();
        assert!(matches!(error, HubError::Unavailable { .. }), "{error}");
    }
}
