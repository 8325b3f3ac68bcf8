//! Other people's servers and clients, which answer to one command line: `bench/peers/NAME/run` (see `bench/peers/README.md`).

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;
use trunkline_protocol::Revision;

/// A peer, as its folder describes it.
pub(super) struct Peer {
    /// The folder's name.
    pub(super) name: String,
    /// Its `run`.
    pub(super) run: PathBuf,
    /// What it says of itself, or why it cannot be run here.
    pub(super) about: Result<About, String>,
}

/// What `run about` prints.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct About {
    /// Name and version, as "rmcp 3.11.0".
    pub(super) version: String,
    /// The ways in which it serves.
    #[serde(default)]
    pub(super) serves: Vec<Mode>,
    /// The ways in which it serves where several of it share a Redis, with a tool that asks and one that tells all.
    #[serde(default)]
    pub(super) replicas: Vec<Mode>,
    /// Its clients.
    #[serde(default)]
    pub(super) clients: Vec<Mode>,
}

/// A way in which a peer serves, `run serve PORT MODE`; or one of its clients, `run client MODE http URL REVISION CALLS IN_FLIGHT`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Mode {
    /// What it is called on the command line.
    pub(super) mode: String,
    /// What a table calls it.
    pub(super) title: String,
    /// The revisions that it speaks.
    pub(super) revisions: Vec<String>,
    /// The title of the row that its own stack's floor has.
    #[serde(default)]
    pub(super) floor: Option<String>,
    /// It has no protocol: it answers a call of `add`, and nothing else.
    #[serde(default)]
    pub(super) is_floor: bool,
    /// It wants a Redis, whose URL is in `REDIS_URL`.
    #[serde(default)]
    pub(super) redis: bool,
}

/// The peers of a folder, by name. A folder that is not there has none.
pub(super) fn find(folder: &Path) -> Vec<Peer> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<Peer> = entries.filter_map(|entry| peer(&entry.path())).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn peer(folder: &Path) -> Option<Peer> {
    let run = folder.join("run").canonicalize().ok()?;
    let name = folder.file_name()?.to_string_lossy().into_owned();
    Some(Peer { name, about: about(&run), run })
}

fn about(run: &Path) -> Result<About, String> {
    let output =
        Command::new(run).arg("about").output().map_err(|error| format!("cannot be run: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
        return Err(last.unwrap_or("not installed").to_owned());
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("`run about` printed something else: {error}"))
}

// === impl Mode ===

impl Mode {
    /// The revisions, as far as they are known here.
    pub(super) fn revisions(&self) -> Vec<Revision> {
        self.revisions.iter().filter_map(|name| Revision::from_name(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_says_what_it_is_or_why_not() {
        let folder = tempfile::tempdir().unwrap();
        for (name, script) in [
            (
                "a",
                r#"echo '{"version":"a 1","serves":[{"mode":"m","title":"a, m","revisions":["2025-11-25","1"]}]}'"#,
            ),
            ("b", "echo 'b: run bench/peers/install.sh' >&2; exit 3"),
            ("c", "echo what"),
        ] {
            fs::create_dir(folder.path().join(name)).unwrap();
            let run = folder.path().join(name).join("run");
            fs::write(&run, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::create_dir(folder.path().join("no-peer")).unwrap();
        let peers = find(folder.path());
        let names: Vec<&str> = peers.iter().map(|peer| &*peer.name).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(peers[0].about.as_ref().unwrap().serves[0].revisions(), [Revision::V2025_11_25]);
        assert_eq!(peers[1].about.as_ref().unwrap_err(), "b: run bench/peers/install.sh");
        assert!(peers[2].about.as_ref().unwrap_err().contains("something else"));
    }
}
