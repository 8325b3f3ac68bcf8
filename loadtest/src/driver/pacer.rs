//! Wakes clients when their requests are due.
//!
//! The runtime's own timer tells milliseconds apart, which is too coarse: it would add half of one to every latency. So each
//! thread has one timer of the system's, which tells microseconds apart, and a heap of what is due.

use std::{
    cell::{Cell, RefCell},
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    io,
    os::fd::OwnedFd,
    rc::Rc,
    time::{Duration, Instant},
};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::{io::unix::AsyncFd, sync::Notify};
use tokio_util::sync::CancellationToken;

use super::{
    recorder::{Fate, Recorder},
    schedule::Schedule,
};

/// What is due and not begun yet, of one client.
pub(super) struct Inbox {
    /// No more than the plan's backlog.
    due: RefCell<VecDeque<Instant>>,
    backlog: usize,
    /// Lanes that wait for something to do.
    idle: Cell<usize>,
    wake: Notify,
    /// Nothing more will come.
    over: Cell<bool>,
}

/// One client's inbox, and when its requests are due.
pub(super) struct Paced {
    pub(super) inbox: Rc<Inbox>,
    pub(super) schedule: Schedule,
}

/// A timer of the system's.
struct Timer(AsyncFd<OwnedFd>);

// === impl Inbox ===

impl Inbox {
    pub(super) fn new(backlog: u32) -> Self {
        Self {
            due: RefCell::default(),
            backlog: backlog as usize,
            idle: Cell::default(),
            wake: Notify::new(),
            over: Cell::new(false),
        }
    }

    /// The next start; waits until it is due. `None` when nothing more will come.
    pub(super) async fn next(&self) -> Option<Instant> {
        loop {
            if let Some(due) = self.due.borrow_mut().pop_front() {
                return Some(due);
            }
            if self.over.get() {
                return None;
            }
            self.idle.set(self.idle.get() + 1);
            self.wake.notified().await;
            self.idle.set(self.idle.get() - 1);
        }
    }

    /// Nothing more will come; `given_up` is told of what will not be begun any more.
    pub(super) fn close(&self, drop_rest: bool, mut given_up: impl FnMut(Instant)) {
        self.over.set(true);
        if drop_rest {
            self.due.borrow_mut().drain(..).for_each(&mut given_up);
        }
        self.wake.notify_waiters();
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.due.borrow().is_empty()
    }

    fn push(&self, due: Instant) -> Fate {
        let mut waiting = self.due.borrow_mut();
        if waiting.len() >= self.backlog {
            return Fate::Dropped;
        }
        let fate = if self.idle.get() > waiting.len() { Fate::AtOnce } else { Fate::Waits };
        waiting.push_back(due);
        self.wake.notify_one();
        fate
    }
}

// === impl Timer ===

impl Timer {
    #[expect(
        deprecated,
        reason = "its successor is unsafe for types that are no owner of their descriptor; this one is"
    )]
    fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self(AsyncFd::new(timerfd_create(TimerfdClockId::Monotonic, flags)?)?))
    }

    async fn sleep(&self, wait: Duration) -> io::Result<()> {
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            // 0 would switch it off.
            tv_nsec: i64::from(wait.subsec_nanos()).max(1),
        };
        let spec = Itimerspec { it_interval: never, it_value: value };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &spec)?;
        loop {
            let mut ready = self.0.readable().await?;
            let read = ready.try_io(|timer| {
                let mut count = [0_u8; 8];
                Ok(rustix::io::read(timer.get_ref(), &mut count)?)
            });
            match read {
                Ok(read) => return read.map(drop),
                Err(_not_yet) => {}
            }
        }
    }
}

/// Puts starts into inboxes when they are due, until there are none left or it is stopped.
pub(super) async fn pace(
    mut clients: Vec<Paced>,
    recorder: &Recorder,
    stop: &CancellationToken,
) -> io::Result<()> {
    let timer = Timer::new()?;
    let mut heap = BinaryHeap::with_capacity(clients.len());
    let plan_next = |heap: &mut BinaryHeap<_>, at: usize, clients: &mut Vec<Paced>| {
        if let Some(seconds) = clients[at].schedule.next() {
            heap.push(Reverse((recorder.start + Duration::from_secs_f64(seconds), at)));
        }
    };
    (0..clients.len()).for_each(|at| plan_next(&mut heap, at, &mut clients));
    while let Some(Reverse((due, at))) = heap.pop() {
        let wait = due.saturating_duration_since(Instant::now());
        if !wait.is_zero() {
            tokio::select! {
                slept = timer.sleep(wait) => slept?,
                () = stop.cancelled() => break,
            }
        } else if stop.is_cancelled() {
            break;
        }
        let late = due.elapsed();
        let fate = clients[at].inbox.push(due);
        recorder.due(due, late, fate);
        plan_next(&mut heap, at, &mut clients);
        if wait.is_zero() {
            // Those that are behind let the others work meanwhile.
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}
