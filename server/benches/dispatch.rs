//! How long a request takes with no socket under it, in each revision: `cargo bench -p trunkline --bench dispatch`.
//!
//! For people, while they work on something: times differ from run to run, and nothing is held against them. What must not
//! change unnoticed are the instructions of the same requests: `make dispatch`.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on fails")]
#![allow(missing_docs, reason = "criterion's macros write functions without any")]

#[path = "../../bench/dispatch/src/requests.rs"]
mod requests;

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use trunkline::protocol::Revision;

use self::requests::{Asked, check, open};

/// As in the `trunkline` program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Requests until the next server: fewer than the sessions that one in memory has room for.
const OF_ONE_SERVER: u64 = 100_000;

fn dispatch(criterion: &mut Criterion) {
    let system = actix::System::new();
    for what in ["call", "list", "initialize"] {
        let mut group = criterion.benchmark_group(what);
        for revision in Revision::ALL {
            let Some(asked) = Asked::of(what, revision) else { continue };
            let id = BenchmarkId::from_parameter(revision);
            group.bench_function(id, |bencher| {
                bencher.iter_custom(|times| system.block_on(time(revision, &asked, times)));
            });
        }
        group.finish();
    }
}

/// How long so many take, one after the other.
async fn time(revision: Revision, asked: &Asked, times: u64) -> Duration {
    let (mut spent, mut left) = (Duration::ZERO, times);
    while left > 0 {
        let some = left.min(OF_ONE_SERVER);
        spent += time_some(revision, asked, some).await;
        left -= some;
    }
    spent
}

async fn time_some(revision: Revision, asked: &Asked, times: u64) -> Duration {
    let mut dispatch = open(revision).await.unwrap();
    let mut answer = dispatch.ask(&asked.body).await;
    check(&answer, asked.answered).unwrap();
    let began = Instant::now();
    for _ in 0..times {
        answer = std::hint::black_box(dispatch.ask(&asked.body).await);
    }
    let spent = began.elapsed();
    check(&answer, asked.answered).unwrap();
    spent
}

criterion_group!(benches, dispatch);
criterion_main!(benches);
