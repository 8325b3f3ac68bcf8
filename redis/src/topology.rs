//! Which node serves which keys.

use std::{fmt, sync::Arc};

use crate::{Failure, Host, node::Node};

/// How many parts the keys of a Cluster are divided into.
const SLOTS: u16 = 16384;

/// A node that keys may be on. Behind Sentinels it stays the same whichever server is the primary.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) Arc<str>);

/// Where a node is.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Nobody has been asked yet.
    Unknown,
    /// Nobody who was asked has ever known, for this reason.
    Nowhere(Failure),
    /// There.
    At(Host),
}

/// The primaries, and the slots of each. Without a Cluster, one primary has them all.
#[derive(Default)]
pub(crate) struct Topology {
    pub(crate) nodes: Vec<Arc<Node>>,
    /// Sorted, without overlaps.
    pub(crate) ranges: Vec<Range>,
}

/// Slots in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Range {
    pub(crate) first: u16,
    pub(crate) last: u16,
    /// An index of the nodes.
    pub(crate) node: usize,
}

// === impl Topology ===

impl Topology {
    pub(crate) fn single(node: Node) -> Self {
        let range = Range { first: 0, last: SLOTS - 1, node: 0 };
        Self { nodes: vec![Arc::new(node)], ranges: vec![range] }
    }

    pub(crate) fn node(&self, slot: u16) -> Option<&Arc<Node>> {
        let at = self.ranges.partition_point(|range| range.last < slot);
        let range = self.ranges.get(at).filter(|range| range.first <= slot)?;
        self.nodes.get(range.node)
    }

    pub(crate) fn at(&self, host: &Host) -> Option<&Arc<Node>> {
        self.nodes.iter().find(|node| node.is_at(host))
    }

    /// Whether every slot is where it is in the other.
    pub(crate) fn serves_like(&self, other: &Self) -> bool {
        let place =
            |topology: &Self, range: &Range| (range.first, range.last, topology.nodes[range.node].id.clone());
        self.ranges.len() == other.ranges.len()
            && self.ranges.iter().zip(&other.ranges).all(|(a, b)| place(self, a) == place(other, b))
    }
}

// === impl Place ===

impl Place {
    pub(crate) fn host(&self) -> Option<&Host> {
        match self {
            Self::At(host) => Some(host),
            Self::Unknown | Self::Nowhere(_) => None,
        }
    }
}

// === impl NodeId ===

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeId({self})")
    }
}

/// The slot of a key: of the part within its first braces, if there is such a part.
pub(crate) fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|byte| *byte == b'}').filter(|length| *length > 0)?;
        Some(&rest[..close])
    });
    crc16::State::<crc16::XMODEM>::calculate(tag.unwrap_or(key)) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_that_of_the_tag() {
        // As CLUSTER KEYSLOT answers.
        for (key, expected) in [("", 0), ("foo", 12182), ("123456789", 12739), ("a{foo}b", 12182)] {
            assert_eq!(slot(key.as_bytes()), expected, "{key}");
        }
        assert_eq!(slot(b"{foo}{bar}"), slot(b"foo"));
        assert_eq!(slot(b"foo{}{bar}"), crc16::State::<crc16::XMODEM>::calculate(b"foo{}{bar}") % SLOTS);
        assert_eq!(slot(b"foo{{bar}}"), slot(b"{bar"));
        assert_eq!(slot(b"{open"), crc16::State::<crc16::XMODEM>::calculate(b"{open") % SLOTS);
    }
}
