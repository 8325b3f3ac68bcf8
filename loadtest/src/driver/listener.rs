//! What a client listens to, and the changes it makes so that there is something to hear.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::{Duration, Instant},
};

use rand::{Rng, rngs::SmallRng};
use serde_json::{Value, json};
use trunkline_client::{Call, ListenFilter, Notification, Notifications, StreamEvent};

use super::{action::Doing, client::Virtual, random, session::Session};
use crate::{
    check::ring::{Heard, Ring},
    plan::Listen,
    tally::{Check, Operation},
};

/// The stream of random choices of a client that listens; lanes have those from 0 on.
const LANE: u32 = 1 << 16;

/// How often it is looked whether an event is overdue.
const LOOK: Duration = Duration::from_millis(200);

/// One session's stream and its ring.
struct Hearing<'a> {
    client: &'a Virtual,
    session: Rc<Session>,
    listen: &'a Listen,
    touch: Operation,
    uris: Vec<String>,
    ring: RefCell<Ring>,
    /// Whether the stream is open, so that what is changed has to be heard of.
    open: Cell<bool>,
    /// Whether it was open before.
    before: Cell<bool>,
}

/// Listens in one session after the other until the run is over.
pub(super) async fn listen(client: &Virtual) {
    let Some(listen) = &client.world.plan.scenario.listen else { return };
    let mut choices = random::choices(client.world.plan.seed, client.number, LANE);
    while !client.world.over.is_cancelled() {
        let Some(session) = client.session(Instant::now()).await else {
            if !client.world.sleep(LOOK).await {
                return;
            }
            continue;
        };
        let hearing = Hearing::new(client, session, listen);
        hearing.run(&mut choices).await;
    }
}

// === impl Hearing ===

impl<'a> Hearing<'a> {
    fn new(client: &'a Virtual, session: Rc<Session>, listen: &'a Listen) -> Self {
        let uri =
            |slot: u16| listen.uri.replace("{client}", &client.name).replace("{slot}", &slot.to_string());
        Self {
            client,
            session,
            listen,
            touch: Operation::tool(&listen.tool),
            uris: (0..listen.ring).map(uri).collect(),
            ring: RefCell::new(Ring::new(listen.ring)),
            open: Cell::new(false),
            before: Cell::new(false),
        }
    }

    async fn run(&self, choices: &mut SmallRng) {
        let world = &self.client.world;
        let filter = ListenFilter { resource_subscriptions: self.uris.clone(), ..ListenFilter::default() };
        let mut stream = self.session.client.listen(filter);
        // A change that was begun is seen through, unless the session is over.
        tokio::select! {
            () = self.change(choices) => {}
            () = self.hear(&mut stream) => {}
            () = self.watch() => {}
        }
        if !world.stop.is_cancelled() && self.ours().await {
            self.last(&mut stream).await;
        }
        self.closed();
    }

    /// Makes changes until the run is over.
    async fn change(&self, choices: &mut SmallRng) {
        let world = &self.client.world;
        loop {
            let wait = self.listen.every.get().mul_f64(choices.random_range(0.5..1.5));
            if !world.sleep(wait.max(Duration::from_millis(1))).await {
                return;
            }
            if self.uris.is_empty() || !self.open.get() {
                continue;
            }
            let slot = self.ring.borrow_mut().begin(Instant::now());
            if let Some(slot) = slot {
                self.touch(slot).await;
            }
        }
    }

    async fn touch(&self, slot: u16) {
        let uri = &self.uris[usize::from(slot)];
        let call = Call::tool(&self.listen.tool, &json!({ "uri": uri }).to_string());
        let doing = Doing {
            client: self.client,
            session: &self.session,
            lane: 0,
            intended: Instant::now(),
            operation: &self.touch,
        };
        self.client.world.recorder.checked(Check::EventLost);
        let busy = self.session.busy();
        let done = doing.touch(call).await;
        drop(busy);
        let (now, mut ring) = (Instant::now(), self.ring.borrow_mut());
        if done { ring.announced(slot, now) } else { ring.unknown(slot, now) }
    }

    /// Hears until the stream is over.
    async fn hear(&self, stream: &mut Notifications) {
        while let Some(event) = stream.event().await {
            self.take(event);
        }
        // One that is over and was not ended by us begins anew a little later.
        self.ring.borrow_mut().excuse();
        self.client.world.sleep(LOOK).await;
    }

    /// Looks for what is overdue, until the session is another one.
    async fn watch(&self) {
        while self.ours().await {
            tokio::time::sleep(LOOK).await;
            self.overdue(self.client.world.plan.timeout.get());
        }
    }

    async fn ours(&self) -> bool {
        self.client.has(&self.session).await
    }

    fn overdue(&self, patience: Duration) {
        let lost = self.ring.borrow_mut().overdue(Instant::now(), patience);
        for _ in 0..lost {
            self.wrong(Check::EventLost, format!("not heard of within {patience:?} after it was announced"));
        }
    }

    /// Hears what is still to come when nothing more is changed.
    async fn last(&self, stream: &mut Notifications) {
        let patience = self.client.world.plan.timeout.get();
        let deadline = Instant::now() + patience;
        while self.ring.borrow().is_waiting() && Instant::now() < deadline {
            tokio::select! {
                event = stream.event() => match event {
                    Some(event) => self.take(event),
                    None => break,
                },
                () = tokio::time::sleep_until(deadline.into()) => break,
                () = self.client.world.stop.cancelled() => return,
            }
        }
        // What was announced last was waited for as long as any other.
        self.overdue(patience);
    }

    fn take(&self, event: StreamEvent) {
        let recorder = &self.client.world.recorder;
        match event {
            StreamEvent::Opened(opened) => {
                let resumed = opened.after.is_some();
                if self.before.replace(true) {
                    recorder.with(|tally| {
                        tally.sessions.streams_reopened += 1;
                        tally.sessions.streams_resumed += u64::from(resumed);
                    });
                    if !resumed {
                        self.ring.borrow_mut().excuse();
                    }
                } else {
                    recorder.with(|tally| tally.sessions.streams_opened += 1);
                }
                if !self.open.replace(true) {
                    recorder.streams_open.set(recorder.streams_open.get() + 1);
                }
            }
            StreamEvent::Lost { .. } | StreamEvent::Ended(_) => self.closed(),
            StreamEvent::Renewed => {
                self.session.note_renewal(&self.client.world);
                self.ring.borrow_mut().excuse();
            }
            StreamEvent::Lagged(_) => self.ring.borrow_mut().excuse(),
            StreamEvent::Notification(notification) => self.notified(&notification),
        }
    }

    fn closed(&self) {
        let open = &self.client.world.recorder.streams_open;
        if self.open.replace(false) {
            open.set(open.get().saturating_sub(1));
        }
    }

    fn notified(&self, notification: &Notification) {
        let recorder = &self.client.world.recorder;
        let now = Instant::now();
        let slot = recorder.slot(now);
        recorder.with(|tally| {
            tally.timeline.entry(slot).or_default().events += 1;
            tally.traffic.received += notification.params.len() as u64;
        });
        if &*notification.method != "notifications/resources/updated" {
            return;
        }
        for check in [Check::EventLeaked, Check::EventDuplicated, Check::EventReordered] {
            recorder.checked(check);
        }
        let params: Value = serde_json::from_slice(&notification.params).unwrap_or_default();
        let uri = params["uri"].as_str().unwrap_or_default();
        let Some(slot) = self.uris.iter().position(|mine| mine == uri) else {
            return self.wrong(Check::EventLeaked, format!("{uri} is not among this client's resources"));
        };
        let heard = self.ring.borrow_mut().heard(u16::try_from(slot).unwrap_or(u16::MAX), now);
        match heard {
            Heard::Wrong(check) => self.wrong(check, uri.to_owned()),
            Heard::Due(after) => {
                let intended = now.checked_sub(after).unwrap_or(now);
                if recorder.measures(intended) {
                    recorder.with(|tally| {
                        let delivery = &self.client.world.names.delivery;
                        let counts = tally.operations.entry(delivery.clone()).or_default();
                        counts.started += 1;
                        counts.succeeded += 1;
                        counts.latency.record(after);
                        counts.service.record(after);
                    });
                }
            }
        }
    }

    fn wrong(&self, check: Check, text: String) {
        let world = &self.client.world;
        let who = world.who(self.client.number, self.session.revision);
        world.recorder.found(who, &world.names.delivery, check, text);
    }
}
