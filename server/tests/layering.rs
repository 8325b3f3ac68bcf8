//! The arrows between modules point one way. Cargo draws those between crates; those within this one are read from the
//! source, tests included, since what a test needs is what the code beside it is coupled to.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

#[path = "layering/imports.rs"]
mod imports;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use imports::Import;
use toml::Table;

/// The modules of the server from the top down. A module may import what stands in a later row, and its own parts.
const ROWS: &[&[&str]] = &[
    &["main", "fuzzing"],
    &["app"],
    &["transport", "admin", "builtin"],
    &["session"],
    &["registry"],
    &[
        "error",
        "config",
        "telemetry",
        "drain",
        "following",
        "outbox",
        "record",
        "principal",
        "keys",
        "cancel",
    ],
];

/// The arrows within the last row: all there may be.
const BETWEEN_LEAVES: &[(&str, &str)] = &[("record", "principal")];

/// Parts of one module that know nothing of each other: no transport knows another one, and what they share knows none.
const STRANGERS: &[(&str, &str)] = &[
    ("transport::http", "transport::stdio"),
    ("transport::stdio", "transport::http"),
    ("transport::broadcast", "transport::http"),
    ("transport::broadcast", "transport::stdio"),
    ("transport::context", "transport::http"),
    ("transport::context", "transport::stdio"),
];

/// What the library shows under a name of its own: other crates, and so below everything.
const FACADE: [&str; 2] = ["model", "protocol"];

/// The crates of this workspace that each of them may name.
const CRATES: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("redis", &["trunkline-harness"]),
    ("harness", &["trunkline-protocol"]),
    ("store", &["trunkline-redis", "trunkline-harness"]),
    ("hub", &["trunkline-redis", "trunkline-harness"]),
    ("client", &["trunkline-protocol", "trunkline-harness"]),
    ("server", &["trunkline-hub", "trunkline-protocol", "trunkline-redis", "trunkline-store"]),
    ("loadtest", &["trunkline-client", "trunkline-harness", "trunkline-protocol"]),
];

fn row(module: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&module))
}

/// What is wrong with an import, if anything is.
fn judge(import: &Import) -> Option<&'static str> {
    let from = import.from.first()?;
    let Some(to) = import.to.first() else { return Some("everything at once") };
    if import.glob && from != to {
        return Some("a glob takes in names that nobody sees");
    }
    if FACADE.contains(&to.as_str()) {
        return None;
    }
    let (Some(above), Some(below)) = (row(from), row(to)) else {
        return Some("a module without a place in the order");
    };
    if from == to {
        let within = |path: &[String], part: &str| {
            path.join("::")
                .split_at_checked(part.len())
                .is_some_and(|(head, tail)| head == part && (tail.is_empty() || tail.starts_with("::")))
        };
        let strange = STRANGERS.iter().any(|(a, b)| within(&import.from, a) && within(&import.to, b));
        return strange.then_some("these two know nothing of each other");
    }
    if to == "builtin" && from != "app" {
        return Some("only app names builtin");
    }
    let last = ROWS.len() - 1;
    let leaf_to_leaf = above == last && BETWEEN_LEAVES.contains(&(from, to));
    (above >= below && !leaf_to_leaf).then_some("an import that goes up, or aside")
}

/// The folder of the whole workspace.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The source files under a folder, each with the path of its module.
fn sources(folder: &Path) -> Vec<(PathBuf, Vec<String>)> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), Vec::new())];
    while let Some((folder, module)) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let inner: Vec<String> = module.iter().cloned().chain([name.clone()]).collect();
            if path.is_dir() {
                folders.push((path, inner));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push((path, if name == "mod" { module.clone() } else { inner }));
            }
        }
    }
    found
}

#[test]
fn no_module_imports_what_stands_above_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    for (path, module) in sources(&src) {
        // The map of the crate: it names every module, to declare it.
        if module == ["lib"] {
            continue;
        }
        for import in imports::read(&fs::read_to_string(&path).unwrap(), &module) {
            if let (Some(from), Some(to)) = (import.from.first(), import.to.first()) {
                seen.insert((from.clone(), to.clone()));
            }
            if let Some(why) = judge(&import) {
                wrong.push(format!("{}:{}: {import}: {why}", path.display(), import.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // A reader that finds nothing would find nothing wrong.
    for arrow in
        [("app", "builtin"), ("transport", "session"), ("session", "registry"), ("registry", "outbox")]
    {
        assert!(seen.contains(&(arrow.0.to_owned(), arrow.1.to_owned())), "{arrow:?} was not seen");
    }
    for (from, to) in BETWEEN_LEAVES {
        assert!(seen.contains(&((*from).to_owned(), (*to).to_owned())), "{from} → {to} is allowed in vain");
    }
}

#[test]
fn every_module_has_a_place_in_the_order() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let there: BTreeSet<String> =
        sources(&src).into_iter().filter_map(|(_, module)| module.into_iter().next()).collect();
    let placed: BTreeSet<String> = ROWS
        .iter()
        .flat_map(|row| row.iter().map(|name| (*name).to_owned()))
        .chain(["lib".to_owned()])
        .collect();
    assert_eq!(there, placed);
}

#[test]
fn a_wrong_import_is_found_however_it_is_written() {
    let wrong = [
        ("session", "use crate::transport::http;"),
        ("registry::run", "use crate::{keys::KeyRing, session::{Core, live::LiveSession}};"),
        ("registry::run", "fn f() -> crate :: app :: Server { todo!() }"),
        ("error", "mod tests { use super::super::keys; }"),
        ("session::tasks::live", "use super::super::super::transport;"),
        ("session::tasks", "use super::{super::{app}, live};"),
        ("transport::http::post", "use super::super::stdio::run;"),
        ("transport::http::post", "use super::{super::{stdio}, head};"),
        ("transport::stdio", "const A: usize = super::http::MOST;"),
        ("transport::context", "use super::http;"),
        ("session", "use crate::builtin::tools;"),
        ("admin", "use crate::transport::http;"),
        ("config::table", "use crate::error::Refusal;"),
        ("outbox", "use crate::principal::Principal;"),
        ("app::run", "use crate::*;"),
        ("app::run", "use crate::session::*;"),
        ("app::run", "use crate::unheard_of::Thing;"),
    ];
    for (module, source) in wrong {
        let module: Vec<String> = module.split("::").map(str::to_owned).collect();
        let found = imports::read(source, &module);
        assert!(found.iter().any(|import| judge(import).is_some()), "{source} in {module:?}: {found:?}");
    }
    let right = [
        ("app::cli", "use super::{build::App, run}; use crate::builtin;"),
        ("transport::http::post", "use super::{super::context, head}; use crate::session::{self, Core};"),
        ("builtin::fail", "use crate::{model::Tool, protocol::RpcError, registry::Exchange};"),
        ("record", "use crate::principal::Principal;"),
        ("keys", "#[cfg(test)] mod tests { use super::*; }"),
        (
            "keys",
            "// use crate::app::Server;\n/* use crate::app; /* nested */ */ const A: &str = \"crate::app::X\";",
        ),
        (
            "keys",
            "const A: &str = r#\"\"crate::app\"\"#; const B: u8 = b'\"'; struct C<'a>(&'a str); // crate::app::B",
        ),
        ("keys", "pub(in crate::keys) struct A; pub(crate) struct B; pub(super) struct C;"),
    ];
    for (module, source) in right {
        let module: Vec<String> = module.split("::").map(str::to_owned).collect();
        let found = imports::read(source, &module);
        assert!(found.iter().all(|import| judge(import).is_none()), "{source} in {module:?}: {found:?}");
    }
}

fn manifest(folder: &str) -> Table {
    let path = workspace().join(folder).join("Cargo.toml");
    fs::read_to_string(&path).unwrap().parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names in a crate's tables of dependencies, those of tests included where `tests` says so.
fn dependencies(manifest: &Table, tests: bool) -> BTreeSet<String> {
    let tables: &[&str] = if tests {
        &["dependencies", "build-dependencies", "dev-dependencies"]
    } else {
        &["dependencies", "build-dependencies"]
    };
    let named = |table: &&str| {
        manifest.get(*table).and_then(toml::Value::as_table).map(|table| table.keys().cloned())
    };
    tables.iter().filter_map(named).flatten().collect()
}

#[test]
fn no_crate_depends_on_one_above_it() {
    for (folder, allowed) in CRATES {
        let named = dependencies(&manifest(folder), true);
        // What tests stand on is no part of what is served.
        let served = dependencies(&manifest(folder), false);
        assert!(
            ["harness", "loadtest"].contains(folder) || !served.contains("trunkline-harness"),
            "{folder} is served with its tests"
        );
        let ours = named.iter().filter(|name| name.starts_with("trunkline"));
        let wrong: Vec<_> = ours.filter(|name| !allowed.contains(&name.as_str())).collect();
        assert!(wrong.is_empty(), "{folder} depends on {wrong:?}");
    }
}

#[test]
fn the_protocol_has_no_runtime_and_no_sockets() {
    const BANNED: [&str; 7] = ["tokio", "actix", "hyper", "futures", "mio", "async", "redis"];
    let named = dependencies(&manifest("protocol"), true);
    assert!(named.contains("serde"), "the manifest was not read: {named:?}");
    let wrong: Vec<_> =
        named.iter().filter(|name| BANNED.iter().any(|banned| name.starts_with(banned))).collect();
    assert!(wrong.is_empty(), "protocol depends on {wrong:?}");
}

/// The store and the hub carry bytes under names: neither reads a message, and neither knows the other.
#[test]
fn the_store_and_the_hub_read_no_messages() {
    for folder in ["store", "hub"] {
        let named = dependencies(&manifest(folder), false);
        assert!(named.contains("bytes"), "the manifest was not read: {named:?}");
        let wrong: Vec<_> = named
            .iter()
            .filter(|name| {
                ["trunkline-p", "trunkline-h", "trunkline-s", "serde"]
                    .iter()
                    .any(|other| name.starts_with(other))
            })
            .collect();
        assert!(wrong.is_empty(), "{folder} depends on {wrong:?}");
    }
}
