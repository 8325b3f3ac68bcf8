//! What is wrong with a text that is to be filled in.

use crate::cli::nearest;

/// What a text may hold in braces.
const TEMPLATES: &str = "{client}, {sequence}, {unique} and {random A B}";

/// What is wrong with a text, if something is. Braces with anything in them that is not nearly a template stay as they are:
/// texts for other people's servers have braces of their own.
pub(super) fn mistake(text: &str) -> Option<String> {
    braces(text).find_map(mistake_inside)
}

/// What is wrong with a text that a whole number comes of.
pub(super) fn mistake_in_number(text: &str) -> Option<String> {
    let wrong = mistake(text);
    wrong.or_else(|| {
        let filled = braces(text)
            .filter(|inside| stands_for_number(inside))
            .fold(text.to_owned(), |text, inside| text.replacen(&format!("{{{inside}}}"), "1", 1));
        let what =
            "no whole number comes of it; write one of {sequence}, {unique} and {random A B}, and digits";
        filled.parse::<i64>().is_err().then(|| format!("{text:?}: {what}"))
    })
}

/// Whether a text holds a template.
pub(super) fn is_one(text: &str) -> bool {
    braces(text).any(|inside| inside == "client" || stands_for_number(inside))
}

fn stands_for_number(inside: &str) -> bool {
    matches!(inside, "sequence" | "unique") || random(inside).is_some_and(|(least, most)| least <= most)
}

/// The innermost pairs of braces in a text.
fn braces(text: &str) -> impl Iterator<Item = &str> {
    let pairs = text.split('{').skip(1);
    pairs.filter_map(|after| after.split_once('}').map(|(inside, _)| inside))
}

fn mistake_inside(inside: &str) -> Option<String> {
    if inside == "client" || stands_for_number(inside) {
        return None;
    }
    let (name, bounds) = inside.split_once(' ').unwrap_or((inside, ""));
    let near = nearest(name, &["client", "sequence", "unique", "random"])?;
    let remedy = match (near, random(inside)) {
        ("random", Some((least, most))) => {
            format!("the smaller one comes first, as {{random {most} {least}}}")
        }
        ("random", None) if name == near => "write two whole numbers in it, as {random 1 6}".to_owned(),
        _ if name != near && bounds.is_empty() => format!("did you mean {{{near}}}?"),
        _ => format!("a text may hold {TEMPLATES}"),
    };
    Some(format!("{{{inside}}} is no template; {remedy}"))
}

fn random(inside: &str) -> Option<(i64, i64)> {
    let (least, most) = inside.strip_prefix("random ")?.split_once(' ')?;
    least.parse().ok().zip(most.parse().ok())
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::SmallRng};

    use super::*;
    use crate::check::{template::Values, unique::Unique};

    const RIGHT: [&str; 4] = ["{client}", "{sequence}", "{unique}", "{random -3 3}"];

    #[test]
    fn what_is_right_is_filled_in() {
        let values = Values { client: "c1", sequence: 1, unique: Unique::new(1, 1) };
        for text in RIGHT {
            assert_eq!(mistake(text), None);
            assert!(is_one(text));
            assert!(!values.fill(text, &mut SmallRng::seed_from_u64(1)).contains('{'), "{text}");
        }
    }

    #[test]
    fn braces_of_ones_own_stay() {
        for text in ["", "no braces", "{", "}{", "{}", "{\"a\": {\"b\": 1}}", "{name}", "{user id}"] {
            assert_eq!(mistake(text), None, "{text}");
            assert!(!is_one(text), "{text}");
        }
    }

    #[test]
    fn mistakes_are_told_with_what_to_write() {
        for (text, expected) in [
            ("a {cleint} b", "{cleint} is no template; did you mean {client}?"),
            ("{Unique}", "did you mean {unique}?"),
            ("{random 6 1}", "the smaller one comes first, as {random 1 6}"),
            ("{random 6}", "write two whole numbers in it"),
            ("{random}", "write two whole numbers in it"),
            ("{randon 1 6}", "a text may hold {client}"),
            ("{client 5}", "a text may hold {client}"),
        ] {
            let told = mistake(text).unwrap_or_default();
            assert!(told.contains(expected), "{text}: {told}");
        }
    }

    #[test]
    fn a_number_comes_of_digits_and_templates() {
        for text in ["{random 1 6}", "{sequence}", "-{unique}", "1{sequence}0"] {
            assert_eq!(mistake_in_number(text), None, "{text}");
        }
        for text in ["", "x", "{client}", "{sequence}.5", "{random 6 1}", "{name}"] {
            assert!(mistake_in_number(text).is_some(), "{text}");
        }
    }
}
