//! One thread and its clients.

use std::{
    io,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use tokio::task::LocalSet;
use tokio_util::sync::CancellationToken;

use super::{
    client::Virtual,
    pacer::{self, Inbox, Paced},
    schedule::Schedules,
    world::World,
};
use crate::{
    plan::{Plan, Share},
    tally::{Tally, Thread},
};

/// How long a run that is ended early waits for its last answers.
const STOPPING: Duration = Duration::from_secs(3);

/// What a thread is told.
pub(super) struct Task {
    pub(super) plan: Arc<Plan>,
    pub(super) share: Share,
    pub(super) thread: u32,
    pub(super) start: Instant,
    pub(super) stop: CancellationToken,
    /// Where it leaves what it counted; taken from there now and then.
    pub(super) counted: Arc<Mutex<Tally>>,
}

/// What a thread has used of its core.
struct Meter {
    cpu: Duration,
    at: Instant,
}

// === impl Task ===

impl Task {
    /// Runs its clients to their end. Blocks.
    ///
    /// # Errors
    /// That the system refuses a runtime or a timer.
    pub(super) fn run(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, self.work())
    }

    async fn work(self) -> io::Result<()> {
        let world = Rc::new(World::new(self.plan.clone(), self.start, self.stop.clone()));
        let schedules = Schedules::of(&self.plan).filter(|_| world.weights > 0);
        let mine = self.share.clients(self.plan.clients).skip(self.thread as usize);
        let (mut paced, mut clients) = (Vec::new(), Vec::new());
        for number in mine.step_by(self.plan.threads as usize) {
            let inbox = schedules.as_ref().map(|schedules| {
                let inbox = Rc::new(Inbox::new(self.plan.backlog));
                paced.push(Paced { inbox: inbox.clone(), schedule: schedules.client(number) });
                inbox
            });
            let client = Virtual::new(world.clone(), number, inbox);
            clients.push(tokio::task::spawn_local(client.live()));
        }
        let inboxes: Vec<Rc<Inbox>> = paced.iter().map(|paced| paced.inbox.clone()).collect();
        let all = async {
            for client in clients {
                // A client that panicked has said so; the others go on.
                let _ended = client.await;
            }
        };
        let pacing = async {
            let paced = pacer::pace(paced, &world.recorder, &self.stop).await;
            finish(&world, &inboxes).await;
            paced
        };
        let working = async { tokio::join!(pacing, all).0 };
        let mut working = std::pin::pin!(working);
        let mut meter = Meter { cpu: cpu(), at: self.start };
        let mut tick = 0_u32;
        let outcome = loop {
            let next = self.start + Duration::from_secs(u64::from(tick) + 1);
            tokio::select! {
                outcome = &mut working => break outcome,
                () = given_up(&world) => break Ok(()),
                () = tokio::time::sleep_until(next.into()) => {}
            }
            tick += 1;
            let slots = self.plan.slot_seconds();
            if tick.is_multiple_of(slots) {
                world.recorder.gauge(tick / slots - 1);
            }
            self.hand_over(&world, &mut meter);
        };
        self.hand_over(&world, &mut meter);
        outcome
    }

    fn hand_over(&self, world: &World, meter: &mut Meter) {
        let mut delta = world.recorder.take();
        delta.threads.push(meter.read(self.share, self.thread));
        self.counted.lock().merge(&delta);
    }
}

/// Waits until nothing more is begun, and then until what is waiting is done.
async fn finish(world: &World, inboxes: &[Rc<Inbox>]) {
    tokio::select! {
        () = tokio::time::sleep_until(world.end.into()) => {}
        () = world.stop.cancelled() => {}
    }
    world.over.cancel();
    let early = world.stop.is_cancelled();
    for inbox in inboxes {
        inbox.close(early, |due| world.recorder.dropped(due));
    }
    // Starts that wait are served, so that what a slow server makes of them is in the figures; not for ever.
    let deadline = Instant::now() + world.plan.timeout.get();
    tokio::select! {
        () = tokio::time::sleep_until(deadline.into()) => {}
        () = world.stop.cancelled() => {}
        () = drained(inboxes) => {}
    }
    for inbox in inboxes {
        inbox.close(true, |due| world.recorder.dropped(due));
    }
}

/// Returns a while after the run was ended early: what has no answer by then is left alone.
async fn given_up(world: &World) {
    world.stop.cancelled().await;
    tokio::time::sleep(world.patience().min(STOPPING)).await;
}

async fn drained(inboxes: &[Rc<Inbox>]) {
    while !inboxes.iter().all(|inbox| inbox.is_empty()) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

// === impl Meter ===

impl Meter {
    /// What was used since the last time.
    fn read(&mut self, share: Share, thread: u32) -> Thread {
        let (cpu, at) = (cpu(), Instant::now());
        let used = cpu.saturating_sub(std::mem::replace(&mut self.cpu, cpu)).as_secs_f64();
        let wall = at.saturating_duration_since(std::mem::replace(&mut self.at, at)).as_secs_f64();
        // The last part may be too short to say anything.
        let busiest = if wall > 0.5 { (used / wall).min(1.0) } else { 0.0 };
        Thread { process: share.to_string(), thread, cpu_seconds: used, wall_seconds: wall, busiest }
    }
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
