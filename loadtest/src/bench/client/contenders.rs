//! Whose clients are measured.

use std::{collections::BTreeMap, path::Path};

use trunkline_harness::binary;
use trunkline_protocol::Revision;

use crate::bench::{BenchError, peers};

/// The name of the loop that our own rows are compared with.
const FLOOR: &str = "floor: by hand, hyper";

/// A client.
pub(super) struct Contender {
    pub(super) name: String,
    pub(super) floor: Option<String>,
    pub(super) ours: bool,
    /// Why it is not measured.
    pub(super) absent: Option<String>,
    pub(super) revisions: Vec<Revision>,
    /// What is run, before `http URL REVISION CALLS IN_FLIGHT`.
    pub(super) command: Vec<String>,
}

/// All of them, ours first.
pub(super) struct Field {
    pub(super) contenders: Vec<Contender>,
    /// The versions of the peers, by name.
    pub(super) versions: BTreeMap<String, String>,
}

/// Finds them.
pub(super) fn field(peers: &Path) -> Result<Field, BenchError> {
    let binary = binary::find("bench-client", "BENCH_CLIENT_BIN")?.to_string_lossy().into_owned();
    let own = |name: &str, how: &str, ours: bool| Contender {
        name: name.into(),
        floor: ours.then(|| FLOOR.to_owned()),
        ours,
        absent: None,
        revisions: Revision::ALL[1..].to_vec(),
        command: vec![binary.clone(), how.to_owned()],
    };
    let mut contenders = vec![own("trunkline-client", "ours", true), own(FLOOR, "hand", false)];
    let mut versions = BTreeMap::new();
    for peer in peers::find(peers) {
        match peer.about {
            Err(reason) => contenders.push(absent(&peer.name, reason)),
            Ok(about) => {
                if !about.clients.is_empty() {
                    versions.insert(peer.name.clone(), about.version);
                }
                contenders.extend(about.clients.into_iter().map(|mode| client(&peer.run, mode)));
            }
        }
    }
    Ok(Field { contenders, versions })
}

fn absent(name: &str, reason: String) -> Contender {
    Contender {
        name: name.into(),
        floor: None,
        ours: false,
        absent: Some(reason),
        revisions: vec![Revision::NEWEST],
        command: Vec::new(),
    }
}

fn client(run: &Path, mode: peers::Mode) -> Contender {
    Contender {
        revisions: mode.revisions(),
        name: mode.title,
        floor: mode.floor,
        ours: false,
        absent: None,
        command: vec![run.to_string_lossy().into_owned(), "client".into(), mode.mode],
    }
}
