//! What an operator can set: a TOML file, under variables `TRUNKLINE__SECTION__KEY`, under flags, each overriding the ones
//! before, over defaults. All mistakes are found in one run.
//!
//! One table, `table.rs`, has every key. A key is added there and as a field in `sections.rs`; the manual
//! (`docs/configuration.md`) and the example file follow by `UPDATE_DOCS=1 cargo test -p trunkline config`.

mod environment;
mod fault;
mod manual;
mod rules;
mod sections;
mod source;
mod suggest;
mod table;
mod types;
mod value;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

pub use environment::{Environment, ProcessEnvironment};
pub use fault::{Fault, Faults, Place};
pub use manual::{example_file, manual_page};
pub use sections::{HubConfig, KeyConfig, Limits, ServerConfig, StoreConfig, TelemetryConfig};
pub use trunkline_protocol::header::{AllowedHost, AllowedOrigin};
pub use types::{Backend, LogFormat, LogLevel, PublicUrl, Readiness, RingKey, Sessions};

use rules::RULES;
use source::{Given, Setting};
use table::Key;
use value::Raw;

/// A valid configuration. Debug output shows no secret.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The listeners, who may call, and how streams and shutdown behave.
    pub server: ServerConfig,
    /// Where sessions live.
    pub store: StoreConfig,
    /// How replicas talk.
    pub hub: HubConfig,
    /// What signs and seals.
    pub keys: KeyConfig,
    /// Every bound on what a client can make grow.
    pub limits: Limits,
    /// What the server says about itself.
    pub telemetry: TelemetryConfig,
}

/// What flags of the command line set, as written there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--bind`
    pub bind: Option<String>,
    /// `--admin-bind`
    pub admin_bind: Option<String>,
    /// `--store`
    pub store: Option<String>,
}

/// The largest file that is read, of settings or of a secret: a thousand times what one needs, so that a wrong path, as that
/// of a log or a device, is told instead of filling the memory.
const MAX_FILE: u64 = 1024 * 1024;

/// Reads a file. Handed down, so that everything else here is a function of its arguments.
type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

// === impl Config ===

impl Config {
    /// Reads the file at `path`, if one is given, then variables, then flags.
    ///
    /// # Errors
    /// [`Faults`] with everything that is wrong, in all of them.
    pub fn load(path: Option<&Path>, env: &dyn Environment, flags: &Overrides) -> Result<Self, Faults> {
        resolve(path, env, flags, &read_file)
    }

    /// The hub's backend: its own, or the store's.
    #[must_use]
    pub fn hub_url(&self) -> &Backend {
        self.hub.url.as_ref().unwrap_or(&self.store.url)
    }
}

/// The only place where files are read.
fn read_file(path: &Path) -> io::Result<String> {
    read_text(File::open(path)?)
}

fn read_text(source: impl Read) -> io::Result<String> {
    let mut text = String::new();
    let size = source.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if size as u64 > MAX_FILE {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("the file is larger than {MAX_FILE} bytes"),
        ));
    }
    Ok(text)
}

fn resolve(
    path: Option<&Path>,
    env: &dyn Environment,
    flags: &Overrides,
    read: ReadFile<'_>,
) -> Result<Config, Faults> {
    let mut faults = Vec::new();
    let mut settings = Vec::new();
    if let Some(path) = path {
        match read(path) {
            Ok(text) => settings.extend(source::File { path, text: &text }.settings(&mut faults)),
            Err(error) => faults.push(Fault {
                place: Place::File { path: path.to_owned(), line: None },
                what: format!("the file cannot be read: {error}"),
                remedy: "check --config and the file's permissions".to_owned(),
            }),
        }
    }
    settings.extend(source::from_environment(env, &mut faults));
    settings.extend(source::from_flags(flags));
    let mut draft = Draft { config: Config::default(), places: BTreeMap::new(), faulty: Vec::new(), faults };
    for setting in settings {
        draft.apply(setting, read);
    }
    draft.check_rules();
    Faults::new(draft.faults).map_or(Ok(draft.config), Err)
}

/// A configuration in the making.
struct Draft {
    config: Config,
    /// Where each key was set last, by section and name.
    places: BTreeMap<(&'static str, &'static str), Place>,
    /// Keys with a fault of their own, which rules do not judge.
    faulty: Vec<(&'static str, &'static str)>,
    faults: Vec<Fault>,
}

// === impl Draft ===

impl Draft {
    fn apply(&mut self, setting: Setting, read: ReadFile<'_>) {
        let Setting { key, place, given } = setting;
        self.places.insert((key.section, key.name), place.clone());
        let (raw, place, lines) = match given {
            Given::Value(raw, lines) => (raw, place, lines),
            Given::InFile(path) => match read(&path) {
                Ok(text) => {
                    let (raw, lines) = from_secret_file(key, &text);
                    (raw, Place::File { path, line: None }, lines)
                }
                Err(error) => return self.unreadable(key, place, &path, &error),
            },
        };
        let Err(wrong) = key.slot.set(&mut self.config, &raw) else { return };
        self.faulty.push((key.section, key.name));
        let what = format!("{}: {}", key.id(), wrong.what);
        let at_item = wrong.item.and_then(|item| lines.get(item).copied());
        let place = match place {
            Place::File { path, line } => Place::File { path, line: at_item.or(line) },
            elsewhere => elsewhere,
        };
        self.faults.push(Fault { place, what, remedy: wrong.remedy });
    }

    fn unreadable(&mut self, key: &Key, place: Place, path: &Path, error: &io::Error) {
        self.faulty.push((key.section, key.name));
        let what = format!("{}_file: {} cannot be read: {error}", key.id(), path.display());
        let remedy = "check the path and the file's permissions".to_owned();
        self.faults.push(Fault { place, what, remedy });
    }

    fn check_rules(&mut self) {
        for rule in RULES {
            if rule.keys.iter().any(|key| self.faulty.contains(key)) {
                continue;
            }
            let Some(broken) = (rule.broken)(&self.config) else { continue };
            let place = rule.keys.iter().find_map(|key| self.places.get(key)).cloned();
            // Only the defaults could break a rule that no setting has a part in, and a test holds them to all rules.
            let place = place.unwrap_or(Place::File { path: PathBuf::from("the defaults"), line: None });
            self.faulty.extend(rule.keys);
            self.faults.push(Fault { place, what: broken.what, remedy: broken.remedy });
        }
    }
}

/// The value in a file of its own: the text without the newline at its end, or for a list one item a line, where lines that
/// are empty or begin with `#` do not count. With the numbers of the items' lines.
fn from_secret_file(key: &Key, text: &str) -> (Raw, Vec<usize>) {
    if !key.is_list() {
        return (Raw::Untyped(text.trim().to_owned()), Vec::new());
    }
    let lines = text.lines().map(str::trim).enumerate();
    let items = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (numbers, items) = items.map(|(at, line)| (at + 1, line.to_owned())).unzip();
    (Raw::List(items), numbers)
}

#[cfg(test)]
mod tests;
