//! Who is measured: our server, and those of the peers that share a Redis.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use trunkline_harness::{binary, process::Program, scratch::Scratch};

use crate::bench::{BenchError, peers};

/// One worker, as the servers of the peers have one process. Sessions that get no further than `initialize` stay until the
/// end of what is measured.
const CONFIG: &str =
    "[server]\nworkers = 1\nserve_replica_header = true\n[telemetry]\nlog_level = \"error\"\n";

/// Who signs the ids of sessions, which all replicas have to agree on. Nobody else is served.
const RING: &str = "bench:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n";

/// A server that can have replicas.
pub(super) struct Contender {
    pub(super) name: String,
    pub(super) ours: bool,
    /// Why it is not measured.
    pub(super) absent: Option<String>,
    launch: Launch,
}

enum Launch {
    Ours(PathBuf),
    Peer { run: PathBuf, mode: String },
    Nothing,
}

/// All of them, ours first.
pub(super) struct Field {
    pub(super) contenders: Vec<Contender>,
    /// The versions of the peers, by name.
    pub(super) versions: BTreeMap<String, String>,
}

/// What the `run` of a peer says that has replicas, for those that are not installed and so do not say it themselves.
const REPLICAS: &str = "\"replicas\":";

/// Finds them. Of the peers it is those whose replicas share a Redis.
pub(super) fn field(peers: &Path) -> Result<Field, BenchError> {
    let ours = Launch::Ours(binary::trunkline()?);
    let mut contenders = vec![Contender { name: "Trunkline".into(), ours: true, absent: None, launch: ours }];
    let mut versions = BTreeMap::new();
    for peer in peers::find(peers) {
        let other = |name: String, absent, launch| Contender { name, ours: false, absent, launch };
        match peer.about {
            Err(reason) => {
                if fs::read_to_string(&peer.run).is_ok_and(|run| run.contains(REPLICAS)) {
                    contenders.push(other(peer.name, Some(reason), Launch::Nothing));
                }
            }
            Ok(about) => {
                if !about.replicas.is_empty() {
                    versions.insert(peer.name, about.version);
                }
                contenders.extend(about.replicas.into_iter().map(|mode| {
                    other(mode.title, None, Launch::Peer { run: peer.run.clone(), mode: mode.mode })
                }));
            }
        }
    }
    Ok(Field { contenders, versions })
}

// === impl Contender ===

impl Contender {
    /// What makes a replica on that Redis of a port.
    pub(super) fn program(&self, scratch: &Scratch, redis: &str) -> Result<Launcher, BenchError> {
        Ok(match &self.launch {
            Launch::Ours(binary) => {
                let ring = scratch.write("ring", RING)?;
                let shared = format!("[store]\nurl = \"{redis}\"\ninit_ttl = \"1h\"\n");
                let keys = format!("[keys]\nring_file = \"{}\"\n", ring.display());
                let config = scratch.write("replica.toml", format!("{CONFIG}{shared}{keys}"))?;
                Launcher::Ours { binary: binary.clone(), config }
            }
            Launch::Peer { run, mode } => {
                Launcher::Peer { run: run.clone(), mode: mode.clone(), redis: redis.to_owned() }
            }
            // Nothing that is absent is started; asked to all the same, it says so.
            Launch::Nothing => Launcher::Nothing,
        })
    }
}

/// A replica but for its port.
pub(super) enum Launcher {
    Ours { binary: PathBuf, config: PathBuf },
    Peer { run: PathBuf, mode: String, redis: String },
    Nothing,
}

// === impl Launcher ===

impl Launcher {
    pub(super) fn on(&self, port: u16) -> Program {
        let bind = format!("127.0.0.1:{port}");
        match self {
            Self::Ours { binary, config } => Program::new(binary, "cargo build -p trunkline")
                .args(["serve", "--demo", "--bind", &bind, "--admin-bind", "127.0.0.1:0", "--config"])
                .args([config])
                .without_env("TRUNKLINE__"),
            Self::Peer { run, mode, redis } => Program::new(run, "run bench/peers/install.sh")
                .args(["serve", &port.to_string(), mode])
                .env("REDIS_URL", redis),
            Self::Nothing => Program::new("false", ""),
        }
    }
}
