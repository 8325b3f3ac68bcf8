//! Guesses what a misspelt name was meant to be.

/// The candidate that differs least from `name`, if it is near enough to be meant: one edit in three characters.
///
/// Case, and a hyphen for an underscore, do not count. Of equally near ones the first is taken.
pub(super) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = plain(name);
    let enough = (name.chars().count() / 3).max(1);
    let far = |candidate: &&str| distance(&name, &plain(candidate));
    candidates
        .into_iter()
        .map(|candidate| (far(&candidate), candidate))
        .filter(|(far, _)| *far <= enough)
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate)
}

/// Bounded, since the cost of a comparison grows with the length; no known name is half as long.
fn plain(name: &str) -> String {
    name.chars().take(128).map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect()
}

/// How many characters to insert, remove or replace, or neighbours to swap, to make one text the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut previous = None;
    for (i, x) in a.chars().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(x != *y);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if j > 0 && previous == Some(*y) && x == b[j - 1] {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
        previous = Some(x);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_one_character_or_two_swapped() {
        for (a, b, edits) in [
            ("", "", 0),
            ("bind", "bind", 0),
            ("bind", "bnd", 1),
            ("bind", "biind", 1),
            ("bind", "bint", 1),
            ("bind", "bidn", 1),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a, b), edits, "{a} {b}");
        }
    }

    #[test]
    fn the_nearest_name_is_found_and_a_distant_one_is_not_guessed() {
        let names = ["bind", "admin_bind", "allowed_hosts", "allowed_origins"];
        assert_eq!(nearest("bnid", names), Some("bind"));
        assert_eq!(nearest("Allowed-Host", names), Some("allowed_hosts"));
        assert_eq!(nearest("admin_bnd", names), Some("admin_bind"));
        assert_eq!(nearest("colour", names), None);
        assert_eq!(nearest("", names), None);
    }
}
