//! Where settings are found: the file, the environment, the command line. Nothing is read here but texts already in memory.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    Environment, Overrides,
    fault::{Fault, Place},
    suggest::nearest,
    table::{self, FILE_SUFFIX, Key, VARIABLE_PREFIX},
    value::Raw,
};

/// A key that was set somewhere.
pub(super) struct Setting {
    pub(super) key: &'static Key,
    pub(super) place: Place,
    pub(super) given: Given,
}

/// What a key was set to.
pub(super) enum Given {
    /// The value, and the lines of its items where it is a list that has lines.
    Value(Raw, Vec<usize>),
    /// The path of a file that holds the value.
    InFile(PathBuf),
}

/// Sections of later versions.
const RESERVED: [&str; 2] = ["auth", "source"];

// === the file ===

/// A configuration file in memory.
pub(super) struct File<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

// === impl File ===

impl File<'_> {
    /// What the file sets. Mistakes of syntax do not hide those of the rest.
    pub(super) fn settings(&self, faults: &mut Vec<Fault>) -> Vec<Setting> {
        let (document, errors) = DeTable::parse_recoverable(self.text);
        let mut broken_lines = Vec::new();
        for error in errors {
            let line = self.line(error.span().map_or(0, |span| span.start));
            if !broken_lines.contains(&line) {
                broken_lines.push(line);
                let what = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
                faults.push(self.fault(
                    line,
                    what,
                    "write TOML: `key = value`, strings in quotes, lists in brackets",
                ));
            }
        }
        let mut found = Vec::new();
        let mut further = Vec::new();
        for (name, value) in document.get_ref() {
            self.section(name, value, &mut found, &mut further);
        }
        // What the parser made of a broken line is nobody's intention.
        let intended = |place: &Place| !matches!(place, Place::File { line: Some(line), .. } if broken_lines.contains(line));
        faults.extend(further.into_iter().filter(|fault| intended(&fault.place)));
        found.retain(|setting: &Setting| intended(&setting.place));
        found
    }

    fn section(
        &self,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        found: &mut Vec<Setting>,
        faults: &mut Vec<Fault>,
    ) {
        let line = self.line(name.span().start);
        let text = name.get_ref().as_ref();
        let Some(section) = table::SECTIONS.iter().find(|section| section.name == text) else {
            faults.push(self.unknown_section(line, text, value.get_ref().is_table()));
            return;
        };
        let Some(keys) = value.get_ref().as_table() else {
            let what = format!("{text} is a section, not a key");
            faults.push(self.fault(
                line,
                what,
                format!("write [{text}] on a line of its own and its keys below"),
            ));
            return;
        };
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, value) in keys {
            let line = self.line(name.span().start);
            let written = name.get_ref().as_ref();
            match look_up(section.name, written) {
                Some((key, in_file)) => {
                    if seen.insert(key.name, written).is_some() {
                        faults.push(self.fault(line, both(key), "keep one of them"));
                    }
                    found.extend(self.setting(key, in_file, line, value, faults));
                }
                None => {
                    let (what, remedy) = unknown_key(section.name, written);
                    faults.push(self.fault(line, what, remedy));
                }
            }
        }
    }

    fn setting(
        &self,
        key: &'static Key,
        in_file: bool,
        line: usize,
        value: &Spanned<DeValue<'_>>,
        faults: &mut Vec<Fault>,
    ) -> Option<Setting> {
        let place = Place::File { path: self.path.to_owned(), line: Some(line) };
        if !in_file {
            let lines = match value.get_ref().as_array() {
                Some(items) => items.iter().map(|item| self.line(item.span().start)).collect(),
                None => Vec::new(),
            };
            return Some(Setting { key, place, given: Given::Value(raw(value.get_ref()), lines) });
        }
        match value.get_ref().as_str() {
            // As seen from the file that names it, wherever the process was started.
            Some(path) if !path.is_empty() => {
                let base = self.path.parent().unwrap_or(Path::new(""));
                Some(Setting { key, place, given: Given::InFile(base.join(path)) })
            }
            _ => {
                let what = format!("{}{FILE_SUFFIX}: not the path of a file", key.id());
                faults.push(self.fault(line, what, "write the path in quotes"));
                None
            }
        }
    }

    fn unknown_section(&self, line: usize, name: &str, is_section: bool) -> Fault {
        if RESERVED.contains(&name) {
            return self.fault(line, format!("[{name}] is not part of this version"), "remove it");
        }
        if !is_section {
            let what = format!("the key {name:?} stands outside every section");
            let remedy = match anywhere(name) {
                Some(key) => format!("did you mean [{}].{}?", key.section, key.name),
                None => "move it below its section, as [server], or remove it".to_owned(),
            };
            return self.fault(line, what, remedy);
        }
        let names = || table::SECTIONS.iter().map(|section| section.name);
        let remedy = match nearest(name, names()) {
            Some(name) => format!("did you mean [{name}]?"),
            None => format!("the sections are {}", names().collect::<Vec<_>>().join(", ")),
        };
        self.fault(line, format!("unknown section [{name}]"), remedy)
    }

    /// The line, from 1, of a byte of the text.
    fn line(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    fn fault(&self, line: usize, what: String, remedy: impl Into<String>) -> Fault {
        let place = Place::File { path: self.path.to_owned(), line: Some(line) };
        Fault { place, what, remedy: remedy.into() }
    }
}

fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.clone().into_owned()),
        DeValue::Integer(number) => Raw::Integer(number.as_str().to_owned(), number.radix()),
        DeValue::Boolean(value) => Raw::Boolean(*value),
        DeValue::Array(items) => {
            let texts = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned));
            texts.collect::<Option<_>>().map_or(Raw::Other("a list of other things"), Raw::List)
        }
        DeValue::Float(_) => Raw::Other("a float"),
        DeValue::Datetime(_) => Raw::Other("a date"),
        DeValue::Table(_) => Raw::Other("a table"),
    }
}

// === names ===

/// The key of a name, which may be that of the file with its value.
fn look_up(section: &str, name: &str) -> Option<(&'static Key, bool)> {
    if let Some(key) = table::find(section, name) {
        return Some((key, false));
    }
    let key = table::find(section, name.strip_suffix(FILE_SUFFIX)?)?;
    key.is_secret().then_some((key, true))
}

fn both(key: &Key) -> String {
    format!("{} and {}{FILE_SUFFIX} are both set", key.id(), key.id())
}

/// The key of this name or nearly this name, in whichever section.
fn anywhere(name: &str) -> Option<&'static Key> {
    let best = nearest(name, table::all().map(|key| key.name))?;
    table::all().find(|key| key.name == best)
}

/// What is wrong with a name that its section does not have, and which one was meant: one of this section, or of another.
fn unknown_key(section: &str, name: &str) -> (String, String) {
    let what = format!("unknown key {name:?} in [{section}]");
    let elsewhere = |key: &'static Key| format!("did you mean [{}].{}?", key.section, key.name);
    let known = || table::all().filter(|key| key.section == section).map(|key| key.name);
    let remedy = match (nearest(name, known()), anywhere(name)) {
        (Some(near), _) => format!("did you mean {near:?}?"),
        (None, Some(key)) => elsewhere(key),
        (None, None) => format!("its keys are {}", known().collect::<Vec<_>>().join(", ")),
    };
    (what, remedy)
}

// === the environment ===

/// What the environment sets. Every variable with our prefix has to be one of ours.
pub(super) fn from_environment(env: &dyn Environment, faults: &mut Vec<Fault>) -> Vec<Setting> {
    let mut known: BTreeMap<String, (&'static Key, bool)> = BTreeMap::new();
    for key in table::all() {
        known.insert(key.variable(), (key, false));
        if key.is_secret() {
            known.insert(format!("{}{}", key.variable(), FILE_SUFFIX.to_ascii_uppercase()), (key, true));
        }
    }
    let mut found: Vec<Setting> = Vec::new();
    for name in env.names_with_prefix(VARIABLE_PREFIX.trim_end_matches('_')) {
        let place = Place::Variable(name.clone());
        let Some((key, in_file)) = known.get(&name) else {
            faults.extend(unknown_variable(&name, &known).map(|(what, remedy)| Fault {
                place,
                what,
                remedy,
            }));
            continue;
        };
        let Some(value) = env.get(&name) else { continue };
        if value.contains(char::REPLACEMENT_CHARACTER) {
            let what = "the value is not UTF-8".to_owned();
            faults.push(Fault { place, what, remedy: "write it in UTF-8".to_owned() });
            continue;
        }
        if found.iter().any(|setting| setting.key.id() == key.id()) {
            faults.push(Fault {
                place: place.clone(),
                what: both(key),
                remedy: "keep one of them".to_owned(),
            });
        }
        let given = if *in_file {
            Given::InFile(PathBuf::from(value))
        } else {
            Given::Value(Raw::Untyped(value), Vec::new())
        };
        found.push(Setting { key, place, given });
    }
    found
}

/// What is wrong with a variable that is none of ours, unless it is plainly somebody else's.
fn unknown_variable(name: &str, known: &BTreeMap<String, (&'static Key, bool)>) -> Option<(String, String)> {
    let single = |name: &str| name.replace("__", "_");
    if !name.starts_with(VARIABLE_PREFIX) {
        // Others set variables that begin with our name, Kubernetes for one. Only one that is ours but for an underscore
        // is a mistake.
        let meant = known.keys().find(|ours| single(ours) == single(name))?;
        return Some(("the variable is not read".to_owned(), format!("did you mean {meant}?")));
    }
    let remedy = match nearest(name, known.keys().map(String::as_str)) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("unset it; variables are named {VARIABLE_PREFIX}SECTION__KEY"),
    };
    Some(("no key has this variable".to_owned(), remedy))
}

// === the command line ===

/// What the command line sets.
pub(super) fn from_flags(flags: &Overrides) -> Vec<Setting> {
    let flags = [
        ("--bind", "server", "bind", &flags.bind),
        ("--admin-bind", "server", "admin_bind", &flags.admin_bind),
        ("--store", "store", "url", &flags.store),
    ];
    let setting = |(flag, section, name, value): (&'static str, &str, &str, &Option<String>)| {
        let key = table::find(section, name).expect("invariant: the flags' keys are in the table");
        let given = Given::Value(Raw::Untyped(value.clone()?), Vec::new());
        Some(Setting { key, place: Place::Flag(flag), given })
    };
    flags.into_iter().filter_map(setting).collect()
}
