//! Who is measured.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use trunkline_harness::{binary, process::Program, scratch::Scratch};
use trunkline_protocol::Revision;

use super::{NEWEST, Operation};
use crate::bench::{BenchError, peers};

/// The name of the floor that our own rows are compared with.
const FLOOR: &str = "floor: actix-web";

/// The answer of the floor to a call, in bytes: as long as ours is in the newest revisions, to a few bytes.
const FLOOR_BYTES: &str = "128";

/// One worker, as the servers of the peers have one process, and no log beside errors.
const CONFIG: &str = "[server]\nworkers = 1\n[telemetry]\nlog_level = \"error\"\n";

/// Who signs the ids of sessions that several replicas may see. Nobody else is served.
const RING: &str = "bench:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n";

/// A server in one of its modes.
pub(super) struct Contender {
    pub(super) name: String,
    pub(super) floor: Option<String>,
    pub(super) ours: bool,
    /// It answers a plain call, without a protocol.
    pub(super) is_floor: bool,
    /// Why it is not measured.
    pub(super) absent: Option<String>,
    revisions: Vec<Revision>,
    launch: Launch,
}

enum Launch {
    Ours { binary: PathBuf, config: PathBuf },
    Floor(PathBuf),
    Peer { run: PathBuf, mode: String, redis: bool },
    Nothing,
}

/// Our server with its memory store, for who measures something else against it.
pub(in crate::bench) fn ours(scratch: &Scratch) -> Result<impl FnOnce(u16) -> Program, BenchError> {
    let binary = binary::find("bench-ours", "BENCH_OURS_BIN")?;
    let contender = Contender::ours("Trunkline, memory", binary, scratch.write("memory.toml", CONFIG)?);
    Ok(move |port| contender.program(port, ""))
}

/// All of them, ours first.
pub(super) struct Field {
    pub(super) contenders: Vec<Contender>,
    /// The versions of the peers, by name.
    pub(super) versions: BTreeMap<String, String>,
}

/// Finds them.
pub(super) fn field(scratch: &Scratch, redis: &str, peers: &Path) -> Result<Field, BenchError> {
    let ours = binary::find("bench-ours", "BENCH_OURS_BIN")?;
    let memory = scratch.write("memory.toml", CONFIG)?;
    let ring = scratch.write("ring", RING)?;
    let shared = format!("{CONFIG}[store]\nurl = \"{redis}\"\n[keys]\nring_file = \"{}\"\n", ring.display());
    let shared = scratch.write("redis.toml", shared)?;
    let mut found = vec![
        Contender::ours("Trunkline, memory", ours.clone(), memory),
        Contender::ours("Trunkline, Redis", ours, shared),
        Contender {
            name: FLOOR.into(),
            floor: None,
            ours: false,
            is_floor: true,
            absent: None,
            revisions: NEWEST.to_vec(),
            launch: Launch::Floor(binary::find("floor", "BENCH_FLOOR_BIN")?),
        },
    ];
    let mut versions = BTreeMap::new();
    for peer in peers::find(peers) {
        match peer.about {
            Err(reason) => found.push(Contender::absent(&peer.name, reason)),
            Ok(about) => {
                versions.insert(peer.name.clone(), about.version);
                found.extend(about.serves.into_iter().map(|mode| Contender::peer(&peer.run, mode)));
            }
        }
    }
    Ok(Field { contenders: found, versions })
}

// === impl Contender ===

impl Contender {
    fn ours(name: &str, binary: PathBuf, config: PathBuf) -> Self {
        Self {
            name: name.into(),
            floor: Some(FLOOR.into()),
            ours: true,
            is_floor: false,
            absent: None,
            revisions: Revision::ALL.to_vec(),
            launch: Launch::Ours { binary, config },
        }
    }

    fn absent(name: &str, reason: String) -> Self {
        Self {
            name: name.into(),
            floor: None,
            ours: false,
            is_floor: false,
            absent: Some(reason),
            revisions: vec![Revision::NEWEST],
            launch: Launch::Nothing,
        }
    }

    fn peer(run: &Path, mode: peers::Mode) -> Self {
        Self {
            revisions: mode.revisions(),
            name: mode.title,
            floor: mode.floor,
            ours: false,
            is_floor: mode.is_floor,
            absent: None,
            launch: Launch::Peer { run: run.to_owned(), mode: mode.mode, redis: mode.redis },
        }
    }

    /// The revisions that an operation is measured in. A floor knows nothing of them, and is sent the newest's.
    pub(super) fn revisions(&self, operation: Operation) -> Vec<Revision> {
        let mut wanted = self.revisions.clone();
        if self.is_floor {
            wanted.retain(|revision| *revision == Revision::NEWEST && operation == Operation::Add);
        } else if operation != Operation::Add {
            wanted.retain(|revision| NEWEST.contains(revision));
        }
        wanted
    }

    /// What serves on a port.
    pub(super) fn program(&self, port: u16, redis: &str) -> Program {
        let bind = format!("127.0.0.1:{port}");
        match &self.launch {
            Launch::Ours { binary, config } => Program::new(binary, "")
                .args(["serve", "--bind", &bind, "--admin-bind", "127.0.0.1:0", "--config"])
                .args([config]),
            Launch::Floor(binary) => {
                Program::new(binary, "").args(["--bind", &bind, "--length", FLOOR_BYTES])
            }
            Launch::Peer { run, mode, redis: wants_redis } => {
                let program = Program::new(run, "run bench/peers/install.sh");
                let program = program.args(["serve", &port.to_string(), mode]);
                if *wants_redis { program.env("REDIS_URL", redis) } else { program }
            }
            // Nothing that is absent is started; asked to all the same, it says so.
            Launch::Nothing => Program::new("false", ""),
        }
    }
}
