//! Whose turn it is.

/// The order of `rows` in this round: another one begins each time, so that none is always first after a pause.
pub(super) fn order(rows: usize, round: u32) -> impl Iterator<Item = usize> {
    let first = if rows == 0 { 0 } else { round as usize % rows };
    (first..rows).chain(0..first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_has_a_turn_and_begins_once() {
        let rounds: Vec<Vec<usize>> = (0..4).map(|round| order(3, round).collect()).collect();
        assert_eq!(rounds, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
        assert_eq!(order(0, 7).count(), 0);
    }
}
