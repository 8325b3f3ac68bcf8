//! Guesses what a misspelt name was meant to be.

/// What is wrong with a name that is none of these: which one was meant, or what there is.
#[must_use]
pub fn no_such(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(near) => format!("there is no {name:?}; did you mean {near}?"),
        None => format!("there is no {name:?}; there are {}", known.join(", ")),
    }
}

/// The name that differs least, if it is near enough to be meant: one letter in three, and one at least.
#[must_use]
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // No known name is as long, and a comparison takes the longer the longer they are.
    let name: String = name.chars().take(64).map(|c| c.to_ascii_lowercase()).collect();
    let letters = name.chars().count();
    let enough = if letters == 0 { 0 } else { (letters / 3).max(1) };
    let far = known.iter().map(|known| (distance(&name, known), *known));
    far.filter(|(far, _)| *far <= enough).min_by_key(|(far, _)| *far).map(|(_, known)| known)
}

/// How many letters to change, put in or leave out, or neighbours to swap, to make one word of another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let (mut above, mut before): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=b.len()).collect());
    let mut last = None;
    for (i, x) in a.chars().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let changed = before[j] + usize::from(x != *y);
            let least = changed.min(before[j + 1] + 1).min(row[j] + 1);
            let swapped = j > 0 && last == Some(*y) && x == b[j - 1];
            row.push(if swapped { least.min(above[j - 1] + 1) } else { least });
        }
        above = std::mem::replace(&mut before, row);
        last = Some(x);
    }
    before[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_distant_one_is_not_guessed() {
        let known = ["steady", "churn", "storm", "at", "do"];
        for (name, near) in [
            ("stedy", Some("steady")),
            ("Churn", Some("churn")),
            ("strom", Some("storm")),
            ("att", Some("at")),
            ("weather", None),
            ("", None),
            ("xy", None),
        ] {
            assert_eq!(nearest(name, &known), near, "{name}");
        }
        assert_eq!(no_such("stedy", &known), "there is no \"stedy\"; did you mean steady?");
        assert_eq!(no_such("x", &["a1", "b2"]), "there is no \"x\"; there are a1, b2");
    }
}
