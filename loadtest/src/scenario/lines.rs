//! In which line of a scenario something is.

use std::collections::HashMap;

use toml::de::{DeTable, DeValue};

/// The lines of a text's keys, by their paths: `step[0].takes`.
#[derive(Debug, Default)]
pub(super) struct Lines(HashMap<String, usize>);

// === impl Lines ===

impl Lines {
    pub(super) fn of(text: &str, table: &DeTable<'_>) -> Self {
        let mut lines = Self::default();
        lines.add_table(text, "", table);
        lines
    }

    /// The line of a path; of a key that is not there, that of the table in which it belongs.
    pub(super) fn line(&self, path: &str) -> usize {
        let mut path = path;
        loop {
            match (self.0.get(path), path.rfind(['.', '['])) {
                (Some(line), _) => return *line,
                (None, Some(end)) => path = &path[..end],
                (None, None) => return 1,
            }
        }
    }

    fn add_table(&mut self, text: &str, path: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let path = join(path, key.get_ref());
            self.add(text, path, key.span().start, value.get_ref());
        }
    }

    fn add(&mut self, text: &str, path: String, start: usize, value: &DeValue<'_>) {
        match value {
            DeValue::Table(table) => self.add_table(text, &path, table),
            DeValue::Array(values) => {
                for (at, value) in values.iter().enumerate() {
                    self.add(text, format!("{path}[{at}]"), value.span().start, value.get_ref());
                }
            }
            _ => {}
        }
        self.0.insert(path, line(text, start));
    }
}

/// The path of a key in the table at a path.
pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The line, from 1, of a byte.
pub(super) fn line(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_line_and_one_that_is_missing_that_of_its_table() {
        let text = "a = 1\n\n[b]\nc = [\n  { d = 1 },\n  { d = 2 },\n]\n[[step]]\ndo = \"x\"\n[[step]]\n";
        let table = DeTable::parse(text).unwrap();
        let lines = Lines::of(text, table.get_ref());
        for (path, line) in [
            ("a", 1),
            ("b", 3),
            ("b.c", 4),
            ("b.c[1].d", 6),
            ("b.c[1].e", 6),
            ("step[0].do", 9),
            ("step[1].do", 10),
            ("nothing", 1),
        ] {
            assert_eq!(lines.line(path), line, "{path}");
        }
    }
}
