//! Servers as processes: where they run, what they cost.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use tokio::net::TcpStream;
use trunkline_harness::{
    ports::Port,
    process::{Process, Program},
    scratch::Scratch,
};

use super::BenchError;

/// The core that servers are kept on, and the one of the generator.
pub(super) const SERVER_CORE: usize = 0;
pub(super) const CLIENT_CORE: usize = 1;

/// How long a server may take until it listens: interpreters on a busy machine take seconds.
const START: Duration = Duration::from_secs(60);

/// Between two looks whether it listens.
const LOOK: Duration = Duration::from_millis(5);

const PAGE: u64 = 4096;

/// A running server, alone in its process group. Dropped, it is killed with whatever it has started.
pub(super) struct Server {
    process: Process,
    port: Port,
}

// === impl Server ===

impl Server {
    /// Starts what `program` makes of a port, and returns when it listens there.
    pub(super) async fn start(
        scratch: &Scratch,
        pinned: bool,
        program: impl FnOnce(u16) -> Program,
    ) -> Result<Self, BenchError> {
        let port = Port::draw()?;
        let program = program(port.number());
        let program = if pinned { program.on_core(SERVER_CORE) } else { program };
        let mut server = Self { process: Process::spawn(scratch, &program)?, port };
        server.listens().await?;
        Ok(server)
    }

    async fn listens(&mut self) -> Result<(), BenchError> {
        let deadline = Instant::now() + START;
        while TcpStream::connect(self.address()).await.is_err() {
            if self.process.status().is_some() || Instant::now() > deadline {
                let name = self.process.name();
                let log = self.process.logs_tail();
                return Err(BenchError::Input(format!("{name} does not listen. It said:\n{log}")));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    pub(super) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port.number()).into()
    }

    /// Time on a processor so far, user and system, of all its threads and children that live.
    pub(super) fn cpu(&self) -> Duration {
        group(self.process.id()).iter().map(|path| path.as_path()).map(cpu_of).sum()
    }

    /// The last lines of what it has said.
    pub(super) fn logs_tail(&self) -> String {
        self.process.logs_tail()
    }

    /// Resident memory of all its processes, in bytes.
    pub(super) fn resident(&self) -> u64 {
        group(self.process.id()).iter().map(|path| path.as_path()).filter_map(resident_of).sum()
    }
}

/// The folders in /proc of the processes of a group.
fn group(leader: u32) -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| group_of(path) == Some(leader)).collect()
}

/// The group of a process: the fifth field of its `stat`, the third after the name, which may hold anything.
fn group_of(process: &Path) -> Option<u32> {
    let name = process.file_name()?.to_str()?;
    name.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(2)?.parse().ok()
}

/// The threads' own accounting, in nanoseconds: `utime` counts ticks of 10 ms. A thread that has ended is not in it.
fn cpu_of(process: &Path) -> Duration {
    let threads = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    let spent = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_ascii_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(spent.sum())
}

fn resident_of(process: &Path) -> Option<u64> {
    let text = fs::read_to_string(process.join("statm")).ok()?;
    Some(text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()? * PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_time_and_memory_of_children_count() {
        let scratch = Scratch::new().unwrap();
        // A shell that never works, whose child does.
        let busy = "while :; do :; done & wait";
        let process = Process::spawn(&scratch, &Program::new("sh", "").args(["-c", busy])).unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let spent = || group(process.id()).iter().map(|path| path.as_path()).map(cpu_of).sum::<Duration>();
        while spent() < Duration::from_millis(50) {
            assert!(Instant::now() < deadline, "the child's time is not counted");
            tokio::time::sleep(LOOK).await;
        }
        assert!(
            group(process.id()).iter().map(|path| path.as_path()).filter_map(resident_of).sum::<u64>()
                > 100_000
        );
        assert_eq!(group(process.id()).len(), 2);
    }
}
