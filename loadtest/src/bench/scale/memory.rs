//! What an idle session and an open idle stream take, in a replica and in Redis.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use trunkline_protocol::Revision;

use super::{
    Cell, Rig, Trouble,
    caller::{Caller, Opened, Stream},
    contenders::Contender,
    exact,
    fleet::Fleet,
    many, redis,
};
use crate::{
    bench::{
        BenchError,
        model::{Figures, Metric, Table},
    },
    limits::Allowed,
};

const REVISION: Revision = Revision::V2025_11_25;

/// Sessions, one number after the other in the same replica.
const SESSIONS: [usize; 2] = [10_000, 100_000];
const QUICK_SESSIONS: [usize; 2] = [50, 100];

/// Streams, likewise: the second number as far as there are file descriptors.
const STREAMS: [usize; 2] = [10_000, 100_000];
const QUICK_STREAMS: [usize; 2] = [10, 20];

/// File descriptors that neither the generator nor a replica has for streams.
const BESIDE: u64 = 500;

/// What is there before anything is counted, so that what is made when it is first used is.
const FIRST: usize = 50;

/// Opened at the same time.
const AT_ONCE: usize = 32;

/// Until memory counts as settled: so long without a change of a thousandth.
const LOOK: Duration = Duration::from_secs(1);
const LOOKS: u32 = 60;

/// How long sessions are left alone, after which a replica holds nothing of them.
const LEFT_ALONE: Duration = Duration::from_secs(130);

/// What a replica and its Redis hold.
#[derive(Clone, Copy)]
struct Held {
    replica: u64,
    redis: u64,
}

pub(super) async fn measure(
    rig: &Rig<'_>,
    allowed: &Allowed,
    tables: &mut Vec<Table>,
) -> Result<(), BenchError> {
    for contender in &rig.contenders {
        sessions(rig, contender, tables).await?;
    }
    for contender in &rig.contenders {
        streams(rig, contender, allowed, tables).await?;
    }
    Ok(())
}

/// Sessions of all numbers, and the last of them left alone.
async fn sessions(rig: &Rig<'_>, contender: &Contender, tables: &mut Vec<Table>) -> Result<(), BenchError> {
    let counts = if rig.request.quick { QUICK_SESSIONS } else { SESSIONS };
    let cell = |what: &str| {
        let title = "memory of a session past its handshake, with a call".to_owned();
        Cell::new(title, contender, format!("{}, {what}", contender.name), Some(REVISION.as_str()))
    };
    let mut cells: Vec<Cell> = counts.iter().map(|count| cell(&many(*count, "session"))).collect();
    let left = many(counts[counts.len() - 1], "session");
    cells.push(cell(&format!("{left} two minutes later")));
    if contender.absent.is_none() {
        (rig.say)(&format!("memory of sessions: {}", contender.name));
        fill_sessions(rig, contender, &counts, &mut cells).await?;
    }
    cells.into_iter().for_each(|cell| cell.put(tables));
    Ok(())
}

async fn fill_sessions(
    rig: &Rig<'_>,
    contender: &Contender,
    counts: &[usize],
    cells: &mut [Cell],
) -> Result<(), BenchError> {
    let begun = async {
        let fleet = Fleet::start(contender, 1, false, rig.request.pinned).await?;
        open_sessions(&fleet, FIRST).await?;
        let before = settled(rig, &fleet).await?;
        Ok((fleet, before))
    };
    let (fleet, before) = match begun.await {
        Ok(begun) => begun,
        Err(trouble) => return all(cells, trouble),
    };
    let mut there = 0;
    for (index, count) in counts.iter().enumerate() {
        if let Err(trouble) = open_sessions(&fleet, count - there).await {
            return all(&mut cells[index..], trouble);
        }
        there = *count;
        // At once: a session that is left alone is let go of.
        cells[index].add(held(&fleet).await.map(|now| now.beside(before, *count)))?;
    }
    tokio::time::sleep(if rig.request.quick { Duration::ZERO } else { LEFT_ALONE }).await;
    let now = settled(rig, &fleet).await;
    cells[counts.len()].add(now.map(|now| now.beside(before, there)))
}

/// Streams of all numbers.
async fn streams(
    rig: &Rig<'_>,
    contender: &Contender,
    allowed: &Allowed,
    tables: &mut Vec<Table>,
) -> Result<(), BenchError> {
    let room = allowed.files.unwrap_or(u64::MAX).saturating_sub(BESIDE);
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    let wanted = if rig.request.quick { QUICK_STREAMS } else { STREAMS };
    let mut counts: Vec<usize> = wanted.iter().map(|count| (*count).min(room)).collect();
    counts.dedup();
    let mut cells: Vec<Cell> = counts
        .iter()
        .map(|count| {
            let title = "memory of an open idle stream, its session left out".to_owned();
            let name = format!("{}, {}", contender.name, many(*count, "stream"));
            Cell::new(title, contender, name, Some(REVISION.as_str()))
        })
        .collect();
    if contender.absent.is_none() {
        (rig.say)(&format!("memory of streams: {}", contender.name));
        fill_streams(rig, contender, &counts, &mut cells).await?;
    }
    cells.into_iter().for_each(|cell| cell.put(tables));
    Ok(())
}

async fn fill_streams(
    rig: &Rig<'_>,
    contender: &Contender,
    counts: &[usize],
    cells: &mut [Cell],
) -> Result<(), BenchError> {
    let most = counts.last().copied().unwrap_or(0);
    let begun = async {
        let fleet = Fleet::start(contender, 1, false, rig.request.pinned).await?;
        let sessions = open_sessions(&fleet, most).await?;
        let before = settled(rig, &fleet).await?;
        Ok((fleet, sessions, before))
    };
    let (fleet, sessions, before) = match begun.await {
        Ok(begun) => begun,
        Err(trouble) => return all(cells, trouble),
    };
    let mut open: Vec<Stream> = Vec::new();
    for (index, count) in counts.iter().enumerate() {
        match open_streams(&fleet, &sessions[open.len()..*count]).await {
            Ok(more) => open.extend(more),
            Err(trouble) => return all(&mut cells[index..], trouble),
        }
        let now = settled(rig, &fleet).await;
        cells[index].add(now.map(|now| now.beside(before, *count)))?;
    }
    Ok(())
}

/// The same for all of them.
fn all(cells: &mut [Cell], trouble: Trouble) -> Result<(), BenchError> {
    let reason = trouble.to_string();
    let again = |trouble: &Trouble| match trouble {
        Trouble::Cannot(_) => Trouble::Cannot(reason.clone()),
        _ => Trouble::Wrong(reason.clone()),
    };
    if let Trouble::Around(error) = trouble {
        return Err(error);
    }
    cells.iter_mut().try_for_each(|cell| cell.add(Err(again(&trouble))))
}

/// Opens sessions with one call each, over a few connections.
async fn open_sessions(fleet: &Fleet, count: usize) -> Result<Vec<String>, Trouble> {
    let lanes = AT_ONCE.min(count.max(1));
    let share = |lane: usize| (lane..count).step_by(lanes).count();
    let opening = (0..lanes).map(|lane| async move {
        let mut caller = Caller::open(fleet.replica(0).address()).await?;
        let mut sessions = Vec::new();
        for _ in 0..share(lane) {
            let session = caller.initialize(REVISION, 1).await?;
            caller.initialized(REVISION, &session).await?;
            caller.add(REVISION, &session, 2).await?;
            sessions.push(session);
        }
        Ok::<_, Trouble>(sessions)
    });
    Ok(futures_util::future::try_join_all(opening).await?.concat())
}

/// Opens a stream in each session.
async fn open_streams(fleet: &Fleet, sessions: &[String]) -> Result<Vec<Stream>, Trouble> {
    let opening = sessions.iter().map(|session| async move {
        let caller = Caller::open(fleet.replica(0).address()).await?;
        let request = caller.get(REVISION, session);
        match caller.begin(&request).await? {
            Opened::Stream(stream) => Ok(*stream),
            Opened::Answer(reply) => Err(Trouble::Cannot(format!("no stream: {}", reply.shown()))),
        }
    });
    let opened: Vec<Result<Stream, Trouble>> =
        stream::iter(opening).buffer_unordered(AT_ONCE).collect().await;
    opened.into_iter().collect()
}

async fn held(fleet: &Fleet) -> Result<Held, Trouble> {
    Ok(Held { replica: fleet.replica(0).resident(), redis: redis::used(&fleet.redis).await? })
}

/// What is held once it stays.
async fn settled(rig: &Rig<'_>, fleet: &Fleet) -> Result<Held, Trouble> {
    let mut last = held(fleet).await?;
    for _ in 0..if rig.request.quick { 0 } else { LOOKS } {
        tokio::time::sleep(LOOK).await;
        let now = held(fleet).await?;
        let same = now.replica.abs_diff(last.replica) * 1000 <= last.replica;
        last = now;
        if same {
            break;
        }
    }
    Ok(last)
}

// === impl Held ===

impl Held {
    /// For each of so many, what is more than before.
    fn beside(self, before: Self, count: usize) -> Figures {
        let each = |now: u64, before: u64| exact(now.saturating_sub(before)) / exact(count.max(1) as u64);
        Figures::from([
            (Metric::ReplicaBytes, each(self.replica, before.replica)),
            (Metric::RedisBytes, each(self.redis, before.redis)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_more_is_shared_out() {
        let (before, now) = (Held { replica: 1000, redis: 500 }, Held { replica: 3000, redis: 400 });
        let figures = now.beside(before, 10);
        assert_eq!(figures[&Metric::ReplicaBytes], 200.0);
        assert_eq!(figures[&Metric::RedisBytes], 0.0);
    }
}
