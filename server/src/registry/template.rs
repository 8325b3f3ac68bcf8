//! URI templates: the part of RFC 6570 that can be read backwards.

use std::collections::BTreeMap;

/// A URI template of literals and variables.
pub(crate) struct Template {
    parts: Vec<Part>,
}

enum Part {
    Literal(String),
    /// `{name}`: at least one character, no `/`; or `{+name}`: at least one character, anything.
    Variable {
        name: String,
        reserved: bool,
    },
}

/// A template that cannot be matched against URIs.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// A brace without its partner, or a variable without a plain name.
    #[error("{0:?} is not a template of literals, {{name}} and {{+name}}")]
    Syntax(String),
    /// Nothing separates two variables, so that a URI could be split anywhere.
    #[error("two variables of {0:?} have nothing between them")]
    Ambiguous(String),
}

// === impl Template ===

impl Template {
    /// Reads a template.
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateError> {
        let syntax = || TemplateError::Syntax(text.to_owned());
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let (literal, tail) = rest.split_at(open);
            let (variable, tail) = tail[1..].split_once('}').ok_or_else(syntax)?;
            if literal.contains('}') {
                return Err(syntax());
            }
            if literal.is_empty() && matches!(parts.last(), Some(Part::Variable { .. })) {
                return Err(TemplateError::Ambiguous(text.to_owned()));
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            let (name, reserved) = variable.strip_prefix('+').map_or((variable, false), |name| (name, true));
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.') {
                return Err(syntax());
            }
            parts.push(Part::Variable { name: name.to_owned(), reserved });
            rest = tail;
        }
        if rest.contains('}') {
            return Err(syntax());
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    /// The values of the variables, percent-decoded, if the URI has this shape. Each variable takes as little as it can.
    pub(crate) fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let mut variables = BTreeMap::new();
        let mut rest = uri;
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Variable { name, reserved } => {
                    let end = match parts.peek() {
                        Some(Part::Literal(next)) => {
                            // A value has at least one character.
                            let first = rest.chars().next()?.len_utf8();
                            first + rest[first..].find(next.as_str())?
                        }
                        _ => rest.len(),
                    };
                    let (value, tail) = rest.split_at_checked(end)?;
                    if value.is_empty() || (!reserved && value.contains('/')) {
                        return None;
                    }
                    variables.insert(name.clone(), percent_decoded(value)?);
                    rest = tail;
                }
            }
        }
        rest.is_empty().then_some(variables)
    }
}

/// Undoes percent-encoding; `None` where what comes out is no UTF-8 or an escape is cut short.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut input = text.bytes();
    while let Some(byte) = input.next() {
        bytes.push(match byte {
            b'%' => hex(input.next()?)? << 4 | hex(input.next()?)?,
            plain => plain,
        });
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
        Template::parse(template).unwrap().matches(uri).map(|variables| variables.into_iter().collect())
    }

    #[test]
    fn variables_take_one_segment_and_reserved_ones_anything() {
        let one = |name: &str, value: &str| Some(vec![(name.to_owned(), value.to_owned())]);
        assert_eq!(matched("demo://notes/{id}", "demo://notes/7"), one("id", "7"));
        assert_eq!(matched("demo://notes/{id}", "demo://notes/a%20b%2Fc"), one("id", "a b/c"));
        assert_eq!(matched("t://{id}/data", "t://123/data"), one("id", "123"));
        assert_eq!(matched("file:///{+path}", "file:///a/b"), one("path", "a/b"));
        for other in
            ["demo://notes/", "demo://notes/7/8", "demo://note/7", "demo://notes/%ff", "demo://notes/%4"]
        {
            assert_eq!(matched("demo://notes/{id}", other), None, "{other}");
        }
    }

    #[test]
    fn several_variables_are_kept_apart() {
        let found = matched("db://{schema}/{table}/rows", "db://public/users/rows").unwrap();
        assert_eq!(found, [("schema".into(), "public".into()), ("table".into(), "users".into())]);
    }

    #[test]
    fn what_cannot_be_read_backwards_is_refused() {
        for bad in ["a{b", "a}b", "a{}", "a{b*}", "a{?b}"] {
            assert!(matches!(Template::parse(bad), Err(TemplateError::Syntax(_))), "{bad}");
        }
        assert!(matches!(Template::parse("x://{a}{b}"), Err(TemplateError::Ambiguous(_))));
    }

    #[test]
    fn odd_uris_never_panic() {
        let template = Template::parse("x://{a}é{b}").unwrap();
        for uri in ["", "x://", "x://é", "x://éé", "x://ßé日"] {
            let _matched = template.matches(uri);
        }
    }
}
