//! A small map that keeps the order in which its members were added.

use std::{fmt, marker::PhantomData};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A JSON object whose members keep their order: people see forms and questions in it.
///
/// Looking up is linear; these hold a handful of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderedMap<V>(Vec<(String, V)>);

// === impl OrderedMap ===

impl<V> OrderedMap<V> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a member at the end, or replaces the one of that name in its place and returns it.
    pub fn insert(&mut self, key: impl Into<String>, value: V) -> Option<V> {
        let key = key.into();
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, slot)) => Some(std::mem::replace(slot, value)),
            None => {
                self.0.push((key, value));
                None
            }
        }
    }

    /// The member of that name.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&V> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// Takes the member of that name out; the rest keeps its order.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        let index = self.0.iter().position(|(known, _)| known == key)?;
        Some(self.0.remove(index).1)
    }

    /// The members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &V)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The values in order, to change.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// How many members there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<V> Default for OrderedMap<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V> IntoIterator for OrderedMap<V> {
    type Item = (String, V);
    type IntoIter = std::vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Into<String>, V> FromIterator<(K, V)> for OrderedMap<V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let mut map = Self::new();
        for (key, value) in members {
            map.insert(key, value);
        }
        map
    }
}

impl<V: Serialize> Serialize for OrderedMap<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for OrderedMap<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MapVisitor(PhantomData))
    }
}

struct MapVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> de::Visitor<'de> for MapVisitor<V> {
    type Value = OrderedMap<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<OrderedMap<V>, A::Error> {
        let mut members: Vec<(String, V)> = Vec::with_capacity(map.size_hint().unwrap_or(0).min(16));
        while let Some((key, value)) = map.next_entry::<String, V>()? {
            members.push((key, value));
        }
        // A peer decides how many there are: sorting finds repeated names in n log n, where `insert` takes n squared.
        let mut names: Vec<&str> = members.iter().map(|(key, _)| key.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(de::Error::custom(format_args!("the member `{}` is repeated", pair[0])));
        }
        Ok(OrderedMap(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_a_repeated_name_its_place() {
        let mut map: OrderedMap<u8> = [("z", 1), ("a", 2)].into_iter().collect();
        assert_eq!(map.insert("z", 3), Some(1));
        assert_eq!(serde_json::to_string(&map).unwrap(), r#"{"z":3,"a":2}"#);
        assert_eq!(map.remove("z"), Some(3));
        assert_eq!((map.get("a"), map.get("z"), map.len()), (Some(&2), None, 1));
    }

    #[test]
    fn reading_keeps_the_order_and_refuses_a_repeated_name() {
        let map: OrderedMap<u8> = serde_json::from_str(r#"{"z":1,"a":2}"#).unwrap();
        assert_eq!(map.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["z", "a"]);
        let error = serde_json::from_str::<OrderedMap<u8>>(r#"{"z":1,"a":2,"z":3}"#).unwrap_err();
        assert!(error.to_string().contains("`z` is repeated"), "{error}");
    }
}
