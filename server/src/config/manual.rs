//! The manual of the settings and the example file, made from the table of keys. Tests hold the files in the repository to
//! what is written here.

use std::fmt::{self, Display, Write};

use super::{
    Config,
    table::{FILE_SUFFIX, Key, SECTIONS, Section, Slot},
    types::{Backend, LogFormat, LogLevel, Readiness, Sessions},
    value::{show_size, show_time},
};

/// What stands above the tables.
const HEAD: &str = r#"# Configuration

<!-- Made from the table of keys by `UPDATE_DOCS=1 cargo test -p trunkline config`. Changes by hand are lost. -->

Settings come from three places. Each overrides the ones before it, key by key:

1. the file named by `--config`, in TOML; [trunkline.example.toml](../trunkline.example.toml) has every key with its default;
2. environment variables, named `TRUNKLINE__SECTION__KEY`, as `TRUNKLINE__SERVER__BIND`. A list is separated by commas,
   and an empty value is an empty list;
3. the flags `--bind`, `--admin-bind` and `--store`.

`trunkline check --config trunkline.toml` tells every mistake at once, each with its file, line and remedy, and exits with
2 if there is one:

```text
trunkline.toml:2: unknown key "bnid" in [server]; did you mean "bind"?
trunkline.toml:6: limits.body: "4MB" is no size; write a number of bytes, or a number with B, KiB, MiB or GiB, as in "64KiB"
TRUNKLINE__STORE__SESION_TTL: no key has this variable; did you mean TRUNKLINE__STORE__SESSION_TTL?
```

Unknown keys, and unknown variables that begin with `TRUNKLINE__`, are mistakes.

- A time is a whole number with `ms`, `s`, `m`, `h` or `d`: `"250ms"`, `"1h"`.
- A size is a number of bytes, or a number with `B`, `KiB`, `MiB` or `GiB`: `65536`, `"64KiB"`.
- A value that may be a secret can stand in a file of its own, named by the same key with `_file` at its end:
  `ring_file = "/run/secrets/ring"`, or `TRUNKLINE__KEYS__RING_FILE`. A list has one item a line there; empty lines and lines
  that begin with `#` do not count. A relative path in the TOML file starts at that file's folder.
"#;

/// What stands above the sections of the example file.
const EXAMPLE_HEAD: &str = "\
# Every key of Trunkline with its default. A line without its `# ` is in force.
# Check a file with: trunkline check --config trunkline.toml
# The manual is docs/configuration.md.
";

/// The manual's page, `docs/configuration.md`.
#[must_use]
pub fn manual_page() -> String {
    let mut page = HEAD.to_owned();
    for section in SECTIONS {
        page.push_str(&section_of_page(section));
    }
    page
}

/// The example file, `trunkline.example.toml`: every key with its default, commented out.
#[must_use]
pub fn example_file() -> String {
    let mut file = EXAMPLE_HEAD.to_owned();
    for section in SECTIONS {
        file.push('\n');
        push_comment(&mut file, section.doc);
        push_line(&mut file, format_args!("[{}]", section.name));
        for key in section.keys {
            file.push('\n');
            push_comment(&mut file, key.doc);
            let value = default_of(key).unwrap_or_else(|| sample(&key.slot).to_owned());
            push_line(&mut file, format_args!("# {} = {value}", key.name));
        }
    }
    file
}

fn section_of_page(section: &Section) -> String {
    let mut page = String::new();
    push_line(&mut page, format_args!("\n## [{}]\n\n{}\n", section.name, section.doc));
    page.push_str("| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for key in section.keys {
        let name = if key.is_secret() {
            format!("`{0}`, `{0}{FILE_SUFFIX}`", key.name)
        } else {
            format!("`{}`", key.name)
        };
        let default = default_of(key).map_or("unset".to_owned(), |value| format!("`{value}`"));
        push_line(&mut page, format_args!("| {name} | {} | {default} | {} |", kind(&key.slot), key.doc));
    }
    page
}

/// What may be written, for the manual.
fn kind(slot: &Slot) -> String {
    match slot {
        Slot::Address(_) => "IP address and port".to_owned(),
        Slot::Path(_) => "path".to_owned(),
        Slot::Prefix(_) => "1 to 64 letters, digits and `-._:`".to_owned(),
        Slot::PublicUrl(_) => "URL".to_owned(),
        Slot::Origins(_) => "list of origins".to_owned(),
        Slot::Hosts(_) => "list of hosts".to_owned(),
        Slot::Boolean(_) => "`true`, `false`".to_owned(),
        Slot::Sessions(_) => words(Sessions::NAMES),
        Slot::LogFormat(_) => words(LogFormat::NAMES),
        Slot::LogLevel(_) => words(LogLevel::NAMES),
        Slot::Time(range, _) => format!("time, {} to {}", show_time(*range.start()), show_time(*range.end())),
        Slot::Size(range, _) => format!("size, {} to {}", show_size(*range.start()), show_size(*range.end())),
        Slot::Count(range, _) | Slot::Workers(range, _) => {
            format!("number, {} to {}", range.start(), range.end())
        }
        Slot::Backend(_) | Slot::OtherBackend(_) => "`\"memory\"`, URL".to_owned(),
        Slot::File(_) => "path of a file".to_owned(),
        Slot::Readiness(_) => words(Readiness::NAMES),
        Slot::Ring(_) => "list of `NAME:KEY`".to_owned(),
    }
}

/// The default as TOML; `None` if the key is unset by default.
fn default_of(key: &Key) -> Option<String> {
    let config = &mut Config::default();
    match &key.slot {
        Slot::Address(field) => Some(quoted(field(config))),
        Slot::Path(field) | Slot::Prefix(field) => Some(quoted(field(config))),
        Slot::PublicUrl(field) => field(config).as_ref().map(quoted),
        // Nobody is listed by default, which the example file's test makes sure of.
        Slot::Origins(_) | Slot::Hosts(_) => Some("[]".to_owned()),
        Slot::Boolean(field) => Some(field(config).to_string()),
        Slot::Sessions(field) => Some(quoted(word(field(config), Sessions::NAMES))),
        Slot::Readiness(field) => Some(quoted(word(field(config), Readiness::NAMES))),
        Slot::File(field) => field(config).as_ref().map(|path| quoted(path.display())),
        Slot::LogFormat(field) => Some(quoted(word(field(config), LogFormat::NAMES))),
        Slot::LogLevel(field) => Some(quoted(word(field(config), LogLevel::NAMES))),
        Slot::Time(_, field) => Some(quoted(show_time(*field(config)))),
        Slot::Size(_, field) => Some(quoted(show_size(*field(config)))),
        Slot::Count(_, field) => Some(field(config).to_string()),
        Slot::Workers(_, field) => field(config).map(|number| number.to_string()),
        Slot::Backend(field) => Some(quoted(backend(field(config)))),
        Slot::OtherBackend(field) => field(config).as_ref().map(|url| quoted(backend(url))),
        Slot::Ring(field) => Some(list(&field(config).iter().map(|key| &key.name).collect::<Vec<_>>())),
    }
}

/// Something to write where the default is no value.
fn sample(slot: &Slot) -> &'static str {
    match slot {
        Slot::PublicUrl(_) => r#""https://mcp.example.com""#,
        Slot::Workers(..) => "2",
        Slot::File(_) => r#""/etc/ssl/redis-ca.pem""#,
        _ => r#""memory""#,
    }
}

/// None of our texts needs escaping, which a test makes sure of by reading the example file.
fn quoted(value: impl Display) -> String {
    format!("\"{value}\"")
}

fn list<T: Display>(items: &[T]) -> String {
    format!("[{}]", items.iter().map(quoted).collect::<Vec<_>>().join(", "))
}

fn words<T>(names: &[(&str, T)]) -> String {
    names.iter().map(|(name, _)| format!("`\"{name}\"`")).collect::<Vec<_>>().join(", ")
}

fn word<T: PartialEq>(value: &T, names: &[(&'static str, T)]) -> &'static str {
    names.iter().find(|(_, known)| known == value).map_or("", |(name, _)| name)
}

/// A URL may hold a password, and the manual is no place for one.
fn backend(backend: &Backend) -> &'static str {
    match backend {
        Backend::Memory => "memory",
        Backend::Redis(_) => "redis://…",
    }
}

fn push_line(page: &mut String, line: fmt::Arguments<'_>) {
    writeln!(page, "{line}").expect("invariant: a String takes any text");
}

/// A text as comment lines of at most 110 characters.
fn push_comment(page: &mut String, text: &str) {
    let mut line = "#".to_owned();
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > 110 {
            push_line(page, format_args!("{line}"));
            line = "#".to_owned();
        }
        line.push(' ');
        line.push_str(word);
    }
    push_line(page, format_args!("{line}"));
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, env, fs, path::Path};

    use super::{super::*, *};

    /// Compares a file of the repository with its source, or writes it if `UPDATE_DOCS` is set.
    fn assert_up_to_date(name: &str, text: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, text).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        let differs = found.lines().zip(text.lines()).position(|(a, b)| a != b);
        assert!(
            found == text,
            "{name} is out of date, from line {:?}: UPDATE_DOCS=1 cargo test -p trunkline config",
            differs.map_or(found.lines().count(), |at| at + 1)
        );
    }

    #[test]
    fn the_manual_is_up_to_date() {
        assert_up_to_date("docs/configuration.md", &manual_page());
    }

    #[test]
    fn the_example_file_is_up_to_date() {
        assert_up_to_date("trunkline.example.toml", &example_file());
    }

    fn load(text: &str) -> Config {
        let read = |_: &Path| Ok(text.to_owned());
        resolve(Some(Path::new("example.toml")), &BTreeMap::new(), &Overrides::default(), &read).unwrap()
    }

    #[test]
    fn the_example_file_as_it_is_and_with_every_line_in_force_means_the_defaults() {
        let example = example_file();
        assert_eq!(load(&example), Config::default());
        // Lines of settings are the commented ones that follow the comments of words.
        let is_setting = |line: &str| table::all().any(|key| line.starts_with(&format!("# {} = ", key.name)));
        let (mut all, mut count) = (String::new(), 0);
        for line in example.lines() {
            count += usize::from(is_setting(line));
            all.push_str(if is_setting(line) { &line[2..] } else { line });
            all.push('\n');
        }
        assert_eq!(count, table::all().count());
        let mut config = load(&all);
        // These have no default to write, and the example shows some value.
        config.server.public_url.take().unwrap();
        config.server.workers.take().unwrap();
        config.store.ca_path.take().unwrap();
        config.hub.url.take().unwrap();
        assert_eq!(config, Config::default());
    }

    #[test]
    fn the_mistakes_shown_in_the_manual_are_told_in_these_words() {
        let text = "[server]\nbnid = \"0.0.0.0:80\"\n\n\n[limits]\nbody = \"4MB\"\n";
        let env = BTreeMap::from([("TRUNKLINE__STORE__SESION_TTL".to_owned(), "1h".to_owned())]);
        let read = |_: &Path| Ok(text.to_owned());
        let faults =
            resolve(Some(Path::new("trunkline.toml")), &env, &Overrides::default(), &read).unwrap_err();
        assert!(manual_page().contains(&format!("```text\n{faults}\n```")), "{faults}");
    }
}
