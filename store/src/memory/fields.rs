//! The fields of one record, held small: most records are of sessions that nobody uses any more.

use bytes::Bytes;

use crate::Record;

/// Fields sorted by name. A field is one allocation, of its name and its value, so a typical session of eight fields costs
/// half of what a map of names to values would; the price is a copy on reading, which is rare.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<Field>);

#[derive(Debug)]
struct Field {
    /// The name, then the value.
    packed: Box<[u8]>,
    name_bytes: u32,
}

// === impl Fields ===

impl Fields {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, name: &str) -> Option<&[u8]> {
        self.find(name).ok().map(|at| self.0[at].value())
    }

    pub(super) fn set(&mut self, name: &str, value: &[u8]) {
        let field = Field::new(name, value);
        match self.find(name) {
            Ok(at) => self.0[at] = field,
            Err(at) => {
                // Doubling would waste more than the fields of a typical record take.
                self.0.reserve_exact(1);
                self.0.insert(at, field);
            }
        }
    }

    /// Whether the field was there.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        self.find(name).map(|at| self.0.remove(at)).is_ok()
    }

    pub(super) fn to_record(&self) -> Record {
        let pair = |field: &Field| (field.name().into(), Bytes::copy_from_slice(field.value()));
        Record { fields: self.0.iter().map(pair).collect() }
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|field| field.name().cmp(name))
    }
}

impl From<&Record> for Fields {
    fn from(record: &Record) -> Self {
        // The map is sorted as `find` needs it.
        Self(record.fields.iter().map(|(name, value)| Field::new(name, value)).collect())
    }
}

// === impl Field ===

impl Field {
    fn new(name: &str, value: &[u8]) -> Self {
        let name_bytes =
            u32::try_from(name.len()).expect("invariant: names were measured against their bound");
        Self { packed: [name.as_bytes(), value].concat().into_boxed_slice(), name_bytes }
    }

    fn name(&self) -> &str {
        std::str::from_utf8(&self.packed[..self.name_bytes as usize]).expect("invariant: packed from a str")
    }

    fn value(&self) -> &[u8] {
        &self.packed[self.name_bytes as usize..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behaves_as_a_sorted_map() {
        let mut fields = Fields::from(&Record::default().with("b", "2").with("", "empty name").with("a", ""));
        fields.set("c", b"3");
        fields.set("aa", b"between");
        fields.set("b", b"22");
        assert!(fields.remove("a"));
        assert!(!fields.remove("a"));
        assert_eq!(fields.get("a"), None);
        assert_eq!(fields.get(""), Some(&b"empty name"[..]));
        assert_eq!(fields.len(), 4);
        let expected =
            Record::default().with("", "empty name").with("aa", "between").with("b", "22").with("c", "3");
        assert_eq!(fields.to_record(), expected);
    }
}
